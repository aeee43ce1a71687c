"""The best of a random number of runs from below: an order of the outcomes that tells more than one run.

The outcomes of a run are put into three classes, the better one first: B, which Q has more often than P; Y,
which P has more often; and the rest. With f the generating function of the number of runs the best run is
in Y with probability f(1 - P(B)) - f(1 - P(B) - P(Y)), the integral of f' over an interval of length P(Y),
and likewise under Q. f and all its derivatives have non-negative coefficients, so f' grows and is convex:
that is at least P(Y) f'(1 - P(B) - P(Y)/2) (the value in the middle), and at most Q(Y) f'(1 - Q(B)) under Q.

Let log f'(1 - x) = log m - fall(x), m the mean number of runs, and let Y be a share of the outcomes of loss
above log y, so that P(Y) - y Q(Y) is that share of F(y), the divergence of one run. Hence

    delta(eps) >= share F(y) m e^-fall(P(B) + P(Y)/2)   at   eps = log y + fall(Q(B)) - fall(P(B) + P(Y)/2).

B is what outcomes of loss above some s < log y leave, or a share of it. Both classes are known by numbers
a <= P and b >= Q of all losses above a threshold only; then there is a test with these or better ones, by
the lemma of Neyman and Pearson, the smaller test inside the larger, and a share of it has P(Y) as small as
wanted. Measures on a lattice that bound a run from below serve as well as the run: their a and b are those
of a test of the run, because the least of F(y') + y' b over all y' is not above the power of the best test of
size b [Dong2022, Proposition 2.12], and for them it is a.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpcheck.accounting.accountants.selected_runs import (
    NONE_BETTER,
    SLIP,
    Better,
    Run,
    Search,
    known_run,
)
from dpcheck.accounting.assumptions import ARITHMETIC
from dpcheck.accounting.certify.theorem import Spends
from dpcheck.accounting.pairs.combined.selected import Number, SelectingLoss
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.rounding import LARGEST_EXPONENT, Array
from dpcheck.numerics.side import Side

# At delta 0 what is proved at this one holds too.
LEAST_DELTA = 1e-12
# Parts of the better class that are tried one after the other.
PARTS = (0.6, 0.2)
# One run alone is asked unless it is estimated to cost less than this share below what was found.
CLOSE = 1e-2
# Logarithms of deltas are searched for down to this one, so often, until they are this close.
LEAST_NEEDED, SEARCHES, SETTLED = -700.0, 8, 0.05
# Room for the P-mass of the far class to grow while its threshold is settled, and how often that is tried.
WIDER, TRIES = 1.5, 3


def selected_epsilon(loss: SelectingLoss, delta: float) -> float:
    """An epsilon that selecting among these runs is proved to reach; 0 where none is.

    `loss.inner` are pairs that the runs contain.
    """
    delta = delta or LEAST_DELTA
    number = loss.number()
    if number is None:
        return 0.0
    try:
        run = known_run(loss.inner, Search(number, number.log_mean - math.log(delta)))
    except CannotCertify:
        return 0.0
    if run is None:
        return 0.0
    # A class that was taken too large proves nothing: smaller ones, parts of the last one, then none.
    tried = (_reached(run, better, delta) for better in _in_turn(run))
    first = next((value for value in tried if value > 0), 0.0)
    if first > run.at_most(delta) * (1 + CLOSE):
        return first
    # Where all runs score alike the first is released, an ordinary run.
    one = run.far(delta / number.any * (1 + SLIP))
    return max(first, one[0] if one else 0.0)


def by_selecting(loss: SelectingLoss, delta: float) -> Spends | None:
    """The same as a theorem; None where nothing is proved."""
    found = selected_epsilon(loss, delta)
    if not found:
        return None
    return Spends(((loss, 1),), Side.LOWER, found, delta, both=True, assumes=(ARITHMETIC,))


def selecting_at(loss: SelectingLoss, epsilons: Array, most: Array) -> list[Spends]:
    """Theorems from which follows which delta is needed at each epsilon, searched for below `most`."""
    tried: dict[float, float] = {}  # log delta, and the epsilon that is proved at it
    # From the largest on: what is needed there is needed at smaller ones too.
    for i in np.argsort(-epsilons, kind="stable"):
        if most[i] > 0:
            _try_around(loss, float(epsilons[i]), math.log(most[i]), tried)
    return [
        Spends(((loss, 1),), Side.LOWER, value, math.exp(at), both=True, assumes=(ARITHMETIC,))
        for at, value in tried.items()
        if value > 0
    ]


def _try_around(
    loss: SelectingLoss, epsilon: float, most: float, tried: dict[float, float]
) -> None:
    """Ask for epsilons at deltas of at most e^most until two that are close have `epsilon` between them."""
    down = 1.0
    for turn in range(SEARCHES):
        low = max((at for at, v in tried.items() if v > 0 and v >= epsilon), default=-math.inf)
        high = min((at for at in tried if at > low), default=most)
        if high - low < SETTLED:
            break
        if low == -math.inf:  # further and further down until it is proved
            at, down = high - down, 2 * down
        else:
            over, under = tried[low], tried.get(high, 0.0)
            share = (over - epsilon) / (over - under) if under > 0 and turn % 4 < 3 else 0.5
            # A little to the side on which it is proved, so that the next one ends it.
            at = low + max(share * (high - low) - SETTLED / 3, SETTLED / 3)
        if at < LEAST_NEEDED:
            break
        tried[at] = selected_epsilon(loss, math.exp(at))


def _in_turn(run: Run) -> Iterator[Better]:
    last = NONE_BETTER
    for better in run.better():
        last = run.search.shared(better)
        yield last
    yield from (last.share(part) for part in PARTS)
    yield NONE_BETTER


def _reached(run: Run, better: Better, delta: float) -> float:
    """The epsilon that `better` and the far class beside it prove; 0 where they prove none."""
    number = run.search.number
    found = run.far(_needed(number, better, 0.0, delta))
    for _ in range(TRIES):
        if found is None:
            break
        most = min(WIDER * found[1], 1.0)
        share = run.search.share_of_far(better, most)
        room = share * most
        if better.most + room > 1:
            break
        found = run.far(_needed(number, better, room, delta) / share * (1 + SLIP))
        if found is not None and better.level <= found[0] and found[1] <= most:
            gain = better.gain(number, room)
            terms = abs(found[0]) + number.fall(better.most + room) + number.fall(1.0) + abs(gain)
            return max(found[0] + gain - SLIP * (1 + terms), 0.0)
    return 0.0


def _needed(number: Number, better: Better, far: float, delta: float) -> float:
    """The delta of one run above its threshold that gives the selection `delta`, rounded up."""
    steep = number.fall(better.most + far / 2) - number.log_mean
    if steep > LARGEST_EXPONENT:
        return 1.0
    return delta * math.exp(steep) * (1 + SLIP * (2 + abs(steep) + abs(number.log_mean)))
