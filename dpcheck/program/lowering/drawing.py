"""Random numbers: methods of generators, np.random, the random module."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from dpcheck.program import releases
from dpcheck.program.facts.kinds import Aggregate, Rows
from dpcheck.program.facts.rowsets import Dim
from dpcheck.program.graph import Node
from dpcheck.program.lowering.functions import apply
from dpcheck.program.lowering.registry import lower
from dpcheck.program.reading.operators import binary
from dpcheck.program.reading.public import released_call
from dpcheck.program.reading.values import (
    Generator,
    KnownGenerator,
    Opaque,
    Others,
    Scalar,
    Value,
    Word,
)
from dpcheck.program.rules.common import plain
from dpcheck.program.rules.random_numbers import UNIFORM_INTEGERS

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

Method = Callable[..., object]


def draw(
    reader: Reader, owner: Generator, name: str, args: tuple[object, ...], named: dict[str, object]
) -> object:
    """rng.name(...)."""
    method = owner.methods.get(name) if owner.methods else METHODS.get(name)
    if method is None:
        _unknown(reader, name)
    reader.source = owner.name
    try:
        if reader.mapped:
            from dpcheck.program.lowering.each_record import drawn_for_each

            if name == "choice" and len(args) == 1 and isinstance(args[0], Others) and not named:
                from dpcheck.program.lowering.others import one_of

                left = (0, len(args[0].values) - 1)
                place = drawn_for_each(reader, _integers, left, {})
                return _as_it_comes(reader, one_of(reader, args[0], place), args[0].values)
            if name == "choice" and len(args) == 1 and not named and _texts(args[0]):
                place = drawn_for_each(reader, _integers, (0, len(args[0])), {})  # type: ignore[arg-type]
                assert isinstance(place, Scalar)
                return Word(tuple(args[0]), place)  # type: ignore[arg-type]
            if (
                name == "binomial"
                and len(args) == 2
                and not reader.is_public(args[1])
                and not named
            ):
                return _own_coin(reader, args[0], args[1])

            return drawn_for_each(reader, method, args, named)
        return method(reader, *args, **named)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        _unknown(reader, f"{name} with these arguments")


def _as_it_comes(reader: Reader, value: object, values: tuple[object, ...]) -> object:
    """A number of the list, as random.choice gives it, or as numpy's do."""
    from dpcheck.program.lowering.each_record import are_pythons

    if not isinstance(value, Scalar):
        return value
    kinds = {type(each) for each in values}
    if not are_pythons(reader.source, "choice"):
        return Scalar(reader.graph.add("convert", value.node, dtype=value.node.dtype))
    if kinds not in ({int}, {float}):
        reader.unknown("a choice from a list of numbers of several kinds")
    return Scalar(reader.graph.add("number", value.node, kind=kinds.pop()))


def _texts(value: object) -> bool:
    """A public list of different texts."""
    if not isinstance(value, list | tuple) or not value:
        return False
    return all(type(each) is str for each in value) and len(set(value)) == len(value)


def _unknown(reader: Reader, name: str) -> NoReturn:
    reader.refuse(
        "unknown-noise",
        f"draws by {name} are not followed",
        "use laplace, normal, random, integers, choice, gumbel, exponential or geometric",
    )


def _public(reader: Reader, name: str, value: object) -> np.ndarray:
    """A parameter of a law."""
    if reader.is_public(value):
        return np.asarray(reader.plain(value), dtype=float)
    if reader.is_released(value):
        reader.refuse(
            "released-path",
            f"a released value decides the {name} of the noise",
            "use a public number, or decorate the function with @dpcheck.enforced",
        )
    return reader.refuse(
        "private-scale",
        f"the {name} of the noise is computed from the data",
        "use a public number",
    )


def shape_of(reader: Reader, size: object, *like: np.ndarray) -> tuple[Dim, ...]:
    """The shape of a draw; a private number of records is the records themselves."""
    if size is None:
        return tuple(np.broadcast_shapes(*(each.shape for each in like))) if like else ()
    parts = size if type(size) in (tuple, list) else (size,)
    found: list[Dim] = []
    for part in parts:  # type: ignore[attr-defined]
        if isinstance(part, Scalar) and isinstance(part.node.fact, Aggregate):
            rows = part.node.fact.counts
            if rows is None:
                reader.refuse(
                    "private-length",
                    "a private value decides how much is drawn",
                    "use a public number",
                )
            found.append(rows)
        elif not reader.is_public(part):
            reader.refuse(
                "released-path", "a released value decides how much is drawn", "use a public number"
            )
        else:
            value = reader.plain(part)
            if isinstance(value, np.ndarray):
                found.extend(int(n) for n in np.ravel(value))
            else:
                found.append(int(value))  # type: ignore[call-overload]
    return tuple(found)


