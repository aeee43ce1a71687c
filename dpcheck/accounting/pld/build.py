"""From a loss to the pair the lattice is built from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dpcheck.accounting.losses import (
    AllocationLoss,
    BoundedLoss,
    CoinLoss,
    DensityLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    FiniteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    GroupedLoss,
    LaplaceLoss,
    LatticeMassLoss,
    Loss,
    OppositeMixtureLoss,
    OppositeSampleLoss,
    ReplacedSampleLoss,
    ResponseLoss,
    RevealedSizeLoss,
    SampledLaplaceLoss,
    SampledLoss,
    SumLoss,
    WithoutReplacementLoss,
    WithReplacementLoss,
    WorstLoss,
    reverse,
)
from dpcheck.accounting.pld.measures import group_pair, measure, sampled_atoms, sampled_pair
from dpcheck.accounting.pld.pairs.allocation import AllocationPair
from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms, common_span
from dpcheck.accounting.pld.pairs.coin import CoinPair
from dpcheck.accounting.pld.pairs.densities import density_pair
from dpcheck.accounting.pld.pairs.mixtures import LaplacePair, Mixture, NormalPair
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.accounting.pld.pairs.revealed import revealed_size_pair
from dpcheck.accounting.pld.pairs.symmetric import (
    ReplacedSamplePair,
    WithoutReplacementPair,
    with_replacement_pair,
)
from dpcheck.accounting.pld.pairs.together import Listed, listed, may_be_listed, sum_pair, together
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.rounding import UNIT
from dpcheck.numerics.side import Side

# Integer noise spread wider than this many values is refused.
MAX_ATOMS = 4_000_000
# Shifts of more noise scales than this are refused: their losses leave the range where a lattice of
# any size resolves them.
STEEPEST = 1e5
# Larger groups are bounded by their Renyi divergence only.
LARGEST_GROUP = 64


_UPPER_ONLY = (
    BoundedLoss,
    LatticeMassLoss,
    ReplacedSampleLoss,
    RevealedSizeLoss,
    WithoutReplacementLoss,
    WithReplacementLoss,
)


def supports(loss: Loss, side: Side = Side.UPPER) -> bool:
    """Whether the loss can be put on a lattice on that side."""
    if isinstance(loss, GaussianMixtureLoss):
        return all(shift >= 0 for shift in loss.shifts) or all(shift <= 0 for shift in loss.shifts)
    if isinstance(loss, _UPPER_ONLY):
        return side is Side.UPPER
    if isinstance(loss, OppositeSampleLoss):
        return side is Side.LOWER
    if isinstance(loss, SampledLoss | SumLoss):
        return all(supports(part, side) for part, _ in loss.inner)
    if isinstance(loss, GroupedLoss):
        return side is Side.UPPER and loss.size <= LARGEST_GROUP and supports(loss.inner)
    if isinstance(loss, CoinLoss):
        return side is Side.UPPER and all(supports(option) for _, option in loss.options)
    if isinstance(loss, WorstLoss):
        parts = [part for option in loss.options for part, _ in option]
        return side is Side.UPPER and all(supports(part) for part in parts)
    return isinstance(
        loss,
        GaussianLoss
        | LaplaceLoss
        | DiscreteGaussianLoss
        | DiscreteLaplaceLoss
        | FiniteLoss
        | ResponseLoss
        | SampledLaplaceLoss
        | OppositeMixtureLoss
        | AllocationLoss
        | DensityLoss,
    )


def _scale(loss: Loss) -> float:
    """The largest shift of a loss in units of its noise."""
    if isinstance(loss, OppositeSampleLoss | ReplacedSampleLoss):
        return _scale(loss.base)
    if isinstance(loss, GaussianMixtureLoss | OppositeMixtureLoss):
        return max(map(abs, loss.shifts), default=0.0)
    if isinstance(loss, CoinLoss):
        return max(_scale(option) for _, option in loss.options)
    if isinstance(
        loss,
        GaussianLoss
        | WithoutReplacementLoss
        | WithReplacementLoss
        | AllocationLoss
        | RevealedSizeLoss,
    ):
        return loss.mu
    if isinstance(loss, LaplaceLoss | SampledLaplaceLoss):
        return loss.ratio
    if isinstance(loss, DiscreteGaussianLoss | DiscreteLaplaceLoss):
        return abs(loss.shift) / loss.scale
    return loss.epsilon if isinstance(loss, ResponseLoss | BoundedLoss) else 0.0


# Pairs that are the same on both sides.
_SIDELESS = (
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    SampledLaplaceLoss,
    OppositeMixtureLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    FiniteLoss,
    ResponseLoss,
)


# Pairs whose outcomes are listed but for what no float can hold, alike under P and Q.
_LISTED = (DiscreteGaussianLoss, DiscreteLaplaceLoss)


def build(loss: Loss, side: Side) -> LossPair:
    """The pair of a supported loss.

    >>> round(build(LaplaceLoss(0.5), Side.UPPER).top, 12)
    0.5
    """
    return _built(loss, Side.UPPER if isinstance(loss, _SIDELESS) else side)


def _words(loss: Loss) -> str:
    """What a loss is, for people: the first sentence of its description."""
    sentence = (type(loss).__doc__ or type(loss).__name__).split("\n", 1)[0].rstrip(".")
    return f"this part ({sentence[:1].lower()}{sentence[1:]})"


@lru_cache(maxsize=512)
def _built(loss: Loss, side: Side) -> LossPair:
    if _scale(loss) > STEEPEST:
        raise CannotCertify(
            f"a shift of {_scale(loss):.3g} noise scales is too steep for a lattice; the Renyi bound "
            "still holds: ask for it with method='rdp'.",
            loss=loss,
        )
    if not supports(loss, side):
        raise CannotCertify(
            f"there is no certified privacy-loss distribution of {_words(loss)}; other accountants may bound "
            "it: ask for the best of all, or for the Renyi bound with method='rdp'.",
            loss=loss,
        )
    if isinstance(loss, GaussianLoss):
        return NormalPair(Mixture((loss.mu,), (1.0,)), Mixture())
    if isinstance(loss, GaussianMixtureLoss):
        return _normal_mixture(loss)
    if isinstance(loss, LaplaceLoss):
        return LaplacePair(Mixture((loss.ratio,), (1.0,)), Mixture())
    if isinstance(loss, SampledLaplaceLoss):
        return _sampled_laplace(loss)
    if isinstance(loss, OppositeMixtureLoss):
        mirrored = Mixture(tuple(-shift for shift in loss.shifts), loss.weights)
        return NormalPair(Mixture(loss.shifts, loss.weights), mirrored)
    if isinstance(loss, CoinLoss):
        return CoinPair([(share, build(option, side)) for share, option in loss.options if share])
    if isinstance(loss, OppositeSampleLoss):
        return _opposite_sample(loss)
    if isinstance(
        loss, AllocationLoss | WithoutReplacementLoss | WithReplacementLoss | ReplacedSampleLoss
    ):
        return _sampled_batch(loss, side)
    if isinstance(loss, SampledLoss | GroupedLoss | WorstLoss):
        return _changed(loss, side)
    if isinstance(loss, RevealedSizeLoss):
        return revealed_size_pair(loss.mu, loss.rate, loss.rows, backwards=loss.backwards)
    if isinstance(loss, DensityLoss):
        return density_pair(loss, side)
    if isinstance(loss, SumLoss):
        inner = [build(part, side) for part, _ in loss.inner]
        return sum_pair(loss, [pair for pair in inner if isinstance(pair, AtomicPair)])
    return _atomic(loss)


def _changed(loss: SampledLoss | GroupedLoss | WorstLoss, side: Side) -> LossPair:
    """Sampling, a group or a choice, from the whole measures of what is inside."""
    if isinstance(loss, WorstLoss):
        # No test of any option has more power than the pair made of the best tests of all of them, so that
        # pair dominates each, and dominating pairs compose [Zhu2022, Theorem 10].
        options = [[(build(part, side), times) for part, times in way] for way in loss.options]
        return group_pair([measure(option, side) for option in options if option], 1)
    if isinstance(loss, GroupedLoss):
        ways = (loss.inner, reverse(loss.inner)) if loss.mixed else (loss.inner,)
        found = [measure([(build(way, side), 1)], side) for way in dict.fromkeys(ways)]
        return group_pair(found, loss.size)
    inner = [
        (build(reverse(part) if loss.backwards else part, side), times)
        for part, times in loss.inner
    ]
    (first, _), (one, times) = loss.inner[0], inner[0]
    if len(inner) == times == 1 and isinstance(first, _LISTED) and isinstance(one, AtomicPair):
        return sampled_atoms(one, loss.rate, backwards=loss.backwards)
    return sampled_pair(measure(inner, side), loss.rate, side, backwards=loss.backwards)


def _sampled_batch(
    loss: AllocationLoss | WithoutReplacementLoss | WithReplacementLoss | ReplacedSampleLoss,
    side: Side,
) -> LossPair:
    if isinstance(loss, AllocationLoss):
        return AllocationPair(loss.mu, loss.batches, side, backwards=loss.backwards)
    if isinstance(loss, WithoutReplacementLoss):
        return WithoutReplacementPair((loss.mu,), (loss.rate,))
    if isinstance(loss, WithReplacementLoss):
        return with_replacement_pair(loss.mu, loss.rows, loss.batch)
    normal = isinstance(loss.base, GaussianLoss)
    shift = loss.base.mu if isinstance(loss.base, GaussianLoss) else loss.base.ratio
    return ReplacedSamplePair(shift, loss.rate, normal=normal)


def _normal_mixture(loss: GaussianMixtureLoss) -> LossPair:
    # Shifts of 0 belong to the unshifted part; mirroring the line makes all others positive.
    kept = [(abs(m), w) for m, w in zip(loss.shifts, loss.weights, strict=True) if m != 0 and w > 0]
    means, weights = tuple(m for m, _ in kept), tuple(w for _, w in kept)
    if loss.backwards:
        return NormalPair(Mixture(), Mixture(tuple(-m for m in means), weights))
    return NormalPair(Mixture(means, weights), Mixture())


def _sampled_laplace(loss: SampledLaplaceLoss) -> LossPair:
    if loss.backwards:
        return LaplacePair(Mixture(), Mixture((-loss.ratio,), (loss.rate,)))
    return LaplacePair(Mixture((loss.ratio,), (loss.rate,)), Mixture())


def _opposite_sample(loss: OppositeSampleLoss) -> LossPair:
    if isinstance(loss.base, GaussianLoss):
        mean = loss.base.mu
        return NormalPair(Mixture((mean,), (loss.rate,)), Mixture((-mean,), (loss.rate,)))
    mean = loss.base.ratio
    return LaplacePair(Mixture((mean,), (loss.rate,)), Mixture((-mean,), (loss.rate,)))


def _atomic(loss: Loss) -> LossPair:
    if isinstance(loss, BoundedLoss):
        loss = ResponseLoss(loss.epsilon)
    if isinstance(loss, ResponseLoss):
        kept = 1.0 - loss.delta
        telling = kept * (1.0 - loss.neutral)
        more = telling / (1.0 + math.exp(-loss.epsilon))
        less = telling * (math.exp(-loss.epsilon) / (1.0 + math.exp(-loss.epsilon)))
        p = np.array([loss.delta, more, less, kept * loss.neutral])
        q = np.array([0.0, less, more, kept * loss.neutral])
        # Losses are +-eps, and 0 where an answer may say nothing.
        span = (1 if loss.neutral else 2) * loss.epsilon if loss.epsilon > 0 else None
        known = np.array([math.inf, loss.epsilon, -loss.epsilon, 0.0])
        # 1 + e^-x errs by 5 units, e^-x by 8, and up to 5 roundings follow: at most 18.
        return AtomicPair(Atoms(p, q, 24 * UNIT, known), span=span)
    if isinstance(loss, FiniteLoss):
        p, q = np.array(loss.p), np.array(loss.q)
        lack = 1.0 - math.fsum(loss.p)
        # A lack within the rounding of the table is no outcome of its own.
        rest = lack if lack > 4 * len(p) * UNIT else 0.0
        atoms = Atoms(p, q, 4 * UNIT)
        return AtomicPair(atoms, rest, common_span(atoms.losses()))
    if isinstance(loss, LatticeMassLoss):
        return _given(loss)
    if isinstance(loss, DiscreteGaussianLoss):
        return _discrete_gaussian(loss.scale, abs(loss.shift))
    assert isinstance(loss, DiscreteLaplaceLoss)
    return _discrete_laplace(loss.scale, abs(loss.shift))


def _given(loss: LatticeMassLoss) -> LossPair:
    masses = np.array(loss.masses)
    seen = masses > 0
    p = masses[seen]
    losses = (loss.first + np.arange(len(masses), dtype=np.float64))[seen] * loss.step
    q = p * np.exp(-np.clip(losses, -700.0, 700.0))
    return AtomicPair(Atoms(p, q, 16 * UNIT, losses), loss.infinite, loss.step)


def _discrete_gaussian(scale: float, shift: int) -> LossPair:
    reach = math.ceil(38.0 * scale) + 2
    if 2 * reach + shift > MAX_ATOMS:
        raise CannotCertify(
            f"discrete Gaussian noise of scale {scale:g} has too many values to list within memory; "
            "its Renyi bound is that of the Gaussian: ask for it with method='rdp'.",
            scale=scale,
        )
    x = np.arange(-reach, reach + shift + 1, dtype=np.float64)
    weight = np.exp(-((x / scale) ** 2) / 2)
    other = np.exp(-(((x - shift) / scale) ** 2) / 2)
    # In blocks that are added exactly: a sum of n numbers errs by at most n units of itself.
    centred = weight[: 2 * reach + 1]
    total = math.fsum(np.add.reduceat(centred, np.arange(0, len(centred), 1024)))
    known = shift * (2 * x - shift) / (2 * scale**2)
    # Exponents up to 745, beyond which e^-x is no float, err by 3 units of themselves, the sum by 1024; what
    # is no normal float errs by less than the 1e-300 that counts as infinite; tails beyond 38 scales are
    # below 1e-313.
    atoms = Atoms(other / total, weight / total, 4096 * UNIT, known)
    return AtomicPair(atoms, 1e-300, shift / scale**2)


def _discrete_laplace(scale: float, shift: int) -> LossPair:
    # P is centred at `shift`: mass (1-a)/(1+a) a^|x - shift|, a = e^{-1/scale}.
    if shift + 1 > MAX_ATOMS:
        raise CannotCertify(
            f"a shift of {shift} has too many values to list within memory; the Renyi bound still "
            "holds: ask for it with method='rdp'.",
            shift=shift,
        )
    inner = np.arange(1, shift, dtype=np.float64)
    end = 1 / (1 + math.exp(-1 / scale))
    center = -math.expm1(-1 / scale) * end  # tanh(1/(2 scale))
    far = end * math.exp(-shift / scale)
    p = np.concatenate(([far], center * np.exp((inner - shift) / scale), [end]))
    q = np.concatenate(([end], center * np.exp(-inner / scale), [far]))
    known = np.concatenate(([-shift / scale], (2 * inner - shift) / scale, [shift / scale]))
    if shift == 0:
        p, q, known = np.ones(1), np.ones(1), np.zeros(1)
    return AtomicPair(Atoms(p, q, (48 + 4 * shift / scale) * UNIT, known), span=2 / scale)


def merged(parts: Sequence[tuple[Loss, int]], side: Side) -> list[tuple[Loss, int]]:
    """Equal losses counted together; all Gaussian ones as the one they compose to exactly, different ones
    of a few outcomes in groups whose outcomes are listed.
    """
    counts: dict[Loss, int] = {}
    squares: list[float] = []
    for loss, count in parts:
        if isinstance(loss, GaussianLoss):
            squares.append(
                count * loss.mu * loss.mu
            )  # in this order only what is nothing underflows
        elif count > 0:
            counts[loss] = counts.get(loss, 0) + count
    if math.fsum(squares) > 0:
        slip = 8 * UNIT if side is Side.UPPER else -8 * UNIT
        counts[GaussianLoss(math.sqrt(math.fsum(squares)) * (1 + slip))] = 1
    if len(counts) < 2:
        return list(counts.items())
    alone: list[tuple[Loss, int]] = []
    few: list[Listed] = []
    for loss, count in counts.items():
        one = listed(loss, count, build(loss, side)) if may_be_listed(loss, count) else None
        if one is None:
            alone.append((loss, count))
        else:
            few.append(one)
    return alone + together(few)
