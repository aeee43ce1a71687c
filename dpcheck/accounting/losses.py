"""Worst-case pairs: the distributions (P, Q) whose privacy loss log P/Q an event is bounded by.

Adjacency is resolved before a loss exists (`worst_case`), so accountants need not know it. P is the
output with the record, Q without it; `reverse` swaps them where that matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from flint import acb


@dataclass(frozen=True, slots=True)
class Loss:
    """A pair (P, Q), or what is known about it."""


# A composition: independent losses, each so many times.
Parts: TypeAlias = tuple[tuple[Loss, int], ...]


@dataclass(frozen=True, slots=True)
class GaussianLoss(Loss):
    """P = N(mu, 1), Q = N(0, 1)."""

    mu: float


# Nothing is seen.
NO_LOSS = GaussianLoss(0.0)


@dataclass(frozen=True, slots=True)
class LaplaceLoss(Loss):
    """P = Laplace(ratio, 1), Q = Laplace(0, 1); ratio is sensitivity over scale."""

    ratio: float


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLoss(Loss):
    """Integer noise with mass proportional to exp(-x^2/(2 scale^2)), moved by `shift`."""

    scale: float
    shift: int


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLoss(Loss):
    """Integer noise with mass proportional to exp(-|x|/scale), moved by `shift`."""

    scale: float
    shift: int


@dataclass(frozen=True, slots=True)
class FiniteLoss(Loss):
    """Two tables of masses over the same outcomes."""

    p: tuple[float, ...]
    q: tuple[float, ...]

    @property
    def one_sided(self) -> bool:
        """Whether an outcome is seen on one side only; a lack of mass beyond rounding is one."""
        rounding = 4 * len(self.p) * 2.0**-53
        lack = max(1 - math.fsum(self.p), 1 - math.fsum(self.q))
        unmatched = any((a > 0) != (b > 0) for a, b in zip(self.p, self.q, strict=True))
        return unmatched or lack > rounding


@dataclass(frozen=True, slots=True)
class DensityLoss(Loss):
    """Two densities on the line, as functions of a python-flint complex ball, and cells to integrate over.

    `p` and `q` take and return `flint.acb` and must be analytic and positive inside every cell
    between consecutive `knots`; mass of P outside the knots counts as infinite loss.
    """

    p: Callable[[acb], acb]
    q: Callable[[acb], acb]
    knots: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ResponseLoss(Loss):
    """The worst pair of all (epsilon, delta)-DP mechanisms, with probability `neutral` of no loss.

    With neutral = 0: P = (delta, (1-delta) e^eps/(1+e^eps), (1-delta)/(1+e^eps), 0), Q is P
    backwards. Otherwise the two middle masses are multiplied by 1 - neutral and an outcome of loss 0
    takes the rest, (1-delta) neutral under both (k-ary randomized response).
    """

    epsilon: float
    delta: float = 0.0
    neutral: float = 0.0


@dataclass(frozen=True, slots=True)
class BoundedLoss(Loss):
    """|log P/Q| <= epsilon, and its supremum over the described mechanisms is at least `attained`."""

    epsilon: float
    attained: float


@dataclass(frozen=True, slots=True)
class GaussianMixtureLoss(Loss):
    """P = sum_j weights_j N(shifts_j, 1) + (1 - sum weights) N(0, 1), Q = N(0, 1).

    One Poisson-sampled Gaussian is shifts (mu,), weights (rate,). `backwards` swaps P and Q.
    """

    shifts: tuple[float, ...]
    weights: tuple[float, ...]
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class SampledLaplaceLoss(Loss):
    """P = (1-rate) Laplace(0, 1) + rate Laplace(ratio, 1), Q = Laplace(0, 1)."""

    ratio: float
    rate: float
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class ReplacedSampleLoss(Loss):
    """A Poisson-sampled record is replaced: mixtures (1-rate) M0 + rate M1 against M1' in its place.

    `base` is the loss (GaussianLoss or LaplaceLoss) of one record against none; M1 and M1' are twice
    as far apart. Known by upper bounds only.
    """

    base: GaussianLoss | LaplaceLoss
    rate: float


@dataclass(frozen=True, slots=True)
class OppositeMixtureLoss(Loss):
    """P = sum_j weights_j N(shifts_j, 1) + rest N(0, 1), Q = P mirrored: all shifts negative.

    Sampled records that are replaced, drawn in P and Q alike (Gaussian noise): the worst pair. `binomial`
    where the shifts are multiples of the first, by how many of a group's records were drawn.
    """

    shifts: tuple[float, ...]
    weights: tuple[float, ...]
    binomial: bool = True


@dataclass(frozen=True, slots=True)
class CoinLoss(Loss):
    """A public coin picks one of several pairs: (probability, pair), probabilities rounded up."""

    options: tuple[tuple[float, Loss], ...]


@dataclass(frozen=True, slots=True)
class OppositeSampleLoss(Loss):
    """The pair (1-rate) M(0) + rate M(+1) against (1-rate) M(0) + rate M(-1) on the line.

    One of the pairs ReplacedSampleLoss covers, so a lower bound for it.
    """

    base: GaussianLoss | LaplaceLoss
    rate: float


@dataclass(frozen=True, slots=True)
class WithoutReplacementLoss(Loss):
    """A Gaussian step of replace-one shift `mu` on a batch drawn without replacement at `rate`."""

    mu: float
    rate: float


@dataclass(frozen=True, slots=True)
class WithReplacementLoss(Loss):
    """A Gaussian step of replace-one shift `mu` on `batch` draws with replacement from `rows` records."""

    mu: float
    rows: int
    batch: int


@dataclass(frozen=True, slots=True)
class RevealedSizeLoss(Loss):
    """A Poisson-sampled Gaussian step whose batch size m is released, a record added or removed.

    With n = `rows`, the record among them: P(m) = Binomial(n, rate), Q(m) = Binomial(n-1, rate), and given m
    the sum is moved by `mu` with probability m/n under P.
    """

    mu: float
    rate: float
    rows: int
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class AllocationLoss(Loss):
    """P = (1/batches) sum_i N(mu e_i, I), Q = N(0, I): one of `batches` steps, chosen uniformly."""

    mu: float
    batches: int
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class LatticeMassLoss(Loss):
    """P-masses of the losses (first + i) * step that bound a pair from above, and of an infinite one.

    `added` bounds the reversed pair likewise; None where it is the same. `most` is a loss that what counts as
    infinite is known not to exceed, for bounds that need no lattice.
    """

    step: float
    first: int
    masses: tuple[float, ...]
    infinite: float
    added: tuple[int, tuple[float, ...], float] | None = None
    most: float = math.inf


@dataclass(frozen=True, slots=True)
class ConcentratedLoss(Loss):
    """Renyi divergence at most offset + rho * order at every order."""

    rho: float
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class BoundedRangeLoss(Loss):
    """The loss lies in an interval of length epsilon that contains 0 (exponential mechanism)."""

    epsilon: float


@dataclass(frozen=True, slots=True)
class GroupedLoss(Loss):
    """`inner`, seen by an owner of `size` records, where no closed form is known.

    `mixed` where the steps between the two datasets may go either way along the pair.
    """

    inner: Loss
    size: int
    mixed: bool = False


@dataclass(frozen=True, slots=True)
class SumLoss(Loss):
    """A composition of few outcomes in all, listed one by one; `span` is that of a lattice of its losses."""

    inner: Parts
    span: float | None = None


@dataclass(frozen=True, slots=True)
class SampledLoss(Loss):
    """A composition on one Poisson sample: P = (1-rate) Q0 + rate P0, Q = Q0, (P0, Q0) the composition's."""

    inner: Parts
    rate: float
    backwards: bool = False