def drawn(reader: Reader, law: str, shape: tuple[Dim, ...], **params: object) -> Node:
    """Fresh numbers."""
    return reader.graph.add("draw", law=law, shape=shape, source=reader.source, **params)


def _located(law: str, method: str) -> Method:
    def handler(
        reader: Reader, loc: object = 0.0, scale: object = 1.0, size: object = None
    ) -> object:
        if not reader.is_public(scale) and reader.is_released(scale):
            return _by_released(reader, law, method, loc, scale, size)
        spread = _public(reader, "scale", scale)
        if (spread < 0).any() or not np.isfinite(spread).all():
            reader.refuse(
                "failed", "the scale of the noise is negative or infinite", "fix the code"
            )
        if isinstance(loc, Opaque):
            reader.unknown("noise around a released value of unknown shape")
        place = reader.node(loc)
        wanted = shape_of(reader, size, spread)
        if size is None:
            if isinstance(place.fact, Rows):
                from dpcheck.program.rules.common import whole

                place = whole(reader.graph, place)
            wanted = np.broadcast_shapes(spread.shape, plain(place.shape))
        sized = {} if wanted or size is None else {"sized": True}  # size=(): an array without axes
        node = drawn(reader, law, wanted, scale=spread, method=method, **sized)
        if reader.is_public(loc) and np.all(np.asarray(reader.plain(loc)) == 0):
            return reader.array(node)
        if place.dtype == np.float32:  # numpy adds its noise in double precision
            place = reader.graph.add("convert", place, dtype=np.dtype(float))
        return reader.array(apply(reader, "add", place, node))

    return handler


def _by_released(
    reader: Reader, law: str, method: str, loc: object, scale: object, size: object
) -> object:
    """Noise whose scale is released: noise of scale 1, times that number."""
    spread = reader.node(scale)
    numeric = not spread.ndim and spread.dtype.kind in "iuf" and spread.fact.box.finite
    if law not in (releases.LAPLACE, releases.GAUSSIAN) or not numeric:
        _public(reader, "scale", scale)
    if not (spread.fact.box.lo > 0).all():
        reader.refuse(
            "released-path",
            "a released value decides the scale of the noise, and it may be 0 or negative",
            "keep it above 0: np.maximum(value, 0.01)",
        )
    place = reader.node(loc)
    if isinstance(place.fact, Rows):
        from dpcheck.program.rules.common import whole

        place = whole(reader.graph, place)
    wanted = shape_of(reader, size) if size is not None else plain(place.shape)
    unit = drawn(reader, law, wanted, scale=np.asarray(1.0), method=method)
    noise = reader.graph.add("multiply", unit, spread)
    if reader.is_public(loc) and np.all(np.asarray(reader.plain(loc)) == 0):
        return reader.array(noise)
    return reader.array(apply(reader, "add", place, noise))


def _scaled(law: str, method: str) -> Method:
    def handler(reader: Reader, scale: object = 1.0, size: object = None) -> object:
        spread = _public(reader, "scale", scale)
        return reader.array(
            drawn(reader, law, shape_of(reader, size, spread), scale=spread, method=method)
        )

    return handler


def _standard_normal(reader: Reader, size: object = None) -> object:
    return reader.array(
        drawn(reader, releases.GAUSSIAN, shape_of(reader, size), method="standard_normal")
    )


def _random(reader: Reader, size: object = None) -> object:
    return reader.array(drawn(reader, releases.UNIFORM, shape_of(reader, size), method="random"))


def _uniform(reader: Reader, low: object = 0.0, high: object = 1.0, size: object = None) -> object:
    start, end = _public(reader, "range", low), _public(reader, "range", high)
    shape = shape_of(reader, size, start, end)
    if not (end > start).all():
        reader.unknown("a uniform number between ends that are not in order")
    return reader.array(
        drawn(reader, releases.UNIFORM, shape, scale=end - start, location=start, method="uniform")
    )


def _geometric(reader: Reader, p: object, size: object = None) -> object:
    chance = _public(reader, "probability", p)
    if chance.ndim or not 0 < float(chance) < 1:
        _unknown(reader, "geometric with these probabilities")
    scale = np.asarray(-1 / math.log1p(-float(chance)))
    shape = shape_of(reader, size)
    return reader.array(
        drawn(
            reader, releases.GEOMETRIC, shape, scale=scale, method="geometric", chance=float(chance)
        )
    )


