"""Many runs of a proved function at once: its trace on real data, with a leading axis of runs.

A function that has a proof takes the same path in every run, so that what it does to one draw it does to
many. Private aggregates are computed once; draws, and all that is computed from them, have one entry a run.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Data
from dpcheck.core.errors import DpcheckError
from dpcheck.core.events.event import Event
from dpcheck.core.records import Records
from dpcheck.tracing import releases
from dpcheck.tracing.calling import arguments_for, guarded
from dpcheck.tracing.containers import Container
from dpcheck.tracing.generator import TracedGenerator
from dpcheck.tracing.outputs import check_output
from dpcheck.tracing.postprocessing import flattened
from dpcheck.tracing.running.binding import carrying
from dpcheck.tracing.running.enforcer import EnforcedGenerator, Enforcer, real
from dpcheck.tracing.tracer import Applied, Compute, Operation
from dpcheck.tracing.values import PRIVATE, Released, Traced

Array = NDArray[np.float64]
_MOST_NUMBERS = 1 << 22  # in one draw
# Of an array without further arguments, as numpy and its arrays name them.
_REDUCTIONS = frozenset(
    {"argmax", "argmin", "amax", "max", "amin", "min", "sum", "mean", "any", "all"}
)
_ONE_BY_ONE = frozenset({"choice", "permutation", "binomial"})


class NotTogether(Exception):
    """The runs of this function cannot be made at once; call it instead."""


class TooLarge(NotTogether):
    """Not so many at once, for their draws would fill the memory."""


@dataclass(frozen=True, slots=True)
class Runs:
    """One value a run, along the first axis."""

    array: Array


def _free(event: Event) -> None:
    """Nothing is paid: the runs stay inside an audit."""


class SamplingTracer(Enforcer):
    """A trace whose draws, and what is computed from them, have one entry a run."""

    def __init__(self, adjacency: Adjacency, size: int) -> None:
        super().__init__(adjacency, _free)
        self.size = size
        self.too_large = False

    def run(self, trace: Operation, compute: Compute, applied: Applied = None) -> Data:
        """Facts as in a proof, then all runs of the operation."""
        found = self.inside(trace)
        if self.is_inside or not isinstance(found, Traced | tuple) or isinstance(found, Container):
            return found
        return _attached(found, self._values(compute, applied))

    def _values(self, compute: Compute, applied: Applied) -> Data:
        if applied is not None:
            fast = _at_once(*applied)
            if fast is not None:
                return fast
        reader = _Reader(0)
        first = compute(reader)
        if not reader.met:
            return first
        return stacked([first, *(compute(_Reader(i)) for i in range(1, self.size))])


class SamplingGenerator(EnforcedGenerator):
    """Draws for all runs with one call of the real generator."""

    def drawn(
        self, name: str, symbol: Data, args: tuple[Data, ...], kwargs: dict[str, Data]
    ) -> Data:
        """The symbol with as many values as there are runs."""
        assert isinstance(self.tracer, SamplingTracer)
        if not isinstance(symbol, Traced):
            raise NotTogether
        size = self.tracer.size
        if any(isinstance(value_of(each), Runs) for each in flattened((*args, *kwargs.values()))):
            raise NotTogether
        if name in _ONE_BY_ONE:
            method = getattr(self.source, name)
            value = stacked([method(*real(args), **real(kwargs)) for _ in range(size)])
        else:
            if PRIVATE in symbol.dims:
                raise NotTogether
            if size > 1 and size * math.prod(symbol.dims) > _MOST_NUMBERS:
                self.tracer.too_large = True  # the exception passes through the user's code
                raise TooLarge
            bound = _SIGNATURES[name].bind(*real(args), **real(kwargs)).arguments
            bound["size"] = (size, *symbol.dims)
            value = Runs(getattr(self.source, name)(**bound))
        symbol.value = value
        return symbol


_SIGNATURES = {
    name: inspect.signature(member).replace(
        parameters=list(inspect.signature(member).parameters.values())[1:]
    )
    for name, member in vars(TracedGenerator).items()
    if inspect.isfunction(member) and not name.startswith("_")
}


class _Quiet(SamplingGenerator):
    """Draws the centre of every law: what is released without its noise."""

    def drawn(
        self, name: str, symbol: Data, args: tuple[Data, ...], kwargs: dict[str, Data]
    ) -> Data:
        """Noise as its location."""
        if not isinstance(symbol, Traced) or name not in ("normal", "laplace", "standard_normal"):
            raise NotTogether
        bound = _SIGNATURES[name].bind(*real(args), **real(kwargs)).arguments
        symbol.value = Runs(np.broadcast_to(bound.get("loc", 0.0), (1, *symbol.dims)).astype(float))
        return symbol


def value_of(value: Data) -> Data:
    """What a symbol carries."""
    return value.value if isinstance(value, Traced) and not isinstance(value, Container) else value


class _Reader:
    """Operands of one run; `met` whether any of them differs between runs."""

    def __init__(self, run: int) -> None:
        self.at, self.met = run, False

    def __call__(self, value: Data) -> Data:
        if isinstance(value, Traced) and not isinstance(value, Container):
            found = value.value
            if found is None:
                raise NotTogether
            if isinstance(found, Runs):
                self.met = True
                return found.array[self.at]
            return found
        if isinstance(value, list | tuple):
            items = [self(each) for each in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if isinstance(value, dict):
            return {key: self(each) for key, each in value.items()}
        if isinstance(value, slice):
            return slice(self(value.start), self(value.stop), self(value.step))
        return real(value)


def _at_once(function: Data, operands: tuple[Data, ...]) -> Runs | None:
    """Operations that need no loop over runs; None for all others."""
    values = [value_of(each) for each in operands]
    many = [each for each in values if isinstance(each, Runs)]
    if not many or any(isinstance(each, list | tuple | dict) for each in values[:1]):
        return None
    elementwise = isinstance(function, np.ufunc) and function.signature is None
    if elementwise or (function is np.where and len(values) == 3):
        shared = [real(v) if isinstance(v, Container) else v for v in values]
        if not all(isinstance(v, Runs | np.ndarray | np.generic | float | int) for v in shared):
            return None
        ranks = [v.array.ndim - 1 if isinstance(v, Runs) else np.ndim(v) for v in shared]
        return Runs(
            function(
                *(_aligned(v, rank, max(ranks)) for v, rank in zip(shared, ranks, strict=True))
            )
        )
    first = values[0]
    if not isinstance(first, Runs):
        return None
    if function is operator.getitem and _is_basic(values[1]):
        key = values[1] if isinstance(values[1], tuple) else (values[1],)
        return Runs(first.array[(slice(None), *key)])
    if len(values) == 1 and getattr(function, "__name__", "") in _REDUCTIONS:
        return Runs(function(first.array.reshape(len(first.array), -1), axis=1))
    return None


def _aligned(value: Data, rank: int, highest: int) -> Data:
    """An operand whose own axes stand at the right, as numpy broadcasts them."""
    if not isinstance(value, Runs):
        return value
    shape = value.array.shape
    return value.array.reshape(shape[0], *(1,) * (highest - rank), *shape[1:])


def _is_basic(key: Data) -> bool:
    """Whole numbers and slices of them, which leave the axis of the runs in its place."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(
        (isinstance(part, int | np.integer) and not isinstance(part, bool))
        or (
            isinstance(part, slice)
            and not any(isinstance(v, Traced) for v in (part.start, part.stop, part.step))
        )
        for part in parts
    ) and not any(isinstance(part, Traced) for part in parts)


