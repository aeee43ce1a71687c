"""Replay: exact losses of somebody's function on one pair, in a handful of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcheck.core.data import Value

if TYPE_CHECKING:
    from dpcheck.replay.findings import FindingKind, Hint, HintKind, ReplayFinding
    from dpcheck.replay.kept import keeps_answers
    from dpcheck.replay.pair import examine
    from dpcheck.replay.search import Scorer

_HOMES = {
    "FindingKind": "findings",
    "Hint": "findings",
    "HintKind": "findings",
    "ReplayFinding": "findings",
    "Scorer": "search",
    "examine": "pair",
    "keeps_answers": "kept",
}

__all__ = ["FindingKind", "Hint", "HintKind", "ReplayFinding", "Scorer", "examine", "keeps_answers"]


def __getattr__(name: str) -> Value:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