def _own_coin(reader: Reader, n: object, chance: object) -> object:
    """The same in a loop over records."""
    from dpcheck.program.lowering.each_record import drawn_for_each

    box = reader.node(chance).fact.box
    inside = not box.nan and bool((box.lo >= 0).all() and (box.hi <= 1).all())
    if not reader.is_public(n) or reader.plain(n) != 1 or not inside:
        _unknown(reader, "binomial with these private probabilities")
    uniform = drawn_for_each(reader, _bernoulli, (), {})
    heads = binary(reader, "multiply", binary(reader, "less", uniform, chance), 1)
    return reader.array(reader.graph.add("number", reader.node(heads), kind=int))


def _bernoulli(reader: Reader, size: object = None) -> object:
    shape = shape_of(reader, size)
    return reader.array(drawn(reader, releases.UNIFORM, shape, method="bernoulli"))


def _own_coins(reader: Reader, chance: Node, size: object) -> object:
    """A coin for every record, with a probability of its own."""
    box = chance.fact.box
    if box.nan or not ((box.lo >= 0).all() and (box.hi <= 1).all()):
        reader.refuse(
            "private-control",
            "a probability may be outside [0, 1], and the error would reveal it",
            "clip it: np.clip(p, 0, 1)",
        )
    if size is not None:
        _unknown(reader, "binomial with private probabilities and a size")
    uniform = drawn(reader, releases.UNIFORM, chance.shape, method="bernoulli")
    heads = apply(reader, "less", uniform, chance)
    return reader.array(reader.graph.add("convert", heads, dtype=np.dtype(np.int64)))


def _binomial(reader: Reader, n: object, p: object, size: object = None) -> object:
    if not reader.is_public(n) or reader.plain(n) != 1:
        _unknown(reader, "binomial with n above 1")
    if not reader.is_public(p) and isinstance(reader.node(p).fact, Rows):
        return _own_coins(reader, reader.node(p), size)
    chance = _public(reader, "probability", p)
    if chance.ndim:
        _unknown(reader, "coins of several probabilities")
    if not 0 <= float(chance) <= 1:
        reader.refuse("failed", "a probability outside [0, 1]", "fix the code")
    shape = shape_of(reader, size)
    return reader.array(drawn(reader, "coin", shape, scale=chance, method="binomial"))


def _integers(
    reader: Reader,
    low: object,
    high: object = None,
    size: object = None,
    dtype: object = np.int64,
    endpoint: object = False,
) -> object:
    first, last = (0, low) if high is None else (low, high)
    start = int(_public(reader, "range", first))
    end = int(_public(reader, "range", last)) + int(bool(reader.plain(endpoint)))
    kind = np.dtype(reader.plain(dtype))  # type: ignore[call-overload]
    if end <= start:
        reader.refuse("failed", "no whole number between these ends", "fix the code")
    shape = shape_of(reader, size)
    if (start, end) == (0, 2):
        node = drawn(reader, "coin", shape, scale=np.asarray(0.5), method="integers")
    else:
        node = drawn(
            reader,
            UNIFORM_INTEGERS,
            shape,
            scale=np.asarray(float(end - start)),
            location=np.asarray(float(start)),
            method="integers",
        )
    if kind != node.dtype:
        node = reader.graph.add("convert", node, dtype=kind)
    return reader.array(node)


