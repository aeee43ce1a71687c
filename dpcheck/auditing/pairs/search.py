"""From descriptions to the pairs worth auditing: plain ones first, then people of several kinds.

Pairs are rated by exact losses where noise can be followed, by how far the same draws are moved, and by
runs on both sides. The audit tests the chosen pairs on fresh runs, so that nothing here costs confidence.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpcheck.auditing.mechanism import Mechanism, Pair, SingleCall
from dpcheck.auditing.outputs.reader import learn_reader
from dpcheck.auditing.outputs.summaries import separation
from dpcheck.auditing.outputs.tables import Encoded
from dpcheck.auditing.pairs.answers import AnswerBreeder, Answers, plain_answers
from dpcheck.auditing.pairs.candidates import Candidate, candidates
from dpcheck.auditing.pairs.constants import constants_of
from dpcheck.auditing.pairs.coupling import coupled_batch
from dpcheck.auditing.pairs.crowds import Breeder, Crowd
from dpcheck.auditing.pairs.forms import FORMS, Form
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import MechanismFailed, RunTimedOut, TimeLimitReached
from dpcheck.core.records import Records
from dpcheck.core.relation import Relation
from dpcheck.execution.interrupts import interruptible, time_limited
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.execution.store import Arrays
from dpcheck.replay import Scorer

_FIRST_LOOK = 24  # runs a side on every pair that is compared by runs
_LAST_MEASURE = 192  # and on those that are left
_BY_RUNS = 12  # pairs that are compared by runs
_LIKELY = 8  # plain pairs that are followed first; the others only where one of these could be
_KEPT = 2  # pairs that are audited
_UNRATED = 12  # and where there was no time to rate any
_ROUND = 64  # crowds a round
_AT_ONCE = 8  # pairs that are compared at once where there is a time limit
_PARENTS = 12  # the best so far, from which the next round is bred
_FOLLOWED = 6  # of a round, whose noise is followed
_FEWEST = 2  # rounds
_RUNS_A_ROUND = 400  # that an audit must be allowed
_WORTH = 120.0  # seconds that rounds of slow calls may take together
_ATTAINED = 0.99  # of what is proved of the code
_HARMLESS = 1e-3  # a loss not worth a look
_INFINITE, _TAIL = 1e6, 1e-6  # infinite losses are compared at this delta
_SECONDS = 10.0  # in which both sides of a pair must be followed


@dataclass(frozen=True, slots=True)
class FoundPairs:
    """The pairs worth auditing, and how many were tried to find them; `late` where time ran out."""

    pairs: list[Pair]
    tried: int
    late: bool = False


@dataclass(frozen=True, slots=True)
class PairSearch:
    """Searches the pairs of a description on which a mechanism's outputs differ most.

    `most` plain pairs are tried, and `rounds` rounds of crowds.
    """

    description: Records
    adjacency: Adjacency | Relation
    form: Form
    most: int = 64
    rounds: int = 24

    def find(
        self,
        mechanism: Mechanism,
        runner: Runner,
        delta: float = 0.0,
        claim: float = math.inf,
        proved: float = math.inf,
    ) -> FoundPairs:
        """The most promising pairs, shrunk; it ends where one has an exact loss above `claim` at `delta`.

        It also ends where a loss attains what is `proved` of the code. At a time limit the best pairs so
        far are given.
        """
        hunt = _Hunt(self, mechanism, runner.within("pairs"), delta, claim, proved)
        late = False
        try:
            hunt.plain()
            if not mechanism.is_outside:
                hunt.crowds()
            hunt.choose()
        except TimeLimitReached:
            late = True
        kept = hunt.kept()
        return FoundPairs([self.pair(one) for one in kept], len(hunt.tried), late)

    def unsearched(self) -> FoundPairs:
        """The first plain pairs, for when there is no time at all."""
        listed = self.plain(_UNRATED)
        return FoundPairs([self.pair(one) for one in listed], len(listed), late=True)

    def plain(self, most: int) -> list[Candidate]:
        """At most so many plain pairs."""
        if isinstance(self.adjacency, Relation):
            return plain_answers(self.description, self.adjacency, most)
        return candidates(self.description, self.adjacency, most)

    def breeder(self, function: object, rng: np.random.Generator) -> Breeder | AnswerBreeder:
        """What makes others, with the numbers and words of the code."""
        numbers, texts = constants_of(function)
        if isinstance(self.adjacency, Relation):
            return AnswerBreeder(self.description, self.adjacency, numbers, rng)
        return Breeder(self.description, self.adjacency, numbers, texts, rng)

    def within(self, max_runs: int | None) -> PairSearch:
        """The search for an audit of at most so many runs."""
        if max_runs is None:
            return self
        return replace(self, rounds=min(self.rounds, max(_FEWEST, max_runs // _RUNS_A_ROUND)))

    def rounds_for(self, seconds: float) -> int:
        """Rounds worth their time where a call takes so long: few steps, which chance does not cross.

        >>> from dpcheck.core.records import number, records
        >>> search = PairSearch(records(x=number(0, 1)), Adjacency.ADD_REMOVE, Form.ARRAY)
        >>> [search.rounds_for(seconds) for seconds in (1e-3, 0.04, 0.05, 0.1, 10.0)]
        [24, 8, 8, 4, 2]
        """
        worth = _WORTH / (3 * _ROUND * max(seconds, 1e-9))
        steps = (2**step for step in range(self.rounds.bit_length(), 0, -1))
        return max(_FEWEST, min(self.rounds, next((step for step in steps if step <= worth), 0)))

    def pair(self, candidate: Candidate) -> Pair:
        """The two datasets of a candidate."""
        return candidate.pair(self.description, self.form)


@dataclass(slots=True)
class _Rated:
    """A candidate and what is known of it: its exact loss (-1: not followed), how far draws are moved."""

    candidate: Candidate
    crowd: Crowd | Answers | None = None
    loss: float = -1.0
    moved: float = -1.0


@dataclass(slots=True)
class _Hunt:
    """The search so far."""

    search: PairSearch
    mechanism: Mechanism
    runner: Runner
    delta: float
    claim: float
    proved: float
    tried: dict[str, _Rated] = field(default_factory=dict)
    chosen: list[Candidate] = field(default_factory=list)
    quickest: float = 0.0  # seconds of a call, by itself
    returns: bool = False  # known after a call that was followed took too long
    _stages: int = 0

    def plain(self) -> None:
        """The plain pairs, each followed where some of the first can be."""
        listed = self.search.plain(self.search.most)
        rated = [_Rated(each) for each in listed]
        if not self.mechanism.is_outside and self._attained(rated):
            return
        for each in rated:
            self.tried[_key(each.candidate)] = each
        if self.mechanism.is_outside:
            return
        self._follow([one for one in rated[:_LIKELY] if one.loss < 0])
        if any(one.loss >= 0 for one in rated[:_LIKELY]):
            self._follow([one for one in rated[_LIKELY:] if one.loss < 0])
            if self._is_enough():
                return
        self._couple(rated)
        likely = [one for one in rated if one.loss < 0 < one.moved]
        self._follow(sorted(likely, key=lambda one: -one.moved)[:_FOLLOWED])

    def _attained(self, rated: Sequence[_Rated]) -> bool:
        """Whether one of the first pairs attains what is proved of the code; then it alone was tried."""
        for one in rated[:_LIKELY] if math.isfinite(self.proved) else ():
            self._follow([one])
            self.tried[_key(one.candidate)] = one
            if is_attained(one.loss, self.proved):
                return True
        return False

    def crowds(self) -> None:
        """People of several kinds: at random first, then bred from the best."""
        seed = self.runner.seeds("crowds", 0)
        breeder = self.search.breeder(self.mechanism.function, generator(seed))
        for number in range(self.search.rounds):
            if self._is_enough() or number >= self.search.rounds_for(self.quickest):
                return
            fresh = self._bred(breeder, share=0.0 if number < 4 else 0.6)
            if not fresh:
                return
            self._couple(fresh)
            likely = sorted(fresh, key=lambda one: -one.moved)[:_FOLLOWED]
            self._follow([one for one in likely if one.moved > 0])

    def _bred(self, breeder: Any, share: float) -> list[_Rated]:
        """A round of crowds that were not tried yet, so many of them from the best."""
        parents = [one.crowd for one in self._ranked() if one.crowd is not None][:_PARENTS]
        fresh: list[_Rated] = []
        for _ in range(4 * _ROUND):
            crowd = breeder.random()
            if parents and breeder.rng.random() < share:
                one, two = (parents[int(i)] for i in breeder.rng.integers(len(parents), size=2))
                crowd = (
                    breeder.near(one) if breeder.rng.random() < 0.8 else breeder.crossed(one, two)
                )
            candidate = crowd.candidate(self.search.description)
            key = _key(candidate)
            if key in self.tried or repr(candidate.first) == repr(candidate.second):
                continue
            self.tried[key] = _Rated(candidate, crowd)
            fresh.append(self.tried[key])
            if len(fresh) == _ROUND:
                break
        return fresh

    def _ranked(self) -> list[_Rated]:
        """The best first: by exact loss, then by how far the same draws are moved."""
        return sorted(self.tried.values(), key=lambda one: (-one.loss, -one.moved))

    def _is_enough(self) -> bool:
        losses = [one.loss for one in self.tried.values()]
        return any(loss > self.claim or is_attained(loss, self.proved) for loss in losses)

    def choose(self) -> None:
        """The pairs to audit: of exact losses the largest; of the others the best by runs."""
        best = [one.candidate for one in self._ranked() if one.loss > _HARMLESS][:1]
        self.chosen = [self._shrunk(one, self._loss) for one in best]
        if self._is_enough():
            return
        others = [one for one in self._ranked() if one.loss < 0]
        others.sort(key=lambda one: -one.moved)
        left = [one.candidate for one in others[: _BY_RUNS if best else 4 * _BY_RUNS]]
        runs = _FIRST_LOOK
        while len(left) > _KEPT:
            found = [self._apart(one, runs) for one in left]
            order = sorted(range(len(left)), key=lambda i: -found[i])
            left = [left[i] for i in order[: max(_KEPT, len(left) // 3)]]
            runs = min(_LAST_MEASURE, 2 * runs)
        if left:
            left[0] = self._shrunk(left[0], lambda one: self._apart(one, _LAST_MEASURE))
        second = [one.candidate for one in self._ranked() if one.loss > _HARMLESS][1:2]
        self.chosen += left + second

    def kept(self) -> list[Candidate]:
        """What was chosen, or what seems best so far; of pairs nobody could rate, some more."""
        if self.chosen:
            return self.chosen[:_KEPT]
        rated = any(one.loss >= 0 or one.moved >= 0 for one in self.tried.values())
        return [one.candidate for one in self._ranked()][: _KEPT if rated else _UNRATED]

    def _shrunk(self, best: Candidate, height: Callable[[Candidate], float]) -> Candidate:
        """The candidate with as few others as the finding needs."""
        if self.search.description.rows is not None:
            return best  # the number of rows is public
        reached = height(best)
        for size in (0, 1, 2, 4):
            smaller = replace(best, shared=best.shared[:size])
            if size < len(best.shared) and height(smaller) >= 0.9 * reached:
                left = {0: "alone", 1: "with 1 other record"}.get(
                    size, f"with {size} other records"
                )
                return replace(smaller, label=f"{best.label} (reduced: {left})")
        return best

    def _loss(self, candidate: Candidate) -> float:
        one = _Rated(candidate)
        self._follow([one])
        return one.loss

    def _follow(self, rated: Sequence[_Rated]) -> None:
        """Two calls a pair: the exact loss at delta, if both sides are followed."""
        self.runner.progress.stage(f"{self.runner.prefix}: following {len(rated)} pairs")
        for one in rated:
            pair = self.search.pair(one.candidate)
            found = self._batch(followed_batch, pair.first, pair.second, self.delta)
            one.loss = float(found["score"][0]) if found["followed"][0] else -1.0
            if found["late"][0]:
                self._check_that_it_returns(pair)

    def _check_that_it_returns(self, pair: Pair) -> None:
        """Once, by calls that nobody follows: RunTimedOut if these take longer than the user allows, too."""
        if not self.returns:
            list(self.runner.batches("returns", range(1), coupled_batch, self.mechanism, [pair]))
            self.returns = True

    def _couple(self, rated: Sequence[_Rated]) -> None:
        self.runner.progress.stage(f"{self.runner.prefix}: {len(self.tried):,} pairs tried")
        # Where time may run out, what was done by then is kept.
        size = len(rated) if math.isinf(self.mechanism.deadline) else _AT_ONCE
        for start in range(0, len(rated), size):
            part = rated[start : start + size]
            found = self._batch(coupled_batch, [self.search.pair(one.candidate) for one in part])
            self.quickest = float(found["quickest"][0])
            for one, moved in zip(part, found["score"], strict=True):
                one.moved = float(moved)

    def _apart(self, candidate: Candidate, runs: int) -> float:
        """How far apart the outputs are on so many runs; -1 where nothing can be said."""
        pair = self.search.pair(candidate)
        return float(self._batch(apart_batch, pair.first, pair.second, runs)["apart"][0])

    def _batch(self, measure: Callable[..., Arrays], *arguments: object) -> Arrays:
        stage = f"{measure.__name__}-{self._stages}"
        self._stages += 1
        (batch,) = self.runner.batches(stage, range(1), measure, self.mechanism, *arguments)
        return batch


def is_attained(loss: float, proved: float | None) -> bool:
    """Whether a loss is so close to a bound that no search can find much more.

    >>> is_attained(0.995, 1.0), is_attained(0.9, 1.0), is_attained(1.0, math.inf)
    (True, False, False)
    """
    return proved is not None and math.isfinite(proved) and 0 < _ATTAINED * proved <= loss


def _key(candidate: Candidate) -> str:
    return repr((candidate.shared, candidate.first, candidate.second, candidate.before))


def followed_batch(
    mechanism: Mechanism, first: object, second: object, delta: float, seed: np.random.SeedSequence
) -> Arrays:
    """What replay says of the pair in two calls: its loss at `delta`, if both sides are followed."""
    scorer = Scorer(SingleCall(mechanism), delta, int(seed.generate_state(1)[0]))
    height, followed, began = 0.0, False, time.monotonic()
    try:
        with interruptible(), time_limited(mechanism.timeout or _SECONDS, fatal=False):
            rated = scorer.rate((first, second))
            height, followed = rated.score, rated.followed
            if followed and math.isinf(height):  # as for normal noise; some are worse still
                height = _INFINITE + scorer.rate((first, second), _TAIL).score
    except RunTimedOut:
        followed = False
    late = mechanism.timeout is not None and time.monotonic() - began >= mechanism.timeout
    found = {"score": height, "followed": followed, "late": late}
    return {name: np.array([value]) for name, value in found.items()}


def apart_batch(
    mechanism: Mechanism, first: object, second: object, size: int, seed: np.random.SeedSequence
) -> Arrays:
    """How far apart the outputs of both sides are, on `size` runs each."""
    one, two = seed.spawn(2)
    sides = [
        _observed(mechanism, data, size, generator(each))
        for data, each in ((first, one), (second, two))
    ]
    return {"apart": np.array([_apart(sides[0], sides[1])])}


def _observed(
    mechanism: Mechanism, data: object, size: int, rng: np.random.Generator
) -> Encoded | None:
    try:
        return mechanism.observe(data, size, rng)
    except MechanismFailed:  # a batched one, on data it cannot take
        return None


def _apart(first: Encoded | None, second: Encoded | None) -> float:
    """Standard errors by which the column that differs most differs; failures tell nothing.

    Of equal spread but for certain columns (constant on each side) the gap counts as well.
    """
    if first is None or second is None:
        return -1.0
    if first.raised == first.size and second.raised == second.size:
        return -1.0
    reader = learn_reader([first], [second])
    one, two = reader.rows(first), reader.rows(second)
    ranks = separation(one, two)
    spread = np.sqrt(0.5 * (one.var(axis=0) + two.var(axis=0)))
    gap = np.abs(one.mean(axis=0) - two.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    certain = (spread == 0) & (one[0] != two[0])
    return float(np.max(ranks + np.minimum(gap, 100.0) + 100.0 * certain))


@contextmanager
def handed_over(search: PairSearch | None) -> Iterator[None]:
    """An error of the code says in which form the data came, if they were made up from a description."""
    try:
        yield
    except MechanismFailed as error:
        if search is None:
            raise
        hint = (
            f" It was given data in the form {str(search.form)!r}, {FORMS[search.form]}; if it takes "
            f"another, declare form= one of {', '.join(repr(str(f)) for f in FORMS)}."
        )
        raise type(error)(error.message + hint, **error.data) from error
