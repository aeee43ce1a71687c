"""Where rules are found, and what they are given.

A rule is a function `(context, node, *facts of the arguments) -> Fact` with the primitive's name:

    @rule("neg")
    def neg(at: Context, node: Node, x: Fact) -> Fact: ...

Its docstring is its lemma. What it cannot bound it answers with `at.mixed(...)`, which is refused only if
it reaches a release or an output.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

Rule = Callable[..., Any]
_FILES = ("elementwise", "shapes", "sums", "products", "indexing", "randomness", "control")
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for these primitives."""

    def register(found: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise ValueError(f"{name} has a rule already.")
            RULES[name] = found
        return found

    return register


def load() -> None:
    """Import all rules."""
    for name in _FILES:
        importlib.import_module(f"dpcheck.training.rules.{name}")
