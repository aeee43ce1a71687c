"""A jaxpr as nested tuples that do not depend on names: for comparing two, and for a digest of one."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

# What says how a jaxpr is compiled or shown, and nothing of what it computes.
_SILENT = frozenset(
    {
        "name",
        "inline",
        "ctx_mesh",
        "compiler_options_kvs",
        "donated_invars",
        "keep_unused",
        "in_layouts",
        "out_layouts",
        "in_shardings",
        "out_shardings",
        "out_sharding",
        "sharding",
        "jvp",
        "jvp_jaxpr_fun",
        "fwd",
        "fwd_jaxpr_thunk",
        "bwd",
        "policy",
        "prevent_cse",
        "differentiated",
        "unroll",
        "precision",
    }
)


def inner(params: Any) -> Any:
    """The jaxpr behind a parameter, open, and its constants; None if it is none."""
    if hasattr(params, "jaxpr") and hasattr(params, "consts"):
        return params.jaxpr, tuple(params.consts)
    if hasattr(params, "eqns") and hasattr(params, "invars"):
        return params, ()
    return None


def canonical(jaxpr: Any, consts: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """The program without its names."""
    numbers: dict[Any, int] = {}

    def name(var: Any) -> Any:
        if hasattr(var, "val"):
            value = np.asarray(var.val)
            return ("literal", str(value.dtype), value.shape, value.tobytes())
        return numbers.setdefault(var, len(numbers))

    for var in (*jaxpr.constvars, *jaxpr.invars):
        name(var)
    lines = tuple(
        (
            eqn.primitive.name,
            tuple(name(v) for v in eqn.invars),
            tuple((name(v), str(v.aval)) for v in eqn.outvars),
            tuple(sorted((k, _parameter(v)) for k, v in eqn.params.items() if k not in _SILENT)),
        )
        for eqn in jaxpr.eqns
    )
    kinds = tuple(str(v.aval) for v in (*jaxpr.constvars, *jaxpr.invars))
    held = tuple(_array(value) for value in consts)
    return (kinds, held, lines, tuple(name(v) for v in jaxpr.outvars))


def _array(value: Any) -> str:
    try:
        array = np.asarray(value)
    except TypeError:  # a key
        return str(value)
    return f"{array.dtype}{array.shape}{hashlib.sha256(array.tobytes()).hexdigest()}"


def _parameter(value: Any) -> str:
    found = inner(value)
    if found is not None:
        return repr(canonical(*found))
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(_parameter(each) for each in value) + ")"
    if callable(value) and not isinstance(value, type):
        return f"function {getattr(value, '__qualname__', type(value).__qualname__)}"
    return repr(value)


def digest(jaxpr: Any, consts: tuple[Any, ...]) -> str:
    """A name for what a jaxpr computes.

    Guarantee: two jaxprs of one digest have the same equations, literals and constants.
    """
    return hashlib.sha256(repr(canonical(jaxpr, consts)).encode()).hexdigest()
