"""Arithmetic on draws: affine functions keep them draws, comparisons make coins, all else uses them up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpcheck.program import releases
from dpcheck.program.facts.boxes import WHOLE, Box, DType, add, box, multiply, point
from dpcheck.program.facts.kinds import (
    RANDOM,
    Coins,
    Drawn,
    Ids,
    Public,
    Released,
    Rows,
    ScaledNoise,
)
from dpcheck.program.facts.rowsets import Shape
from dpcheck.program.graph import PUBLICLY, Graph, Made, Node
from dpcheck.program.rules import inverse, mirrored
from dpcheck.program.rules.common import numpy_shape, opened, plain, released

SYMMETRIC = (
    releases.LAPLACE,
    releases.GAUSSIAN,
    releases.DISCRETE_LAPLACE,
    releases.DISCRETE_GAUSSIAN,
)
DISCRETE = (releases.DISCRETE_LAPLACE, releases.DISCRETE_GAUSSIAN)
UNIFORM_INTEGERS = "uniform integers"
_ABOVE = {"less": False, "less_equal": False, "greater": True, "greater_equal": True}


def of_draws(graph: Graph, name: str, args: Sequence[Node], dtype: DType) -> Made:
    """A function of entries with a draw among its operands."""
    if not all(isinstance(arg.fact, (*RANDOM, Public)) for arg in args):
        if any(isinstance(arg.fact, Rows) or not _no_secret(arg) for arg in args):
            graph.refuse(
                "unknown-operation",
                f"np.{name} of a private value and random numbers is no known mechanism",
                "add the noise to the finished aggregate, or use one coin for each record",
            )
        return _scaled(name, args) or spent(graph, args, dtype)
    draws = [arg for arg in args if isinstance(arg.fact, RANDOM)]
    found = inverse.of_uniform(name, args)
    if found is not None:
        return found
    if len(args) == 1:
        found = _one(name, args[0])
    elif len(args) == 2 and len(draws) == 1:
        found = _with_public(name, args, draws[0])
    elif len(args) == 2:
        found = _two(name, args)
    if found is None and name == "add":
        found = mirrored.summed(args)
    return spent(graph, args, dtype) if found is None else found


def _scaled(name: str, args: Sequence[Node]) -> Made | None:
    """Noise of scale 1 times a released number above 0: see lowering/scaled.py."""
    if name != "multiply" or len(args) != 2:
        return None
    for noise, scale in (args, args[::-1]):
        fact, size = noise.fact, scale.fact
        if not isinstance(fact, Drawn) or fact.family not in (releases.LAPLACE, releases.GAUSSIAN):
            continue
        if not isinstance(size, Released) or scale.ndim or scale.dtype.kind not in "iuf":
            continue
        unit = (fact.scale == 1).all() and (fact.location == 0).all()
        if unit and size.box.finite and (size.box.lo > 0).all():
            opened((scale,))
            made = ScaledNoise(box=multiply(fact.box, size.box), ids=fact.ids)
            return Made(noise.shape, np.dtype(float), made)
    return None


def _no_secret(arg: Node) -> bool:
    return isinstance(arg.fact, (*RANDOM, Public, Released))


def _one(name: str, arg: Node) -> Made | None:
    fact = arg.fact
    if name == "negative" and isinstance(fact, Drawn):
        return affine(arg, -1.0, 0.0)
    if name == "positive":
        return Made(arg.shape, arg.dtype, fact)
    if name in ("logical_not", "invert") and isinstance(fact, Coins) and arg.dtype.kind == "b":
        return Made(arg.shape, arg.dtype, fact.opposite())
    return None


def _with_public(name: str, args: Sequence[Node], draw: Node) -> Made | None:
    left = args[0] is draw
    other = args[1] if left else args[0]
    assert isinstance(other.fact, Public)
    if other.dtype.kind not in "biuf":
        return None
    number = np.asarray(other.fact.value, dtype=float)
    if isinstance(draw.fact, Coins):
        return _of_coins(name, draw, number, left)
    if not isinstance(draw.fact, Drawn):
        return None
    if not _fits(number, draw):
        return None
    if name == "add":
        return affine(draw, 1.0, number)
    if name == "subtract":
        return affine(draw, 1.0, -number) if left else affine(draw, -1.0, number)
    if name == "multiply":
        return affine(draw, number, 0.0)
    if name == "divide" and left and (number != 0).all():
        return affine(draw, 1 / number, 0.0)
    if name in _ABOVE and number.ndim == 0:
        return _coin(draw, float(number), _ABOVE[name] == left)
    if name in ("equal", "not_equal") and number.ndim == 0:
        return None
    return None


def _fits(number: np.ndarray, draw: Node) -> bool:
    """Whether no drawn number is repeated."""
    if number.ndim == 0:
        return True
    if any(not isinstance(n, int) for n in draw.shape):
        return False
    shape = plain(draw.shape)
    try:
        return np.broadcast_shapes(number.shape, shape) == shape
    except ValueError:
        return False


def _of_coins(name: str, draw: Node, number: np.ndarray, left: bool) -> Made | None:
    fact = draw.fact
    assert isinstance(fact, Coins)
    if number.ndim:
        return None
    value, heads = float(number), None
    if name in ("equal", "not_equal") and value in (0.0, 1.0):
        heads = (value == 1.0) == (name == "equal")
    elif name == "subtract" and not left and value == 1.0:
        return Made(draw.shape, draw.dtype, fact.opposite())
    if heads is None:
        return None
    return Made(draw.shape, np.dtype(bool), fact if heads else fact.opposite())


def _coin(draw: Node, number: float, above: bool) -> Made | None:
    """A uniform number compared with a public one."""
    fact = draw.fact
    assert isinstance(fact, Drawn)
    if fact.family != releases.UNIFORM or np.ndim(fact.scale) or np.ndim(fact.location):
        return None
    if not float(fact.scale) > 0:
        return None
    rate = float((number - fact.location) / fact.scale)  # P(draw < number)
    if not 0 <= rate <= 1:
        return None
    heads = Coins(box=box(0.0, 1.0), rate=rate, ids=fact.ids, below=True)
    return Made(draw.shape, np.dtype(bool), heads.opposite() if above else heads)


def affine(draw: Node, factor: object, shift: object) -> Made | None:
    """factor * noise + shift with public numbers; None for 0, infinite or unknown factors."""
    fact = draw.fact
    assert isinstance(fact, Drawn)
    times, plus = np.asarray(factor, dtype=float), np.asarray(shift, dtype=float)
    if not np.isfinite(times).all() or not np.isfinite(plus).all() or (times == 0).any():
        return None
    if (times < 0).any() and fact.family not in SYMMETRIC:
        turned = inverse.turned(fact, times, plus)
        return None if turned is None else Made(draw.shape, np.dtype(float), turned)
    discrete = fact.family in (*DISCRETE, releases.GEOMETRIC, UNIFORM_INTEGERS)
    if discrete and not (np.abs(times) == 1).all():
        return None
    whole = discrete and bool((plus == np.rint(plus)).all()) and draw.dtype.kind == "i"
    if discrete and not whole:
        return None
    made = replace(
        fact,
        box=add(multiply(fact.box, point(times)), point(plus)),
        scale=fact.scale * np.abs(times),
        location=fact.location * times + plus,
        sign=fact.sign * np.sign(times),
    )
    return Made(draw.shape, draw.dtype if whole else np.dtype(float), made)


def _two(name: str, args: Sequence[Node]) -> Made | None:
    """Two draws: sums of Gaussians, and the differences that make Laplace noise."""
    a, b = (arg.fact for arg in args)
    if not (isinstance(a, Drawn) and isinstance(b, Drawn)) or name not in ("add", "subtract"):
        return None
    if args[0].shape != args[1].shape or np.intersect1d(a.ids, b.ids).size:
        return None
    sign = 1.0 if name == "add" else -1.0
    location = a.location + sign * b.location
    if a.family == b.family == releases.GAUSSIAN:
        family, scale = releases.GAUSSIAN, np.hypot(a.scale, b.scale)
    elif name == "subtract" and a.family == b.family and np.array_equal(a.scale, b.scale):
        if a.family == releases.EXPONENTIAL:
            family, scale = releases.LAPLACE, a.scale
        elif a.family == releases.GEOMETRIC and np.array_equal(a.location, b.location):
            # P(k) ~ (1-p)^k on each side: the difference has mass ~ (1-p)^|k|.
            family, scale, location = releases.DISCRETE_LAPLACE, a.scale, np.zeros_like(location)
        else:
            return None
    else:
        return None
    kind = np.dtype(np.int64) if family == releases.DISCRETE_LAPLACE else np.dtype(float)
    whole = Box(np.asarray(-np.inf), np.asarray(np.inf))
    ids = joined(a.ids, b.ids)
    order = _order(a.ids, b.ids, args[0].shape)
    fact = Drawn(box=whole, family=family, scale=scale, location=location, ids=ids, sign=order)
    return Made(args[0].shape, kind, fact)


def _order(a: Ids, b: Ids, shape: Shape) -> np.ndarray:
    """The sign of a - b: the opposite of that of b - a."""
    first = a.reshape(a.shape[0], -1).min(axis=1) < b.reshape(b.shape[0], -1).min(axis=1)
    if first.size != math.prod(n if isinstance(n, int) else 0 for n in shape):
        return np.asarray(np.nan)  # a block of many
    return np.where(first, 1.0, -1.0).reshape(tuple(map(int, shape)))  # type: ignore[arg-type]


def joined(a: Ids, b: Ids) -> Ids:
    """The ids behind sums of draws, one column for each."""
    return np.concatenate([a.reshape(a.shape[0], -1), b.reshape(b.shape[0], -1)], axis=1)


def use_up(graph: Graph, args: Sequence[Node]) -> None:
    """Draws that become public randomness: they protect nothing from now on."""
    for arg in args:
        if isinstance(arg.fact, RANDOM):
            if any(not isinstance(n, int) for n in arg.shape):
                graph.refuse(
                    "private-length",
                    "as many numbers as there are records are drawn, and used for themselves",
                    "draw a public number of them",
                )
            graph.use(np.unique(arg.fact.ids), PUBLICLY)
    opened(args)


def spent(graph: Graph, args: Sequence[Node], dtype: DType) -> Made:
    """Any other function of draws, public and released values."""
    use_up(graph, args)
    shape = numpy_shape(graph, [plain(arg.shape) for arg in args])
    return released(shape, dtype, WHOLE if dtype.kind != "b" else box(0.0, 1.0))
