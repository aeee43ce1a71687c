"""The best of a random number of runs, from what is proved of one run.

With f the generating function of the number of runs and x_P, x_Q the chances that a run is better than an
outcome y, that outcome is released with density f'(1 - x_P) P(y) or f'(1 - x_Q) Q(y) [Papernot2022, Lemma 7].
f' is largest at 1, where it is the mean m. For a truncated negative binomial f'(1 - x) is proportional to
(g + (1-g) x)^-(1+shape), g the stopping parameter. One run is (e, d)-DP, so x_Q <= e^e x_P + d, and

    f'(1 - x_P) / f'(1 - x_Q) = ((g + (1-g) x_Q) / (g + (1-g) x_P))^(1+shape) <= e^c,
    c = (1 + shape) max(e, log(1 + d (1-g)/g)),

since the bound on the ratio is monotone in x_P, from its value 1 + d (1-g)/g at 0 to its limit e^e. Hence
f'(1 - x_P) P - e^eps f'(1 - x_Q) Q <= f'(1 - x_P) (P - e^(eps - c) Q), and

    delta(eps) <= m delta_one(eps - c),    epsilon(delta) <= c + epsilon_one(delta / m).

Any (e, d) of one run will do. Reference: [Koskela2024].
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpcheck.accounting.assumptions import ARITHMETIC
from dpcheck.accounting.certify.bound import Plan, Question, proved_deltas, proved_epsilon
from dpcheck.accounting.certify.theorem import Curve, Spends
from dpcheck.accounting.pairs.combined.selected import SelectedLoss
from dpcheck.accounting.pairs.pair import Parts, composed_largest_loss
from dpcheck.accounting.renyi.divergence import log_expected_runs
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.side import Side

# Sums, products and logarithms below err by a few units each; this is 4,500 of them.
ROUND_UP = 1 + 1e-12


def mean_runs(loss: SelectedLoss) -> float:
    """The mean number of runs, from above; infinite beyond all floats."""
    log = log_expected_runs(loss.shape, loss.stop)
    return math.exp(log) * ROUND_UP if log < 700 else math.inf


def delta_of_one(loss: SelectedLoss, delta: float) -> float:
    """The delta at which one run is asked, for that of the selection."""
    return delta / mean_runs(loss) / ROUND_UP


def cost_of_selecting(loss: SelectedLoss, pair: Plan, asked: Question) -> float:
    """c, from the (e, d) that a plan proves of one run: one of them is asked, the other one proved.

    Nothing is more than no loss beyond the largest (d = 0), or than d = 1 with e = 0.
    """
    odds = (1 - loss.stop) / loss.stop
    most = min(composed_largest_loss(loss.inner)[1], math.log1p(odds) * ROUND_UP)
    question = replace(asked, parts=loss.inner, side=Side.UPPER)
    if question.delta is not None:
        e, d = proved_epsilon(pair, question).value, question.delta
    else:
        assert question.epsilons is not None
        e, d = float(question.epsilons[0]), float(proved_deltas(pair, question).values[0])
    found = max(e, math.log1p(odds * d)) if e >= 0 and 0 <= d <= 1 else math.inf
    return (1 + loss.shape) * min(found, most) * ROUND_UP


def by_selection(
    loss: SelectedLoss, delta: float, one: Plan, pair: Plan, asked: Question
) -> Spends | None:
    """The cost of selecting, and that of one run at a smaller delta."""
    if not 0 < delta < math.inf:
        return None
    question = Question(loss.inner, Side.UPPER, delta_of_one(loss, delta))
    first = min(proved_epsilon(one, question).value, composed_largest_loss(loss.inner)[1])
    found = (first + cost_of_selecting(loss, pair, asked)) * ROUND_UP
    return Spends(((loss, 1),), Side.UPPER, found, delta, both=True, assumes=(ARITHMETIC,))


def left_of(loss: SelectedLoss, epsilons: Array, pair: Plan, asked: Question) -> Array:
    """What the cost of selecting leaves of each epsilon, rounded down."""
    cost = cost_of_selecting(loss, pair, asked) * ROUND_UP
    return np.asarray(np.nextafter(epsilons - cost, -math.inf))


def selection_curve(
    loss: SelectedLoss, epsilons: Array, one: Plan, pair: Plan, asked: Question
) -> Curve:
    """The runs' deltas at what the cost of selecting leaves."""
    left = left_of(loss, epsilons, pair, asked)
    told = proved_deltas(one, Question(loss.inner, Side.UPPER, epsilons=np.maximum(left, 0.0)))
    runs = mean_runs(loss)
    with np.errstate(invalid="ignore"):  # infinitely many runs, whose delta is nothing
        found = np.minimum(runs * told.values * ROUND_UP, 1.0)
    found = np.where((left > 0) & math.isfinite(runs), found, 1.0)
    return Curve(((loss, 1),), Side.UPPER, epsilons, found, both=True, assumes=(ARITHMETIC,))


def laplace_ratio(parts: Parts) -> float | None:
    """The largest loss of one Laplace mechanism; None for anything else."""
    loss, times = parts[0]
    return loss.laplace_ratio if len(parts) == times == 1 else None


def laplace_curve(parts: Parts, epsilons: Array) -> Curve | None:
    """1 - e^{(eps - r)/2} up to the largest loss r: see `pld.mixtures.LaplacePair`."""
    ratio = laplace_ratio(parts)
    if ratio is None:
        return None
    found = -np.expm1(np.minimum(epsilons - ratio, 0.0) / 2) * ROUND_UP
    return Curve(parts, Side.UPPER, epsilons, found, both=True)
