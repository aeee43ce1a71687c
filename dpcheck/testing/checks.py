"""What every mechanism should pass: one function per property, each raising AssertionError.

A mechanism is a function (data, rng) or a batched one (data, size, rng), decorated with
`@dpcheck.audited(claim=..., adjacency=..., neighbours=[...])`, or an adapter's object.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.auditing.mechanism import Array, Declaration, Pair, as_mechanism, as_pairs, declaration
from dpcheck.auditing.outputs.encode import encode_batch, encode_list
from dpcheck.auditing.outputs.reader import learn_reader
from dpcheck.auditing.outputs.tables import Encoded, shapes_of
from dpcheck.auditing.pairs.checking import check_pairs
from dpcheck.auditing.pairs.forms import default_form
from dpcheck.auditing.pairs.search import PairSearch
from dpcheck.core.adjacency import as_neighbours
from dpcheck.core.data import Data, fingerprint
from dpcheck.core.errors import BadOutput, NotNeighbours
from dpcheck.execution.runner import Runner
from dpcheck.testing.failing import audit_in_test

_RUNS = 64
_DESCRIBED = 4  # pairs that are tried where records are described
_SAMPLES = 2000
# Of the one check here that is a statistical test: a right mechanism fails it this often.
_FALSE_ALARM = 1e-6


class Check:
    """A named property; `audits_privacy` marks the one that spends the run's error budget."""

    def __init__(self, function: Callable[[object], None], audits_privacy: bool = False) -> None:
        self.function, self.audits_privacy = function, audits_privacy
        self.name = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, mechanism: object) -> None:
        """Raise AssertionError unless the mechanism has the property."""
        __tracebackhide__ = True
        self.function(mechanism)

    def __repr__(self) -> str:
        return self.name


def _outputs(mechanism: object, data: Data, size: int, seed: int) -> Any:
    """`size` outputs as they come, from a copy of the data."""
    own, rng = copy.deepcopy(data), np.random.default_rng(seed)
    inner = as_mechanism(mechanism)
    if inner.batched:
        return inner.function(own, size, rng)
    return [inner.function(own, rng) for _ in range(size)]


def _read(mechanism: object, data: Data, size: int, seed: int) -> Encoded:
    found = _outputs(mechanism, data, size, seed)
    return encode_batch(found, size) if as_mechanism(mechanism).batched else encode_list(found)


def _encoded(mechanism: object, *runs: tuple[Data, int, int]) -> list[Array]:
    """Rows of the outputs of each (data, size, seed), all read alike."""
    found = [_read(mechanism, *run) for run in runs]
    reader = learn_reader(found, found)
    return [reader.rows(each) for each in found]


def _sides(mechanism: object) -> list[tuple[str, Data]]:
    pairs = _pairs(mechanism)
    return [
        (f"pair {i}, {side}", getattr(pair, side))
        for i, pair in enumerate(pairs)
        for side in ("first", "second")
    ]


def check_states_its_claim(mechanism: object) -> None:
    """Says what it claims, under which adjacency, on which neighbours, and the claim is finite."""
    from dpcheck.session.claims import read_claim

    declared = declaration(mechanism)
    stated = read_claim(declared.claim, declared.adjacency, "declared")
    assert np.isfinite(stated.budget.epsilon), f"the claim {stated.budget} promises nothing"


def check_pairs_are_neighbours(mechanism: object) -> None:
    """Every pair differs in the rows of one person, as the adjacency says."""
    declared: Declaration = declaration(mechanism)
    try:
        check_pairs(_pairs(mechanism), as_neighbours(declared.adjacency))
    except NotNeighbours as error:
        raise AssertionError(str(error)) from None


def _pairs(mechanism: object) -> list[Pair]:
    """The pairs that were given, or a few of those that a description allows."""
    declared = declaration(mechanism)
    if declared.records is None:
        return as_pairs(declared.neighbours)
    search = PairSearch(
        declared.records, as_neighbours(declared.adjacency), declared.form or default_form()
    )
    return [search.pair(one) for one in search.plain(_DESCRIBED)]


def check_accepts_neighbours(mechanism: object) -> None:
    """Runs on both sides of every pair and gives outputs that can be read."""
    for where, data in _sides(mechanism):
        try:
            _encoded(mechanism, (data, _RUNS, 0))
        except BadOutput as error:
            raise AssertionError(f"{where}: {error}") from None
        except Exception as error:
            raise AssertionError(f"{where}: raised {type(error).__name__}: {error}") from error


