"""What an auditor needs of a mechanism, and the decorators that let a plain function be one."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.guard import OUTSIDE, guarded
from dpcheck.auditing.outputs.encode import plain_rows
from dpcheck.auditing.outputs.kinds.containers import settled
from dpcheck.auditing.outputs.tables import Encoded
from dpcheck.auditing.pairs.forms import Form, as_form
from dpcheck.auditing.pairs.inference import infer_records
from dpcheck.auditing.signatures import fitted
from dpcheck.core.data import Data, Output, Plain
from dpcheck.core.errors import InvalidParameter, NothingToAudit
from dpcheck.core.records import Records
from dpcheck.core.relation import Relation
from dpcheck.core.validate import count

Array = NDArray[np.float64]
F = TypeVar("F", bound=Callable[..., Output])
_BATCHED = "__dpcheck_batched__"
_AUDITED = "__dpcheck_audited__"
_MOST_AT_ONCE = 1 << 22  # numbers of one batch


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbouring datasets and how they came about.

    They differ in the rows of one person, which are at most `rows_per_person`.
    """

    first: Data
    second: Data
    label: str = "pair"
    rows_per_person: int = 1


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Runs of `function`; with `log_density(data, outputs)` its exact loss is known too.

    `function` is (data, rng) -> output, or (data, size, rng) -> outputs when `batched`; made by
    `as_mechanism` it may be any callable that takes its data, with or without randomness.
    """

    function: Callable[..., Output]
    batched: bool = False
    timeout: float | None = None
    log_density: Callable[..., Output] | None = None
    batch_runs: int | None = None
    deadline: float = math.inf  # by time.time(): no call goes on after it
    width: int = 1  # numbers per output of a batched mechanism, where that is known to be many

    @property
    def batch(self) -> int:
        """Runs per batch: fixed, so results do not depend on who computes them."""
        if self.batch_runs is not None:
            return self.batch_runs
        return max(64, min(1 << 16, _MOST_AT_ONCE // self.width)) if self.batched else 512

    @property
    def is_outside(self) -> bool:
        """Whether its runs are made by another process, where nothing can be followed."""
        return hasattr(self.function, OUTSIDE)

    def observe(self, data: Data, size: int, rng: np.random.Generator) -> Encoded:
        """`size` outputs of any kind, read."""
        return guarded(
            self.function,
            data,
            size,
            rng,
            batched=self.batched,
            timeout=self.timeout,
            deadline=self.deadline,
        )

    def sample(self, data: Data, size: int, rng: np.random.Generator) -> Array:
        """`size` outputs that must be numbers or arrays of one shape, as rows."""
        return plain_rows(self.observe(data, size, rng))


@dataclass(frozen=True, slots=True)
class SingleCall:
    """A mechanism as (data, rng) -> output, whatever it is called like."""

    mechanism: Mechanism

    @property
    def __wrapped__(self) -> Callable[..., Output]:
        return self.mechanism.function

    def __call__(self, data: Data, rng: np.random.Generator) -> Output:
        """One output; what is computed only when it is asked for is asked for now."""
        if self.mechanism.batched:
            return self.mechanism.function(data, 1, rng)
        return settled(self.mechanism.function(data, rng))


@dataclass(frozen=True, slots=True)
class Declaration:
    """What `@audited` recorded: the claim as given, its adjacency, neighbours or canaries."""

    claim: Plain
    adjacency: str | Relation
    neighbours: tuple[Pair, ...]
    canaries: int | None = None
    guesses: int | None = None
    trainings: int = 1
    scores: str = "any"
    records: Records | None = None
    form: Form | None = None


def batched(function: F) -> F:
    """Mark `(data, size, rng) -> array` as a mechanism that makes many outputs in one call."""
    setattr(function, _BATCHED, True)
    return function


def audited(
    *,
    claim: Plain,
    adjacency: str | Relation,
    neighbours: Sequence[Data] = (),
    records: Records | Data | None = None,
    form: str | None = None,
    rows_per_person: int = 1,
    canaries: int | None = None,
    guesses: int | None = None,
    trainings: int = 1,
    scores: str = "any",
) -> Callable[[F], F]:
    """Make a function a target of `dpcheck audit file.py:name`.

    `claim` is an event (its whole curve is tested), a Budget, or a number (pure epsilon). With
    `neighbours` the function is (data, rng) -> output; `rows_per_person` is how many rows of them
    one person may own. With `records`, a description of a record or a table to guess it from, the
    audit searches neighbours itself and passes them in the `form` that is named: "pandas",
    "polars", "dicts", "columns", "array" or "values". With `canaries` it is a training that runs
    once, (included, rng) -> scores: it adds the canaries whose entry of `included` is true to its
    data, and scores every canary, higher where it seems to have been in. `guesses` coins are then
    guessed (by default as many as serve the claim best). `trainings` runs it as often, with new
    coins, and combines what they prove. scores="independent" states that the scores of different
    canaries are independent given their coins, which proves much more; "any" supposes nothing.
    """
    pairs = (
        ()
        if none_given(neighbours)
        else tuple(as_pairs(neighbours, count("rows_per_person", rows_per_person)))
    )
    ways = [bool(pairs), records is not None, canaries is not None]
    if sum(ways) != 1:
        raise InvalidParameter(
            "give one of neighbours=[(D, D2), ...], records=dpcheck.records(...), or canaries=m "
            "for an audit of one training run.",
            name="neighbours",
        )
    if canaries is not None:
        count("canaries", canaries, at_least=2)
        if not 1 <= (guesses or 1) <= canaries:
            raise InvalidParameter("guesses must be between 1 and canaries.", name="guesses")
    count("trainings", trainings)
    if scores not in ("any", "independent"):
        raise InvalidParameter(
            f'scores must be "any" or "independent", not {scores!r}.', name="scores"
        )
    described = None if records is None else as_records(records)

    def mark(function: F) -> F:
        shape = None if form is None else as_form(form)
        declared = Declaration(
            claim,
            adjacency if isinstance(adjacency, Relation) else str(adjacency),
            pairs,
            canaries,
            guesses,
            trainings,
            scores,
            described,
            shape,
        )
        try:
            setattr(function, _AUDITED, declared)
        except AttributeError:  # a bound method, or compiled code: it cannot be marked itself
            function = cast(F, functools.update_wrapper(functools.partial(function), function))
            setattr(function, _AUDITED, declared)
        return function

    return mark


def as_records(records: Records | Data) -> Records:
    """A description of a record, or one guessed from a table."""
    return records if isinstance(records, Records) else infer_records(records)


def none_given(neighbours: object) -> bool:
    """Whether no pairs were given; anything but an empty list is looked at."""
    return isinstance(neighbours, list | tuple) and not neighbours


def is_audited(function: object) -> bool:
    """Whether `@audited` says what it claims."""
    return isinstance(getattr(function, _AUDITED, None), Declaration)


def declaration(function: object) -> Declaration:
    """What `@audited` said about a target."""
    found = getattr(function, _AUDITED, None)
    if not isinstance(found, Declaration):
        if not callable(function):
            raise NothingToAudit(
                f"a mechanism is a function, and this is of type {type(function).__name__}."
            )
        raise NothingToAudit(
            "this function has no claim yet. Let `dpcheck init FILE.py:FUNCTION` write one, or decorate "
            "the function with @dpcheck.audited(claim=..., adjacency=..., records=...)."
        )
    return found


def as_mechanism(target: Any, timeout: float | None = None) -> Mechanism:
    """A mechanism from a callable, or from an object with sample_releases."""
    if isinstance(target, Mechanism):
        return target
    if hasattr(target, "sample_releases"):
        return Mechanism(
            target.sample_releases, True, timeout, getattr(target, "log_density", None)
        )
    if not callable(target):
        raise NothingToAudit(
            f"{target!r} is not callable; a mechanism is a function (data, rng) -> output."
        )
    is_batched = bool(getattr(target, _BATCHED, False))
    density = getattr(target, "log_density", None)
    if density is not None:
        density = OutputDensity(density, is_batched)
    return Mechanism(fitted(target, target, is_batched), is_batched, timeout, density)


@dataclass(frozen=True, slots=True)
class OutputDensity:
    """A user's log_density, given outputs as the mechanism returned them, one by one or batched."""

    function: Callable[..., Any]
    batched: bool

    @property
    def anywhere(self) -> bool:
        """Whether it says so: right at every output, -inf at impossible ones."""
        return bool(getattr(self.function, "anywhere", False))

    def __call__(self, data: Data, outputs: Array) -> Array:
        """One number per row of encoded outputs."""
        plain: Any = outputs[:, 0] if outputs.shape[1] == 1 else outputs
        if self.batched:
            return np.asarray(self.function(data, plain), dtype=float)
        return np.asarray([float(self.function(data, output)) for output in plain])


