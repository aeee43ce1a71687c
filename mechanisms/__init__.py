"""The algorithms of five transfer-learning papers, as printed and as corrected."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcheck.mechanisms.baselines import Direct, SourceD
    from dpcheck.mechanisms.common.data import Labelled, Transfer
    from dpcheck.mechanisms.common.regularizers import Ridge, SmoothRegularizer, mixture
    from dpcheck.mechanisms.dpda import DPDA
    from dpcheck.mechanisms.dphtl import DPHTL, Source, SourcesData
    from dpcheck.mechanisms.dpiw import DPIW, TwoSamples
    from dpcheck.mechanisms.ftl import FederatedTransfer, Federation
    from dpcheck.mechanisms.g_dpda import GDPDA
    from dpcheck.mechanisms.objective.loss import exact_loss
    from dpcheck.mechanisms.objective.witnesses import Witness, flip, fork, fork_zero
    from dpcheck.mechanisms.one_vs_rest import PrivateOneVsRest
    from dpcheck.mechanisms.output.bayes import bayesian_logistic, informative_prior
    from dpcheck.mechanisms.output.hypothesis_weights import hypothesis_weights
    from dpcheck.mechanisms.output.private_logistic import OutputLogistic, SignedRows
    from dpcheck.mechanisms.plr import PLR
    from dpcheck.mechanisms.plr_fs import PLRFS
    from dpcheck.mechanisms.plr_gaussian import GaussianPLR
    from dpcheck.mechanisms.pptl_fs import PPTLFS
    from dpcheck.mechanisms.private_ftl import PrivateFederatedTransfer
    from dpcheck.mechanisms.private_search import PrivateSearch
    from dpcheck.mechanisms.pst_f import PSTF
    from dpcheck.mechanisms.pst_h import PSTH
    from dpcheck.mechanisms.pst_s import PSTS
    from dpcheck.mechanisms.simcomb import SimComb
    from dpcheck.mechanisms.voting import MajorityVote, WeightedVote

# Public name -> module that defines it, imported when asked for.
_HOME = {
    "DPDA": "dpda",
    "GDPDA": "g_dpda",
    "DPHTL": "dphtl",
    "DPIW": "dpiw",
    "Direct": "baselines",
    "FederatedTransfer": "ftl",
    "Federation": "ftl",
    "GaussianPLR": "plr_gaussian",
    "Labelled": "common.data",
    "MajorityVote": "voting",
    "OutputLogistic": "output.private_logistic",
    "PLR": "plr",
    "PLRFS": "plr_fs",
    "PPTLFS": "pptl_fs",
    "PSTF": "pst_f",
    "PSTH": "pst_h",
    "PSTS": "pst_s",
    "PrivateFederatedTransfer": "private_ftl",
    "PrivateOneVsRest": "one_vs_rest",
    "PrivateSearch": "private_search",
    "Ridge": "common.regularizers",
    "SignedRows": "output.private_logistic",
    "SimComb": "simcomb",
    "SmoothRegularizer": "common.regularizers",
    "Source": "dphtl",
    "SourceD": "baselines",
    "SourcesData": "dphtl",
    "Transfer": "common.data",
    "TwoSamples": "dpiw",
    "WeightedVote": "voting",
    "Witness": "objective.witnesses",
    "bayesian_logistic": "output.bayes",
    "exact_loss": "objective.loss",
    "flip": "objective.witnesses",
    "fork": "objective.witnesses",
    "fork_zero": "objective.witnesses",
    "hypothesis_weights": "output.hypothesis_weights",
    "informative_prior": "output.bayes",
    "mixture": "common.regularizers",
}

__all__ = [
    "DPDA",
    "DPHTL",
    "DPIW",
    "GDPDA",
    "PLR",
    "PLRFS",
    "PPTLFS",
    "PSTF",
    "PSTH",
    "PSTS",
    "Direct",
    "FederatedTransfer",
    "Federation",
    "GaussianPLR",
    "Labelled",
    "MajorityVote",
    "OutputLogistic",
    "PrivateFederatedTransfer",
    "PrivateOneVsRest",
    "PrivateSearch",
    "Ridge",
    "SignedRows",
    "SimComb",
    "SmoothRegularizer",
    "Source",
    "SourceD",
    "SourcesData",
    "Transfer",
    "TwoSamples",
    "WeightedVote",
    "Witness",
    "bayesian_logistic",
    "exact_loss",
    "flip",
    "fork",
    "fork_zero",
    "hypothesis_weights",
    "informative_prior",
    "mixture",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'dpcheck.mechanisms' has no attribute {name!r}")
    value = getattr(import_module(f"dpcheck.mechanisms.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
