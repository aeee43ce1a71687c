"""The attack on a proof: the function itself against what was proved of it, on data that fit.

(a) the function's own output is that of the prover's run, with the same seed; (b) every private value lies
in its interval and differs between neighbours by no more than was proved; (c) the exact loss that replay
finds on those pairs is at most what was proved. A contradiction is a mistake of dpcheck's: the proof is
not announced.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from dpcheck.attack.compare import same
from dpcheck.attack.datasets import Space, pairs, space_of
from dpcheck.attack.interface import CannotEvaluate, EvaluatedRelease, Evaluation, Proved
from dpcheck.auditing.plain import plain, plain_pair
from dpcheck.core.data import Data
from dpcheck.core.errors import NotProvable, ProofsContradict
from dpcheck.execution.randomness import seeded
from dpcheck.replay import examine
from dpcheck.replay.run import Observer

Function = Callable[[Data, np.random.Generator], Data]
Pair = tuple[Data, Data]
SECONDS = 0.5  # of one CPU, for the runs and for replay each
_RUN, _REPLAYED = 40, 12  # pairs at most
_SLOW = 0.005  # seconds of a call that replay is not made for: followed, ten of them take seconds
_SHOWN = 10_000  # numbers of a dataset that the error carries; its message shows the beginning
_DELTAS = (0.0, 1e-6, 1e-2)
# Sums of floats in another order, and followed draws: far above rounding, far below any leak.
_ROOM = 1e-6
_SOMETIMES = "the function raises on some data and not on others"


def _while_time_lasts(space: Space, proof: Proved, seed: int, most: int) -> Iterator[Pair]:
    """Pairs, the first of them at any cost."""
    ends = time.process_time() + SECONDS
    for number, pair in enumerate(islice(pairs(space, proof.adjacency, seed), most)):
        if number and time.process_time() > ends:
            return
        yield pair


def attack(
    function: Function,
    data: Data,
    form: str | None,
    proof: Proved,
    evaluation: Evaluation,
    *,
    seed: int = 0,
) -> tuple[str, ...]:
    """Raise ProofsContradict, with the case, where the function does what its proof excludes.

    Returned is what could not be tried, in words. NotProvable is raised where the function gives two outputs
    for one dataset and one seed: it keeps state or draws from elsewhere, and no proof of one call speaks
    about it; and where it always fails.
    """
    space = space_of(data, form)
    if space is None:
        return ("the proof was not attacked: nothing like the example could be made up",)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        skipped = _against_itself(function, space, proof, evaluation, seed)
        _replayed(function, space, proof, seed)
    return () if skipped is None else (skipped,)


def _against_itself(
    function: Function, space: Space, proof: Proved, evaluation: Evaluation, seed: int
) -> str | None:
    """(a) and (b) on random and extreme pairs; why they were left out, if they were."""
    failed, skipped = 0, None
    for pair in _while_time_lasts(space, proof, seed, _RUN):
        try:
            made = [evaluation.evaluate(copy.deepcopy(side), seed) for side in pair]
        except CannotEvaluate as error:
            raised = [isinstance(_called(function, side, seed), _Raised) for side in pair]
            failed += sum(raised)
            if failed and not all(raised):
                raise _contradiction(_SOMETIMES, pair) from error
            if failed:
                continue
            skipped = f"the function was not compared with the program that was read ({error})"
            break
        for side, (output, releases) in zip(pair, made, strict=True):
            own = _called(function, side, seed)
            if isinstance(own, _Raised):
                failed += 1
            elif not same(output, own):
                again = _called(function, side, seed)
                if isinstance(again, _Raised) or not same(own, again):
                    raise _unrepeatable()
                raise _contradiction(
                    f"with one seed the function returns {_short(own)}, and the program as it was read "
                    f"{_short(output)}",
                    (side,),
                )
            _inside(releases, side)
            if failed and not isinstance(own, _Raised):
                raise _contradiction(_SOMETIMES, pair)
        _moves(made[0][1], made[1][1], pair, space.rows_per_person)
    if failed:
        raise NotProvable(
            "not provable: the function fails on data that fit its description; "
            "describe the data more closely, or try it on such data yourself.",
            kind="failed",
            remedy="describe the data more closely, or run it on such data yourself",
        )
    return skipped


@dataclass(frozen=True, slots=True)
class _Raised:
    error: str


def _called(function: Function, data: Data, seed: int) -> Data:
    """The function's own output; the global generators are set from the seed, too."""
    rng = np.random.default_rng(seed)
    try:
        with seeded(None, rng):
            return function(copy.deepcopy(data), rng)
    except Exception as error:
        return _Raised(type(error).__name__)