@dataclass(frozen=True, slots=True)
class WorstLoss(Loss):
    """Whichever of several compositions costs most; too many choices to account one by one."""

    options: tuple[Parts, ...]


@dataclass(frozen=True, slots=True)
class SelectedLoss(Loss):
    """The best of K runs of a composition, K truncated negative binomial(shape, stop)."""

    inner: Parts
    shape: float
    stop: float


@dataclass(frozen=True, slots=True)
class PoissonSelectedLoss(Loss):
    """The best of K runs of a composition, K Poisson; nothing where K is 0."""

    inner: Parts
    mean: float


@dataclass(frozen=True, slots=True)
class UnboundedLoss(Loss):
    """No guarantee at all."""

    reason: str


@dataclass(frozen=True, slots=True)
class LossBounds:
    """What an event costs between a dominating pair and a pair it really contains.

    `upper` dominates the mechanism except with probability `failure` per use (total variation, on
    either side); `lower` is a pair some described mechanism attains, None where none is known.
    """

    upper: Loss
    lower: Loss | None
    failure: float = 0.0
    assumes: tuple[str, ...] = ()


@lru_cache(maxsize=512)
def reverse(loss: Loss) -> Loss:
    """The loss with P and Q swapped; the same object where the pair is symmetric."""
    if isinstance(
        loss,
        GaussianMixtureLoss | SampledLaplaceLoss | AllocationLoss | SampledLoss | RevealedSizeLoss,
    ):
        return replace(loss, backwards=not loss.backwards)
    if isinstance(loss, FiniteLoss):
        return FiniteLoss(loss.q, loss.p)
    if isinstance(loss, LatticeMassLoss):
        if loss.added is None:
            return loss
        other = (loss.first, loss.masses, loss.infinite)
        return LatticeMassLoss(loss.step, *loss.added, other, loss.most)
    if isinstance(loss, DensityLoss):
        return DensityLoss(loss.q, loss.p, loss.knots)
    if isinstance(loss, GroupedLoss):
        return replace(loss, inner=reverse(loss.inner))
    if isinstance(loss, CoinLoss):
        return CoinLoss(tuple((share, reverse(option)) for share, option in loss.options))
    if isinstance(loss, WorstLoss):
        return WorstLoss(tuple(reverse_parts(option) for option in loss.options))
    return loss


def one_run(parts: Iterable[tuple[Loss, int]]) -> Parts:
    """What a composition contains with one run for each selection, where there always is one.

    Where all runs score alike the first is released, an ordinary run.
    """
    found: list[tuple[Loss, int]] = []
    for loss, times in parts:
        if isinstance(loss, SelectedLoss):
            found += [(inner, count * times) for inner, count in loss.inner]
        elif not isinstance(loss, PoissonSelectedLoss):
            found.append((loss, times))
    return tuple(found)


def reverse_parts(parts: Parts) -> Parts:
    """A composition with P and Q swapped in every part."""
    return tuple((reverse(loss), times) for loss, times in parts)
