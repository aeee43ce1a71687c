"""Every worst-case pair, by name; what is known of each is in its file below `pairs`."""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.accounting.pairs.combined.coin import CoinLoss
from dpcheck.accounting.pairs.combined.grouped import GroupedLoss
from dpcheck.accounting.pairs.combined.sampled import SampledLoss
from dpcheck.accounting.pairs.combined.selected import PoissonSelectedLoss, SelectedLoss
from dpcheck.accounting.pairs.combined.summed import SumLoss
from dpcheck.accounting.pairs.combined.worst import WorstLoss
from dpcheck.accounting.pairs.known.bounded import BoundedLoss, BoundedRangeLoss
from dpcheck.accounting.pairs.known.concentrated import ConcentratedLoss
from dpcheck.accounting.pairs.known.density import DensityLoss
from dpcheck.accounting.pairs.known.finite import FiniteLoss
from dpcheck.accounting.pairs.known.lattice_mass import LatticeMassLoss
from dpcheck.accounting.pairs.known.response import ResponseLoss
from dpcheck.accounting.pairs.known.unbounded import UnboundedLoss
from dpcheck.accounting.pairs.noise.discrete_gaussian import DiscreteGaussianLoss
from dpcheck.accounting.pairs.noise.discrete_laplace import DiscreteLaplaceLoss
from dpcheck.accounting.pairs.noise.gaussian import NO_LOSS, GaussianLoss
from dpcheck.accounting.pairs.noise.laplace import LaplaceLoss
from dpcheck.accounting.pairs.noise.objective import GaussianObjectiveLoss
from dpcheck.accounting.pairs.noise.spherical import ObjectiveLoss, SphericalLoss
from dpcheck.accounting.pairs.pair import Loss, Parts, one_run, reverse_parts
from dpcheck.accounting.pairs.sampled.allocation import AllocationLoss
from dpcheck.accounting.pairs.sampled.batches import WithoutReplacementLoss, WithReplacementLoss
from dpcheck.accounting.pairs.sampled.gaussian import GaussianMixtureLoss
from dpcheck.accounting.pairs.sampled.laplace import SampledLaplaceLoss
from dpcheck.accounting.pairs.sampled.opposite import OppositeMixtureLoss
from dpcheck.accounting.pairs.sampled.replaced import OppositeSampleLoss, ReplacedSampleLoss
from dpcheck.accounting.pairs.sampled.revealed import RevealedSizeLoss

__all__ = [
    "NO_LOSS",
    "AllocationLoss",
    "BoundedLoss",
    "BoundedRangeLoss",
    "CoinLoss",
    "ConcentratedLoss",
    "DensityLoss",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "FiniteLoss",
    "GaussianLoss",
    "GaussianMixtureLoss",
    "GaussianObjectiveLoss",
    "GroupedLoss",
    "LaplaceLoss",
    "LatticeMassLoss",
    "Loss",
    "LossBounds",
    "ObjectiveLoss",
    "OppositeMixtureLoss",
    "OppositeSampleLoss",
    "Parts",
    "PoissonSelectedLoss",
    "ReplacedSampleLoss",
    "ResponseLoss",
    "RevealedSizeLoss",
    "SampledLaplaceLoss",
    "SampledLoss",
    "SelectedLoss",
    "SphericalLoss",
    "SumLoss",
    "UnboundedLoss",
    "WithReplacementLoss",
    "WithoutReplacementLoss",
    "WorstLoss",
    "one_run",
    "reverse_parts",
]


@dataclass(frozen=True, slots=True)
class LossBounds:
    """What an event costs between a dominating pair and a pair it really contains.

    `upper` dominates the mechanism except with probability `failure` per use (total variation, on
    either side); `lower` is a pair some described mechanism attains, None where none is known. P is the
    output with the record, unless `sided` is false: then either side may be.
    """

    upper: Loss
    lower: Loss | None
    failure: float = 0.0
    assumes: tuple[str, ...] = ()
    sided: bool = True
