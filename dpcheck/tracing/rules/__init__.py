"""What every supported operation does to facts about private values, by family."""

from __future__ import annotations

from importlib import import_module

FILES = (
    "elementwise",
    "reductions",
    "indexing",
    "shapes",
    "joining",
    "linear",
    "counting",
    "ordering",
    "masking",
)


def load() -> None:
    """Import every family, which registers its rules."""
    for name in FILES:
        import_module(f"{__name__}.{name}")
