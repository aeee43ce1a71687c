"""jax, imported when it is first used: importing the mechanisms must not need it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from dpcheck.core.errors import MissingExtra


@cache
def require(module: str) -> Any:
    """A module of jax, or an error that names the extra."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(
            "training DPDA needs jax, which is not installed: pip install 'dpcheck[deep]'."
        ) from None


class _Lazy:
    """A module that is imported at the first attribute asked of it."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(require(self._module), name)


Tensor: TypeAlias = Any  # a jax array, or what stands for one while jax traces
jax: Any = _Lazy("jax")
jnp: Any = _Lazy("jax.numpy")
