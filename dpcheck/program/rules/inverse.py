"""Laplace noise made of one uniform number by the inverse of its distribution function.

Lemma. Let u be uniform in [-1/2, 1/2]. Its sign and |u| are independent, the sign is a fair coin, and
1 - 2 |u| is uniform in [0, 1], so that -log(1 - 2 |u|) is exponential with scale 1. So
s sign(u) log(1 - 2 |u|) is Laplace noise of scale |s|. Every function on the way is kept as the terms it is
made of; one that is none of them uses the number up.

Reference: [Devroye1986] chapter II.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpcheck.program import releases
from dpcheck.program.facts import boxes
from dpcheck.program.facts.kinds import Drawn, Fact, OfUniform, Public
from dpcheck.program.graph import Made, Node

_NEAR = 1e-12


def of_uniform(name: str, args: Sequence[Node]) -> Made | None:
    """A function of a uniform number, if it is known; None if it uses the number up."""
    if name not in ("sign", "absolute") and not any(isinstance(a.fact, OfUniform) for a in args):
        return None
    facts = [_form(arg.fact) for arg in args]
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
    if name != "multiply" or not np.array_equal(one.ids, other.ids):
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
