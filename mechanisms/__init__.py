"""The algorithms of five transfer-learning papers, as printed and as corrected."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Public name -> module that defines it, imported when asked for.
_HOME = {
    "PLR": "plr",
    "Labelled": "_data",
    "Transfer": "_data",
    "Ridge": "_regularizers",
    "SmoothRegularizer": "_regularizers",
    "mixture": "_regularizers",
    "exact_loss": "_loss",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from dpcheck.mechanisms._data import Labelled, Transfer
    from dpcheck.mechanisms._loss import exact_loss
    from dpcheck.mechanisms._regularizers import Ridge, SmoothRegularizer, mixture
    from dpcheck.mechanisms.plr import PLR


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dpcheck.mechanisms' has no attribute {name!r}")
    value = getattr(import_module(f"dpcheck.mechanisms.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
