"""Which tests may see a changed function: those of the primitives whose rules reach it.

What a rule reaches is read off its code: the functions and methods whose names it and its callees use.
That is at least what it covers when it runs.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path

from dpcheck.core.adjacency import Adjacency
from dpcheck.program.graph import PRIMITIVES, Graph

ROOT = Path(__file__).parents[2]
QUIET = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
# Of rules put together and of what a release costs; for changes of any rule.
OTHERS = (
    "tests/program/test_prices.py",
    "tests/program/test_compositions.py",
    "tests/program/test_tightness.py",
    "tests/prove/test_choices.py",
    "tests/prove/test_pinned.py",
)


def reaching(function: str) -> list[str]:
    """The primitives whose rules may call a function of that name, the nearest first."""
    Graph(Adjacency.REPLACE_ONE)  # registers all of them
    found = []
    for name, primitive in PRIMITIVES.items():
        steps = _steps(_code(primitive.rule))
        if function in steps:
            found.append((steps[function], name))
    return [name for _, name in sorted(found)]


def _code(rule: object) -> types.CodeType:
    return getattr(rule, "func", rule).__code__


def _functions() -> dict[str, list[types.CodeType]]:
    """All functions and methods of the facts and rules, by their names."""
    found: dict[str, list[types.CodeType]] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith(("dpcheck.program.rules", "dpcheck.program.facts")):
            for each in list(vars(module).values()):
                held = vars(each).values() if isinstance(each, type) else [each]
                for one in held:
                    one = getattr(one, "fget", one)
                    if isinstance(one, types.FunctionType):
                        found.setdefault(one.__code__.co_name, []).append(one.__code__)
    return found


def _steps(start: types.CodeType) -> dict[str, int]:
    """Names of functions that are reached, and in how many calls."""
    known = _functions()
    steps, waiting = {start.co_name: 0}, [(start, 0)]
    while waiting:
        code, at = waiting.pop(0)
        for name in _names(code):
            if name in known and name not in steps:
                steps[name] = at + 1
                waiting += [(each, at + 1) for each in known[name]]
    return steps


def _names(code: types.CodeType) -> set[str]:
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return set(code.co_names).union(*(_names(each) for each in inner))
