"""An aggregate plus a fresh draw is a release, if everything about it is as it has to be."""

from __future__ import annotations

import math
from dataclasses import replace

from dpcheck.training.derive import Context, Site
from dpcheck.training.facts import (
    Aggregate,
    Drawn,
    Fact,
    Mixed,
    Numbers,
    Powers,
    Public,
    Term,
    united,
)
from dpcheck.training.graph import Node, Value
from dpcheck.training.groups import Release
from dpcheck.training.refusals import UNBOUNDED
from dpcheck.training.rules import numbers as of
from dpcheck.training.rules.rowwise import of_size

_FINITE = Numbers()  # a finite sum and a finite draw


def released(at: Context, node: Node, x: Fact, noise: Fact) -> Fact:
    """aggregate + noise.

    **Lemma.** Every entry gets its own normal number of a known scale, which nothing else sees: a Gaussian
    release of the aggregate, whose terms say how far neighbours are apart. It is refused where an entry may be
    NaN or infinite: no noise hides that.
    """
    total, drawn = x.kind, noise.kind
    assert isinstance(total, Aggregate) and isinstance(drawn, Drawn)
    at.ledger.noise.setdefault(drawn.draw, []).append(drawn.part)
    if at.ledger.where[drawn.draw][1] != at.loops:
        return at.mixed(
            "noise-reused",
            "the noise is drawn outside this loop, so that every round adds the same one",
            "draw it inside the loop, from a key of its own for each round",
        )
    if drawn.law != "normal":
        return at.mixed(
            "unknown-noise",
            f"noise of this law ({drawn.law}) is not priced here",
            "use jax.random.normal",
        )
    if node.out.half:
        return at.mixed(
            "half-precision",
            "the noise is added in half precision, whose rounding the proof does not follow",
            "convert to float32 before the sum over records",
        )
    terms = tuple(_in_units(at, term, drawn.unit) for term in total.terms)
    if any(math.isinf(term.scale) and term.why == "noise-unit" for term in terms):
        at.ledger.hints.append(f"{node.line}: the noise is not a multiple of the clip threshold")
    total = replace(total, terms=terms)
    if any(isinstance(term.source, tuple) and term.source[0] == "carry" for term in total.terms):
        return at.mixed(
            "running-sum",
            "the sum of all rounds so far is released in each round",
            "release it once, after the loop",
        )
    for term in total.terms:
        if math.isinf(term.scale):
            kind = term.why or "no-clip"
            reason, remedy = UNBOUNDED.get(kind, UNBOUNDED["no-clip"])
            return at.mixed(kind, reason, remedy, term.line or node.line)
    if not x.numbers.tame and total.terms:
        line, what = _source(at, list(node.args))
        line = line if line.number else node.line
        return at.mixed(
            "nan",
            f"a number here may be {what} for some records, and no clipping and no noise hides that",
            "guard it: jnp.where(norm > C, C / norm, 1.0), max(norm, C), or an epsilon under the root",
            line,
        )
    if not drawn.scale > 0:
        return at.mixed("no-noise", "the noise has scale 0", "use a noise multiplier above 0")
    if total.terms:
        scaled = bool(drawn.unit)
        at.ledger.releases.append(Release(node.line, total.terms, drawn.scale, scaled=scaled))
        side = 0 if at.facts[node.args[0].index].kind is not drawn else 1
        at.ledger.sites[(id(at.graph), node.out.index)] = Site(
            side, drawn.scale, str(node.line), drawn.unit
        )
    return Fact(_FINITE, Public(released=True))


def _in_units(at: Context, term: Term, unit: Powers) -> Term:
    """The term in units of the noise; where they differ, as much as the numbers behind them may be."""
    size = term.scale
    for symbol, power in united(term.unit, tuple((s, -p) for s, p in unit)):
        numbers = at.ledger.symbols[symbol]
        size *= of_size(of.power(numbers, float(power)))
    if math.isinf(size) and not math.isinf(term.scale):
        return replace(term, scale=size, why="noise-unit", unit=())
    return replace(term, scale=size, unit=())


def _source(at: Context, values: list[Value]):  # type: ignore[no-untyped-def]
    """The line that first may give NaN or an infinite number."""
    nan = any(at.facts[v.index].numbers.nan for v in values)
    seen: set[int] = set()
    waiting = [v for v in values if _bad(at, v, nan)]
    last = at.here.line
    while waiting:
        value = waiting.pop()
        node = at.made.get(value.index)
        if value.index in seen or node is None:
            continue
        seen.add(value.index)
        last = node.line
        further = [arg for arg in node.args if _bad(at, arg, nan)]
        if not further:
            return node.line, "NaN" if nan else "infinite"
        waiting = further
    return last, "NaN" if nan else "infinite"


def _bad(at: Context, value: Value, nan: bool) -> bool:
    fact = at.facts[value.index]
    if isinstance(fact.kind, (Drawn, Mixed)):
        return False
    return fact.numbers.nan if nan else fact.numbers.inf