def _inside(releases: Sequence[EvaluatedRelease], data: Data) -> None:
    """Every private value lies in its interval."""
    for each in releases:
        room = _ROOM * np.maximum(1.0, np.maximum(np.abs(each.low), np.abs(each.high)))
        inside = (each.value >= each.low - room) & (each.value <= each.high + room)
        if not inside.all():
            raise _contradiction(
                f"{each.line}: {_short(each.value)} lies outside what was proved, "
                f"{_short(each.low)} to {_short(each.high)}",
                (data,),
            )


def _moves(
    first: Sequence[EvaluatedRelease],
    second: Sequence[EvaluatedRelease],
    pair: Pair,
    records: int,
) -> None:
    """Differences of neighbours, up to the first release that differs: later ones, and how many there are,
    may depend on it.

    What is proved of one record holds as many times for a person who has several.
    """
    for one, other in zip(first, second, strict=False):
        if one.sampled or one.value.shape != other.value.shape:
            return
        moved = np.abs(one.value - other.value)
        if not np.isfinite(moved).all():
            return  # outside of the interval, or infinite on both sides
        room = _ROOM * (
            1e-6 + max(np.abs(one.value).max(initial=0.0), np.abs(other.value).max(initial=0.0))
        )
        most = float(moved.max(initial=0.0))
        for norm, seen, proved in (
            ("L1", float(moved.sum()), one.l1),
            ("L2", most * float(np.sqrt(((moved / (most or 1.0)) ** 2).sum())), one.l2),
            ("largest entry", most, one.linf),
        ):
            allowed = records * proved
            if seen > allowed + room * moved.size:
                raise _contradiction(
                    f"{one.line}: neighbours differ by {seen:.9g} ({norm}), and {allowed:.9g} was proved",
                    pair,
                )
        if moved.any():
            return


def _replayed(function: Function, space: Space, proof: Proved, seed: int) -> None:
    """(c): exact losses on the same pairs."""
    known: dict[float, float] = {}
    began = time.process_time()
    first = next(pairs(space, proof.adjacency, seed), None)
    if first is None:
        return
    _called(function, first[0], seed)
    if time.process_time() - began > _SLOW:
        return
    observer = Observer(function)
    for pair in _while_time_lasts(space, proof, seed, _REPLAYED):
        finding = examine(function, pair, adjacency=proof.adjacency, seed=seed, observer=observer)
        if not finding.proved or not finding.parts:
            continue
        for delta in _DELTAS:
            lower = finding.epsilon(delta).lower
            if not lower:
                continue
            if delta not in known:
                known[delta] = proof.epsilon(delta=delta).upper
            if lower > known[delta] * (1 + _ROOM) + _ROOM:
                raise _contradiction(
                    f"the exact loss of one pair is {lower:.9g} at delta {delta:g}, and "
                    f"{known[delta]:.9g} was proved ({finding.sentence(delta)})",
                    pair,
                )


def _contradiction(what: str, data: tuple[Data, ...]) -> ProofsContradict:
    shown = [plain(side, _SHOWN) for side in data]
    if len(data) > 1:
        case = f"neighbours {_short(plain_pair(data[0], data[1]), 400)} of {_short(shown[0], 600)}"
    else:
        case = _short(shown[0], 600)
    return ProofsContradict(
        f"the proof is wrong, so none is given: {what}. The case: {case}. This is a mistake in dpcheck; "
        "please report it.",
        case=shown,
        what=what,
    )


def _unrepeatable() -> NotProvable:
    remedy = "draw from the generator that is handed in, and keep nothing between calls"
    return NotProvable(
        "not provable: two calls with the same data and the same generator give different outputs; "
        f"{remedy}.",
        kind="unrepeatable",
        remedy=remedy,
    )


def _short(value: Data, most: int = 120) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[:most] + "..."
