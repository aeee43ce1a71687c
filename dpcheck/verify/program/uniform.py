"""Laplace noise made of one uniform number by the inverse of its distribution function.

Lemma. Let u be uniform in [-1/2, 1/2]. Its sign and |u| are independent, the sign is a fair coin, and
1 - 2 |u| is uniform in [0, 1], so that -log(1 - 2 |u|) is exponential with scale 1. So
s sign(u) log(1 - 2 |u|) is Laplace noise of scale |s|.

Reference: [Devroye1986] chapter II.2.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpcheck.verify.program.boxes import WHOLE, box
from dpcheck.verify.program.common import Node, scalar_value
from dpcheck.verify.program.facts import Drawn, Fact, OfUniform
from dpcheck.verify.program.numbers import ONE, ZERO

_NEAR = Fraction(1, 10**12)  # public constants stand for what they were rounded from
_REACH = 800  # how far a uniform number of 53 bits reaches


def of_uniform(node: Node) -> Fact | None:
    """A function of one uniform number, if it is known; None if it uses the number up."""
    if node.primitive not in ("sign", "absolute") and not any(
        isinstance(arg.fact, OfUniform) for arg in node.args
    ):
        return None
    forms, numbers = [_form(arg) for arg in node.args], [scalar_value(arg) for arg in node.args]
    found: OfUniform | None = None
    if len(forms) == 1 and forms[0] is not None:
        found = _one(node.primitive, forms[0])
    elif len(forms) == 2:
        first, second = forms
        if first is not None and second is not None:
            found = _two(node.primitive, first, second)
        elif first is not None and numbers[1] is not None:
            found = _with(node.primitive, first, numbers[1], left=True)
        elif second is not None and numbers[0] is not None:
            found = _with(node.primitive, second, numbers[0], left=False)
    return None if found is None else _finished(found)


def _form(node: Node) -> OfUniform | None:
    fact = node.fact
    if isinstance(fact, OfUniform):
        return fact
    if not isinstance(fact, Drawn) or fact.family != "uniform" or fact.block:
        return None
    if fact.scale != (ONE,) or fact.location != Fraction(-1, 2):
        return None
    return OfUniform(box=fact.box, ids=fact.ids, b=ZERO, c=ONE, signed=True)


def _one(name: str, fact: OfUniform) -> OfUniform | None:
    plain = not fact.a and not fact.b and fact.signed and fact.c > 0  # a multiple of u
    if name == "sign":
        return replace(fact, b=ONE, c=ZERO) if plain else None
    if name == "absolute":
        return replace(fact, signed=False) if plain else None
    if name in ("negative", "positive"):
        return fact if name == "positive" else _times(fact, -ONE)
    if fact.a or fact.signed or name not in ("log", "log1p"):
        return None
    return replace(fact, a=ONE, b=fact.b + (1 if name == "log1p" else 0))


def _times(fact: OfUniform, by: Fraction) -> OfUniform:
    if fact.a:
        return replace(fact, a=fact.a * by)
    return replace(fact, b=fact.b * by, c=fact.c * by)


def _with(name: str, fact: OfUniform, number: Fraction, *, left: bool) -> OfUniform | None:
    if name == "multiply" and number:
        return _times(fact, number)
    if name == "divide" and left and number:
        return _times(fact, 1 / number)
    if fact.signed or fact.a or name not in ("add", "subtract"):
        return None
    if name == "add":
        return replace(fact, b=fact.b + number)
    turned = fact if left else _times(fact, -ONE)
    return replace(turned, b=turned.b + (-number if left else number))


def _two(name: str, one: OfUniform, other: OfUniform) -> OfUniform | None:
    """sign(u) times a function of |u|."""
    if name != "multiply" or one.ids != other.ids:
        return None
    for sign, size in ((one, other), (other, one)):
        if sign.signed and not sign.a and not sign.c and sign.b and not size.signed:
            return replace(_times(size, sign.b), signed=True)
    return None


def _finished(fact: OfUniform) -> Fact:
    """Laplace noise, once it is."""
    near = abs(fact.b - 1) <= _NEAR and abs(fact.c + 2) <= _NEAR
    if not (fact.signed and fact.a and near):
        return replace(fact, box=WHOLE)
    reach = _REACH * abs(fact.a)
    return Drawn(
        box=box(-reach, reach), family="laplace", scale=(abs(fact.a),), location=ZERO, ids=fact.ids
    )
