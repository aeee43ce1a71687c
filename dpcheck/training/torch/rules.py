"""What aten operations imply, entry by entry and over axes.

Each rule is sound by itself: interval arithmetic for numbers; owners united; keys made of every number that the
operation has; norms from below and factors by the lemmas at `squared`, `shrinking` and `multiplied`.
"""
# mypy: disable-error-code="arg-type, assignment, attr-defined, misc, no-any-return, operator, union-attr"
# ruff: noqa: ARG001, B007, C416, C901, SIM102

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from dpcheck.training.torch.facts import (
    ANY,
    MIXED,
    Below,
    Bounded,
    Fact,
    Numbers,
    Part,
    Shrinks,
    Sum,
    Test,
    Why,
    constant,
    digest,
    rounded,
)
from dpcheck.training.torch.owners import combined, public, reduced
from dpcheck.training.torch.releases import (
    added,
    as_sum,
    box,
    joined,
    one,
    records_of,
    released_key,
    scaled,
    settle,
)
from dpcheck.training.torch.spread import repeated
from dpcheck.training.torch.tape import RULES, Call, rule

INF = math.inf
MIXES = (
    "mixed-records",
    "values of different records meet in one entry",
    "compute each record's numbers from that record alone",
)


def literals(call: Call) -> list[Any]:
    """The arguments that are no tensors, in words."""
    found: list[Any] = []
    for i, each in enumerate(call.args):
        if isinstance(each, (int, float, bool, str, torch.dtype)) or each is None:
            found.append((i, str(each) if isinstance(each, torch.dtype) else each))
        elif isinstance(each, (list, tuple)) and all(
            isinstance(x, (int, float, bool)) for x in each
        ):
            found.append((i, tuple(each)))
    for name, each in sorted(call.kwargs.items()):
        if name in {"layout", "device", "pin_memory", "memory_format", "generator"}:
            continue
        if not isinstance(each, torch.Tensor):
            found.append((name, str(each)))
    return found


def shape_of(tensor: Any, fact: Fact) -> tuple[int, ...]:
    """The shape for one record: the axis along which records change is divided."""
    shape = list(tensor.shape)
    if fact.owner is None or fact.owner.numel() == 0:
        return tuple(shape)
    count = len(records_of(fact.owner))
    owner = fact.owner.reshape(shape)
    for i, n in enumerate(shape):
        if n > 1 and n % count == 0 and not bool((owner == owner.narrow(i, 0, 1)).all()):
            shape[i] = n // count
            break
    return tuple(shape)


COPIES = {
    "clone",
    "contiguous",
    "_to_copy",
    "_unsafe_view",
    "lift_fresh",
    "lift_fresh_copy",
    "alias_copy",
    "detach_copy",
}
PLAIN = {
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "pow",
    "relu",
    "abs",
    "sigmoid",
    "tanh",
    "where",
    "clamp",
    "maximum",
    "minimum",
}
MAKES = {
    "zeros",
    "ones",
    "full",
    "zeros_like",
    "ones_like",
    "full_like",
    "new_zeros",
    "new_ones",
    "new_full",
    "scalar_tensor",
    "zero",
    "fill",
    "_efficientzerotensor",
    "new_empty",
    "empty",
    "empty_like",
    "empty_strided",
    "new_empty_strided",
}


def made(call: Call, base: str) -> Fact | None:
    """A tensor of one number."""
    if base in {
        "zeros",
        "zeros_like",
        "new_zeros",
        "zero",
        "_efficientzerotensor",
    } or base.startswith(("empty", "new_empty")):
        return (
            constant(0.0)
            if "empty" not in base
            else Fact(Numbers(-INF, INF, True, True), "empty", "empty")
        )
    if base in {"ones", "ones_like", "new_ones"}:
        return constant(1.0)
    if base in {"full", "full_like", "new_full"}:
        return constant(float(call.arg(2 if base == "new_full" else 1, "fill_value")))
    if base == "fill":
        value = call.arg(1, "value")
        return call.fact(value)
    if base == "scalar_tensor":
        return constant(float(call.args[0]))
    return None


def public_result(call: Call, func: Any, target: Any, facts: list[Fact], place: int) -> Fact:
    """What is computed from public values alone is public; constants stay known."""
    base = call.name.removesuffix("_") if call.name not in MAKES else call.name
    base = base.removesuffix("_")
    if not isinstance(target, torch.Tensor):
        return constant(0.0)
    found = made(call, base) if base in MAKES else None
    if found is not None:
        return found
    released = any(f.released for f in facts)
    if base == "copy" and len(facts) > 1:
        return call.fact(call.args[1]) if facts[1].public else facts[0]
    if base in COPIES and facts:
        if target.is_floating_point() or facts[0].value is None:
            return facts[0]
    if base in PLAIN and base in RULES:
        try:
            result = RULES[base](call)
            if isinstance(result, Fact) and result.public:
                known = not released and bool(facts) and all(f.extra.get("known") for f in facts)
                extra = {**result.extra, "known": True} if known else result.extra
                return replace(result, released=released, extra=extra)
        except (TypeError, IndexError, KeyError):
            pass
    if target.numel() and facts and all(f.value is not None for f in facts) and not released:
        flat = target.detach().reshape(-1)
        if target.numel() <= 4096 and not flat.is_complex():
            value = float(flat[0])
            if bool((flat == flat[0]).all()):
                return constant(value)
    shapes = [tuple(x.shape) for x in call.args if isinstance(x, torch.Tensor)] or [
        tuple(target.shape)
    ]
    name = digest(call.name, place, literals(call), [f.ukey for f in facts], shapes)
    exact = digest(call.name, place, literals(call), [f.ekey for f in facts], shapes)
    numbers = _public_numbers(call, target)
    if not facts and target.numel() and not target.is_complex():
        flat = target.detach().double()
        return Fact(
            Numbers(float(flat.min()), float(flat.max())), name, exact, extra={"known": True}
        )
    known = not released and bool(facts) and all(f.extra.get("known") for f in facts)
    if known and target.numel() and not target.is_complex():
        flat = target.detach().double()
        bad = not bool(torch.isfinite(flat).all())
        numbers = Numbers(float(flat.min()), float(flat.max()), bad, bool(torch.isnan(flat).any()))
    return Fact(numbers, name, exact, released=released, extra={"known": True} if known else {})


def _public_numbers(call: Call, target: Any) -> Numbers:
    if target.dtype == torch.bool:
        return Numbers(0, 1)
    return Numbers()


# ---------------------------------------------------------------- entry by entry


def entrywise(call: Call, numbers: Numbers, inputs: Sequence[Any], **more: Any) -> Fact:
    """A result whose entries depend on the entries in their places."""
    facts = [call.fact(x) for x in inputs]
    shape = call.out.shape if not isinstance(call.out, (tuple, list)) else call.out[0].shape
    for tensor, fact in zip(inputs, facts, strict=True):
        if fact.why is not None:
            return Fact(why=fact.why)
    for tensor, fact in zip(inputs, facts, strict=True):
        if fact.sum is not None:
            return opened(call, inputs)
    scalars = literals(call)
    name = digest(call.name.removesuffix("_"), scalars, [f.ukey for f in facts])
    exact = digest(call.name.removesuffix("_"), scalars, [f.ekey for f in facts])
    owner = combined(shape, [f.owner for f in facts])
    if owner is not None and bool((owner == MIXED).any()):
        return call.why(*MIXES)
    fields = {"key": name, "exact": exact, **more}
    return Fact(numbers, owner=owner, **fields)


