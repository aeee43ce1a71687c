"""What a program may be made of, for the reference page: calls that are followed, and the primitives."""

from __future__ import annotations

from dpcheck.program import rules
from dpcheck.program.graph import PRIMITIVES
from dpcheck.program.lowering import columns, drawing, library, registry, tables

Lemmas = dict[str, list[str]]  # what is said of them -> names


def families() -> dict[str, Lemmas]:
    """Every operation, by family and by what is said of it."""
    library.load()
    rules.load()
    found: dict[str, Lemmas] = {
        "functions you may call": _functions(),
        "methods of arrays": {"the same as the function of that name": sorted(registry.METHODS)},
        "columns and tables": {
            "methods of a Series": sorted(columns.SERIES),
            "methods of a DataFrame": sorted(tables.FRAME),
        },
        "random numbers": {"methods of a numpy Generator": sorted(drawing.METHODS)},
        "primitives": {},
    }
    for each in sorted(PRIMITIVES.values(), key=lambda p: p.name):
        found["primitives"].setdefault(each.lemma, []).append(each.name)
    return found


def _functions() -> Lemmas:
    found: Lemmas = {}
    for function, handler in registry.FUNCTIONS.values():
        module = (getattr(function, "__module__", None) or "numpy").split(".")[0]
        name = str(getattr(function, "__name__", function))
        shown = {"builtins": name, "numpy": f"np.{name}"}.get(module, f"{module}.{name}")
        said = (
            (handler.__doc__ or "as numpy or Python computes it, entry by entry")
            .strip()
            .rstrip(".")
        )
        found.setdefault(said.splitlines()[0], []).append(shown)
    return {said: sorted(set(names)) for said, names in sorted(found.items())}
