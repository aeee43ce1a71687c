"""How a function wants to be called: with a generator, with a seed, or with its data alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from dpcheck.core.errors import UnfitSignature

_GENERATORS = frozenset(
    {"rng", "random_state", "generator", "random_generator", "gen", "prng", "random"}
)
_SEEDS = frozenset({"seed", "random_seed"})
_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Adapted:
    """A function without a generator in last place, called like one that has it.

    With a `keyword` the generator is passed under that name, or a number drawn from it if `seed`.
    """

    function: Callable[..., Any]
    keyword: str | None = None
    seed: bool = False

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.function

    def __call__(self, *arguments: Any) -> Any:
        """Call with everything but the generator, which comes last."""
        *given, rng = arguments
        if self.keyword is None:
            return self.function(*given)
        value = int(rng.integers(1 << 32)) if self.seed else rng
        return self.function(*given, **{self.keyword: value})


def fitted(
    target: Callable[..., Any], call: Callable[..., Any], batched: bool
) -> Callable[..., Any]:
    """`call`, to be called as (data, rng), or (data, size, rng) if batched, however `target` is.

    A parameter after the data is the generator if it must be given, or if it is called like one
    (rng, random_state, ...); a parameter called seed gets a number. A function that takes its data
    alone draws from global generators, which are set from the seed of every run.
    """
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):  # compiled code without a signature
        return call
    before = 2 if batched else 1
    places = [each for each in parameters if each.kind in _BY_POSITION]
    rest = places[before:]
    keywords = {p.name: p for p in parameters if p.kind is Parameter.KEYWORD_ONLY}
    open_ended = any(each.kind is Parameter.VAR_POSITIONAL for each in parameters)
    named = [p for p in (*rest, *keywords.values()) if _is_random(p)]
    needed = [p for p in (*rest, *keywords.values()) if p.default is Parameter.empty]
    if (len(places) < before and not open_ended) or any(p not in named[:1] for p in needed[1:]):
        raise _unfit(target, batched)
    if open_ended and len(places) <= before:
        return call
    if rest and rest[0].default is Parameter.empty and rest[0].name not in _SEEDS:
        return call  # whatever it is called, it is where the generator goes
    if needed and needed != named[:1]:
        raise _unfit(target, batched)
    if not named:
        return Adapted(call)
    return Adapted(call, named[0].name, named[0].name in _SEEDS)


def _is_random(parameter: Parameter) -> bool:
    """Whether a parameter asks for randomness; a default seed is the function's own choice."""
    if parameter.name in _SEEDS:
        return parameter.default in (Parameter.empty, None)
    return parameter.name in _GENERATORS


def _unfit(target: Callable[..., Any], batched: bool) -> UnfitSignature:
    name = getattr(target, "__name__", type(target).__name__)
    wanted = "(data, size, rng) or (data, size)" if batched else "(data, rng) or (data)"
    return UnfitSignature(
        f"{name}{inspect.signature(target)} cannot be called by an audit, which has {wanted} to "
        "give; fix further arguments with functools.partial or a function of your own.",
        name=name,
    )
