"""Which lattice points an epsilon lies between: a guess from four cumulants, then fewer and fewer points.

Nothing here is certified and nothing needs to be: any two neighbours with certified values on the two sides
of delta enclose an answer. The points that are tried depend on the question alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from dpcheck.numerics.rounding import TINY, Array, Indices
from dpcheck.numerics.side import Side
from dpcheck.numerics.uses import total

if TYPE_CHECKING:
    from dpcheck.numerics.tilted import Convolution

# Guesses before the whole window is looked at.
TRIES = 4
# Windows of more points than this are looked at by sections.
ALL_POINTS = 512
SECTIONS = 8
# Newton's steps end with one smaller than this share of the deviation.
CONVERGED = 3e-3
# From here on two terms of the series of Mills' ratio have as many digits as a guess needs.
_FAR = 30.0
_ROOT, _HALF_PI, _LOG_ROOT = math.sqrt(0.5), math.sqrt(math.pi / 2), math.log(2 * math.pi) / 2

Evaluate = Callable[[Indices], tuple[Array, Array]]


def _mills(x: float) -> float:
    """About the normal tail beyond x over the density there."""
    if x > _FAR:
        return (1 - 1 / (x * x)) / x
    return _HALF_PI * math.exp(x * x / 2) * math.erfc(_ROOT * x)


class Saddle(NamedTuple):
    """About log F(epsilon): Edgeworth's expansion of the tilted sum, from its first four cumulants."""

    log_scale: float
    tilt: float
    mean: float
    deviation: float
    skewness: float
    kurtosis: float

    def raised(self, by: float) -> Saddle:
        """The same with log F larger by so much."""
        scale = self.log_scale + by
        return Saddle(scale, self.tilt, self.mean, self.deviation, self.skewness, self.kurtosis)

    def log_divergence(self, epsilon: float) -> tuple[float, float]:
        """(log F, about its derivative): F = A - B with F' = -B, tails of the law under P and Q."""
        t, s = self.tilt, self.deviation
        x = min(max((epsilon - self.mean) / s, -20.0), 20.0)
        p, q = self._tail(x, t * s), self._tail(x, (t + 1) * s)
        if not 0 < q < p < math.inf:
            p, q = _mills(x + t * s), _mills(x + (t + 1) * s)
        gap = max(p - q, 1e-300)
        return self.log_scale - t * epsilon - x * x / 2 + math.log(gap) - _LOG_ROOT, -q / gap

    def _tail(self, x: float, decay: float) -> float:
        """The integral of e^(-decay (y - x)) over y > x against the law, over the normal density at x.

        By parts those of Hermite's polynomials are H_k(y) -> H_(k-1)(x) - decay times the one before.
        """
        square = x * x
        plain = _mills(x + decay)
        third = square - 1 - decay * (x - decay * (1 - decay * plain))
        fourth = x * (square - 3) - decay * third
        sixth = x * (square * (square - 10) + 15)
        sixth -= decay * (square * (square - 6) + 3 - decay * fourth)
        bend = self.skewness / 6 * third + self.kurtosis / 24 * fourth
        return plain + bend + self.skewness**2 / 72 * sixth

    def epsilon(self, log_delta: float, start: float) -> float:
        """Where log F is about `log_delta`, by Newton's steps."""
        found = start
        for _ in range(5):
            value, slope = self.log_divergence(found)
            move = (log_delta - value) / min(slope, -1e-300)
            move = min(max(move, -4 * self.deviation), 4 * self.deviation)
            found += move
            # What is left after a step is about its square.
            if abs(move) < CONVERGED * self.deviation:
                break
        return found


class Question(NamedTuple):
    """The values at the points of a window, and the delta that is looked for among them.

    Point k stands for origin + k step, and `constant` is the part of a value that no point can change.
    """

    evaluate: Evaluate
    start: int
    size: int
    origin: float
    step: float
    delta: float
    constant: float
    side: Side

    def sections(self) -> Indices:
        """All points of a small window, a few over a large one."""
        if self.size <= ALL_POINTS:
            return self.start + np.arange(self.size)
        return self.start + (self.size - 1) * np.arange(SECTIONS + 1) // SECTIONS

    def bracket(self, known: dict[int, tuple[float, float]]) -> tuple[int, int] | None:
        """The best of the known neighbours on the two sides of delta."""
        order = sorted(known)
        above = [known[k][0] > self.delta for k in order]
        if self.side is Side.UPPER:
            after = above.index(False) if False in above else 0
        else:
            after = len(above) - above[::-1].index(True) if True in above else 0
        return (order[after - 1], order[after]) if 0 < after < len(order) else None


def neighbours(
    asked: Question, saddle: Saddle
) -> tuple[int, dict[int, tuple[float, float]]] | None:
    """(k, values with their noise): delta lies between those at k and k + 1; None: not in the window."""
    known: dict[int, tuple[float, float]] = {}
    tries, points = 0, _extrapolated(asked, saddle, known)
    while True:
        if not len(points):
            tries, points = TRIES, asked.sections()
        values, noises = asked.evaluate(points)
        known |= dict(
            zip(points.tolist(), zip(values.tolist(), noises.tolist(), strict=True), strict=True)
        )
        found = asked.bracket(known)
        if found is None:
            if tries >= TRIES:
                return None
            tries += 1
            points = _extrapolated(asked, saddle, known) if tries < TRIES else points[:0]
        elif found[1] - found[0] == 1:
            return found[0], known
        else:
            points = _between(*found, known, asked.delta)


