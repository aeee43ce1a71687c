"""Laplace noise made of one uniform number by the inverse of its distribution function.

Lemma. Let u be uniform in [-1/2, 1/2]. Its sign and |u| are independent, the sign is a fair coin, and
1 - 2 |u| is uniform in [0, 1], so that -log(1 - 2 |u|) is exponential with scale 1. So
s sign(u) log(1 - 2 |u|) is Laplace noise of scale |s|. Every function on the way is kept as the terms it is
made of; one that is none of them uses the number up.

Lemma. Let a fair coin decide between d + s E and d - s E', where E and E' are exponential with scale 1 given
the coin: the result is d plus Laplace noise of scale |s|. -log(b + c v) is exponential given the coin, if
b + c v is uniform in [0, 1] then: for a uniform v in [0, 1] of its own if it goes from 0 to 1 or from 1 to 0,
and for the very v by whose half the coin falls, if it does so on that half.

Reference: [Devroye1986] chapter II.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpcheck.program import releases
from dpcheck.program.facts import boxes
from dpcheck.program.facts.kinds import Coins, Drawn, Fact, Ids, OfUniform, Public
from dpcheck.program.graph import Made, Node

_NEAR = 1e-12


def of_uniform(name: str, args: Sequence[Node]) -> Made | None:
    """A function of a uniform number, if it is known; None if it uses the number up."""
    known = any(isinstance(a.fact, OfUniform) for a in args)
    if name not in ("sign", "absolute", "log", "log1p") and not known:
        return None
    facts = [_form(arg.fact) for arg in args]
    if name in ("log", "log1p"):
        facts = [_on_the_whole(arg.fact) for arg in args]
    if len(args) == 2:
        signed = _sign_of_its_own(name, args[0].fact, args[1].fact)
        if signed is not None and args[0].shape == args[1].shape:
            return Made(args[0].shape, np.dtype(float), signed)
    found = None
    if len(args) == 1 and facts[0] is not None:
        found = _one(name, facts[0])
    elif len(args) == 2:
        first, second = facts
        if first is not None and second is not None:
            found = _two(name, first, second)
        elif first is not None and _scalar(args[1]) is not None:
            found = _with(name, first, _scalar(args[1]) or 0.0, left=True)
        elif second is not None and _scalar(args[0]) is not None:
            found = _with(name, second, _scalar(args[0]) or 0.0, left=False)
    if found is None:
        return None
    shape = next(arg.shape for arg, fact in zip(args, facts, strict=True) if fact is not None)
    return Made(shape, np.dtype(float), _finished(found))


def _form(fact: Fact) -> OfUniform | None:
    """A uniform number in [-1/2, 1/2] is sign(u) |u|."""
    if isinstance(fact, OfUniform):
        return fact
    if not isinstance(fact, Drawn) or fact.family != releases.UNIFORM:
        return None
    if np.ndim(fact.scale) or np.ndim(fact.location):
        return None
    if float(fact.scale) != 1.0 or float(fact.location) != -0.5:
        return None
    return OfUniform(box=fact.box, ids=fact.ids, a=0.0, b=0.0, c=1.0, signed=True)


def _on_the_whole(fact: Fact) -> OfUniform | None:
    """A uniform number as b + c v, with v in [0, 1]; an exponential one is -log v."""
    if isinstance(fact, OfUniform):
        return fact
    if not isinstance(fact, Drawn) or np.ndim(fact.scale) or np.ndim(fact.location):
        return None
    scale, place = float(fact.scale), float(fact.location)
    made = OfUniform(box=boxes.WHOLE, ids=fact.ids, a=0.0, b=place, c=scale, whole=True)
    if fact.family == releases.UNIFORM and fact.sign.ndim == 0 and float(fact.sign) == 1:
        return made
    if fact.family == releases.EXPONENTIAL:
        return replace(made, a=-scale, b=0.0, c=1.0, d=place)
    return None


def turned(fact: Drawn, times: np.ndarray, plus: np.ndarray) -> OfUniform | None:
    """A negative multiple of a uniform or an exponential number."""
    found = _on_the_whole(fact)
    if found is None or times.ndim or plus.ndim:
        return None
    found = _times(found, float(times))
    return replace(found, box=boxes.WHOLE, d=found.d + float(plus))


def by_cases(coin: Node, heads: Node, tails: Node) -> Made | None:
    """heads or tails, as a coin decides: the coin, a random sign, or Laplace noise; None for all else."""
    fact = coin.fact
    if not isinstance(fact, Coins):
        return None
    numbers = (_scalar(heads), _scalar(tails))
    if numbers in ((1.0, 0.0), (0.0, 1.0)):
        kind = np.result_type(heads.dtype, tails.dtype)
        return Made(coin.shape, kind, fact if numbers[0] else fact.opposite())
    if fact.rate != 0.5:
        return None
    if None not in numbers:
        size = numbers[0] or 0.0
        if not size or numbers[1] != -size:
            return None
        sign = OfUniform(box=boxes.box(-1.0, 1.0), ids=fact.ids, a=0.0, b=size, c=0.0, signed=True)
        return Made(coin.shape, np.dtype(float), sign)
    lengths = [n for n in coin.shape if isinstance(n, int)]
    alike = coin.shape == heads.shape == tails.shape and len(lengths) == coin.ndim
    if not alike or fact.ids.size != math.prod(lengths):
        return None
    sides = [_on_the_whole(side.fact) for side in (heads, tails)]
    first, second = sides
    if first is None or second is None or not first.a or first.a != -second.a:
        return None
    exponential = all(
        _exponential_given(fact, side, answer) for side, answer in ((first, True), (second, False))
    )
    if not exponential or first.d != second.d:
        return None
    columns = {tuple(np.ravel(each.ids)): np.ravel(each.ids) for each in (fact, first, second)}
    if len({each.size for each in columns.values()}) > 1:
        return None
    every = np.stack(list(columns.values()), axis=1)
    if np.unique(every).size != every.size:
        return None  # some of the numbers are shared
    return Made(coin.shape, np.dtype(float), _laplace(abs(first.a), every, first.d))


def _exponential_given(coin: Coins, side: OfUniform, answer: bool) -> bool:
    """Whether -log(b + c v) is exponential with scale 1, where the coin falls so."""
    if side.signed or not side.whole:
        return False
    low, high = 0.0, 1.0
    if np.array_equal(np.ravel(coin.ids), np.ravel(side.ids)):
        if coin.below is None:
            return False
        low, high = (0.0, 0.5) if coin.below == answer else (0.5, 1.0)
    elif np.intersect1d(coin.ids, side.ids).size:
        return False
    return _unit(side, low, high)


def _unit(side: OfUniform, low: float, high: float) -> bool:
    """Whether b + c v goes through [0, 1] while v goes from low to high."""
    ends = sorted((side.b + side.c * low, side.b + side.c * high))
    return abs(ends[0]) <= _NEAR and abs(ends[1] - 1) <= _NEAR


def _sign_of_its_own(name: str, one: Fact, other: Fact) -> Drawn | None:
    """A random sign times an exponential number that is independent of it."""
    if name != "multiply":
        return None
    for sign, number in ((one, other), (other, one)):
        size = _on_the_whole(number)
        if not isinstance(sign, OfUniform) or size is None or sign.ids.size != size.ids.size:
            continue
        fair = sign.signed and not sign.a and not sign.c and sign.b + sign.d
        if not fair or size.d or not size.a or np.intersect1d(sign.ids, size.ids).size:
            continue
        if size.signed or not size.whole or not _unit(size, 0.0, 1.0):
            continue
        ids = np.stack([np.ravel(sign.ids), np.ravel(size.ids)], axis=1)
        return _laplace(abs(size.a * (sign.b + sign.d)), ids, 0.0)
    return None


def _laplace(scale: float, ids: Ids, place: float) -> Drawn:
    """Laplace noise of uniform numbers; nobody asks for its opposite."""
    reach = 800 * scale  # as far as a uniform number of 53 bits reaches, see FARTHEST
    return Drawn(
        box=boxes.Box(np.asarray(place - reach), np.asarray(place + reach)),
        family=releases.LAPLACE,
        scale=np.asarray(scale),
        location=np.asarray(place),
        ids=ids,
        sign=np.asarray(np.nan),
    )


def _scalar(node: Node) -> float | None:
    if not isinstance(node.fact, Public) or node.ndim or node.dtype.kind not in "biuf":
        return None
    value = float(np.asarray(node.fact.value))
    return value if math.isfinite(value) else None


def _number(fact: OfUniform) -> bool:
    """Whether it is plain sign(u) |u|, or a multiple."""
    return fact.a == 0 and fact.b + fact.d == 0 and fact.signed and fact.c > 0


def _sign(fact: OfUniform) -> OfUniform | None:
    return replace(fact, a=0.0, b=1.0, c=0.0, d=0.0) if _number(fact) else None


def _one(name: str, fact: OfUniform) -> OfUniform | None:
    if name == "sign":
        return _sign(fact)
    if name == "absolute":
        return replace(fact, signed=False) if _number(fact) else None
    if name == "negative":
        return _times(fact, -1.0)
    if name == "positive":
        return fact
    if fact.a or fact.signed or name not in ("log", "log1p"):
        return None
    return replace(fact, a=1.0, b=fact.b + fact.d + (1.0 if name == "log1p" else 0.0), d=0.0)


def _times(fact: OfUniform, by: float) -> OfUniform:
    if fact.a:
        return replace(fact, a=fact.a * by, d=fact.d * by)
    return replace(fact, b=fact.b * by, c=fact.c * by, d=fact.d * by)


def _with(name: str, fact: OfUniform, number: float, *, left: bool) -> OfUniform | None:
    if name == "multiply":
        return _times(fact, number) if number else None
    if name == "divide" and left and number:
        return _times(fact, 1 / number)
    if fact.signed:
        return None
    if name == "add":
        return replace(fact, d=fact.d + number)
    if name == "subtract":
        return (
            replace(fact, d=fact.d - number)
            if left
            else replace(_times(fact, -1.0), d=number - fact.d)
        )
    return None


def _two(name: str, one: OfUniform, other: OfUniform) -> OfUniform | None:
    """sign(u) times a function of |u|."""
    if name != "multiply" or not np.array_equal(one.ids, other.ids) or one.whole or other.whole:
        return None
    for sign, size in ((one, other), (other, one)):
        if sign.signed and not sign.a and not sign.c and not size.signed:
            return replace(_times(size, sign.b + sign.d), signed=True)
    return None


def _finished(fact: OfUniform) -> Fact:
    """Laplace noise, once it is."""
    whole = fact.signed and fact.a and fact.d == 0
    if not whole or abs(fact.b - 1) > _NEAR or abs(fact.c + 2) > _NEAR:
        return replace(fact, box=boxes.WHOLE)
    scale = np.asarray(abs(fact.a))
    reach = 800 * scale  # as far as a uniform number of 53 bits reaches, see FARTHEST
    return Drawn(
        box=boxes.Box(-reach, reach),
        family=releases.LAPLACE,
        scale=scale,
        location=np.asarray(0.0),
        ids=fact.ids,
        sign=np.asarray(math.copysign(1.0, fact.a)),
    )