def as_pairs(neighbours: Sequence[Data], rows_per_person: int = 1) -> list[Pair]:
    """Pairs of datasets, checked."""
    if isinstance(neighbours, Records):
        raise InvalidParameter(
            "neighbours= takes pairs of datasets. Give a description as records=.",
            name="neighbours",
        )
    tabular = isinstance(neighbours, str | bytes | Mapping) or hasattr(neighbours, "shape")
    if tabular or not isinstance(neighbours, Iterable):
        raise InvalidParameter(
            f"neighbours must be a list of pairs of datasets, [(D, D2), ...], not "
            f"{type(neighbours).__name__}.",
            name="neighbours",
        )
    given = list(neighbours)
    if not given:
        raise NothingToAudit(
            "no neighbouring datasets were given; pass neighbours=[(D, D2)], or "
            "records=dpcheck.records(...) to let dpcheck search for them."
        )
    pairs = []
    for index, item in enumerate(given):
        if isinstance(item, Pair):
            pairs.append(item)
        elif isinstance(item, tuple | list) and len(item) == 2:
            pairs.append(Pair(item[0], item[1], f"pair {index}", rows_per_person))
        else:
            raise InvalidParameter(
                f"neighbours[{index}] must be a pair of datasets (D, D2).", name="neighbours"
            )
    return pairs
