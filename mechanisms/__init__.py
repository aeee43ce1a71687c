"""The algorithms of five transfer-learning papers, as printed and as corrected."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcheck.mechanisms._data import Labelled, Transfer
    from dpcheck.mechanisms._loss import exact_loss
    from dpcheck.mechanisms._regularizers import Ridge, SmoothRegularizer, mixture
    from dpcheck.mechanisms._witnesses import Witness, flip, fork, fork_zero
    from dpcheck.mechanisms.baselines import Direct, SourceD
    from dpcheck.mechanisms.plr import PLR
    from dpcheck.mechanisms.plr_fs import PLRFS
    from dpcheck.mechanisms.pptl_fs import PPTLFS
    from dpcheck.mechanisms.pst_f import PSTF
    from dpcheck.mechanisms.pst_h import PSTH
    from dpcheck.mechanisms.pst_s import PSTS
    from dpcheck.mechanisms.simcomb import SimComb
    from dpcheck.mechanisms.voting import MajorityVote, WeightedVote

# Public name -> module that defines it, imported when asked for.
_HOME = {
    "Direct": "baselines",
    "Labelled": "_data",
    "MajorityVote": "voting",
    "PLR": "plr",
    "PLRFS": "plr_fs",
    "PPTLFS": "pptl_fs",
    "PSTF": "pst_f",
    "PSTH": "pst_h",
    "PSTS": "pst_s",
    "Ridge": "_regularizers",
    "SimComb": "simcomb",
    "SmoothRegularizer": "_regularizers",
    "SourceD": "baselines",
    "Transfer": "_data",
    "WeightedVote": "voting",
    "Witness": "_witnesses",
    "exact_loss": "_loss",
    "flip": "_witnesses",
    "fork": "_witnesses",
    "fork_zero": "_witnesses",
    "mixture": "_regularizers",
}

__all__ = [
    "PLR",
    "PLRFS",
    "PPTLFS",
    "PSTF",
    "PSTH",
    "PSTS",
    "Direct",
    "Labelled",
    "MajorityVote",
    "Ridge",
    "SimComb",
    "SmoothRegularizer",
    "SourceD",
    "Transfer",
    "WeightedVote",
    "Witness",
    "exact_loss",
    "flip",
    "fork",
    "fork_zero",
    "mixture",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dpcheck.mechanisms' has no attribute {name!r}")
    value = getattr(import_module(f"dpcheck.mechanisms.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