def opened(call: Call, inputs: Sequence[Any]) -> Fact:
    """An operation that no sum goes through: what has noise is released, the rest is not usable."""
    facts = [call.fact(x) for x in inputs]
    if any(f.why is not None for f in facts):
        return Fact(why=next(f.why for f in facts if f.why is not None))
    for each in facts:
        if each.sum is not None and not each.sum.noise and each.sum.parts:
            return call.why(
                "unnoised-sum",
                f"a sum over records goes into aten.{call.name} before noise is added",
                "add noise to the clipped sum before anything else is done with it",
            )
    if any(f.owner is not None and bool((f.owner == MIXED).any()) for f in facts):
        return call.why(*MIXES)
    for tensor, each in zip(inputs, facts, strict=True):
        if each.sum is not None:
            coins = not each.sum.parts
            if not settle(call.tape, each.sum):
                return call.why(
                    "unnoised-sum", "a sum over records has no noise", "add noise to it"
                )
            normal = digest("coins", "normal", sorted(c for _, c in each.sum.noise))
            key = normal if coins else released_key(each.sum)
            exact = digest("coins", each.sum.noise) if coins else key
            call.tape.set(tensor, Fact(Numbers(), key, exact, released=not coins))
    known = RULES.get(call.name) or RULES.get(call.name.removesuffix("_"))
    if any(call.fact(x).private for x in inputs) and known is not None:
        result = known(call)
        assert not isinstance(result, list)
        return result
    name = digest(call.name, literals(call), [call.fact(x).ukey for x in inputs])
    return Fact(Numbers(), name, name, released=True)