def _extrapolated(
    asked: Question, saddle: Saddle, known: dict[int, tuple[float, float]]
) -> Indices:
    """The points around where the guess crosses, corrected by the last value once there is one."""
    nothing = np.zeros(0, dtype=np.int64)
    if asked.delta <= asked.constant:
        return nothing
    wanted = math.log(asked.delta - asked.constant)
    last, start = asked.start + asked.size - 1, saddle.mean
    if known:
        # The known values are all on one side of delta: the nearest is the nearest in value.
        near = min(known, key=lambda k: abs(known[k][0] - asked.delta))
        if known[near][0] <= asked.constant:
            return nothing
        start = asked.origin + near * asked.step
        wanted += saddle.log_divergence(start)[0] - math.log(known[near][0] - asked.constant)
    place = math.floor((saddle.epsilon(wanted, start) - asked.origin) / asked.step)
    place = min(max(place, asked.start), last)
    around = np.arange(max(place - 1, asked.start), min(place + 2, last) + 1)
    return np.array([k for k in around.tolist() if k not in known]) if known else around


def _between(low: int, high: int, values: dict[int, tuple[float, float]], delta: float) -> Indices:
    """Points around where log delta, read as a parabola, crosses; and the middle, to be sure."""
    guess = (low + high) // 2
    if values[high][0] > 0:
        logs = {k: math.log(value / delta) for k, (value, _) in values.items() if value > 0}
        others = [k for k in logs if k not in (low, high)]
        third = min(others, key=lambda k: abs(2 * k - low - high), default=None)
        guess = math.floor(min(max(_crossing(logs, low, high, third), low), high))
    # Nearer and further points, as far as the bracket is wide: most end up between two of them.
    reach = max((high - low) // 64, 1)
    around = {
        guess - reach,
        guess - 1,
        guess,
        guess + 1,
        guess + 2,
        guess + reach,
        (low + high) // 2,
    }
    return np.array(sorted(k for k in around if low < k < high), dtype=np.int64)


def _crossing(logs: dict[int, float], low: int, high: int, third: int | None) -> float:
    """Where the parabola through three points is 0, from the line through two of them."""
    slope = min((logs[high] - logs[low]) / (high - low), -1e-300)
    guess = low - logs[low] / slope
    if third is None:
        return guess
    bend = ((logs[third] - logs[high]) / (third - high) - slope) / (third - low)
    for _ in range(3):
        value = logs[low] + slope * (guess - low) + bend * (guess - low) * (guess - high)
        guess -= value / min(slope + bend * (2 * guess - low - high), slope / 4)
        guess = min(max(guess, low), high)
    return guess


# -- of composed laws --------------------------------------------------------------------------

# A law this far from a normal one makes a guess that needs correcting.
BENT = 1.0
# Deltas whose guesses are kept with a spectrum.
MOST_DELTAS = 64


class Cell(NamedTuple):
    """A lattice point before which delta is passed, and the share of error allowance there."""

    point: int
    noise: float


def cell(law: Convolution, delta: float) -> Cell | None:
    """The cell to look at; None where delta is not in sight."""
    asked = Question(
        law.at,
        law.window.start,
        law.window.size,
        law.origin,
        law.step,
        delta,
        law.infinite,
        law.side,
    )
    found = neighbours(asked, _guess(law, delta))
    if found is None:
        return None
    low, known = found
    high = low + 1
    # Next to the largest loss nothing is left to be accurate about on the far side.
    judged = high if known[high][0] > delta / 100 else low
    return Cell(high, known[judged][1])


def saddle(law: Convolution) -> Saddle:
    """About the composed divergence."""
    terms = law.terms
    if "cumulants" not in terms.notes:
        terms.notes["cumulants"] = list(
            zip(*(_cumulants(one.x, one.levels) for one in terms.laws), strict=True)
        )
    mean, variance, third, fourth = (
        total(law.counts, parts) for parts in cast("Moments", terms.notes["cumulants"])
    )
    sd = math.sqrt(max(variance, 1e-60))
    scale = law.product.log_scale
    return Saddle(scale, law.window.tilt, mean, sd, third / sd**3, fourth / sd**4)


Moments = list[tuple[float, ...]]


def _cumulants(x: Array, levels: Array) -> tuple[float, ...]:
    mean = float(np.sum(x * levels))
    away = levels - mean
    weight = x * away * away
    variance, third = float(np.sum(weight)), float(np.sum(weight * away))
    return mean, variance, third, float(np.sum(weight * away * away)) - 3 * variance**2


def _guess(law: Convolution, delta: float) -> Saddle:
    """About log F, corrected by what it misses at the planned counts where that matters and is cheap."""
    about, terms = saddle(law), law.terms
    bent = about.skewness**2 + about.kurtosis > BENT
    if law.few is None or not bent or delta <= law.infinite:
        return about
    guesses = cast("dict[float, float]", terms.notes.setdefault("guesses", {}))
    if delta not in guesses:
        asked = law.counts == terms.planned
        planned = law if asked else type(law)(terms, terms.planned, law.side)
        if len(guesses) >= MOST_DELTAS:
            guesses.clear()
        guesses[delta] = _missed(planned, delta)
    return about.raised(guesses[delta])


def _missed(law: Convolution, delta: float) -> float:
    """What the guess of log F misses where it crosses delta."""
    about = saddle(law)
    wanted = math.log(max(delta - law.infinite, TINY))
    place = (about.epsilon(wanted, about.mean) - law.origin) / law.step
    point = min(max(round(place), law.window.start), law.window.start + law.window.size - 1)
    value = float(law.at(np.array([point]))[0][0]) - law.infinite
    guess, _ = about.log_divergence(law.origin + point * law.step)
    return math.log(value) - guess if value > 0 else 0.0
