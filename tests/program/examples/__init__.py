"""Examples of every primitive, over the arguments that change its meaning."""

from __future__ import annotations

from importlib import import_module

from .table import EXAMPLES, Example, example

FILES = (
    *("elementwise", "selecting", "reductions", "shapes", "indexing", "joining", "products"),
    *("counting", "ordering", "drawing", "clipping"),
)
for _name in FILES:
    import_module(f"{__name__}.{_name}")

__all__ = ["EXAMPLES", "Example", "example"]
