"""What an audit may spend."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

from dpcheck.auditing.mechanism import Mechanism
from dpcheck.auditing.outputs.reader import MOST_COLUMNS

_GAME = 512  # calls a side that are guessed, at most, before anything is learned in bulk
_SPARE = 0.8  # of the time left, for calls; the rest is for learning from them
_LEAST = 2048  # runs a side below which nothing is set aside for learning


@dataclass(slots=True)
class Pace:
    """How long calls took so far, all workers together; fills while an audit runs.

    The first calls also import and compile what they call: they count until others were timed.
    """

    calls: int = 0
    seconds: float = 0.0
    warm: bool = False
    quickest: float = math.inf  # seconds a call of the calls that were timed together

    def took(self, calls: int, seconds: float) -> None:
        """Note how long some calls took."""
        if self.calls and not self.warm:
            self.calls, self.seconds, self.warm = 0, 0.0, True
        self.calls += calls
        self.seconds += seconds
        if calls:
            self.quickest = min(self.quickest, seconds / calls)

    def at_best(self) -> Pace:
        """The pace of the quickest calls: what a busy machine adds to others is not their own.

        >>> pace = Pace()
        >>> for calls, seconds in ((4, 1.0), (10, 0.1), (10, 3.0)):
        ...     pace.took(calls, seconds)
        >>> round(pace.at_best().needs(1000), 6)
        10.0
        """
        return Pace() if math.isinf(self.quickest) else Pace(1, self.quickest, warm=True)

    def needs(self, calls: int) -> float | None:
        """Seconds that so many calls will take; None if nobody knows."""
        return None if self.calls == 0 else calls * self.seconds / self.calls

    def within(self, seconds: float) -> int | None:
        """Calls that fit into so many seconds; None if nobody knows."""
        if self.calls == 0 or self.seconds <= 0 or math.isinf(seconds):
            return None
        return int(max(0.0, seconds) * self.calls / self.seconds)


@dataclass(slots=True)
class Early:
    """Calls made before the game, to follow the noise and to test what it named: the game has less."""

    calls: int = 0

    @property
    def runs(self) -> int:
        """Of them on one side; both sides are called about as often."""
        return -(-self.calls // 2)


@dataclass(frozen=True, slots=True)
class Limits:
    """What an audit may spend. Runs are per side; `alpha` is its share of the error rate.

    `max_runs` bounds all calls on a side, those to learn from included.
    """

    alpha: float = 1e-3
    max_runs: int | None = None
    learning_runs: int | None = None
    sharpening_runs: int | None = None
    tolerance: float = 0.25
    stop_early: bool = True
    trees: bool = True
    check_every_batch: bool = False  # rather than each time the runs have doubled; every call
    reach: float | None = None  # stop once the lower bound is this large, whatever the claim
    deadline: float = math.inf  # by time.time(): the best verdict so far is given then
    pace: Pace = field(default_factory=Pace, compare=False)
    early: Early = field(default_factory=Early, compare=False)  # of one part

    @property
    def seconds_left(self) -> float:
        """Until the deadline."""
        return self.deadline - time.time()

    def runs_for(self, mechanism: Mechanism) -> int:
        """Runs a side at most, of all kinds."""
        if self.max_runs is not None:
            return self.max_runs
        wide = max(1, mechanism.width // MOST_COLUMNS)  # such outputs take long to make
        return max(200_000, 4_000_000 // wide) if mechanism.batched else 200_000

    def leaves_room_to_learn(self, mechanism: Mechanism) -> bool:
        """Whether runs are worth setting aside; else every call is guessed and learned from.

        They are not where few are allowed, or where few more calls will fit into the time left.
        """
        affordable = self.pace.within(self.seconds_left)
        return self.runs_for(mechanism) >= _LEAST and (
            affordable is None or affordable >= 2 * _LEAST
        )

    def named_for(self, mechanism: Mechanism) -> int:
        """Calls on both sides that may test the events that following the noise named."""
        return self.runs_for(mechanism) // 2

    def game_for(self, mechanism: Mechanism) -> int:
        """Calls a side that may be guessed one by one; earlier calls are taken off."""
        if self.leaves_room_to_learn(mechanism):
            return self.short_game(mechanism)
        return max(1, self.runs_for(mechanism) - self.early.runs)

    def short_game(self, mechanism: Mechanism) -> int:
        """Calls a side of a game that leaves room to learn."""
        return max(1, self._before_learning(mechanism) - self.early.runs)

    def _before_learning(self, mechanism: Mechanism) -> int:
        """By the number of runs alone: what is left must not change while the time runs out."""
        most = self.runs_for(mechanism)
        return min(_GAME, most // 8) if most >= _LEAST else most

    def after_game(self, mechanism: Mechanism) -> int:
        """Runs a side that are left after the game."""
        return max(1, self.runs_for(mechanism) - self._before_learning(mechanism))

    def in_time(self, mechanism: Mechanism) -> Limits:
        """These limits with no more runs after the game than fit into the time left.

        So that a part of them is left to test on what the others taught. Asked once, before learning.
        """
        affordable = self.pace.within(_SPARE * self.seconds_left)
        if affordable is None or affordable // 2 >= self.after_game(mechanism):
            return self
        return replace(self, max_runs=self._before_learning(mechanism) + affordable // 2)

    def learning_for(self, mechanism: Mechanism, pairs: int = 1) -> int:
        """Runs a side and pair to learn scores from, on the one or two pairs that are kept."""
        if self.learning_runs is not None:
            return self.learning_runs
        wanted = 1 << 17 if mechanism.batched and mechanism.width <= MOST_COLUMNS else 8192
        return max(1, min(wanted, self.after_game(mechanism) // (8 * min(2, pairs))))

    def sharpening_for(self, mechanism: Mechanism, pairs: int = 1) -> int:
        """Further runs a side and pair to count cells on, and as many to choose thresholds on."""
        if self.sharpening_runs is not None:
            return self.sharpening_runs
        left = self.after_game(mechanism)
        return max(1, min(left // (16 * min(2, pairs)), max(8192, left // 16)))

    def testing_for(self, mechanism: Mechanism, learned: int) -> int:
        """Runs a side that are left to test on; a night without an early stop has its own."""
        if not self.stop_early:
            return self.runs_for(mechanism)
        return max(1, self.after_game(mechanism) - learned)

    def screening_for(self, mechanism: Mechanism, pairs: int) -> int:
        """Runs a side and pair to tell which of many pairs are worth learning on, in each of two steps."""
        return max(1, self.after_game(mechanism) // (16 * pairs))
