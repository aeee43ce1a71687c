"""dpcheck: prove what a private algorithm spends, audit what its code leaks, compare the two.

>>> import dpcheck
>>> event = dpcheck.Gaussian(noise_multiplier=10.0) * 100
>>> round(dpcheck.epsilon(event, delta=1e-5, adjacency="add-remove").upper, 4)
4.3772
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dpcheck.core import card as _card

__version__ = "0.1.0"

# Module -> the public names it defines. Nothing is imported until it is asked for, which keeps
# `dpcheck --help` instant.
_DEFINED_IN = {
    "dpcheck.accounting.api": ("delta", "epsilon", "rdp", "tradeoff"),
    "dpcheck.accounting.calibrate": (
        "calibrate",
        "calibrate_batch_size",
        "calibrate_epochs",
        "calibrate_noise",
        "calibrate_steps",
    ),
    "dpcheck.auditing.mechanism": ("audited", "batched"),
    "dpcheck.auditing.pairs.inference": ("infer_records",),
    "dpcheck.auditing.neighbours": ("neighbours", "value_pairs"),
    "dpcheck.core.adjacency": ("Adjacency",),
    "dpcheck.core.bound": ("Bound",),
    "dpcheck.core.budget": ("Budget",),
    "dpcheck.core.claim": ("Claim",),
    "dpcheck.core.errors": (
        "BudgetExceeded",
        "DpcheckError",
        "InvalidParameter",
        "NotProvable",
        "Undecided",
    ),
    "dpcheck.core.events.event": (
        "Event",
        "Grouped",
        "Parallel",
        "PoissonStopping",
        "RandomStopping",
        "Repeated",
        "Sampled",
        "Sequential",
        "Under",
    ),
    "dpcheck.core.events.guarantee": (
        "ApproxDP",
        "GDP",
        "LossDistribution",
        "NotPrivate",
        "PureDP",
        "ZCDP",
    ),
    "dpcheck.core.events.noise": (
        "DiscreteGaussian",
        "DiscreteLaplace",
        "ExponentialMechanism",
        "FinitePair",
        "Gaussian",
        "Laplace",
        "RandomizedResponse",
    ),
    "dpcheck.core.events.selection": (
        "AboveThreshold",
        "PermuteAndFlip",
        "ReportNoisyMax",
        "ShuffledReports",
    ),
    "dpcheck.core.events.training": (
        "BandedMatrix",
        "FixedBatchGaussian",
        "GaussianObjectivePerturbation",
        "MatrixMechanism",
        "MixtureGaussian",
        "ObjectivePerturbation",
        "OutputPerturbation",
        "RandomAllocationGaussian",
        "RealisedBatchGaussian",
        "SampledGaussian",
        "SampledLaplace",
        "TreeAggregation",
        "TruncatedPoissonGaussian",
        "WithReplacementGaussian",
    ),
    "dpcheck.core.records": ("number", "one_of", "records", "text"),
    "dpcheck.core.relation": ("relation",),
    "dpcheck.core.verdict": ("Verdict",),
    "dpcheck.ledger.ledger": ("Ledger",),
    "dpcheck.session.assertion": ("assert_private",),
    "dpcheck.session.audit": ("audit",),
    "dpcheck.session.enforcing": ("enforced",),
    "dpcheck.session.pld": ("pld",),
    "dpcheck.session.proving": ("prove", "prove_training"),
    "dpcheck.program.lowering.clipping": ("clip_norm",),
    "dpcheck.program.proof": ("Proof",),
}
_HOME = {name: module for module, names in _DEFINED_IN.items() for name in names}

# Public name -> module that is it.
_MODULES = {
    "mechanisms": "dpcheck.mechanisms",
    "risk": "dpcheck.accounting.risk",
    "testing": "dpcheck.testing",
}

__all__ = ["__version__", *sorted(_HOME), *sorted(_MODULES)]

if TYPE_CHECKING:  # `as`: the public names, for type checkers
    from collections.abc import Sequence

    from dpcheck import mechanisms as mechanisms
    from dpcheck import testing as testing
    from dpcheck.accounting import risk as risk
    from dpcheck.accounting.api import delta as delta
    from dpcheck.accounting.api import epsilon as epsilon
    from dpcheck.accounting.api import rdp as rdp
    from dpcheck.accounting.api import tradeoff as tradeoff
    from dpcheck.accounting.calibrate import calibrate as calibrate
    from dpcheck.accounting.calibrate import calibrate_batch_size as calibrate_batch_size
    from dpcheck.accounting.calibrate import calibrate_epochs as calibrate_epochs
    from dpcheck.accounting.calibrate import calibrate_noise as calibrate_noise
    from dpcheck.accounting.calibrate import calibrate_steps as calibrate_steps
    from dpcheck.auditing.mechanism import audited as audited
    from dpcheck.auditing.mechanism import batched as batched
    from dpcheck.auditing.neighbours import neighbours as neighbours
    from dpcheck.auditing.neighbours import value_pairs as value_pairs
    from dpcheck.auditing.pairs.inference import infer_records as infer_records
    from dpcheck.core.adjacency import Adjacency as Adjacency
    from dpcheck.core.bound import Bound as Bound
    from dpcheck.core.budget import Budget as Budget
    from dpcheck.core.claim import Claim as Claim
    from dpcheck.core.errors import BudgetExceeded as BudgetExceeded
    from dpcheck.core.errors import DpcheckError as DpcheckError
    from dpcheck.core.errors import InvalidParameter as InvalidParameter
    from dpcheck.core.errors import NotProvable as NotProvable
    from dpcheck.core.errors import Undecided as Undecided
    from dpcheck.core.events.event import Event as Event
    from dpcheck.core.events.event import Grouped as Grouped
    from dpcheck.core.events.event import Parallel as Parallel
    from dpcheck.core.events.event import PoissonStopping as PoissonStopping
    from dpcheck.core.events.event import RandomStopping as RandomStopping
    from dpcheck.core.events.event import Repeated as Repeated
    from dpcheck.core.events.event import Sampled as Sampled
    from dpcheck.core.events.event import Sequential as Sequential
    from dpcheck.core.events.event import Under as Under
    from dpcheck.core.events.guarantee import GDP as GDP
    from dpcheck.core.events.guarantee import ZCDP as ZCDP
    from dpcheck.core.events.guarantee import ApproxDP as ApproxDP
    from dpcheck.core.events.guarantee import LossDistribution as LossDistribution
    from dpcheck.core.events.guarantee import NotPrivate as NotPrivate
    from dpcheck.core.events.guarantee import PureDP as PureDP
    from dpcheck.core.events.noise import DiscreteGaussian as DiscreteGaussian
    from dpcheck.core.events.noise import DiscreteLaplace as DiscreteLaplace
    from dpcheck.core.events.noise import ExponentialMechanism as ExponentialMechanism
    from dpcheck.core.events.noise import FinitePair as FinitePair
    from dpcheck.core.events.noise import Gaussian as Gaussian
    from dpcheck.core.events.noise import Laplace as Laplace
    from dpcheck.core.events.noise import RandomizedResponse as RandomizedResponse
    from dpcheck.core.events.selection import AboveThreshold as AboveThreshold
    from dpcheck.core.events.selection import PermuteAndFlip as PermuteAndFlip
    from dpcheck.core.events.selection import ReportNoisyMax as ReportNoisyMax
    from dpcheck.core.events.selection import ShuffledReports as ShuffledReports
    from dpcheck.core.events.training import BandedMatrix as BandedMatrix
    from dpcheck.core.events.training import FixedBatchGaussian as FixedBatchGaussian
    from dpcheck.core.events.training import (
        GaussianObjectivePerturbation as GaussianObjectivePerturbation,
    )
    from dpcheck.core.events.training import MatrixMechanism as MatrixMechanism
    from dpcheck.core.events.training import MixtureGaussian as MixtureGaussian
    from dpcheck.core.events.training import ObjectivePerturbation as ObjectivePerturbation
    from dpcheck.core.events.training import OutputPerturbation as OutputPerturbation
    from dpcheck.core.events.training import RandomAllocationGaussian as RandomAllocationGaussian
    from dpcheck.core.events.training import RealisedBatchGaussian as RealisedBatchGaussian
    from dpcheck.core.events.training import SampledGaussian as SampledGaussian
    from dpcheck.core.events.training import SampledLaplace as SampledLaplace
    from dpcheck.core.events.training import TreeAggregation as TreeAggregation
    from dpcheck.core.events.training import TruncatedPoissonGaussian as TruncatedPoissonGaussian
    from dpcheck.core.events.training import WithReplacementGaussian as WithReplacementGaussian
    from dpcheck.core.records import number as number
    from dpcheck.core.records import one_of as one_of
    from dpcheck.core.records import records as records
    from dpcheck.core.records import text as text
    from dpcheck.core.relation import relation as relation
    from dpcheck.core.verdict import Verdict as Verdict
    from dpcheck.ledger.ledger import Ledger as Ledger
    from dpcheck.program.lowering.clipping import clip_norm as clip_norm
    from dpcheck.program.proof import Proof as Proof
    from dpcheck.session.assertion import assert_private as assert_private
    from dpcheck.session.audit import audit as audit
    from dpcheck.session.enforcing import enforced as enforced
    from dpcheck.session.pld import pld as pld
    from dpcheck.session.proving import prove as prove
    from dpcheck.session.proving import prove_training as prove_training


def _html(cards: Sequence[_card.Card]) -> str:
    from dpcheck.report import notebook

    return notebook.html(cards)


_card.draw_with(_html)  # results in a notebook, drawn by a module that is imported when one is


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'dpcheck' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