def _choice(
    reader: Reader,
    a: object,
    size: object = None,
    replace: object = True,
    p: object = None,
    axis: object = 0,
    shuffle: object = True,
) -> object:
    if reader.plain(axis) != 0 or not reader.plain(shuffle):
        _unknown(reader, "choice with these options")
    if not reader.is_public(a):
        if isinstance(a, Value) and reader.is_released(a) and p is None:
            _unknown(reader, "choice among released values")
        reader.refuse(
            "private-control",
            "this draws from private values, or their number decides what it draws",
            "draw places out of a public number of rows, or use a Poisson mask",
        )
    values = reader.plain(a)
    if p is not None and not reader.is_public(p):
        if reader.is_released(p):
            return _released_law(reader, values, size, replace, p)
        return _private_law(reader, values, size, p)
    if p is None and not reader.plain(replace) and np.ndim(values) == 0 and size is not None:  # type: ignore[arg-type]
        shape = shape_of(reader, size)
        if len(shape) != 1 or not isinstance(shape[0], int):
            reader.unknown("a choice of a private number of rows")
        count = int(values)  # type: ignore[call-overload]
        if shape[0] > count:
            reader.refuse("failed", "more rows are drawn than there are", "fix the code")
        return reader.array(drawn(reader, "places", shape, count=count, method="choice"))
    many = int(values) if np.ndim(values) == 0 else len(values)  # type: ignore[arg-type, call-overload]
    shape = shape_of(reader, size)
    law = None if p is None else np.asarray(reader.plain(p), dtype=float)
    if not reader.plain(replace):
        _unknown(reader, "choice of values without replacement")
    if (
        p is None
        and many == 2
        and sorted(np.ravel(np.asarray(values)).tolist()) in ([0, 1], [False, True])
    ):
        node = drawn(reader, "coin", shape, scale=np.asarray(0.5), method="choice", values=values)
        return reader.array(node)
    pair = np.asarray(values)
    if p is None and pair.shape == (2,) and pair.dtype.kind in "if" and pair[0] == -pair[1]:
        heads = drawn(reader, "coin", shape, scale=np.asarray(0.5), method="choice", values=2)
        first, second = (reader.graph.constant(each) for each in pair)
        return reader.array(reader.graph.add("select", heads, second, first))
    if (
        law is not None
        and many == 2
        and np.ravel(np.asarray(values)).tolist() in ([0, 1], [False, True])
    ):
        node = drawn(
            reader, "coin", shape, scale=law[1], method="choice", values=values, law_of=law
        )
        return reader.array(node)
    node = drawn(
        reader,
        UNIFORM_INTEGERS,
        shape,
        scale=np.asarray(float(many)),
        location=np.asarray(0.0),
        method="choice",
        law_of=law,
    )
    if law is not None or np.ndim(values):  # type: ignore[arg-type]
        # Public randomness: which value comes protects nothing.
        spent = reader.graph.add("apply_draw", node)
        if not np.ndim(values):  # type: ignore[arg-type]
            return reader.array(spent)
        return released_call(reader, lambda v, i: np.asarray(v)[i], (values, reader.array(spent)))
    return reader.array(node)


def _released_law(
    reader: Reader, values: object, size: object, replace: object, p: object
) -> object:
    """rng.choice(values, p=released): what numpy makes of uniform numbers, which protect nothing."""
    if not reader.plain(replace):
        _unknown(reader, "choice of values without replacement")
    node = drawn(reader, releases.UNIFORM, shape_of(reader, size), method="random")
    return released_call(reader, _chosen, (values, p, reader.array(node)))


def _chosen(values: object, law: object, uniform: object) -> object:
    """As numpy chooses, by the inverse of the distribution function."""
    listed = np.asarray(values)
    listed = np.arange(int(listed)) if listed.ndim == 0 else listed
    chances = np.asarray(law, dtype=float)
    total = chances.sum()
    if len(chances) != len(listed) or (chances < 0).any() or not abs(total - 1) < 1e-8:
        raise ValueError("these are no probabilities")
    ends = chances.cumsum()
    return listed[(ends / ends[-1]).searchsorted(uniform, side="right")]


def _private_law(reader: Reader, values: object, size: object, p: object) -> object:
    """rng.choice(k, p=softmax(score)): the exponential mechanism."""
    from dpcheck.program.lowering.weights import law_of

    shape = shape_of(reader, size)
    times = math.prod(n for n in shape if isinstance(n, int))
    if any(not isinstance(n, int) for n in shape) or not 0 < times <= _MOST_PICKS:
        reader.unknown("so many choices with private probabilities")
    found = _picked(reader, values, times, law_of(reader, reader.node(p)), "choice")
    if size is None:
        return found[0]
    lengths = tuple(n for n in shape if isinstance(n, int))
    return released_call(reader, lambda v: np.reshape(v, lengths), (found,))


