"""Mechanisms people really got wrong, each with its corrected twin. `benchmarks/corpus.py` runs them."""

from __future__ import annotations

from . import floating, noise, papers, randomness, releases, selection, training
from .base import Planted, Registered

THEMES = {
    "noise": noise.ROWS,
    "randomness": randomness.ROWS,
    "releases": releases.ROWS,
    "selection": selection.ROWS,
    "training": training.ROWS,
    "floating point": floating.ROWS,
    "papers": papers.ROWS,
}
CORPUS: tuple[Planted, ...] = tuple(row for rows in THEMES.values() for row in rows)

__all__ = ["CORPUS", "THEMES", "Planted", "Registered"]