def _times(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


def product(a: Numbers, b: Numbers, same: bool = False) -> Numbers:
    """The numbers of a * b."""
    ends = [_times(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    nan = a.nan or b.nan or (a.inf and not b.never_zero) or (b.inf and not a.never_zero)
    lo, hi = min(ends), max(ends)
    if same:
        lo, nan = max(0.0, lo), a.nan
    return Numbers(lo, hi, a.inf or b.inf, nan, a.never_zero and b.never_zero)


def plus(a: Numbers, b: Numbers) -> Numbers:
    """The numbers of a + b."""
    opposite = a.inf and b.inf and not ((a.lo >= 0 and b.lo >= 0) or (a.hi <= 0 and b.hi <= 0))
    nonzero = (a.lo >= 0 and b.lo >= 0 and (a.never_zero or b.never_zero)) or (
        a.hi <= 0 and b.hi <= 0 and (a.never_zero or b.never_zero)
    )
    return Numbers(a.lo + b.lo, a.hi + b.hi, a.inf or b.inf, a.nan or b.nan or opposite, nonzero)


def negative(a: Numbers) -> Numbers:
    """The numbers of -a."""
    return Numbers(-a.hi, -a.lo, a.inf, a.nan, a.never_zero)


def inverse(a: Numbers) -> Numbers:
    """The numbers of 1 / a: infinite where a may be 0."""
    if a.lo >= 0:
        hi = 1 / a.lo if a.lo > 0 else INF
        return Numbers(
            0.0 if math.isinf(a.hi) else 1 / a.hi if a.hi else INF,
            hi,
            not a.never_zero,
            a.nan,
            not a.inf,
        )
    if a.hi <= 0:
        return negative(inverse(negative(a)))
    return Numbers(-INF, INF, not a.never_zero, a.nan, not a.inf)


def shrinking(fact: Fact) -> Shrinks | None:
    """What a factor is known to be: nothing above 0 needs no norm."""
    return fact.shrinks


def scaled_fact(fact: Fact, by: float) -> Fact:
    """A value times a known number: the same function, another coefficient."""
    if by == 0 and fact.numbers.tame and fact.sum is None and fact.why is None:
        return (
            replace(constant(0.0), owner=None)
            if fact.owner is None
            else replace(fact.bare(), numbers=Numbers(0, 0), coef=0.0)
        )
    numbers = product(fact.numbers, Numbers(by, by))
    if fact.numbers.nonzero and by:
        numbers = replace(numbers, nonzero=True)
    below = fact.below
    if below is not None:
        below = replace(
            below, factor=below.factor * (abs(by) if below.power == 1 else max(by, 0.0))
        )
        if below.factor == 0:
            below = None
    shrinks = (
        replace(fact.shrinks, bound=fact.shrinks.bound * by)
        if fact.shrinks is not None and by >= 0
        else None
    )
    bounded = replace(fact.bounded, bound=fact.bounded.bound * abs(by)) if fact.bounded else None
    value = None if fact.value is None else fact.value * by
    return replace(
        fact,
        extra={k: v for k, v in fact.extra.items() if by == 1 or k != "between"},
        numbers=numbers,
        coef=fact.coef * by,
        below=below,
        shrinks=shrinks,
        bounded=bounded,
        sum=None if fact.sum is None else scaled(fact.sum, by),
        test=None,
        value=value,
    )


def fits(fact: Fact, shape: Any) -> Fact:
    """A fact whose owner has this shape: entries repeated along new axes lose their bound."""
    if fact.owner is None:
        return fact
    if tuple(fact.owner.shape) == tuple(shape):
        return fact
    grown = fact.owner.expand(tuple(shape))
    if grown.numel() == fact.owner.numel():
        return replace(fact, owner=grown.clone())
    return repeated(replace(fact, owner=grown.clone()), grown.numel() // fact.owner.numel())


def multiplied(call: Call, fa: Fact, fb: Fact, shape: Any, squares: bool = False) -> Fact:
    """a * b, entry by entry.

    Lemma: if 0 <= s <= C / |(g_1, ..., g_k)| for every entry of s, then the g_i * s have joint norm C at most. If |m|
    <= h entry by entry, m times something bounded by C is bounded by h C.
    """
    for each in (fa, fb):
        if each.why is not None:
            return Fact(why=each.why)
    if fa.value is not None and fa.owner is None and fa.public:
        return scaled_fact(fits(fb, shape), fa.value)
    if fb.value is not None and fb.owner is None and fb.public:
        return scaled_fact(fits(fa, shape), fb.value)
    pair = sorted([(fa.key, fa.exact), (fb.key, fb.exact)])
    name, exact = digest("mul", [k for k, _ in pair]), digest("mul", [e for _, e in pair])
    owner = combined(shape, [fa.owner, fb.owner])
    if owner is not None and bool((owner == MIXED).any()):
        return call.why(*MIXES)
    numbers = product(fa.numbers, fb.numbers, squares)
    fa, fb = fits(fa, shape), fits(fb, shape)
    below = shrinks = bounded = None
    if squares:
        norm = fa.norm()
        if norm.power == 1:
            below = Below(norm.leaves, norm.factor**2, 2)
    for s, g in ((fa, fb), (fb, fa)):
        if s.shrinks is not None:
            bounded = clipped(s.shrinks, g) or bounded
            if g.numbers.lo >= 0 and not math.isinf(g.numbers.hi) and g.numbers.tame:
                shrinks = Shrinks(s.shrinks.leaves, s.shrinks.bound * g.numbers.hi)
        if (
            g.bounded is not None
            and not math.isinf(s.numbers.magnitude)
            and s.numbers.tame
            and bounded is None
        ):
            bounded = replace(g.bounded, bound=g.bounded.bound * s.numbers.magnitude)
    coef = fa.coef * fb.coef
    return Fact(
        numbers,
        name,
        exact,
        coef,
        owner,
        below=below,
        shrinks=shrinks,
        bounded=bounded,
        extra=_both(fa, fb),
    )


def clipped(shrinks: Shrinks, fact: Fact) -> Bounded | None:
    """A leaf of the norm, times the factor."""
    if fact.owner is None:
        return None
    coefs = {(e, k): c for e, k, c in shrinks.leaves}
    mine = frozenset({(*fact.name(), 1.0)}) if fact.made_of is None else fact.made_of
    if not all((e, k) in coefs and coefs[(e, k)] for e, k, _ in mine):
        return None
    ratio = max(c / coefs[(e, k)] for e, k, c in mine) * abs(fact.coef)
    group = frozenset((k, c) for _, k, c in shrinks.leaves)
    return Bounded(group, frozenset(k for _, k, _ in mine), shrinks.bound * ratio)


@rule("mul", "multiply")
def _mul(call: Call) -> Fact:
    a, b = call.args[0], call.args[1]
    fa, fb = call.fact(a), call.fact(b)
    for x, y in ((fa, fb), (fb, fa)):
        if x.sum is not None:
            if y.public and y.value is not None:
                if x.sum.noise and tuple(_tensor_of(call, x, a, b).shape) != tuple(call.out.shape):
                    return call.why(
                        "shared-noise",
                        "one draw is used for several entries",
                        "draw noise of the shape of what it is added to",
                    )
                return scaled_fact(x, y.value)
            if (
                x.sum.parts
                and not x.sum.noise
                and y.public
                and not math.isinf(y.numbers.magnitude)
                and y.numbers.tame
            ):
                return call.why(
                    "unnoised-sum",
                    "a sum over records is multiplied entry by entry before noise is added",
                    "add noise to the clipped sum first",
                )
            if not x.sum.parts and y.public and y.released is False and y.owner is None:
                return call.why(
                    "noise-scale",
                    "the noise is scaled by something that is no known number",
                    "scale noise by a number",
                )
            return opened(call, [a, b])
    squares = (
        isinstance(a, torch.Tensor)
        and isinstance(b, torch.Tensor)
        and (a is b or fa.ekey == fb.ekey)
        and tuple(a.shape) == tuple(b.shape)
    )
    return multiplied(call, fa, fb, call.out.shape, squares)


def _tensor_of(call: Call, fact: Fact, a: Any, b: Any) -> Any:
    return a if isinstance(a, torch.Tensor) and call.fact(a) is fact else b


@rule("div", "divide", "true_divide")
def _div(call: Call) -> Fact:
    a, b = call.args[0], call.args[1]
    fa, fb = call.fact(a), call.fact(b)
    if call.kwargs.get("rounding_mode"):
        return entrywise(call, Numbers(nan=True, inf=True), [a, b])
    if fb.public and fb.value is not None and fb.value != 0 and fa.why is None:
        if fa.sum is not None and fa.sum.noise and tuple(a.shape) != tuple(call.out.shape):
            return call.why(
                "shared-noise",
                "one draw is used for several entries",
                "draw noise of the shape of what it is added to",
            )
        return scaled_fact(fits(fa, call.out.shape), 1 / fb.value)
    if fa.sum is not None or fb.sum is not None:
        return opened(call, [a, b])
    if fb.why is not None:
        return Fact(why=fb.why)
    return multiplied(call, fa, inverted(fb), call.out.shape)


def inverted(fact: Fact) -> Fact:
    """1 / value. Lemma: if a record's one entry is n >= k |leaves|, then 0 <= 1 / n <= (1 / k) / |leaves|."""
    numbers = inverse(fact.numbers)
    shrinks = None
    if fact.below is not None and fact.below.power == 1 and fact.numbers.lo >= 0 and single(fact):
        shrinks = Shrinks(fact.below.leaves, 1 / fact.below.factor)
    elif fact.below is None and fact.owner is not None and fact.numbers.lo >= 0 and single(fact):
        norm = fact.norm()
        shrinks = Shrinks(norm.leaves, 1 / norm.factor) if norm.factor else None
    coef = 1 / fact.coef if fact.coef else 1.0
    return Fact(
        numbers,
        digest("inverse", fact.key),
        digest("inverse", fact.exact),
        coef,
        fact.owner,
        shrinks=shrinks,
    )


def single(fact: Fact) -> bool:
    """Whether every record has one number, maybe repeated along axes."""
    return fact.owner is not None and fact.owner.numel() == len(records_of(fact.owner))


@rule("reciprocal")
def _reciprocal(call: Call) -> Fact:
    fact = call.fact(call.args[0])
    if fact.why is not None:
        return Fact(why=fact.why)
    if fact.sum is not None:
        return opened(call, call.args[:1])
    return inverted(fact)


@rule("neg")
def _neg(call: Call) -> Fact:
    return scaled_fact(call.fact(call.args[0]), -1.0)


@rule(
    "positive",
    "alias",
    "lift_fresh",
    "clone",
    "contiguous",
    "detach_copy",
    "view_copy",
    "_unsafe_view",
    "_reshape_alias_copy",
)
def _copy(call: Call) -> Fact:
    fact = call.fact(call.args[0])
    return _reshaped(fact, call.out)


def _reshaped(fact: Fact, out: Any) -> Fact:
    return fact if fact.owner is None else replace(fact, owner=fact.owner.reshape(out.shape))


@rule("_to_copy", "to")
def _convert(call: Call) -> Fact:
    source, out = call.args[0], call.out
    fact = _reshaped(call.fact(source), out)
    if source.dtype == out.dtype or (out.is_floating_point()):
        if fact.sum is not None or fact.why is not None:
            return fact
        return fact
    if fact.sum is not None:
        return opened(call, [source])
    lo, hi = fact.numbers.lo, fact.numbers.hi
    if out.dtype == torch.bool:
        lo, hi = 0, 1
    numbers = Numbers(
        math.floor(lo) if math.isfinite(lo) else lo, math.ceil(hi) if math.isfinite(hi) else hi
    )
    return entrywise(call, numbers, [source])


@rule("copy")
def _copy_into(call: Call) -> Fact:
    target, source = call.args[0], call.args[1]
    fact = call.fact(source)
    if fact.sum is not None and tuple(source.shape) != tuple(target.shape):
        if fact.sum.noise:
            return call.why(
                "shared-noise",
                "one draw is used for several entries",
                "draw noise of the shape of what it is added to",
            )
        return call.why("broadcast-sum", "a sum over records is repeated", "add noise first")
    return fits(fact, target.shape)


@rule("add", "sub", "subtract", "rsub")
def _add(call: Call) -> Fact:
    a, b = call.args[0], call.args[1]
    alpha = float(
        call.arg(2, "alpha", 1) if not isinstance(call.arg(2, "alpha", 1), torch.Tensor) else 1
    )
    fa, fb = call.fact(a), call.fact(b)
    base = call.name.removesuffix("_")
    if base == "rsub":
        a, b, fa, fb = b, a, fb, fa
    return summed(
        call, a, b, fa, scaled_fact(fb, alpha if base == "add" else -alpha), call.out.shape
    )


def _width(x: Any) -> tuple[int, ...]:
    return tuple(x.shape) if isinstance(x, torch.Tensor) else ()


def summed(call: Call, a: Any, b: Any, fa: Fact, fb: Fact, shape: Any) -> Fact:
    """a + b. Lemma: |a| + |b| and squares from below add up to what both leaves have together."""
    for each in (fa, fb):
        if each.why is not None:
            return Fact(why=each.why)
    for x, y in ((fa, fb), (fb, fa)):
        if (
            x.public
            and x.value == 0
            and (y.owner is None or tuple(y.owner.shape) == tuple(shape))
            and (y.sum is None or _width(b if y is fb else a) == tuple(shape))
        ):
            return y
    if fa.sum is not None or fb.sum is not None:
        return _sums(call, a, b, fa, fb, shape)
    owner = combined(shape, [fa.owner, fb.owner])
    if owner is not None and bool((owner == MIXED).any()):
        return _sums(call, a, b, fa, fb, shape)
    numbers = plus(fa.numbers, fb.numbers)
    if fa.ekey == (-fb.coef, fb.exact):
        numbers = Numbers(0, 0) if numbers.tame else numbers
    if fa.key == fb.key and fa.exact == fb.exact:
        name, exact, coef = fa.key, fa.exact, fa.coef + fb.coef
        if fa.below is None and fb.below is None and tuple(_width(a)) == tuple(_width(b)):
            leaf = fa.leaf
            return Fact(numbers, name, exact, coef, owner, leaf=leaf)
    # one coefficient is kept outside, so that a mean's 1 / n can still cancel
    lead = (
        min((f.key, f.exact, f.coef) for f in (fa, fb) if f.owner is not None)[2]
        if owner is not None
        else 1.0
    )
    lead = lead or 1.0
    name = digest("add", sorted((f.key, rounded(f.coef / lead)) for f in (fa, fb)))
    exact = digest("add", sorted((f.exact, rounded(f.coef / lead)) for f in (fa, fb)))
    coef = lead
    below = None
    x, y = fa.below, fb.below
    nonneg = fa.numbers.lo >= 0 and fb.numbers.lo >= 0
    if nonneg:
        if x is not None and y is not None and x.power == y.power and _width(a) == _width(b):
            below = Below(x.leaves | y.leaves, min(x.factor, y.factor), x.power)
        elif x is not None and fb.owner is None:
            below = x if fits(fa, shape).below else None
        elif y is not None and fa.owner is None:
            below = y
        elif x is None and y is None and fa.owner is not None and fb.owner is None and single(fa):
            below = fa.norm()
        elif x is None and y is None and fb.owner is not None and fa.owner is None and single(fb):
            below = fb.norm()
    bounded = None
    if fa.bounded is not None and fb.bounded is not None and fa.bounded.group == fb.bounded.group:
        bounded = Bounded(
            fa.bounded.group,
            fa.bounded.leaves | fb.bounded.leaves,
            fa.bounded.bound + fb.bounded.bound,
        )
    extra: dict[str, Any] = {}
    for x, fx, fy in ((a, fa, fb), (b, fb, fa)):
        whole = isinstance(x, torch.Tensor) and not x.is_floating_point() and fx.coef == 1.0
        held = fy.numbers.tame and math.isfinite(fy.numbers.lo + fy.numbers.hi)
        if whole and held and fx.extra.get("known") and fy.owner is not None:
            moved = x.detach().expand(tuple(shape))
            extra["between"] = (moved, fy)
        known = isinstance(x, torch.Tensor) and fx.public and fx.extra.get("known")
        if known and fx.numbers.inf and not fx.numbers.nan and fx.coef > 0 and fy.numbers.tame:
            if bool((x.detach() < INF).all()):
                extra["masked"] = torch.isinf(x.detach()).expand(tuple(shape)).clone()
    return Fact(numbers, name, exact, coef, owner, below=below, bounded=bounded, extra=extra)


def _sums(call: Call, a: Any, b: Any, fa: Fact, fb: Fact, shape: Any) -> Fact:
    """Sums over records and noise, added: shapes must agree, so that every entry has its own."""
    rows = [f for f in (fa, fb) if f.owner is not None]
    noise = [f for f in (fa, fb) if f.sum is not None and f.sum.noise and not f.sum.parts]
    if rows and noise:
        count = len([r for r in records_of(rows[0].owner) if r >= 0])
        if count > 1 or box(rows[0]) is None:
            return opened(call, [x for x in (a, b)])
    parts = []
    for tensor, each in ((a, fa), (b, fb)):
        value = as_sum(call.tape, each)
        if isinstance(value, Why):
            return Fact(why=value)
        if (value.parts or value.noise) and _width(tensor) != tuple(shape):
            if value.noise:
                return call.why(
                    "shared-noise",
                    "one draw is used for several entries",
                    "draw noise of the shape of what it is added to",
                )
            return call.why("broadcast-sum", "a sum over records is repeated", "add noise first")
        parts.append(value)
    return Fact(
        plus(fa.numbers, fb.numbers) if all(f.sum is None for f in (fa, fb)) else ANY,
        sum=added(*parts),
        key="sum",
        exact="sum",
    )


@rule("addcmul")
def _addcmul(call: Call) -> Fact:
    return _three(call, False)


@rule("addcdiv")
def _addcdiv(call: Call) -> Fact:
    return _three(call, True)


def _three(call: Call, divide: bool) -> Fact:
    """self + value * a * b, or a / b."""
    first, a, b = call.args[:3]
    value = float(call.kwargs.get("value", 1))
    fa, fb, f0 = call.fact(a), call.fact(b), call.fact(first)
    if any(f.sum is not None for f in (fa, fb)) or (
        f0.sum is not None and any(f.private for f in (fa, fb))
    ):
        return opened(call, [first, a, b])
    inner = multiplied(call, fa, inverted(fb) if divide else fb, call.out.shape)
    return summed(call, first, call.out, f0, scaled_fact(inner, value), call.out.shape)


@rule("lerp")
def _lerp(call: Call) -> Fact:
    a, b, w = call.args[:3]
    fa, fb, fw = call.fact(a), call.fact(b), call.fact(w)
    if fw.value is None:
        return opened(call, [x for x in (a, b, w) if isinstance(x, torch.Tensor)])
    return summed(
        call, a, b, scaled_fact(fa, 1 - fw.value), scaled_fact(fb, fw.value), call.out.shape
    )


def monotone(
    name: str,
    at: Callable[[float], float],
    lo: float = -INF,
    hi: float = INF,
    nonzero: bool = False,
) -> None:
    """A function that grows, finite on all finite numbers, with values in [lo, hi]."""

    def found(call: Call) -> Fact:
        numbers = call.fact(call.args[0]).numbers
        bounds = Numbers(
            max(lo, at(numbers.lo) if math.isfinite(numbers.lo) else lo),
            min(hi, at(numbers.hi) if math.isfinite(numbers.hi) else hi),
            numbers.inf and not (math.isfinite(lo) and math.isfinite(hi)),
            numbers.nan,
            nonzero and not numbers.inf,
        )
        return entrywise(call, bounds, call.args[:1])

    RULES[name] = found


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else INF


monotone("exp", _exp, 0, INF, True)
monotone("expm1", lambda x: math.expm1(x) if x < 700 else INF, -1)
monotone("sigmoid", lambda x: 1 / (1 + _exp(-x)), 0, 1, True)
monotone("tanh", math.tanh, -1, 1)
monotone("erf", math.erf, -1, 1)
monotone("atan", math.atan, -2, 2)
monotone("softplus", lambda x: math.log1p(_exp(x)) if x < 700 else INF, 0)
monotone("floor", math.floor)
monotone("ceil", math.ceil)
monotone("round", round)
monotone("sign", lambda x: float((x > 0) - (x < 0)), -1, 1)
monotone("log_sigmoid", lambda x: -math.log1p(_exp(-x)) if x > -700 else -INF, -INF, 0)


def bounded_by(names: Sequence[str], lo: float, hi: float) -> None:
    """Functions that are finite on finite numbers, with values in [lo, hi]; not finite where these are not."""
    for name in names:

        def found(call: Call, lo: float = lo, hi: float = hi) -> Fact:
            tensors = [x for x in call.args if isinstance(x, torch.Tensor)]
            bad = any(not call.fact(x).numbers.tame for x in tensors)
            return entrywise(call, Numbers(lo, hi, bad, bad), tensors)

        RULES[name] = found


bounded_by(["sin", "cos"], -1, 1)
bounded_by(
    [
        "gelu",
        "silu",
        "mish",
        "elu",
        "selu",
        "leaky_relu",
        "hardtanh",
        "hardswish",
        "celu",
        "softsign",
        "hardsigmoid",
        "softshrink",
        "hardshrink",
        "sinh",
        "cosh",
        "smooth_l1_loss",
        "huber_loss",
    ],
    -INF,
    INF,
)
bounded_by(["remainder", "fmod", "lgamma", "digamma", "atan2"], -INF, INF)


def linear_in_first(names: Sequence[str]) -> None:
    """Derivatives: the first argument times a finite function of the others."""
    for name in names:

        def found(call: Call) -> Fact:
            tensors = [x for x in call.args if isinstance(x, torch.Tensor)]
            facts = [call.fact(x) for x in tensors]
            bad = any(not f.numbers.tame for f in facts)
            result = entrywise(call, Numbers(-INF, INF, bad, bad), tensors)
            if result.why is not None or result.sum is not None or result.released:
                return result
            rest = [f.ukey for f in facts[1:]]
            more = [f.ekey for f in facts[1:]]
            return replace(
                result,
                key=digest(call.name, literals(call), facts[0].key, rest),
                exact=digest(call.name, literals(call), facts[0].exact, more),
                coef=facts[0].coef,
            )

        RULES[name] = found


linear_in_first(
    [
        "gelu_backward",
        "silu_backward",
        "elu_backward",
        "leaky_relu_backward",
        "hardtanh_backward",
        "mish_backward",
        "sigmoid_backward",
        "tanh_backward",
        "softplus_backward",
        "threshold_backward",
        "hardswish_backward",
        "hardsigmoid_backward",
        "log_sigmoid_backward",
    ]
)


@rule("relu")
def _relu(call: Call) -> Fact:
    n = call.fact(call.args[0]).numbers
    return entrywise(call, Numbers(max(0, n.lo), max(0, n.hi), n.inf, n.nan), call.args[:1])


@rule("abs")
def _abs(call: Call) -> Fact:
    fact = call.fact(call.args[0])
    n = fact.numbers
    lo = 0.0 if n.lo <= 0 <= n.hi else min(abs(n.lo), abs(n.hi))
    result = entrywise(
        call, Numbers(lo, max(abs(n.lo), abs(n.hi)), n.inf, n.nan, n.never_zero), call.args[:1]
    )
    if result.owner is None:
        return result
    norm = fact.norm()
    return replace(result, below=norm if norm.power == 1 else None, extra={"abs_of": fact.exact})


@rule("log", "log1p", "log2", "log10")
def _log(call: Call) -> Fact:
    n = call.fact(call.args[0]).numbers
    shift = 1.0 if call.name.startswith("log1p") else 0.0
    lo, hi = n.lo + shift, n.hi + shift
    positive = lo > 0 or (lo >= 0 and shift == 0 and n.nonzero)
    at = {"log2": math.log2, "log10": math.log10}.get(call.name.removesuffix("_"), math.log)
    numbers = Numbers(
        at(lo) if lo > 0 and math.isfinite(lo) else -INF,
        at(hi) if math.isfinite(hi) and hi > 0 else INF,
        n.inf or not positive,
        n.nan or lo < 0,
    )
    return entrywise(call, numbers, call.args[:1])


@rule("sqrt", "rsqrt")
def _sqrt(call: Call) -> Fact:
    """Lemma: the root of numbers that add up to k |leaves|^2 has norm sqrt(k) |leaves|."""
    fact = call.fact(call.args[0])
    n = fact.numbers
    numbers = Numbers(
        math.sqrt(n.lo) if n.lo > 0 else 0.0,
        math.sqrt(n.hi) if 0 <= n.hi < INF else INF,
        n.inf,
        n.nan or n.lo < 0,
        n.never_zero and n.lo >= 0,
    )
    root = entrywise(call, numbers, call.args[:1])
    if root.owner is None:
        if call.name.startswith("rsqrt") and root.public:
            return replace(root, numbers=inverse(numbers))
        return root
    name, exact = digest("sqrt", fact.key), digest("sqrt", fact.exact)
    coef = math.sqrt(fact.coef) if fact.coef > 0 else 1.0
    if fact.coef <= 0:
        name, exact = digest("sqrt", fact.ukey), digest("sqrt", fact.ekey)
    root = replace(root, key=name, exact=exact, coef=coef)
    if fact.below is not None and fact.below.power == 2 and n.lo >= 0:
        root = replace(root, below=Below(fact.below.leaves, math.sqrt(fact.below.factor)))
    return inverted(root) if call.name.startswith("rsqrt") else root


@rule("pow", "square")
def _pow(call: Call) -> Fact:
    base = call.args[0]
    exponent = 2.0 if call.name.startswith("square") else call.args[1]
    fact = call.fact(base)
    if isinstance(exponent, torch.Tensor) or not isinstance(base, torch.Tensor):
        tensors = [x for x in call.args if isinstance(x, torch.Tensor)]
        return entrywise(call, Numbers(inf=True, nan=True), tensors)
    if fact.sum is not None or fact.why is not None:
        return opened(call, [base])
    if exponent == 2:
        return (
            multiplied(call, fact, fact, call.out.shape, True)
            if fact.value is None
            else constant(fact.value**2)
        )
    if exponent == 1:
        return fact
    if exponent == 0.5:
        return _sqrt(Call(call.tape, "sqrt", (base,), {}, call.out))
    if exponent == -0.5:
        return _sqrt(Call(call.tape, "rsqrt", (base,), {}, call.out))
    if exponent == -1:
        return inverted(fact)
    n = fact.numbers
    whole = float(exponent) == int(exponent) and exponent >= 0
    if whole:
        even = int(exponent) % 2 == 0
        ends = [
            x**exponent if math.isfinite(x) else (INF if even or x > 0 else -INF)
            for x in (n.lo, n.hi)
        ]
        lo = 0.0 if even and n.lo <= 0 <= n.hi else min(ends)
        return entrywise(call, Numbers(lo, max(ends), n.inf, n.nan, n.never_zero), [base])
    if n.lo >= 0 and exponent > 0:
        return entrywise(call, Numbers(0, INF, n.inf, n.nan, n.never_zero), [base])
    return entrywise(call, Numbers(-INF, INF, True, True), [base])


def _least(call: Call, fact: Fact, number: float) -> Fact:
    """max(value, number)."""
    n = fact.numbers
    numbers = Numbers(
        max(n.lo, number),
        max(n.hi, number),
        n.inf and math.isinf(max(n.hi, number)),
        n.nan,
        n.nonzero and number >= 0,
    )
    below = fact.below if fact.numbers.lo >= 0 or number < n.lo else None
    if (
        below is None
        and fact.below is None
        and fact.owner is not None
        and n.lo >= 0
        and single(fact)
    ):
        below = fact.norm()
    key, exact = digest("max", number, fact.ukey), digest("max", number, fact.ekey)
    return Fact(
        numbers,
        key,
        exact,
        1.0,
        fact.owner,
        below=below,
        shrinks=fact.shrinks if number <= n.lo else None,
    )


def _at_most(call: Call, fact: Fact, number: float) -> Fact:
    """min(value, number). A factor stays one while it stays above 0."""
    n = fact.numbers
    numbers = Numbers(
        min(n.lo, number),
        min(n.hi, number),
        n.inf and math.isinf(min(n.lo, number)),
        n.nan,
        n.nonzero and number != 0 and n.lo >= 0,
    )
    key, exact = digest("min", number, fact.ukey), digest("min", number, fact.ekey)
    return Fact(numbers, key, exact, 1.0, fact.owner, shrinks=fact.shrinks if number >= 0 else None)


@rule("clamp", "clip", "clamp_min", "clamp_max")
def _clamp(call: Call) -> Fact:
    fact = call.fact(call.args[0])
    base = call.name.removesuffix("_")
    low = call.arg(1, "min") if base != "clamp_max" else None
    high = (
        call.arg(2, "max")
        if base in {"clamp", "clip"}
        else call.arg(1, "max")
        if base == "clamp_max"
        else None
    )
    numbers = []
    for each in (low, high):
        if isinstance(each, torch.Tensor):
            found = call.fact(each)
            if found.value is None or not found.public:
                bad = fact.numbers
                return entrywise(
                    call,
                    Numbers(-INF, INF, bad.inf, bad.nan),
                    [x for x in (call.args[0], low, high) if isinstance(x, torch.Tensor)],
                )
            numbers.append(found.value)
        else:
            numbers.append(None if each is None else float(each))
    if fact.sum is not None or fact.why is not None:
        return opened(call, call.args[:1])
    if numbers[0] is not None:
        fact = _least(call, fact, numbers[0])
    if numbers[1] is not None:
        fact = _at_most(call, fact, numbers[1])
    return fact


@rule("maximum", "minimum", "max", "min", "fmax", "fmin")
def _pairwise(call: Call) -> Any:
    base = call.name.removesuffix("_")
    if (
        isinstance(call.out, tuple)
        or len([x for x in call.args if isinstance(x, torch.Tensor)]) < 2
    ):
        return over_axes(call)
    a, b = call.args[:2]
    fa, fb = call.fact(a), call.fact(b)
    for x, y, t in ((fa, fb, a), (fb, fa, b)):
        if (
            y.public
            and y.value is not None
            and x.sum is None
            and x.why is None
            and tuple(t.shape) == tuple(call.out.shape)
        ):
            if base in {"maximum", "max"}:
                return _least(call, x, y.value)
            if base in {"minimum", "min"}:
                return _at_most(call, x, y.value)
    n, m = fa.numbers, fb.numbers
    bad = not (n.tame and m.tame)
    pick = max if base in {"maximum", "max", "fmax"} else min
    return entrywise(call, Numbers(pick(n.lo, m.lo), pick(n.hi, m.hi), bad, bad), [a, b])


@rule(
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "isnan",
    "isinf",
    "isfinite",
    "bitwise_and",
    "bitwise_or",
    "bitwise_not",
    "bitwise_xor",
    "signbit",
    "isposinf",
    "isneginf",
)
def _compare(call: Call) -> Fact:
    tensors = [x for x in call.args if isinstance(x, torch.Tensor)]
    known = _decided(call)
    if known is not None:
        return constant(known)
    numbers = Numbers(0, 1) if call.out.dtype == torch.bool else ANY
    result = entrywise(call, numbers, tensors)
    base = call.name.removesuffix("_")
    if result.owner is None:
        return result
    extra: dict[str, Any] = _guards(call, base, tensors)
    first = call.fact(tensors[0])
    if base in {"isnan", "isinf", "isfinite"}:
        extra["guard"] = (base, first.exact)
    if base in {"bitwise_not", "logical_not"} and first.extra.get("guard"):
        extra["guard"] = ("not " + first.extra["guard"][0], first.extra["guard"][1])
    if base in {"eq", "ne"} and len(call.args) > 1 and call.fact(call.args[1]).value == 0:
        extra["zero"] = (base, first.exact)
    test = None
    if base in {"lt", "le", "gt", "ge"}:
        other = call.fact(call.args[1])
        if (
            other.value is not None
            and other.public
            and first.numbers.lo >= 0
            and (first.below is None or first.below.power == 1)
            and single(first)
        ):
            test = Test(first.norm(), other.value, base in {"gt", "ge"})
            extra["above"] = (first.exact, first.coef, other.value, base in {"gt", "ge"})
    return replace(result, test=test, extra=extra)


def _guards(call: Call, base: str, tensors: Sequence[Any]) -> dict[str, Any]:
    """isfinite, isnan and isinf as torch spells them: x == x, x != x, |x| != inf, |x| == inf."""
    first = call.fact(tensors[0])
    if base in {"eq", "ne"} and len(call.args) > 1:
        other = call.fact(call.args[1])
        if other.ekey == first.ekey and first.private:
            return {"guard": ("not isnan" if base == "eq" else "isnan", first.exact)}
        if other.value == INF and "abs_of" in first.extra:
            return {"guard": ("isinf" if base == "eq" else "not isinf", first.extra["abs_of"])}
    if base in {"logical_and", "bitwise_and"} and len(tensors) == 2:
        return _both(first, call.fact(tensors[1]))
    return {}


def _both(a: Fact, b: Fact) -> dict[str, Any]:
    """Two guards of one value."""
    x, y = a.extra.get("guard"), b.extra.get("guard")
    if x and y and x[1] == y[1] and {x[0], y[0]} == {"not isnan", "not isinf"}:
        return {"guard": ("isfinite", x[1])}
    return {}


def _decided(call: Call) -> float | None:
    """The answer that intervals give for all records alike."""
    base = call.name.removesuffix("_")
    if base not in {"eq", "ne", "lt", "le", "gt", "ge"}:
        return None
    facts = [call.fact(x) for x in call.args[:2]]
    if any(f.sum is not None or f.why is not None or not f.numbers.tame for f in facts):
        return None
    a, b = (f.numbers for f in facts)
    apart = a.hi < b.lo or b.hi < a.lo
    if base in {"eq", "ne"}:
        return float(base == "ne") if apart else None
    if base in {"gt", "ge"}:
        a, b = b, a
        base = "lt" if base == "gt" else "le"
    if base == "lt":
        return 1.0 if a.hi < b.lo else 0.0 if a.lo >= b.hi else None
    return 1.0 if a.hi <= b.lo else 0.0 if a.lo > b.hi else None


@rule("where")
def _where(call: Call) -> Any:
    """Lemma: a factor chosen where the norm is above T, and a number c where not, is at most max(C, c T) / norm."""
    if len(call.args) < 3:
        return call.why(
            "private-shape",
            "the shape of a tensor depends on the data",
            "use torch.where with three arguments",
        )
    condition, a, b = call.args[:3]
    return chosen(call, condition, a, b)


@rule("masked_fill")
def _masked_fill(call: Call) -> Fact:
    x, mask, value = call.args[:3]
    return chosen(call, mask, value, x)


def chosen(call: Call, condition: Any, a: Any, b: Any) -> Fact:
    """a where the condition holds, else b."""
    fc, fa, fb = call.fact(condition), call.fact(a), call.fact(b)
    tensors = [x for x in (condition, a, b) if isinstance(x, torch.Tensor)]
    hidden = _hidden(call, condition, fc, fa, fb)
    if fc.value is not None and fc.public:
        taken = fa if fc.value else fb
        source = a if fc.value else b
        if taken.sum is None or _width(source) == tuple(call.out.shape):
            return fits(taken, call.out.shape)
    if any(f.sum is not None or f.why is not None for f in (fc, fa, fb)):
        return opened(call, tensors)
    first, second = fa.numbers, fb.numbers
    guard, zero, above = fc.extra.get("guard"), fc.extra.get("zero"), fc.extra.get("above")
    if above and above[2] > 0:
        # the inverse of what is above T is below 1 / T
        exact, scale, threshold, holds = above
        inverse_of = digest("inverse", exact)
        if holds and fa.exact == inverse_of and fa.coef * scale > 0:
            first = Numbers(0, fa.coef * scale / threshold, False, first.nan)
        if not holds and fb.exact == inverse_of and fb.coef * scale > 0:
            second = Numbers(0, fb.coef * scale / threshold, False, second.nan)
    if guard:
        kind, name = guard
        if kind in {"isfinite", "not isnan", "not isinf"}:
            first = _guarded(first, fa, name, kind)
        if kind in {"isnan", "isinf", "not isfinite"}:
            second = _guarded(second, fb, name, kind)
    if zero:
        kind, name = zero
        if kind == "eq":
            second = _nonzero(second, fb, name)
        else:
            first = _nonzero(first, fa, name)
    result = entrywise(call, first.joined(second), tensors)
    if result.owner is None:
        return result
    names = [fc.ukey, fa.ukey, fb.ukey], [fc.ekey, fa.ekey, fb.ekey]
    coef = 1.0
    zeroes = [f.value == 0 and f.public for f in (fa, fb)]
    if any(zeroes) and not all(zeroes):
        other = fb if zeroes[0] else fa
        coef = other.coef or 1.0
        names = [fc.ukey, (zeroes[0], other.key)], [fc.ekey, (zeroes[0], other.exact)]
        result = replace(result, bounded=fits(other, call.out.shape).bounded)
    shrinks = None
    if fa.shrinks and fb.shrinks and fa.shrinks.leaves == fb.shrinks.leaves:
        shrinks = Shrinks(fa.shrinks.leaves, max(fa.shrinks.bound, fb.shrinks.bound))
    for s, other, holds in ((fa, fb, True), (fb, fa, False)):
        if s.shrinks is None:
            continue
        if other.value == 0 and other.public:
            shrinks = s.shrinks
        elif (
            fc.test is not None
            and fc.test.above is holds
            and other.value is not None
            and other.public
            and other.value >= 0
        ):
            if fc.test.below.leaves >= s.shrinks.leaves:
                # where the test fails, factor * norm <= T
                least = fc.test.threshold / fc.test.below.factor * other.value
                shrinks = Shrinks(s.shrinks.leaves, max(s.shrinks.bound, least))
    return replace(
        result,
        key=digest("where", names[0]),
        exact=digest("where", names[1]),
        coef=coef,
        shrinks=shrinks,
        extra=hidden,
    )


def _hidden(call: Call, condition: Any, fc: Fact, fa: Fact, fb: Fact) -> dict[str, Any]:
    """Entries set to -inf by a mask that is a constant."""
    for side, other, holds in ((fa, fb, True), (fb, fa, False)):
        if fc.extra.get("known") and fc.public and side.value == -INF and other.numbers.tame:
            mask = condition.detach() if holds else ~condition.detach()
            return {"masked": mask.expand(call.out.shape).clone()}
    return {}


def _guarded(numbers: Numbers, fact: Fact, name: str, kind: str) -> Numbers:
    if fact.exact != name:
        return numbers
    if kind.endswith("isfinite"):
        return replace(numbers, inf=False, nan=False)
    return replace(numbers, nan=False) if kind.endswith("isnan") else replace(numbers, inf=False)


def _nonzero(numbers: Numbers, fact: Fact, name: str) -> Numbers:
    if fact.exact == name:
        return replace(numbers, nonzero=True)
    if fact.extra.get("only_zero_of") == name:
        return replace(numbers, inf=False, nan=False)
    return numbers


@rule("nan_to_num")
def _nan_to_num(call: Call) -> Fact:
    fact = call.fact(call.args[0])
    n = fact.numbers
    nan = float(call.arg(1, "nan") or 0.0)
    posinf, neginf = call.arg(2, "posinf"), call.arg(3, "neginf")
    hi = max(n.hi, nan, float(posinf) if posinf is not None else n.hi)
    lo = min(n.lo, nan, float(neginf) if neginf is not None else n.lo)
    result = entrywise(call, Numbers(lo, hi), call.args[:1])
    if result.owner is None:
        return result
    keep = fact.shrinks if nan == 0 and not (n.inf and n.lo < 0) else None
    return replace(result, shrinks=keep)


# ---------------------------------------------------------------- over axes


def axes(call: Call, tensor: Any, dim: Any) -> list[int]:
    """The axes meant."""
    if dim is None or dim == []:
        return list(range(tensor.dim()))
    return [d % max(tensor.dim(), 1) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]


def row_name(call: Call, tensors: Sequence[Any], label: str, more: Any = ()) -> dict[str, Any]:
    """Keys of a result whose records depend on all of their own entries."""
    facts = [call.fact(x) for x in tensors]
    shapes = [shape_of(x, f) for x, f in zip(tensors, facts, strict=True)]
    return {
        "key": digest(label, more, [f.ukey for f in facts], shapes),
        "exact": digest(label, more, [f.ekey for f in facts], shapes),
    }


@rule("sum")
def _sum(call: Call) -> Fact:
    x = call.args[0]
    dims = axes(call, x, call.arg(1, "dim") if len(call.args) > 1 or "dim" in call.kwargs else None)
    return total(call, x, dims, 1.0)


@rule("mean")
def _mean(call: Call) -> Fact:
    x = call.args[0]
    dims = axes(call, x, call.arg(1, "dim") if len(call.args) > 1 or "dim" in call.kwargs else None)
    count = math.prod(x.shape[d] for d in dims) if x.dim() else 1
    return total(call, x, dims, 1.0 / max(count, 1))


def total(call: Call, x: Any, dims: Sequence[int], by: float) -> Fact:
    """Sums along axes: inside a record, or over the records."""
    fact = call.fact(x)
    if fact.why is not None:
        return Fact(why=fact.why)
    if fact.sum is not None:
        if x.numel() == call.out.numel():
            return scaled_fact(fact, by)
        return opened(call, [x])
    count = x.numel() // max(call.out.numel(), 1)
    if count == 1:
        found = (
            fact if fact.owner is None else replace(fact, owner=fact.owner.reshape(call.out.shape))
        )
        return scaled_fact(found, by)
    owner = reduced(fact.owner, dims, call.out.dim() == x.dim())
    if owner is not None:
        owner = owner.reshape(call.out.shape)
    n = fact.numbers
    opposite = n.inf and n.lo < 0 < n.hi
    numbers = Numbers(
        n.lo * count,
        n.hi * count,
        n.inf,
        n.nan or opposite,
        n.never_zero and (n.lo >= 0 or n.hi <= 0),
    )
    if bool((owner == MIXED).any()):
        return scaled_fact(over_records(call, x, fact, dims), by)
    below = fact.below
    if below is None and n.lo >= 0:
        below = fact.norm()
    if n.lo < 0:
        below = None
    names = {
        "key": digest("sum", [d for d in dims], fact.key, shape_of(x, fact)),
        "exact": digest("sum", [d for d in dims], fact.exact, shape_of(x, fact)),
    }
    bounded = fact.bounded
    if bounded is not None:
        bounded = replace(bounded, bound=bounded.bound * math.sqrt(count))
    made = Fact(numbers, coef=fact.coef, owner=owner, below=below, bounded=bounded, **names)
    return scaled_fact(made, by)


def over_records(call: Call, x: Any, fact: Fact, dims: Sequence[int]) -> Fact:
    """The sum over records of what is bounded record by record; every entry has the same records in it."""
    if not fact.numbers.tame:
        value: Any = one(call.tape, fact, [])
        return Fact(why=value) if isinstance(value, Why) else call.why(*MIXES)
    kept = [d for d in range(x.dim()) if d not in dims]
    table = fact.owner.permute(*kept, *dims).reshape(max(call.out.numel(), 1), -1)
    ordered = table.sort(dim=1).values
    if not bool((ordered == ordered[:1]).all()) or int(ordered.min()) < 0:
        return call.why(
            "uneven-sum",
            "a sum does not have every record in every entry",
            "sum over the axis of the records",
        )
    found, counts = torch.unique(ordered[0], return_counts=True)
    if int(counts.min()) != int(counts.max()):
        return call.why(
            "uneven-sum",
            "a sum has some records more often than others",
            "sum over the axis of the records",
        )
    each = int(counts[0])
    value = one(call.tape, fact, [int(r) for r in found])
    if isinstance(value, Why):
        return Fact(why=value)
    if each > 1:
        ((key, part),) = value.parts
        bound = replace(part.bound, bound=part.bound.bound * math.sqrt(each))
        value = Sum(((digest("within", key, tuple(dims)), replace(part, bound=bound)),))
    return Fact(sum=value, key="sum", exact="sum")


@rule("linalg_vector_norm", "norm", "_foreach_norm")
def _norm(call: Call) -> Any:
    """Lemma: the L1 norm is at least the L2 norm; the largest entry is not."""
    x = call.args[0]
    if isinstance(x, (list, tuple)):
        order = call.arg(1, "ord", 2)
        return [
            _one_norm(call, t, order, list(range(t.dim())), o)
            for t, o in zip(x, call.out, strict=True)
        ]
    order = call.arg(1, "ord", 2)
    order = 2 if order is None else order
    dim = call.arg(2, "dim") if len(call.args) > 2 or "dim" in call.kwargs else None
    return _one_norm(call, x, order, axes(call, x, dim), call.out)


def _one_norm(call: Call, x: Any, order: Any, dims: list[int], out: Any) -> Fact:
    fact = call.fact(x)
    if fact.why is not None:
        return Fact(why=fact.why)
    if fact.sum is not None:
        return opened(call, [x])
    if fact.owner is None:
        name = digest("norm", str(order), dims, fact.ukey, tuple(x.shape))
        return Fact(Numbers(0, INF), name, name, released=fact.released)
    owner = reduced(fact.owner, dims, False).reshape(out.shape)
    n = fact.numbers
    if bool((owner == MIXED).any()):
        return call.why(
            "batch-norm-of-gradients",
            "a norm is taken over several records",
            "take the norm of each record's gradient",
        )
    names = {
        "key": digest("norm", str(order), dims, fact.key, shape_of(x, fact)),
        "exact": digest("norm", str(order), dims, fact.exact, shape_of(x, fact)),
    }
    norm = fact.norm()
    usable = norm.power == 1 and float(order) in (1.0, 2.0)
    return Fact(
        Numbers(0, INF, n.inf, n.nan),
        coef=abs(fact.coef),
        owner=owner,
        below=norm if usable else None,
        **names,
    )


@rule(
    "amax",
    "amin",
    "argmax",
    "argmin",
    "any",
    "all",
    "prod",
    "logsumexp",
    "var",
    "std",
    "var_mean",
    "cumsum",
    "topk",
    "sort",
    "median",
    "logcumsumexp",
    "cumprod",
)
def over_axes(call: Call) -> Any:
    """Results that may depend on all entries along some axes."""
    x = call.args[0]
    fact = call.fact(x)
    outs = call.out if isinstance(call.out, (tuple, list)) else [call.out]
    if fact.why is not None:
        return [Fact(why=fact.why)] * len(outs)
    if fact.sum is not None:
        return [opened(call, [x])] * len(outs)
    base = call.name.removesuffix("_")
    along = {"cumsum", "sort", "topk", "cumprod", "logcumsumexp"}
    place = 2 if base == "topk" else 1
    dim = call.arg(place, "dim")
    if base in {"sort", "topk"} and dim is None:
        dim = -1
    dims = axes(call, x, dim if not isinstance(dim, bool) else None)
    owner = reduced(fact.owner, dims, True)
    if bool((owner == MIXED).any()):
        return [
            call.why(
                "batch-statistics" if base.startswith(("var", "std")) else "mixed-records",
                f"{base} is taken over several records",
                "compute it for each record",
            )
        ] * len(outs)
    n = fact.numbers
    found = []
    for i, out in enumerate(outs):
        if base in along:
            shaped = owner.expand(x.shape) if out.shape == x.shape else owner.expand(out.shape)
        else:
            shaped = owner.reshape(out.shape)
        names = row_name(call, [x], base, (i, literals(call)))
        if out.dtype == torch.bool:
            numbers = Numbers(0, 1)
        elif not out.is_floating_point():
            numbers = Numbers(0, max(x.shape, default=1)) if "arg" in base or i == 1 else ANY
        elif base in {"amax", "amin", "max", "min", "sort", "topk", "median"}:
            numbers = replace(n, nonzero=n.never_zero)
        elif base == "logsumexp":
            numbers = Numbers(-INF, INF, n.inf, n.nan or n.inf)
        elif base.startswith(("var", "std")) and i == 0:
            numbers = Numbers(0, INF, n.inf, n.nan or n.inf or x.numel() // max(out.numel(), 1) < 2)
        else:
            numbers = Numbers(-INF, INF, n.inf, n.nan or n.inf)
        found.append(Fact(numbers, owner=shaped.clone(), **names))
    return found if isinstance(call.out, (tuple, list)) else found[0]


@rule("cat", "stack")
def _cat(call: Call) -> Fact:
    tensors = [t for t in call.args[0]]
    dim = call.arg(1, "dim", 0)
    facts = [call.fact(t) for t in tensors]
    pairs = [(t, f) for t, f in zip(tensors, facts, strict=True) if t.numel() or t.dim() > 1]
    tensors, facts = [t for t, _ in pairs], [f for _, f in pairs]
    for each in facts:
        if each.why is not None:
            return Fact(why=each.why)
    if any(f.sum is not None for f in facts):
        sums = [f.sum for f in facts]
        if all(s is not None and s.parts and not s.noise for s in sums):
            made = joined(
                [s for s in sums if s is not None],
                digest("cat", [s.parts[0][0] for s in sums if s is not None and s.parts]),
            )
            if made is not None:
                return Fact(sum=made, key="sum", exact="sum")
        return opened(call, tensors)
    run = torch.cat if call.name == "cat" else torch.stack
    owner = run(
        [
            public(t.shape) if f.owner is None else f.owner
            for t, f in zip(tensors, facts, strict=True)
        ],
        dim,
    )
    if owner.numel() != call.out.numel():
        return call.why(
            "unknown-operation", "tensors of unlike shapes are joined", "join tensors of one shape"
        )
    owner = owner.reshape(call.out.shape)
    numbers = facts[0].numbers
    for each in facts[1:]:
        numbers = numbers.joined(each.numbers)
    owned = [f for f in facts if f.owner is not None]
    sets = [frozenset(r for r in records_of(f.owner) if r >= 0) for f in owned]
    apart = (
        len(owned) == len(facts)
        and sum(map(len, sets)) == len(frozenset().union(*sets))
        and len(sets) > 0
        and (len(sets) > 1 or call.out.shape[0] == 1 or call.name == "cat")
    )
    if (
        apart
        and len({f.ukey for f in facts}) == 1
        and len({f.exact for f in facts}) == 1
        and (dim % max(call.out.dim(), 1) == 0)
    ):
        first = facts[0]
        shrinks = first.shrinks if all(f.shrinks == first.shrinks for f in facts) else None
        below = first.below if all(f.below == first.below for f in facts) else None
        bounded = first.bounded if all(f.bounded == first.bounded for f in facts) else None
        leaf = first.leaf if all(f.leaf == first.leaf for f in facts) else None
        return Fact(
            numbers,
            first.key,
            first.exact,
            first.coef,
            owner,
            below=below,
            shrinks=shrinks,
            bounded=bounded,
            leaf=leaf,
        )
    same = len(set(sets)) == 1
    shapes = [shape_of(t, f) for t, f in zip(tensors, facts, strict=True)]
    if not same:
        # which record is where is part of the name: it differs between sizes
        shapes = [
            (tuple(t.shape), str(sorted(s)))
            for t, s in zip(tensors, [*sets, *[frozenset()] * len(tensors)], strict=False)
        ]
    # Joining is linear: the first coefficient, such as that of a mean, is one of the whole.
    coef = facts[0].coef if len(owned) == len(facts) and facts[0].coef else 1.0
    times = [rounded(f.coef / coef) for f in facts]
    name = digest(call.name, dim, list(zip(times, [f.key for f in facts], strict=True)), shapes)
    exact = digest(call.name, dim, list(zip(times, [f.exact for f in facts], strict=True)), shapes)
    below = None
    norms = [f.norm() for f in owned]
    if same and norms and len({n.power for n in norms}) == 1:
        if norms[0].power == 1 or all(f.numbers.lo >= 0 for f in facts):
            leaves = frozenset().union(*(n.leaves for n in norms))
            below = Below(leaves, min(n.factor for n in norms), norms[0].power)
            if below.factor == 0:
                below = None
    made_of = None
    if same and len(owned) == len(facts):
        inside = [leaf for f in owned for leaf in f.leaves()]
        if len({leaf[:2] for leaf in inside}) == len(inside):  # none of them lies there twice
            made_of = frozenset((e, k, rounded(c / abs(coef))) for e, k, c in inside)
    bounded = None
    if same and all(f.bounded is not None for f in owned):
        bounds = [f.bounded for f in owned if f.bounded is not None]
        union: frozenset[object] = frozenset().union(*(b.leaves for b in bounds))
        if len({b.group for b in bounds}) == 1 and len(union) == sum(len(b.leaves) for b in bounds):
            bounded = Bounded(bounds[0].group, union, max(b.bound for b in bounds))
        else:
            entries = digest("joined", name)
            bounded = Bounded(entries, frozenset({entries}), math.hypot(*(b.bound for b in bounds)))
    return Fact(numbers, name, exact, coef, owner, below=below, bounded=bounded, made_of=made_of)


_ = Part