def _picked(reader: Reader, values: object, times: int, law: Node, method: str) -> list[object]:
    """So many of the values, each with these probabilities: an exponential mechanism each."""
    fact = law.fact
    known = fact.normalised if isinstance(fact, Aggregate) else None
    many = int(values) if np.ndim(values) == 0 else len(values)  # type: ignore[arg-type, call-overload]
    if known is None or tuple(law.shape) != (many,):
        reader.refuse(
            "private-scale",
            "the probabilities of rng.choice are computed from the data",
            "use np.argmax(utility + rng.gumbel(scale=2 * sensitivity / epsilon, size=k))",
        )
    score = reader.graph.nodes[known[0]]
    if fact.box.nan:
        reader.refuse(
            "private-control",
            "the probabilities are NaN where exp of all scores is 0, and rng.choice raises an error then",
            "use np.argmax(utility + rng.gumbel(scale=2 * sensitivity / epsilon, size=k))",
        )
    how = {"factor": known[1], "source": reader.source, "method": method}
    places = [reader.array(reader.graph.add("pick", law, score, **how)) for _ in range(times)]
    if not np.ndim(values):  # type: ignore[arg-type]
        return places
    listed = values if method == "choices" else np.asarray(values)
    return [released_call(reader, lambda v, i: v[int(i)], (listed, each)) for each in places]


_MOST_PICKS = 100  # choices by one call


def _choices(
    reader: Reader,
    population: object,
    weights: object = None,
    *,
    cum_weights: object = None,
    k: object = 1,
) -> object:
    """random.choices: an exponential mechanism for each of k, where the weights are private."""
    from dpcheck.program.lowering.weights import weights_of

    if not reader.is_public([population, k]) or cum_weights is not None:
        _unknown(reader, "choices among values that are not public, or by sums of weights")
    listed, times = list(reader.plain(population)), int(reader.plain(k))  # type: ignore[call-overload]
    if weights is None or reader.is_public(weights) or not 0 < times <= _MOST_PICKS:
        _unknown(reader, "choices without private weights")
    law = weights_of(reader, reader.node(weights))
    if not (law.args[1].fact.box.lo > 0).all():
        reader.refuse(
            "private-control",
            "the weights may all be 0, and random.choices raises an error then",
            "subtract the largest score before exp, or clip the scores",
        )
    return _picked(reader, listed, times, law, "choices")


def _one_of_list(reader: Reader, seq: object, size: object = None) -> object:
    """random.choice: an entry of a public list at a random place."""
    if not reader.is_public(seq) or not isinstance(seq, list | tuple | range | str):
        _unknown(reader, "choice from a list that is not public")
    listed = list(reader.plain(seq))  # type: ignore[call-overload]
    place = reader.node(_integers(reader, len(listed), None, size))
    if listed == [0, 1] or listed == list(range(len(listed))):
        return reader.array(place)
    if listed in ([1, 0], [True, False]):
        return reader.array(apply(reader, "subtract", reader.graph.constant(1), place))
    pair = np.asarray(listed)
    if pair.shape == (2,) and pair.dtype.kind in "if" and pair[0] == -pair[1]:
        return reader.array(
            reader.graph.add("select", place, *map(reader.graph.constant, pair[::-1]))
        )
    spent = reader.array(reader.graph.add("apply_draw", place))
    return released_call(reader, lambda v, i: v[int(i)], (listed, spent))


def _permutation(reader: Reader, x: object) -> object:
    if not reader.is_public(x) or np.ndim(reader.plain(x)) != 0:  # type: ignore[arg-type]
        _unknown(reader, "permutation of values")
    count = int(reader.plain(x))  # type: ignore[call-overload]
    return reader.array(drawn(reader, "places", (count,), count=count, method="permutation"))


def _spawn(reader: Reader, n: object) -> object:
    return [Generator("a generator") for _ in range(int(reader.plain(n)))]  # type: ignore[call-overload]


METHODS: dict[str, Method] = {
    "laplace": _located(releases.LAPLACE, "laplace"),
    "normal": _located(releases.GAUSSIAN, "normal"),
    "gumbel": _located(releases.GUMBEL, "gumbel"),
    "exponential": _scaled(releases.EXPONENTIAL, "exponential"),
    "standard_normal": _standard_normal,
    "standard_exponential": lambda reader, size=None: _scaled(releases.EXPONENTIAL, "exponential")(
        reader, 1.0, size
    ),
    "random": _random,
    "uniform": _uniform,
    "geometric": _geometric,
    "binomial": _binomial,
    "integers": _integers,
    "choice": _choice,
    "permutation": _permutation,
    "spawn": _spawn,
}
GLOBAL = "the global generator of np.random has a secret seed"


@lower(np.random.default_rng)
def default_rng(reader: Reader, seed: object = None) -> object:
    """A generator: without a seed its numbers are secret, with one they are public."""
    if isinstance(seed, Generator | KnownGenerator):
        return seed
    if seed is None:
        return Generator("a generator")
    if not reader.is_public(seed):
        reader.refuse(
            "private-control", "the seed of a generator is computed from the data", "leave it out"
        )
    return KnownGenerator(reader.attempt(lambda: np.random.default_rng(reader.plain(seed))))  # type: ignore[arg-type]


