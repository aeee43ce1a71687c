"""One rule per primitive: these facts of the operands imply this fact of the result."""

from __future__ import annotations

from importlib import import_module

FILES = (
    "elementwise",
    "selecting",
    "assuming",
    "reductions",
    "shapes",
    "indexing",
    "joining",
    "products",
    "counting",
    "categories",
    "clipping",
    "ordering",
    "drawing",
    "mirrored",
    "postprocessing",
)


def load() -> None:
    """Import every family, which registers its rules."""
    for name in FILES:
        import_module(f"{__name__}.{name}")
