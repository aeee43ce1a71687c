"""dpcheck: prove what a private algorithm spends, audit what its code leaks, compare the two.

>>> import dpcheck
>>> event = dpcheck.Gaussian(noise_multiplier=10.0) * 100
>>> round(dpcheck.epsilon(event, delta=1e-5, adjacency="add-remove").upper, 4)
4.3772
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public name -> module that defines it. Nothing is imported until it is asked for, which keeps
# `dpcheck --help` instant.
_HOME = {
    **dict.fromkeys(
        (
            "Gaussian",
            "Laplace",
            "DiscreteGaussian",
            "DiscreteLaplace",
            "RandomizedResponse",
            "ExponentialMechanism",
            "FinitePair",
        ),
        "dpcheck.core.events.noise",
    ),
    **dict.fromkeys(
        (
            "SampledGaussian",
            "SampledLaplace",
            "FixedBatchGaussian",
            "TruncatedPoissonGaussian",
            "RandomAllocationGaussian",
            "TreeAggregation",
            "BandedMatrix",
            "ObjectivePerturbation",
            "OutputPerturbation",
        ),
        "dpcheck.core.events.training",
    ),
    **dict.fromkeys(
        ("PureDP", "ApproxDP", "ZCDP", "GDP", "NotPrivate"), "dpcheck.core.events.guarantee"
    ),
    **dict.fromkeys(("Event", "Grouped", "RandomStopping", "Under"), "dpcheck.core.events.event"),
    "Adjacency": "dpcheck.core.adjacency",
    "Bound": "dpcheck.core.bound",
    "Budget": "dpcheck.core.budget",
    "Claim": "dpcheck.core.claim",
    "Verdict": "dpcheck.core.verdict",
    "DpcheckError": "dpcheck.core.errors",
    "BudgetExceeded": "dpcheck.core.errors",
    "epsilon": "dpcheck.accounting.api",
    "delta": "dpcheck.accounting.api",
    "rdp": "dpcheck.accounting.api",
    "tradeoff": "dpcheck.accounting.api",
    **dict.fromkeys(
        ("calibrate", "calibrate_noise", "calibrate_steps", "calibrate_epochs"),
        "dpcheck.accounting.calibrate",
    ),
    "Ledger": "dpcheck.ledger.ledger",
    "assert_private": "dpcheck.session.assertion",
    "audited": "dpcheck.auditing.mechanism",
    "batched": "dpcheck.auditing.mechanism",
    "neighbours": "dpcheck.auditing.neighbours",
    "value_pairs": "dpcheck.auditing.neighbours",
    "Undecided": "dpcheck.core.errors",
}

__all__ = ["__version__", *sorted(_HOME)]

if TYPE_CHECKING:
    from dpcheck.accounting.api import delta, epsilon, rdp, tradeoff
    from dpcheck.accounting.calibrate import (
        calibrate,
        calibrate_epochs,
        calibrate_noise,
        calibrate_steps,
    )
    from dpcheck.auditing.mechanism import audited, batched
    from dpcheck.auditing.neighbours import neighbours, value_pairs
    from dpcheck.core.adjacency import Adjacency
    from dpcheck.core.bound import Bound
    from dpcheck.core.budget import Budget
    from dpcheck.core.claim import Claim
    from dpcheck.core.errors import BudgetExceeded, DpcheckError, Undecided
    from dpcheck.core.events.event import Event, Grouped, RandomStopping, Under
    from dpcheck.core.events.guarantee import GDP, ZCDP, ApproxDP, NotPrivate, PureDP
    from dpcheck.core.events.noise import (
        DiscreteGaussian,
        DiscreteLaplace,
        ExponentialMechanism,
        FinitePair,
        Gaussian,
        Laplace,
        RandomizedResponse,
    )
    from dpcheck.core.events.training import (
        BandedMatrix,
        FixedBatchGaussian,
        ObjectivePerturbation,
        OutputPerturbation,
        RandomAllocationGaussian,
        SampledGaussian,
        SampledLaplace,
        TreeAggregation,
        TruncatedPoissonGaussian,
    )
    from dpcheck.core.verdict import Verdict
    from dpcheck.ledger.ledger import Ledger
    from dpcheck.session.assertion import assert_private


# Public name -> module that is it.
_MODULES = {"risk": "dpcheck.accounting.risk", "testing": "dpcheck.testing"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'dpcheck' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
