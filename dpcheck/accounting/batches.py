"""Worst-case pairs of steps on a random batch: Poisson, fixed size, cut to size, allocated."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpcheck.accounting.losses import (
    AllocationLoss,
    CoinLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    GroupedLoss,
    LaplaceLoss,
    Loss,
    LossBounds,
    OppositeMixtureLoss,
    OppositeSampleLoss,
    ReplacedSampleLoss,
    RevealedSizeLoss,
    SampledLaplaceLoss,
    UnboundedLoss,
    WithoutReplacementLoss,
    WithReplacementLoss,
)
from dpcheck.accounting.worst_case import worst_case
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import UnsupportedAdjacency
from dpcheck.core.events import noise, training
from dpcheck.numerics.binomial import binomial_mass_below
from dpcheck.numerics.enclose import enclose, enclose_quotient
from dpcheck.numerics.tails import binomial_tail


@worst_case.register
def _(event: training.SampledGaussian, adjacency: Adjacency, group: int = 1) -> LossBounds:
    if event.sampling_rate == 1:
        return worst_case(noise.Gaussian(event.noise_multiplier), adjacency, group)
    down, up = enclose_quotient(1, event.noise_multiplier)
    if adjacency is Adjacency.REPLACE_ONE:
        return _replaced_gaussian(down, up, event.sampling_rate, group)
    # [Mironov2019] section 3.2 for one record, [Ganesh2024] Theorem 3.2 for a group: the mixture over
    # how many of the person's records were drawn, all pointing the same way.
    lower = _mixture(down, event.sampling_rate, min(group, MOST_DRAWN), 0)
    if group > MOST_DRAWN:
        return LossBounds(GroupedLoss(_mixture(up, event.sampling_rate, 1, 1), group), lower)
    return LossBounds(_mixture(up, event.sampling_rate, group, 1), lower)


# Larger groups are bounded step by step, their records one after the other.
MOST_DRAWN = 1000
# Below this weight of the unshifted part its rounding is not covered by the lattice's error bounds.
_LEAST_REST = 0.25


def _replaced_gaussian(down: float, up: float, rate: float, group: int) -> LossBounds:
    """A group of Poisson-sampled records is replaced: mirrored mixtures on the line dominate.

    Given the others, the output is N(c, I) moved by v_J or by v'_J, J the set of the group's records that
    were drawn, |v_J|, |v'_J| <= |J| mu. With a_J = e^{<v_J, x> - |v_J|^2/2} and b_J likewise, the
    divergence is E h(sum_J w_J a_J - y sum_J w_J b_J) under N(0, I), h(x) = (x)+ convex. Along a line of
    covariances of the Gaussian vector (<v_J, x>, <v'_J, x>) its derivative is
    1/2 sum d(cov_ij) s_i s_j w_i w_j E[h'' a_i a_j] with s = 1 for the a and -y for the b (Kahane's
    inequality): it grows with the variances and with covariances among the a and among the b, and falls with
    those between a and b. All are extreme together on the line: v_J = |J| mu, v'_J = -|J| mu. The mixture
    over the others is covered by joint convexity.
    Reference: [Kahane1986].
    """
    if group == 1:
        return LossBounds(
            OppositeMixtureLoss((up,), (rate,)), OppositeMixtureLoss((down,), (rate,))
        )
    weights = [
        math.comb(group, j) * Fraction(rate) ** j * (1 - Fraction(rate)) ** (group - j)
        for j in range(1, group + 1 if group <= 8 else 1)
    ]
    if group > 8 or 1 - sum(weights) < _LEAST_REST:
        loss = GroupedLoss(ReplacedSampleLoss(GaussianLoss(up), rate), group)
        return LossBounds(loss, OppositeMixtureLoss((down,), (rate,)))
    near = tuple(float(weight) for weight in weights)
    above, below = (
        tuple(enclose(Fraction(mu) * j)[i] for j in range(1, group + 1))
        for i, mu in ((1, up), (0, down))
    )
    return LossBounds(OppositeMixtureLoss(above, near), OppositeMixtureLoss(below, near))


# Draws of a group rarer than this are counted with the largest (above) or as none (below).
_RARE_DRAW = Fraction(1, 10**40)


def _mixture(shift: float, rate: float, group: int, side: int) -> GaussianMixtureLoss:
    """Shifts and weights of how many of a group's records are drawn; more of them dominate fewer."""
    if group == 1:
        return GaussianMixtureLoss((shift,), (rate,))
    q = Fraction(rate)
    weights = [math.comb(group, j) * q**j * (1 - q) ** (group - j) for j in range(1, group + 1)]
    kept = {j: w for j, w in enumerate(weights, 1) if w >= _RARE_DRAW or group <= 8}
    if side:
        kept[group] = kept.get(group, Fraction(0)) + sum(weights) - sum(kept.values())
    shifts = tuple(enclose(Fraction(shift) * j)[side] for j in kept)
    return GaussianMixtureLoss(shifts, tuple(enclose(w)[side] for w in kept.values()))


def _replaced_laplace(
    above: LaplaceLoss, below: LaplaceLoss, rate: float, group: int
) -> LossBounds:
    upper: Loss = ReplacedSampleLoss(above, rate)
    if group > 1:
        upper = GroupedLoss(upper, group)
    return LossBounds(upper, OppositeSampleLoss(below, rate))


@worst_case.register
def _(event: training.SampledLaplace, adjacency: Adjacency, group: int = 1) -> LossBounds:
    if event.sampling_rate == 1:
        return worst_case(noise.Laplace(event.noise_multiplier), adjacency, group)
    down, up = enclose_quotient(1, event.noise_multiplier)
    if adjacency is Adjacency.REPLACE_ONE:
        return _replaced_laplace(LaplaceLoss(up), LaplaceLoss(down), event.sampling_rate, group)
    upper: Loss = SampledLaplaceLoss(up, event.sampling_rate)
    if group > 1:
        upper = GroupedLoss(upper, group)
    return LossBounds(upper, SampledLaplaceLoss(down, event.sampling_rate))


@worst_case.register
def _(event: training.FixedBatchGaussian, adjacency: Adjacency, group: int = 1) -> LossBounds:
    if adjacency is Adjacency.ADD_REMOVE:
        raise UnsupportedAdjacency(
            "a fixed-size batch has a public number of rows, which add-remove changes; account it "
            "under replace-one or zero-out.",
            adjacency=adjacency,
        )
    if event.batch == event.rows:
        return worst_case(noise.Gaussian(event.noise_multiplier), adjacency, group)
    low, high = enclose_quotient(1, event.noise_multiplier)
    rate_low, rate_high = enclose(Fraction(event.batch, event.rows))
    # Zero-out is a replacement by a record that contributes 0, so the replace-one bound covers it.
    upper: Loss = WithoutReplacementLoss(2 * high, rate_high)
    if group > 1:
        upper = GroupedLoss(upper, group)
    # All other records contribute 0: what is left is the mixture on the line. Replaced, it is more to see
    # where all others are like the replacement and the record is opposite: 2C wherever it is drawn.
    far = low if adjacency is Adjacency.ZERO_OUT else 2 * low
    lower = GaussianMixtureLoss((far,), (rate_low,))
    return LossBounds(upper, lower)


@worst_case.register
def _(event: training.RandomAllocationGaussian, adjacency: Adjacency, group: int = 1) -> LossBounds:
    if event.batches == 1:
        return worst_case(noise.Gaussian(event.noise_multiplier), adjacency, group)
    if adjacency is Adjacency.REPLACE_ONE:
        raise UnsupportedAdjacency(
            "random allocation has a proved bound for a record that is added, removed or zeroed "
            "only; account it under add-remove or zero-out.",
            adjacency=adjacency,
        )
    low, high = enclose_quotient(1, event.noise_multiplier)
    # The dominating pair of balls-and-bins sampling [Chua2025, Feldman2025].
    upper: Loss = AllocationLoss(high, event.batches)
    if group > 1:
        upper = GroupedLoss(upper, group)
    independent = "records are assigned to batches independently of each other, not by a shuffle"
    return LossBounds(upper, AllocationLoss(low, event.batches), assumes=(independent,))


@worst_case.register
def _(event: training.TruncatedPoissonGaussian, adjacency: Adjacency, group: int = 1) -> LossBounds:
    """`rows` counts the record in question: the larger of two datasets that differ by one record.

    Let s of the other rows - 1 records be drawn. If s < max_batch nothing is cut: an ordinary sampled
    step. Otherwise a uniform batch T of the others, independent of s, is used, in which with probability
    r = E[p max_batch/(s+1) | s >= max_batch] a random record y is replaced by x. Given T that moves the
    sum by x - y, at most 2C; removed records are mixtures over y, covered by joint convexity. Revealing
    whether s >= max_batch only helps the attacker. Below: all other records contribute 0, and x is in
    the batch with probability p P(s < max_batch) + r P(s >= max_batch).
    Reference: [Ganesh2025], with x - y kept as one shift of 2C.
    """
    p, most = event.sampling_rate, event.max_batch
    plain = training.SampledGaussian(event.noise_multiplier, p)
    if most >= event.rows:
        return worst_case(plain, adjacency, group)
    (cut_low, cut_high), (all_low, all_high) = (
        binomial_tail(event.rows - 1, p, most),
        binomial_tail(event.rows, p, most + 1),
    )
    share = Fraction(most, event.rows)
    # r P(s >= max_batch) = (max_batch/rows) P(Binomial(rows, p) > max_batch).
    rate = min(1.0, enclose(share * Fraction(all_high) / Fraction(cut_low))[1]) if cut_low else 1.0
    rest = enclose(1 - Fraction(cut_low))[1]
    kept = enclose(Fraction(p) * (1 - Fraction(cut_high)) + share * Fraction(all_low))[0]
    down, up = enclose_quotient(1, event.noise_multiplier)
    far: Loss = GaussianMixtureLoss((2 * up,), (rate,))
    near: Loss = GaussianMixtureLoss((up,), (p,))
    lower: Loss = GaussianMixtureLoss((down,), (max(kept, 0.0),))
    if adjacency is not Adjacency.ADD_REMOVE:
        # x - y and x' - y are at most 2C each and at most 2C apart; a null record is one x'.
        far = WithoutReplacementLoss(2 * up, rate) if rate < 1 else GaussianLoss(2 * up)
    if adjacency is Adjacency.REPLACE_ONE:
        near = OppositeMixtureLoss((up,), (p,)) if p < 1 else GaussianLoss(2 * up)
        lower = OppositeMixtureLoss((down,), (max(kept, 0.0),))
    upper: Loss = CoinLoss(((rest, near), (cut_high, far)))
    if group > 1:
        upper = GroupedLoss(upper, group)
    larger = "rows is the number of records of the larger of two neighbouring datasets"
    return LossBounds(upper, lower, assumes=(larger,))


@worst_case.register
def _(event: training.WithReplacementGaussian, adjacency: Adjacency, group: int = 1) -> LossBounds:
    if adjacency is Adjacency.ADD_REMOVE:
        raise UnsupportedAdjacency(
            "draws with replacement have a public number of rows, which add-remove changes; account "
            "them under replace-one or zero-out.",
            adjacency=adjacency,
        )
    low, high = enclose_quotient(1, event.noise_multiplier)
    # Given how often each other record is drawn the sum moves by j (x - x'); where x is not drawn at all the
    # others take its places, j of them at most 2C away from it [Balle2018, Theorem 10].
    upper: Loss = WithReplacementLoss(2 * high, event.rows, event.batch)
    if group > 1:
        upper = GroupedLoss(upper, group)
    # The mixture over how often x is drawn, rare ones left out. All other records contribute 0; replaced,
    # all are like the replacement and opposite to x, which counts 2C wherever it is drawn.
    drawn = range(1, min(event.batch, 8) + 1)
    below = tuple(enclose(Fraction(low) * j)[0] for j in drawn)
    near = tuple(binomial_mass_below(event.batch, event.rows, j) for j in drawn)
    far = 1 if adjacency is Adjacency.ZERO_OUT else 2
    return LossBounds(upper, GaussianMixtureLoss(tuple(far * shift for shift in below), near))


@worst_case.register
def _(event: training.MixtureGaussian, adjacency: Adjacency, group: int = 1) -> LossBounds:
    """A person's own chance decides what is added to N(c, I): [Ganesh2024] Theorem 3.2, all one way.

    Replaced: the same chance in P and Q, contributions opposite (see `_replaced_gaussian`).
    """
    if group > 1:
        raise UnsupportedAdjacency(
            "a person's contributions are described as a whole; list those of a group instead.",
            adjacency=adjacency,
        )
    drawn = [
        (c, p)
        for c, p in zip(event.contributions, event.probabilities, strict=True)
        if c > 0 and p > 0
    ]
    if not drawn:
        return LossBounds(GaussianLoss(0.0), GaussianLoss(0.0))
    noise_multiplier = Fraction(event.noise_multiplier)
    ends = [enclose(Fraction(c) / noise_multiplier) for c, _ in drawn]
    below, above = tuple(low for low, _ in ends), tuple(high for _, high in ends)
    total = max(sum(Fraction(p) for _, p in drawn), Fraction(1))
    # More weight on what is drawn dominates less. Probabilities of up to 1 in all are taken as they are.
    shares = [enclose(Fraction(p) / total) for _, p in drawn]
    fewer, weights = tuple(low for low, _ in shares), tuple(high for _, high in shares)
    if len(drawn) == 1 and weights[0] == 1:
        scale = 2 if adjacency is Adjacency.REPLACE_ONE else 1
        return LossBounds(GaussianLoss(scale * above[0]), GaussianLoss(scale * below[0]))
    if adjacency is not Adjacency.REPLACE_ONE:
        return LossBounds(GaussianMixtureLoss(above, weights), GaussianMixtureLoss(below, fewer))
    if 1 - math.fsum(weights) < _LEAST_REST:
        widest = GaussianLoss(2 * max(above))
        return LossBounds(widest, None)
    return LossBounds(
        OppositeMixtureLoss(above, weights, binomial=False),
        OppositeMixtureLoss(below, fewer, binomial=False),
    )


# Sizes of a batch are taken together in so many groups, each with its largest.
_SIZE_GROUPS = 64


@worst_case.register
def _(event: training.RealisedBatchGaussian, adjacency: Adjacency, group: int = 1) -> LossBounds:
    """The size is released with the sum, of which the quotient is a function: see `pld.revealed`.

    Replaced: the size has one law, and given m the record is in the batch with probability m/rows, as drawn
    without replacement. Below: with many coordinates the size can be read off the noise, and the sum alone is
    a sampled step.
    """
    if adjacency is Adjacency.ZERO_OUT:
        raise UnsupportedAdjacency(
            "whether a null record counts in the size of a batch is not said; account it under add-remove "
            "or replace-one.",
            adjacency=adjacency,
        )
    up = enclose_quotient(1, event.noise_multiplier)[1]
    rate, rows = event.sampling_rate, event.rows
    plain = worst_case(training.SampledGaussian(event.noise_multiplier, rate), adjacency, 1).lower
    upper: Loss
    if rate == 1 or rows == 1:
        # All records, or none but this one: the size tells whether it is there.
        if adjacency is Adjacency.ADD_REMOVE:
            reason = "the size of the batch tells the number of rows"
            return LossBounds(UnboundedLoss(reason), UnboundedLoss(reason))
        upper = GaussianLoss(2 * up)
    elif adjacency is Adjacency.ADD_REMOVE:
        upper = RevealedSizeLoss(2 * up, rate, rows)
    else:
        upper = _coin_of_sizes(2 * up, rate, rows)
    if group > 1:
        upper = GroupedLoss(upper, group)
    larger = "rows is the number of records of the larger of two neighbouring datasets"
    return LossBounds(upper, plain, assumes=(larger,))


def _coin_of_sizes(shift: float, rate: float, rows: int) -> Loss:
    spread = 9 * math.sqrt(rows * rate * (1 - rate)) + 30
    edges = np.unique(
        np.linspace(
            max(rows * rate - spread, 0), min(rows * rate + spread, rows), _SIZE_GROUPS
        ).astype(int)
    ).tolist()
    tails = [binomial_tail(rows, rate, edge) for edge in edges]
    options: list[tuple[float, Loss]] = []
    for i, edge in enumerate(edges):
        # Sizes from the edge before (or none) up to this one, and all beyond the last as if all were drawn.
        share = (1.0 if i == 0 else tails[i - 1][1]) - tails[i][0]
        options.append((share, _drawn_alike(shift, edge, rows)))
    options.append((tails[-1][1], GaussianLoss(shift)))
    # A difference of two floats errs by one unit; 1e-15 is nine.
    return CoinLoss(tuple((share * (1 + 1e-15), loss) for share, loss in options if share > 0))


def _drawn_alike(shift: float, size: int, rows: int) -> Loss:
    if size >= rows:
        return GaussianLoss(shift)
    return WithoutReplacementLoss(shift, enclose(Fraction(max(size, 1), rows))[1])