def check_leaves_data_alone(mechanism: object) -> None:
    """Does not change the data it is given."""
    inner = as_mechanism(mechanism)
    for where, data in _sides(mechanism):
        own = copy.deepcopy(data)
        before = fingerprint(own)
        rng = np.random.default_rng(0)
        if inner.batched:
            inner.function(own, 2, rng)
        else:
            inner.function(own, rng)
        assert fingerprint(own) == before, f"{where}: the data was changed in place"


def check_same_seed_same_output(mechanism: object) -> None:
    """All its randomness comes from the generator it is given."""
    for where, data in _sides(mechanism):
        one, two = _encoded(mechanism, (data, _RUNS, 7), (data, _RUNS, 7))
        same = bool((one == two).all())
        assert same, f"{where}: the same seed gave other outputs; some noise is not from rng"


def check_noise_is_fresh(mechanism: object) -> None:
    """Other runs and other seeds give other outputs: no fixed seed, no cached answer."""
    for where, data in _sides(mechanism):
        one, two = _encoded(mechanism, (data, _RUNS, 1), (data, _RUNS, 2))
        assert len(np.unique(one, axis=0)) > 1, f"{where}: {_RUNS} runs gave the same output"
        assert not (one == two).all(), f"{where}: another seed gave the same outputs"


def check_shape_is_stable(mechanism: object) -> None:
    """The shape of the output does not depend on the record that differs."""
    for pair in _pairs(mechanism):
        shapes = {
            shape
            for data in (pair.first, pair.second)
            for seed in range(4)
            for shape in shapes_of(_read(mechanism, data, 8, seed))
        }
        assert len(shapes) <= 1, f"{pair.label}: outputs of shapes {sorted(shapes)}"


def check_batches_are_independent_runs(mechanism: object) -> None:
    """One call for n outputs is n calls for one: same law, no noise shared within a batch."""
    from scipy.stats import ks_2samp

    inner = as_mechanism(mechanism)
    if not inner.batched:
        return
    where, data = _sides(mechanism)[0]
    batch = _read(mechanism, data, _SAMPLES, 3)
    rng = np.random.default_rng(4)
    singles = [
        encode_batch(inner.function(copy.deepcopy(data), 1, rng), 1) for _ in range(_SAMPLES)
    ]
    one, two = shapes_of(batch), {shape for each in singles for shape in shapes_of(each)}
    assert one == two, f"{where}: shapes {sorted(one)} together, {sorted(two)} apart"
    reader = learn_reader([batch], singles)
    together = reader.rows(batch)
    apart = np.concatenate([reader.rows(each) for each in singles])
    columns = together.shape[1]
    for column in range(columns):
        p = float(ks_2samp(together[:, column], apart[:, column]).pvalue)
        assert p > _FALSE_ALARM / columns, (
            f"{where}: column {column} of a batch does not look like single runs (p = {p:.1e}); is "
            "noise shared within the batch?"
        )


def _searched(mechanism: object) -> list[Pair]:
    """The pairs that were given, or the worst that a search among described records finds."""
    declared = declaration(mechanism)
    if declared.records is None:
        return as_pairs(declared.neighbours)
    relation, form = as_neighbours(declared.adjacency), declared.form or default_form()
    return (
        PairSearch(declared.records, relation, form).find(as_mechanism(mechanism), Runner()).pairs
    )


def check_privacy(mechanism: object) -> None:
    """Keeps its claim on its neighbours, as far as an audit can tell."""
    __tracebackhide__ = True
    declared = declaration(mechanism)
    audit_in_test(
        mechanism,
        claim=declared.claim,
        neighbours=_searched(mechanism),
        adjacency=declared.adjacency,
        name=str(getattr(mechanism, "__name__", type(mechanism).__name__)),
    )


_ALL = (
    Check(check_states_its_claim),
    Check(check_pairs_are_neighbours),
    Check(check_accepts_neighbours),
    Check(check_leaves_data_alone),
    Check(check_same_seed_same_output),
    Check(check_noise_is_fresh),
    Check(check_shape_is_stable),
    Check(check_batches_are_independent_runs),
    Check(check_privacy, audits_privacy=True),
)


def all_checks() -> tuple[Check, ...]:
    """Every check, cheapest first.

    >>> all_checks()[-1]
    check_privacy
    """
    return _ALL
