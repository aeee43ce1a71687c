"""The call itself: the user's function with symbols in place of data, generator and a few names."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dpcheck.core.data import Data
from dpcheck.core.errors import BudgetExceeded, NotProvable
from dpcheck.replay.draws import Line, is_users
from dpcheck.tracing.generator import TracedGenerator
from dpcheck.tracing.handlers import no_handlers
from dpcheck.tracing.namespace import traced_names
from dpcheck.tracing.watching import watched

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

_OWN = str(Path(__file__).parent)
_RANDOM = frozenset({"rng", "random_state", "generator", "random_generator", "gen", "prng"})


def call(tracer: Tracer, function: Callable[..., Data], symbol: Data) -> Data:
    """function(data, rng) on symbols; its own errors are reported as such."""
    arguments, named = arguments_for(function, symbol, TracedGenerator(tracer))
    with watched(tracer), no_handlers(tracer):
        return guarded(tracer, function, arguments, named)


def guarded(
    tracer: Tracer,
    function: Callable[..., Data],
    arguments: tuple[Data, ...],
    named: dict[str, Data],
) -> Data:
    """The call with names in place; the first refusal counts, whatever the code did with it."""
    tracer.left_at = None
    try:
        with traced_names(tracer, function):
            found = function(*arguments, **named)
    except (NotProvable, BudgetExceeded):
        raise
    except Exception as error:
        if tracer.refusal is not None:
            raise tracer.refusal from None
        tracer.left_at = _raised_at(error)
        tracer.refuse(
            "failed",
            f"the function fails on symbols with {type(error).__name__}: {str(error)[:200]}",
            "use operations that are supported, see docs/reference/operations",
        )
    if tracer.refusal is not None:
        raise tracer.refusal
    tracer.left_at = _stands_at(function)
    return found


def _raised_at(error: Exception) -> Line | None:
    """The innermost line of the user's code that an error went through."""
    found, trace = None, error.__traceback__
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if is_users(path) and not path.startswith(_OWN):
            found = Line(path, trace.tb_lineno)
        trace = trace.tb_next
    return found


def _stands_at(function: Callable[..., Data]) -> Line | None:
    """The last line on which a function returns; None for what is written in another language."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return None
    returns = [each for each in dis.get_instructions(code) if each.opname.startswith("RETURN")]
    numbers = [each.positions.lineno for each in returns if each.positions is not None]
    return Line(code.co_filename, max(filter(None, numbers), default=code.co_firstlineno))


def arguments_for(
    function: Callable[..., Data], symbol: Data, rng: Data
) -> tuple[tuple[Data, ...], dict[str, Data]]:
    """How the function wants data and generator."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return (symbol, rng), {}
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name in _RANDOM]
    if len(places) >= 2 and (
        places[1].default is inspect.Parameter.empty or places[1].name in _RANDOM
    ):
        return (symbol, rng), {}
    later = [p.name for p in places[1:] if p.name in _RANDOM] + keywords
    return (symbol,), {later[0]: rng} if later else {}