def stacked(values: list[Data]) -> Data:
    """One value a run as one array; lengths that differ cannot be made together."""
    if isinstance(values[0], tuple):
        return tuple(stacked(list(each)) for each in zip(*values, strict=True))
    try:
        return Runs(np.stack([np.asarray(each) for each in values]))
    except ValueError:
        raise NotTogether from None


def _attached(found: Data, value: Data) -> Data:
    """The runs of an operation behind its symbol; released values stay symbols here."""
    if isinstance(found, tuple):
        return tuple(_attached(each, own) for each, own in zip(found, value, strict=True))
    if isinstance(found, Traced) and not isinstance(found, Container):
        found.value = value
    return found


@dataclass(frozen=True, slots=True)
class TracedSampler:
    """(data, size, rng) -> outputs of as many runs, each with the law of function(data, rng).

    Guarantee: with size 1 the very output of the function for the same generator.
    """

    function: Callable[..., Data]
    adjacency: Adjacency
    records: Records | None = None

    def __call__(self, data: Data, size: int, rng: np.random.Generator) -> Data:
        """An array with one row a run, or a list of outputs where they are no arrays."""
        tracer = SamplingTracer(self.adjacency, size)
        output = self._output(tracer, data, SamplingGenerator.over(tracer, rng))
        found = value_of(output)
        if isinstance(found, Runs):
            return found.array
        return [_Reader(i)(output) for i in range(size)]

    def call(self, data: Data, rng: np.random.Generator) -> Data:
        """One output of the function itself."""
        given, named = arguments_for(self.function, data, rng)
        return self.function(*given, **named)

    def log_density(self, data: Data, outputs: Data) -> Array:
        """Of each output, where that is one release with Laplace or Gaussian noise; or NotTogether."""
        tracer = SamplingTracer(self.adjacency, 1)
        output = self._output(tracer, data, _Quiet.over(tracer, np.random.default_rng(0)))
        if not isinstance(output, Released) or not isinstance(output.value, Runs):
            raise NotTogether
        release = output.release
        if release is None or release.coins or len(tracer.releases) > 1:
            raise NotTogether
        rows = np.asarray(outputs, dtype=float).reshape(len(outputs), *output.dims)
        away = (rows - output.value.array) / release.scale
        if release.family == releases.LAPLACE:
            each = -np.abs(away) - np.log(2 * release.scale)
        elif release.family == releases.GAUSSIAN:
            each = -0.5 * away**2 - np.log(release.scale) - 0.5 * math.log(2 * math.pi)
        else:
            raise NotTogether
        spread = np.broadcast_to(each, rows.shape).reshape(len(rows), -1)
        result: Array = spread.sum(axis=1)
        return result

    def _output(self, tracer: SamplingTracer, data: Data, rng: EnforcedGenerator) -> Data:
        try:
            symbol = carrying(tracer, data, self.records)
            given, named = arguments_for(self.function, symbol, rng)
            output = guarded(tracer, self.function, given, named)
            check_output(tracer, output)
        except DpcheckError as refused:
            raise (TooLarge if tracer.too_large else NotTogether) from refused
        return output