def _of_global(name: str) -> Callable[..., object]:
    def handler(reader: Reader, *args: object, **named: object) -> object:
        reader.graph.assumes[GLOBAL] = None
        return draw(reader, Generator("np.random"), name, args, named)

    return handler


_LEGACY = {name: name for name in METHODS if name not in ("integers", "spawn")}
_LEGACY |= {"random_sample": "random", "ranf": "random", "sample": "random"}
for _legacy, _name in _LEGACY.items():
    if hasattr(np.random, _legacy):
        lower(getattr(np.random, _legacy))(_of_global(_name))


def _shaped(name: str) -> Callable[..., object]:
    def handler(reader: Reader, *shape: object) -> object:
        reader.graph.assumes[GLOBAL] = None
        return draw(reader, Generator("np.random"), name, (tuple(shape) or None,), {})

    return handler


def _legacy_integers(
    reader: Reader, low: object, high: object = None, size: object = None
) -> object:
    return _integers(reader, low, high, size)


def _legacy_shaped(name: str) -> Method:
    return lambda reader, *shape: METHODS[name](reader, size=tuple(shape) or None)


OLD_METHODS: dict[str, Method] = {
    **{name: METHODS[of] for name, of in _LEGACY.items()},
    "randint": _legacy_integers,
    "rand": _legacy_shaped("random"),
    "randn": _legacy_shaped("standard_normal"),
}
lower(np.random.rand)(_shaped("random"))
lower(np.random.randn)(_shaped("standard_normal"))


@lower(np.random.randint)
def randint(reader: Reader, *args: object, **named: object) -> object:
    """np.random.randint."""
    reader.graph.assumes[GLOBAL] = None
    return draw(reader, Generator("np.random", OLD_METHODS), "randint", args, named)


@lower(np.random.seed, random.seed)
def seed(reader: Reader, *_: object) -> object:
    """A seed in the code."""
    return reader.refuse(
        "known-noise",
        "the global generator is seeded: whoever reads the code knows the noise",
        "draw from np.random.default_rng() instead",
    )


PYTHON = "the global generator of Python's random module has a secret seed"


def _python(law: str, first: int) -> Callable[..., object]:
    def handler(reader: Reader, *args: object, **named: object) -> object:
        reader.graph.assumes[PYTHON] = None
        reader.source = "random"
        if len(args) != first or named:
            _unknown(reader, "the random module with these arguments")
        return draw(reader, Generator("random", _PYTHON), law, args, named)

    return handler


def _python_uniform(reader: Reader, low: object, high: object, size: object = None) -> object:
    return _uniform(reader, low, high, size)


def _gauss(reader: Reader, mu: object = 0.0, sigma: object = 1.0, size: object = None) -> object:
    return METHODS["normal"](reader, mu, sigma, size)


def _expovariate(reader: Reader, lambd: object = 1.0, size: object = None) -> object:
    spread = 1.0 / float(_public(reader, "rate", lambd))
    return METHODS["exponential"](reader, spread, size)


def _randint(reader: Reader, low: object, high: object, size: object = None) -> object:
    return _integers(reader, low, high, size, endpoint=True)


_PYTHON: dict[str, Callable[..., object]] = {
    "random": _random,
    "uniform": _python_uniform,
    "gauss": _gauss,
    "normalvariate": _gauss,
    "expovariate": _expovariate,
    "randint": _randint,
    "choices": _choices,
    "choice": _one_of_list,
}
lower(random.randint)(_python("randint", 2))
lower(random.random)(_python("random", 0))
lower(random.uniform)(_python("uniform", 2))
lower(random.gauss)(_python("gauss", 2))
lower(random.normalvariate)(_python("gauss", 2))
lower(random.expovariate)(_python("expovariate", 1))


@lower(random.choice)
def choice(reader: Reader, seq: object) -> object:
    """random.choice of a public list, or of what it holds besides a record's own value."""
    reader.graph.assumes[PYTHON] = None
    return draw(reader, Generator("random", _PYTHON), "choice", (seq,), {})


@lower(random.choices)
def choices(reader: Reader, *args: object, **named: object) -> object:
    """random.choices with weights."""
    reader.graph.assumes[PYTHON] = None
    return draw(reader, Generator("random", _PYTHON), "choices", args, named)
