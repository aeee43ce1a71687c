"""From what was released to the pairs that dominate it: the tree of events, and each leaf under an adjacency.

Sequential nodes add, repetition multiplies, and a parallel node is a choice: a person is in one branch.
Every number is exact, or an interval around what is not rational.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from dpcheck.verify.intervals import WHOLE, Interval, number
from dpcheck.verify.result import Refused

Json = Mapping[str, Any]

# Compositions one person may be in, and nodes of a tree.
MOST_COMPOSITIONS, MOST_NODES = 64, 10_000
_ADJACENCIES = ("add-remove", "zero-out", "replace-one")


@dataclass(frozen=True, slots=True)
class Needed:
    """A kind of pair and the least its numbers must be: `up` at least, `down` at most, `same` exactly.

    `leak` is the probability of everything being revealed, on top of the pair.
    """

    kind: str
    up: tuple[tuple[str, Fraction], ...] = ()
    down: tuple[tuple[str, Fraction], ...] = ()
    same: tuple[tuple[str, Fraction], ...] = ()
    leak: Fraction = Fraction(0)


# What must be dominated, each so many times.
Composition = dict[Needed, int]
_Leaf = Callable[[Json, str, str | None], Composition]


def compositions(event: Json, adjacency: str) -> list[Composition]:
    """Every composition of pairs one person can be in."""
    if adjacency not in _ADJACENCIES:
        raise Refused(f"unknown adjacency {adjacency!r}")
    return _walk(event, adjacency, None, [MOST_NODES])


def _walk(event: Json, adjacency: str, stated: str | None, left: list[int]) -> list[Composition]:
    left[0] -= 1
    if left[0] < 0:
        raise Refused(f"the event has more than {MOST_NODES} nodes")
    kind = text(event, "kind")
    if kind == "Repeated":
        times = whole(event, "times")
        ways = _walk(node(event, "event"), adjacency, stated, left)
        if len(ways) > 1 and times > 1:
            raise Refused("a choice that is made again and again is not checked")
        return [{pair: count * times for pair, count in way.items() if times} for way in ways]
    if kind == "Under":
        return _walk(node(event, "event"), adjacency, text(event, "adjacency"), left)
    if kind == "Sequential":
        parts = [_walk(inner, adjacency, stated, left) for inner in nodes(event, "events")]
        found = [_added(way) for way in product(*parts)]
    elif kind == "Parallel":
        found = [
            way for inner in nodes(event, "events") for way in _walk(inner, adjacency, stated, left)
        ]
    else:
        found = [_leaf(event, kind, adjacency, stated)]
    if len(found) > MOST_COMPOSITIONS:
        raise Refused(f"more than {MOST_COMPOSITIONS} compositions")
    return found


def _added(ways: tuple[Composition, ...]) -> Composition:
    total: Composition = {}
    for way in ways:
        for pair, times in way.items():
            total[pair] = total.get(pair, 0) + times
    return total


# -- leaves ---------------------------------------------------------------------------------------


def _moves(adjacency: str) -> int:
    """A replaced record moves a sum twice as far as one that is added, removed or zeroed."""
    return 2 if adjacency == "replace-one" else 1


def _shifted(kind: str) -> _Leaf:
    def leaf(event: Json, adjacency: str, _: str | None) -> Composition:
        shift = _moves(adjacency) / positive(event, "noise_multiplier")
        return {Needed(kind, up=(("shift", shift), ("rate", Fraction(1)))): 1}

    return leaf


def _sampled(kind: str, replaced: str | None) -> _Leaf:
    def leaf(event: Json, adjacency: str, stated: str | None) -> Composition:
        rate = share(event, "sampling_rate")
        if rate == 1:
            return _shifted(kind)(event, adjacency, stated)
        if adjacency == "replace-one" and replaced is None:
            raise Refused(f"{event['kind']} under replace-one is not checked")
        shift = 1 / positive(event, "noise_multiplier")
        name = replaced if adjacency == "replace-one" and replaced else kind
        return {Needed(name, up=(("shift", shift), ("rate", rate))): 1}

    return leaf


def _discrete(kind: str) -> _Leaf:
    def leaf(event: Json, adjacency: str, _: str | None) -> Composition:
        shift = Fraction(whole(event, "norm_bound") * _moves(adjacency))
        scale = positive(event, "scale")
        return {Needed(kind, up=(("shift", shift),), same=(("scale", scale),)): 1}

    return leaf


def _fixed_batch(event: Json, adjacency: str, _: str | None) -> Composition:
    if adjacency == "add-remove":
        raise Refused("a fixed-size batch has a public number of rows, which add-remove changes")
    rows, batch = whole(event, "rows"), whole(event, "batch")
    if not 0 < batch <= rows:
        raise Refused("a batch has between 1 and all rows")
    if batch == rows:
        return _shifted("gaussian")(event, adjacency, None)
    # A record that is zeroed is replaced by one that contributes 0.
    shift = 2 / positive(event, "noise_multiplier")
    return {
        Needed("fixed-batch-gaussian", up=(("shift", shift), ("rate", Fraction(batch, rows)))): 1
    }


def _response(event: Json, adjacency: str, _: str | None) -> Composition:
    if adjacency != "replace-one":
        raise Refused("randomized response has one output per person: replace-one only")
    noise, kinds = share(event, "noise"), whole(event, "categories")
    # The true answer against another: (1 - noise + noise/kinds) / (noise/kinds).
    epsilon = upper(number(1 + (1 - noise) * kinds / noise).ln())
    neutral = (kinds - 2) * noise / kinds
    return {Needed("response", up=(("epsilon", epsilon),), down=(("neutral", neutral),)): 1}


def steps(event: Json, adjacency: str, stated: str | None) -> int:
    """How many steps of the relation a guarantee was stated under make one of the asked."""
    named = event.get("adjacency")
    relation = stated if named is None else text(event, "adjacency")
    if stated is not None and relation != stated:
        raise Refused(f"stated under {relation} and under {stated}: one of the two is wrong")
    if relation is None or relation == adjacency:
        return 1
    if relation not in _ADJACENCIES:
        raise Refused(f"unknown adjacency {relation!r}")
    if adjacency == "replace-one":
        return 2  # a replacement is a removal and an addition [Dwork2014, Theorem 2.2]
    if relation == "replace-one" and adjacency == "zero-out":
        return 1  # a null record is one of the records it may be replaced by
    raise Refused(f"a guarantee stated under {relation} says nothing under {adjacency}")


def _pure(event: Json, adjacency: str, stated: str | None) -> Composition:
    return _telling(not_negative(event, "epsilon") * steps(event, adjacency, stated))


def _telling(epsilon: Fraction, leak: Fraction = Fraction(0)) -> Composition:
    """All that is epsilon-DP is dominated by randomized response [Kairouz2017, Theorem 3.1]."""
    return {Needed("response", (("epsilon", epsilon),), (("neutral", Fraction(0)),), leak=leak): 1}


def _approximate(event: Json, adjacency: str, stated: str | None) -> Composition:
    epsilon, delta = not_negative(event, "epsilon"), not_negative(event, "delta")
    if steps(event, adjacency, stated) == 2:
        # [Vadhan2017] Lemma 2.2: delta grows by 1 + e^epsilon.
        delta *= upper(WHOLE + number(epsilon).exp())
        epsilon *= 2
    if delta >= 1:
        raise Refused("a delta of 1 guarantees nothing")
    return _telling(epsilon, delta)


def _output(event: Json, adjacency: str, stated: str | None) -> Composition:
    rate, moved = positive(event, "rate"), positive(event, "sensitivity")
    return _telling(rate * moved * steps(event, adjacency, stated))


def _concentrated(event: Json, adjacency: str, stated: str | None) -> Composition:
    count = steps(event, adjacency, stated)
    if not not_negative(event, "rho"):  # no divergence is above xi, so no loss is
        return _telling(not_negative(event, "xi") * count)
    # Of two steps: 4 rho, and xi times 2 (1 + 1/2) [Bun2016, Proposition 1.9].
    rho = not_negative(event, "rho") * count**2
    offset = not_negative(event, "xi") * (3 if count == 2 else 1)
    return {Needed("concentrated", up=(("rho", rho), ("offset", offset))): 1}


def _gdp(event: Json, adjacency: str, stated: str | None) -> Composition:
    # Group privacy of GDP is linear [Dong2022, Theorem 2.14].
    shift = not_negative(event, "mu") * steps(event, adjacency, stated)
    return {Needed("gaussian", up=(("shift", shift), ("rate", Fraction(1)))): 1}


# A field that is not listed may change what an event means: refused.
_LEAVES: dict[str, tuple[_Leaf, tuple[str, ...]]] = {
    "Gaussian": (_shifted("gaussian"), ("noise_multiplier",)),
    "Laplace": (_shifted("laplace"), ("noise_multiplier",)),
    # [Mironov2019] section 3.2 and [Zhu2022] Proposition 30; replaced: [Kahane1986], mirrored mixtures.
    "SampledGaussian": (
        _sampled("gaussian", "opposite-gaussian"),
        ("noise_multiplier", "sampling_rate"),
    ),
    "SampledLaplace": (_sampled("laplace", None), ("noise_multiplier", "sampling_rate")),
    "FixedBatchGaussian": (_fixed_batch, ("noise_multiplier", "rows", "batch")),
    "DiscreteGaussian": (_discrete("discrete-gaussian"), ("scale", "norm_bound")),
    "DiscreteLaplace": (_discrete("discrete-laplace"), ("scale", "norm_bound")),
    "RandomizedResponse": (_response, ("noise", "categories")),
    "ExponentialMechanism": (_pure, ("epsilon", "adjacency")),
    # In any number of dimensions the loss is at most rate * sensitivity.
    "OutputPerturbation": (_output, ("rate", "sensitivity", "adjacency", "dimension")),
    "PureDP": (_pure, ("epsilon", "adjacency")),
    "ApproxDP": (_approximate, ("epsilon", "delta", "adjacency")),
    "ZCDP": (_concentrated, ("rho", "xi", "adjacency")),
    "GDP": (_gdp, ("mu", "adjacency")),
}


def _leaf(event: Json, kind: str, adjacency: str, stated: str | None) -> Composition:
    if kind not in _LEAVES:
        raise Refused(f"{kind} is no event whose pair is checked")
    rule, fields = _LEAVES[kind]
    unknown = set(event) - {"kind", *fields}
    if unknown:
        raise Refused(f"{kind} has no field {sorted(map(str, unknown))[0]!r}")
    return rule(event, adjacency, stated)


def describe(event: Json) -> str:
    """An event in a line, for people."""
    kind = str(event.get("kind"))
    if kind == "Repeated":
        return f"{describe(node(event, 'event'))} x {whole(event, 'times'):,}"
    if kind in ("Sequential", "Parallel"):
        inner = [describe(one) for one in nodes(event, "events")]
        return "(" + (" + " if kind == "Sequential" else " | ").join(inner) + ")"
    if kind == "Under":
        return describe(node(event, "event"))
    shown = [
        f"{name}={value}" for name, value in event.items() if name != "kind" and value is not None
    ]
    return f"{kind}({', '.join(shown)})"


# -- reading --------------------------------------------------------------------------------------


def upper(found: Interval) -> Fraction:
    """The upper end."""
    return Fraction(found.high)


def fraction(data: Json, name: str) -> Fraction:
    """A number of the file: the binary fraction that its float is."""
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise Refused(f"{name} must be a number, got {value!r}")
    if abs(value) == float("inf"):
        raise Refused(f"{name} must be finite")
    return Fraction(value)


def positive(data: Json, name: str) -> Fraction:
    """A number above 0."""
    if (value := fraction(data, name)) <= 0:
        raise Refused(f"{name} must be above 0, got {float(value)!r}")
    return value


def not_negative(data: Json, name: str) -> Fraction:
    """A number of at least 0."""
    if (value := fraction(data, name)) < 0:
        raise Refused(f"{name} must not be negative, got {float(value)!r}")
    return value


def share(data: Json, name: str) -> Fraction:
    """A number above 0 and up to 1."""
    if not 0 < (value := fraction(data, name)) <= 1:
        raise Refused(f"{name} must lie above 0 and be at most 1, got {float(value)!r}")
    return value


def whole(data: Json, name: str) -> int:
    """A whole number of at least 0."""
    value = data.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Refused(f"{name} must be a whole number of at least 0, got {value!r}")
    return value


def text(data: Json, name: str) -> str:
    """A text."""
    if not isinstance(value := data.get(name), str):
        raise Refused(f"{name} must be a text, got {value!r}")
    return value


def node(data: Json, name: str) -> Json:
    """An object."""
    if not isinstance(value := data.get(name), Mapping):
        raise Refused(f"{name} must be an object, got {type(value).__name__}")
    return value


def nodes(data: Json, name: str) -> list[Json]:
    """A list of objects."""
    value = data.get(name)
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise Refused(f"{name} must be a list of objects")
    return value
