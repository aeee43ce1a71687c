"""Which operations are known, by family, each with the lemma that makes it sound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from dpcheck.core.data import Data

F = TypeVar("F", bound=Callable[..., Data])


class Family(StrEnum):
    """What kind of operation it is."""

    ELEMENTWISE = "elementwise"
    REDUCTION = "reductions"
    INDEXING = "shape and indexing"
    JOINING = "joining"
    LINEAR = "linear algebra"
    COUNTING = "counting"
    ORDER = "order statistics"
    SAMPLING = "sampling and noise"
    TABLE = "tables"


@dataclass(frozen=True, slots=True)
class Rule:
    """One operation and why what is said of its result is true."""

    name: str
    family: Family
    lemma: str
    apply: Callable[..., Data]


FUNCTIONS: dict[object, Rule] = {}
METHODS: dict[str, Rule] = {}
NAMED: dict[str, Rule] = {}  # what is known under a name only: draws, tables, clip_norm


def rule(
    *functions: object, family: Family, lemma: str, methods: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Make an operation known; `lemma` is printed in the documentation."""

    def register(apply: F) -> F:
        for function in functions:
            name = getattr(function, "__name__", str(function))
            module = getattr(function, "__module__", "") or ""
            shown = f"np.linalg.{name}" if "linalg" in module else f"np.{name}"
            FUNCTIONS[function] = Rule(shown, family, lemma, apply)
        for method in methods:
            METHODS[method] = Rule(f"array.{method}", family, lemma, apply)
        return apply

    return register


def named(name: str, family: Family, lemma: str) -> Callable[[F], F]:
    """Make known what has no function of numpy's to stand for it."""

    def register(apply: F) -> F:
        NAMED[name] = Rule(name, family, lemma, apply)
        return apply

    return register


def everything() -> list[Rule]:
    """All rules, by family and name."""
    from dpcheck.tracing import generator, rules, tables  # noqa: F401 - each registers its own
    from dpcheck.tracing.rules.elementwise import BOXES, apply

    rules.load()
    lemma = (
        "rows stay rows, within the box of the result; an aggregate moves by its slope on the box"
    )
    ufuncs = [Rule(f"np.{each.__name__}", Family.ELEMENTWISE, lemma, apply) for each in BOXES]
    found = {
        each.name: each
        for each in (*ufuncs, *FUNCTIONS.values(), *METHODS.values(), *NAMED.values())
    }
    return sorted(found.values(), key=lambda each: (each.family, each.name))
