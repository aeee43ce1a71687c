"""Which sub-jaxprs are draws of jax.random: those equal to one traced afresh. Names alone say nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dpcheck.training.jax.canonical import canonical, inner

_LAWS = ("normal", "laplace", "uniform")


def law_of(eqn: Any) -> str | None:
    """The law that an equation draws from, its keys being the first argument; None if it is no such draw."""
    import jax

    found = inner(eqn.params.get("jaxpr"))
    name = str(eqn.params.get("name", ""))
    law = next((each for each in _LAWS if name == f"_{each}"), None)
    if found is None or law is None or not eqn.invars or len(eqn.outvars) != 1:
        return None
    keys, out = eqn.invars[0].aval, eqn.outvars[0].aval
    if not jax.dtypes.issubdtype(keys.dtype, jax.dtypes.prng_key) or not _threefry(keys.dtype):
        return None
    lead = len(keys.shape)
    if out.shape[:lead] != keys.shape or len(eqn.invars) != (3 if law == "uniform" else 1):
        return None
    if law == "uniform" and any(v.aval.shape for v in eqn.invars[1:]):
        return None
    fresh = _fresh(law, tuple(keys.shape), tuple(out.shape[lead:]), str(out.dtype))
    return law if canonical(*found) in fresh else None


def _threefry(dtype: Any) -> bool:
    return "fry" in str(dtype)


@lru_cache(maxsize=512)
def _fresh(law: str, lead: tuple[int, ...], shape: tuple[int, ...], dtype: str) -> tuple[Any, ...]:
    """What jax.random traces to here: at the top and under vmap."""
    import jax

    function = getattr(jax.random, law)

    def one(key: Any, *ends: Any) -> Any:
        if law == "uniform":
            return function(key, shape, dtype, *ends)
        return function(key, shape, dtype)

    many = one
    for _ in lead:
        many = jax.vmap(many, in_axes=(0, None, None) if law == "uniform" else 0)
    keys = jax.eval_shape(lambda: jax.random.key(0, impl="threefry2x32"))
    batch = jax.ShapeDtypeStruct(lead, keys.dtype)
    ends = [jax.ShapeDtypeStruct((), dtype)] * 2 if law == "uniform" else []
    traced = jax.make_jaxpr(many)(batch, *ends)
    return tuple(
        canonical(*inner(eqn.params["jaxpr"]))
        for eqn in traced.jaxpr.eqns
        if eqn.params.get("name") == f"_{law}"
    )
