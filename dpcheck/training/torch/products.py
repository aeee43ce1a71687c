"""Products, layers and look-ups: who depends on whom, and sums over records hidden in them."""
# mypy: disable-error-code="arg-type, assignment, attr-defined, misc, no-any-return, operator, union-attr"
# ruff: noqa: ARG001, C901, RUF059

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from dpcheck.training.torch.facts import ANY, MIXED, Fact, Numbers, Why, constant, digest
from dpcheck.training.torch.owners import combined, public, reduced, traced
from dpcheck.training.torch.releases import as_sum, records_of, released_key, scaled, settle
from dpcheck.training.torch.rules import (
    MIXES,
    entrywise,
    fits,
    literals,
    multiplied,
    opened,
    over_records,
    row_name,
    scaled_fact,
    shape_of,
    summed,
)
from dpcheck.training.torch.tape import Call, rule

INF = math.inf
# Operations that are finite on finite numbers, and NaN wherever they depend on a NaN; linear in arguments listed.
SMOOTH: dict[str, tuple[int, ...]] = {
    "mm": (0, 1),
    "bmm": (0, 1),
    "mv": (0, 1),
    "dot": (0, 1),
    "convolution": (0, 1),
    "convolution_backward": (0,),
    "native_layer_norm": (),
    "native_layer_norm_backward": (0,),
    "native_batch_norm": (),
    "native_batch_norm_backward": (0,),
    "native_group_norm": (),
    "native_group_norm_backward": (0,),
    "_softmax": (),
    "_safe_softmax": (),
    "_log_softmax": (),
    "_softmax_backward_data": (0,),
    "_log_softmax_backward_data": (0,),
    "_fused_rms_norm": (),
    "_fused_rms_norm_backward": (0,),
    "avg_pool2d": (0,),
    "avg_pool2d_backward": (0,),
    "_adaptive_avg_pool2d": (0,),
    "_adaptive_avg_pool2d_backward": (0,),
    "avg_pool1d": (0,),
    "upsample_nearest2d": (0,),
    "upsample_bilinear2d": (0,),
    "constant_pad_nd": (0,),
    "im2col": (0,),
    "col2im": (0,),
    "unfold_backward": (0,),
    "reflection_pad2d": (0,),
    "replication_pad2d": (0,),
    "tril": (0,),
    "triu": (0,),
    "flip": (0,),
    "roll": (0,),
    "repeat": (0,),
    "select_backward": (0,),
    "slice_backward": (0,),
    "diagonal_backward": (0,),
    "diag_embed": (0,),
    "trace": (0,),
    "index_select": (0,),
    "repeat_interleave": (0,),
    "as_strided_copy": (0,),
    "expand_copy": (0,),
    "narrow_copy": (0,),
    "split_copy": (0,),
    "value_selecting_reduction_backward": (0,),
    "slice_scatter": (),
    "select_scatter": (),
    "linalg_cross": (0, 1),
}
MOVES = {
    "flip",
    "roll",
    "repeat",
    "index_select",
    "repeat_interleave",
    "as_strided_copy",
    "expand_copy",
    "narrow_copy",
    "split_copy",
    "tril",
    "triu",
}


def _tensors(call: Call) -> list[Any]:
    return [x for x in call.args if isinstance(x, torch.Tensor)] + [
        x for x in call.kwargs.values() if isinstance(x, torch.Tensor)
    ]


def _run(call: Call) -> Any:
    packet = getattr(torch.ops.aten, call.name)

    def run(marked: list[Any]) -> Any:
        flags = iter(marked)

        def put(x: Any) -> Any:
            if not isinstance(x, torch.Tensor):
                return x
            hit = next(flags)
            if not x.is_floating_point():
                return x
            plain = torch.ones(x.shape, dtype=torch.float32)
            return plain if hit is None else plain.masked_fill(hit, math.nan)

        args = [put(x) for x in call.args]
        kwargs = {k: put(v) for k, v in call.kwargs.items()}
        return packet(*args, **kwargs)

    return run


def smooth(call: Call) -> Any:
    """An operation of `SMOOTH`, with one result or several."""
    found = _smooth(call)
    if isinstance(call.out, (tuple, list)):
        return found
    return found[0] if isinstance(found, list) else found


def _smooth(call: Call) -> Any:
    """An operation of `SMOOTH`: owners by marking, keys of everything, coefficients where it is linear."""
    outs = list(call.out) if isinstance(call.out, (tuple, list)) else [call.out]
    tensors = _tensors(call)
    facts = [call.fact(x) for x in tensors]
    if call.name == "convolution_backward" and not call.args[-1][0]:
        # the gradient of the weights does not look at the weights: vmap hands over memory that nobody filled
        facts[2] = replace(facts[2], numbers=ANY)
    for each in facts:
        if each.why is not None:
            return [Fact(why=each.why)] * len(outs)
    if any(f.sum is not None for f in facts):
        return [_open(call, tensors)] * len(outs)
    if call.name == "native_batch_norm" and any(
        isinstance(x, torch.Tensor) for x in call.args[3:5]
    ):
        return [
            call.why(
                "batch-statistics",
                "batch normalisation keeps statistics of the records",
                "use group or layer normalisation",
            )
        ] * len(outs)
    for tensor, each in zip(tensors, facts, strict=True):
        if not tensor.is_floating_point() and each.owner is not None:
            return [
                call.why(
                    "unknown-operation",
                    f"aten.{call.name} looks up private numbers",
                    "use gather or an embedding",
                )
            ] * len(outs)
    owners = traced(_run(call), [f.owner for f in facts], call.tape.records)
    linear = SMOOTH[call.name]
    names = _names(call, tensors, facts, linear, next((o for o in owners if o is not None), None))
    coef = (
        math.prod(facts[i].coef for i in linear if i < len(facts) and facts[i].key != "one")
        if linear
        else 1.0
    )
    numbers = _numbers(call, facts)
    if call.name in {"_softmax", "_safe_softmax"} and _one_is_left(call, tensors[0], facts[0]):
        numbers = Numbers()
    found: list[Any] = []
    for i, out in enumerate(outs):
        if out is None or not isinstance(out, torch.Tensor):
            found.append(None)
            continue
        owner = owners[i]
        if owner is None or tuple(owner.shape) != tuple(out.shape):
            found.append(
                call.why(
                    "unknown-operation",
                    f"aten.{call.name} is not followed",
                    "write it with other operations",
                )
            )
            continue
        if bool((owner == MIXED).any()):
            found.append(_product_over_records(call, out))
            continue
        made = Fact(numbers, digest(names[0], i), digest(names[1], i), coef, owner)
        if call.name in MOVES and len(facts) == 1:
            made = replace(made, shrinks=facts[0].shrinks, numbers=facts[0].numbers)
        if call.name in {"_softmax", "_safe_softmax"}:
            made = replace(made, numbers=Numbers(0, 1, False, numbers.nan or numbers.inf))
        if call.name == "_log_softmax":
            made = replace(made, numbers=Numbers(-INF, 0, numbers.inf, numbers.nan or numbers.inf))
        if call.name == "constant_pad_nd" and all(n >= 0 for n in call.args[1]):
            made = replace(
                made, bounded=facts[0].bounded if float(call.arg(2, "value", 0) or 0) == 0 else None
            )
        if bool((owner == -1).all()):
            made = replace(made, owner=None)
        found.append(made)
    return found if isinstance(call.out, (tuple, list)) else found[0]


def _one_is_left(call: Call, x: Any, fact: Fact) -> bool:
    """A mask that is a constant leaves one finite entry in every softmax."""
    mask = fact.extra.get("masked")
    if mask is None or tuple(mask.shape) != tuple(x.shape):
        return False
    return not bool(mask.all(dim=int(call.args[1])).any())


def _names(
    call: Call, tensors: Sequence[Any], facts: Sequence[Fact], linear: Sequence[int], owner: Any
) -> tuple[str, str]:
    shapes = [shape_of(x, f) for x, f in zip(tensors, facts, strict=True)]
    if call.name == "bmm":  # as many matrices as on the other side, which may be as many as records
        shapes = [s[1:] if f.public else s for s, f in zip(shapes, facts, strict=True)]
    scalars = literals(call)
    if call.name == "convolution_backward":
        # vmap lays records out as groups of channels, and hands over weights that nobody looks at
        laid = all(f.owner is not None for f in facts[:2]) and owner is not None
        kept = (3, 9) if laid and not call.args[-1][0] else (3,)
        scalars = [s for s in scalars if s[0] not in kept] + [str(call.args[-1])]
        if laid and not call.args[-1][0]:
            shapes[2] = shape_of(call.out[1], Fact(owner=owner))
    if call.name.startswith("native_group_norm"):
        scalars = [
            s for s in scalars if s[0] not in ((3,) if call.name == "native_group_norm" else (5,))
        ]
    if call.name in {
        "select_backward",
        "slice_backward",
        "diagonal_backward",
        "as_strided_copy",
        "expand_copy",
        "unfold_backward",
        "avg_pool2d_backward",
        "_adaptive_avg_pool2d_backward",
    }:
        scalars = [s for s in scalars if s[0] != 1] + [
            tuple(call.out.shape) if owner is None else shape_of(call.out, Fact(owner=owner))
        ]
    if call.name == "convolution" and facts[0].owner is not None and facts[1].owner is not None:
        # groups that count records are part of the layout, not of the function
        scalars = [s for s in scalars if s[0] != 8]
    keys = [f.key if i in linear and f.key != "one" else f.ukey for i, f in enumerate(facts)]
    exacts = [f.exact if i in linear and f.key != "one" else f.ekey for i, f in enumerate(facts)]
    return digest(call.name, scalars, keys, shapes), digest(call.name, scalars, exacts, shapes)


def _numbers(call: Call, facts: Sequence[Fact]) -> Numbers:
    bad = any(not f.numbers.tame for f in facts)
    if call.name in {
        "native_batch_norm",
        "native_layer_norm",
        "native_group_norm",
        "_fused_rms_norm",
    }:
        eps = [x for x in call.args if isinstance(x, float)]
        bad = bad or not eps or eps[-1] <= 0
    lo = -INF
    if all(f.numbers.lo >= 0 for f in facts) and call.name in {
        "mm",
        "bmm",
        "mv",
        "dot",
        "convolution",
    }:
        lo = 0.0
    return Numbers(lo, INF, bad, bad)


def _open(call: Call, tensors: Sequence[Any]) -> Fact:
    facts = [call.fact(x) for x in tensors]
    shape_only = call.name in {"constant_pad_nd"}
    del shape_only
    for each in facts:
        if each.sum is not None and each.sum.parts and not each.sum.noise:
            return call.why(
                "unnoised-sum",
                f"a sum over records goes into aten.{call.name} before noise is added",
                "add noise to the clipped sum before anything else is done with it",
            )
    if any(f.owner is not None for f in facts):
        return call.why(*MIXES)
    for tensor, each in zip(tensors, facts, strict=True):
        if each.sum is not None:
            if not settle(call.tape, each.sum):
                return call.why("no-noise", "a sum over records has no noise", "add noise to it")
            name = released_key(each.sum)
            call.tape.set(tensor, Fact(released=True, key=name, exact=name))
    name = digest(
        call.name,
        literals(call),
        [call.fact(x).ukey for x in tensors],
        tuple(call.out.shape) if isinstance(call.out, torch.Tensor) else "",
    )
    return Fact(released=True, key=name, exact=name)


def _product_over_records(call: Call, out: Any) -> Fact:
    """Lemma: with one number s_r for each record, s @ g is the sum of the s_r g_r."""
    unclipped = call.why(
        "unclipped",
        f"aten.{call.name} sums over the records what no clipping bounds record by record",
        "clip every record's gradient by its own norm, all leaves together, before it is summed",
    )
    if call.name == "convolution_backward":
        return unclipped
    if call.name.startswith("native_batch_norm"):
        return call.why(
            "batch-statistics",
            "batch normalisation mixes the records",
            "use group or layer normalisation",
        )
    if call.name not in {"mm", "bmm", "mv", "dot"}:
        return call.why(*MIXES)
    a, b = call.args[:2]
    if a.dim() == 3:
        if a.shape[0] != 1:
            return _batched(call, a, b, unclipped)
        a, b = _View(a, a.shape[1:]), _View(b, b.shape[1:])
    return _weighted(call, a, b, out, unclipped)


class _View:
    """A tensor under another shape."""

    def __init__(self, tensor: Any, shape: Any) -> None:
        self.tensor, self.shape = tensor, tuple(shape)


def _weighted(call: Call, a: Any, b: Any, out: Any, unclipped: Fact) -> Fact:
    fa, fb = (call.fact(x.tensor if isinstance(x, _View) else x) for x in (a, b))
    sa, sb = tuple(a.shape), tuple(b.shape)
    sa = (1, *sa) if len(sa) == 1 else sa
    sb = (*sb, 1) if len(sb) == 1 else sb
    (m, k), (_, d) = sa, sb
    oa = None if fa.owner is None else fa.owner.reshape(m, k)
    ob = None if fb.owner is None else fb.owner.reshape(k, d)
    if m == 1:
        weights, values = (fa, None if oa is None else oa.reshape(k, 1)), (fb, ob)
        width = d
    elif d == 1:
        weights, values = (fb, ob), (fa, None if oa is None else oa.t())
        width = m
    else:
        return unclipped
    if values[1] is None:
        weights, values = values, weights
    if values[1] is None:
        return unclipped
    shape = (k, width)
    fw = replace(weights[0], owner=None if weights[1] is None else weights[1].expand(shape).clone())
    if weights[1] is not None and weights[1].numel() != values[1].numel():
        fw = replace(fw, bounded=None, leaf=None, made_of=None)
    fv = replace(values[0], owner=values[1].clone())
    if fw.owner is None and fw.value is None:
        return unclipped
    made = multiplied(call, fw, fv, shape)
    if made.why is not None:
        return made
    inner = Call(call.tape, "sum", (), {}, torch.empty(width))
    return over_records(inner, torch.empty(shape), made, [0])


def _batched(call: Call, a: Any, b: Any, unclipped: Fact) -> Fact:
    """Several products at once, of which some are sums over records: one factor for each record in all of them."""
    fa, fb = call.fact(a), call.fact(b)
    count, m, k = a.shape
    d = b.shape[2]
    if m != 1 and d != 1:
        return unclipped
    if m == 1:
        weights, values = fa, fb
        ow, ov = fa.owner, fb.owner
        ow = None if ow is None else ow.reshape(count, k, 1)
    else:
        weights, values = fb, fa
        ow, ov = fb.owner, fa.owner
        ov = None if ov is None else ov.transpose(1, 2)
    if ov is None or (ow is None and weights.value is None):
        return unclipped
    fw = replace(
        weights,
        owner=None if ow is None else ow.expand(ov.shape).clone(),
        bounded=None,
        leaf=None,
        made_of=None,
    )
    made = multiplied(call, fw, replace(values, owner=ov.clone()), tuple(ov.shape))
    if made.why is not None:
        return made
    inner = Call(call.tape, "sum", (), {}, torch.empty(count, ov.shape[2]))
    return over_records(inner, torch.empty(tuple(ov.shape)), made, [1])


for _name in SMOOTH:
    rule(_name)(smooth)


@rule("addmm", "baddbmm", "addmv", "addbmm")
def _addmm(call: Call) -> Any:
    bias, a, b = call.args[:3]
    beta, alpha = float(call.kwargs.get("beta", 1)), float(call.kwargs.get("alpha", 1))
    name = {"addmm": "mm", "baddbmm": "bmm", "addmv": "mv"}.get(call.name.removesuffix("_"))
    if name is None:
        return call.why("unknown-operation", f"aten.{call.name} has no rule", "use matmul")
    inner = smooth(Call(call.tape, name, (a, b), {}, call.out))
    scaled_inner = scaled_fact(inner, alpha)
    return summed(
        call, bias, call.out, scaled_fact(call.fact(bias), beta), scaled_inner, call.out.shape
    )


@rule(
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
)
def _attention(call: Call) -> Any:
    """Fused attention: everything of one record and head may depend on everything of that record and head.

    Marking would not do: the maximum inside forgets NaN.
    """
    outs = list(call.out)
    tensors = _tensors(call)
    facts = [call.fact(x) for x in tensors]
    for each in facts:
        if each.why is not None:
            return [Fact(why=each.why)] * len(outs)
    mask = call.kwargs.get("attn_mask")
    if any(f.sum is not None for f in facts) or (mask is not None and call.fact(mask).private):
        return [call.why(*MIXES)] * len(outs)
    lead = tuple(call.args[0].shape[:2])
    owners = []
    for x, f in zip(tensors, facts, strict=True):
        if f.owner is not None:
            if tuple(x.shape[:2]) != lead:
                return [
                    call.why(
                        "unknown-operation",
                        "attention of unlike heads is not followed",
                        "repeat keys and values for each head",
                    )
                ] * len(outs)
            owners.append(reduced(f.owner, list(range(2, x.dim())), True).reshape(*lead, 1, 1))
    owner = combined((*lead, 1, 1), owners)
    if owner is None or bool((owner == MIXED).any()):
        return [call.why(*MIXES)] * len(outs)
    bad = any(not f.numbers.tame for f in facts)
    backward = call.name.endswith("backward")
    linear = (0,) if backward else ()
    names = _names(call, tensors, facts, linear, None)
    found = []
    for i, out in enumerate(outs):
        shape = owner.reshape(*lead, *([1] * (out.dim() - 2))).expand(out.shape).clone()
        coef = facts[0].coef if backward else 1.0
        found.append(
            Fact(
                Numbers(-INF, INF, bad, bad), digest(names[0], i), digest(names[1], i), coef, shape
            )
        )
    return found


@rule("linear")
def _linear(call: Call) -> Any:
    x, weight = call.args[:2]
    bias = call.arg(2, "bias")
    facts = [call.fact(x), call.fact(weight)]
    for each in facts:
        if each.why is not None:
            return Fact(why=each.why)
    if facts[0].owner is None or facts[1].private or (bias is not None and call.fact(bias).private):
        return call.why(*MIXES)
    owner = reduced(facts[0].owner, [-1], True).expand(call.out.shape).clone()
    if bool((owner == MIXED).any()):
        return call.why(*MIXES)
    bad = any(not f.numbers.tame for f in facts)
    tensors = [t for t in (x, weight, bias) if t is not None]
    return Fact(Numbers(-INF, INF, bad, bad), owner=owner, **row_name(call, tensors, "linear"))


@rule("max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool2d")
def _max_pool(call: Call) -> Any:
    fact = call.fact(call.args[0])
    if fact.why is not None or fact.sum is not None or fact.owner is None:
        return [Fact(why=fact.why)] * 2 if fact.why else [call.why(*MIXES)] * 2
    x = call.args[0]
    owner = fact.owner.reshape(x.shape)
    keep = reduced(owner, list(range(x.dim() - 2, x.dim())), True)
    if bool((keep == MIXED).any()):
        return [call.why(*MIXES)] * 2
    made = []
    for i, out in enumerate(call.out):
        names = row_name(call, [x], call.name, (i, literals(call)))
        numbers = fact.numbers if i == 0 else Numbers(0, x.shape[-1] * x.shape[-2])
        made.append(
            Fact(replace(numbers, nonzero=False), owner=keep.expand(out.shape).clone(), **names)
        )
    return made


@rule("max_pool2d_with_indices_backward")
def _max_pool_backward(call: Call) -> Fact:
    grad, x, indices = call.args[0], call.args[1], call.args[-1]
    facts = [call.fact(t) for t in (grad, x, indices)]
    for each in facts:
        if each.why is not None:
            return Fact(why=each.why)
    owners = [
        public(t.shape) if f.owner is None else f.owner
        for t, f in zip((grad, x, indices), facts, strict=True)
    ]
    kept = [reduced(o, [o.dim() - 2, o.dim() - 1], True).expand(call.out.shape) for o in owners]
    owner = combined(call.out.shape, kept)
    if bool((owner == MIXED).any()):
        return call.why(*MIXES)
    bad = not facts[0].numbers.tame
    names = row_name(call, [x, indices], call.name, literals(call))
    return Fact(
        Numbers(-INF, INF, bad, bad),
        digest(names["key"], facts[0].key),
        digest(names["exact"], facts[0].exact),
        facts[0].coef,
        owner,
    )


# ---------------------------------------------------------------- losses


def _count(call: Call, target: Any) -> int:
    return max(int(target.numel()), 1)


@rule("nll_loss_forward", "nll_loss2d_forward")
def _nll(call: Call) -> Any:
    """The loss itself; mean and sum over records are raw sums."""
    x, target, weight, reduction, ignore = call.args[:5]
    if reduction == 0:
        owner = combined(
            call.out[0].shape,
            [
                reduced(call.fact(x).owner, [1 if x.dim() > 1 else 0], False),
                call.fact(target).owner,
            ],
        )
        if call.fact(x).why is not None or (owner is not None and bool((owner == MIXED).any())):
            return [call.why(*MIXES), constant(0.0)]
        n = call.fact(x).numbers
        return [
            Fact(
                Numbers(min(-n.hi, 0), max(-n.lo, 0), n.inf, n.nan),
                owner=owner,
                **row_name(call, [x, target], "nll", ignore),
            ),
            constant(0.0),
        ]
    why = call.why(
        "raw-loss",
        "the loss of the batch is a raw sum over the records",
        "do not let it out, or add noise to clipped losses",
    )
    found = call.fact(x).owner
    if found is not None and len(records_of(found)) == 1:
        names = row_name(call, [x, target], "nll", (reduction, ignore))
        owner = torch.full((), records_of(found)[0], dtype=torch.int16)
        n = call.fact(x).numbers
        return [Fact(Numbers(-INF, INF, n.inf, n.nan), owner=owner, **names), Fact(why=why.why)]
    return [why, why]


@rule("nll_loss_backward", "nll_loss2d_backward")
def _nll_backward(call: Call) -> Fact:
    """One entry of each record: -grad, or -grad / n for a mean over n labels, none of them ignored or weighted."""
    grad, x, target, weight, reduction, ignore = call.args[:6]
    fg, fx, ft = call.fact(grad), call.fact(x), call.fact(target)
    for each in (fg, ft):
        if each.why is not None:
            return Fact(why=each.why)
    numbers = ft.numbers
    ignorable = numbers.lo <= ignore <= numbers.hi
    if reduction == 1 and weight is not None:
        return call.why(
            "batch-denominator",
            "the mean is divided by the class weights of the batch",
            'use reduction="sum" or no weights, or divide by the expected batch size',
        )
    if reduction == 1 and ignorable:
        return call.why(
            "batch-denominator",
            "the mean is divided by the number of labels of the batch that are not ignored",
            "declare labels that are never ignored, or divide by the expected batch size",
        )
    by = 1.0 / _count(call, target) if reduction == 1 else 1.0
    og = None
    if fg.owner is not None:
        og = fg.owner.unsqueeze(1) if reduction == 0 and x.dim() > 1 else fg.owner
    ot = ft.owner
    if ot is not None and x.dim() > 1:
        ot = ot.unsqueeze(1)
    owner = combined(call.out.shape, [og, ot])
    if owner is None:
        owner = fx.owner
    if owner is not None and bool((owner == MIXED).any()):
        return call.why(*MIXES)
    shapes = (shape_of(x, fx)[1:] if x.dim() > 1 else tuple(x.shape), weight is not None, ignore)
    more = [call.fact(weight).ukey] if weight is not None else []
    bad = not fg.numbers.tame
    magnitude = abs(fg.numbers.magnitude) * by
    numbers = (
        Numbers(-magnitude, magnitude, bad, bad) if weight is None else Numbers(-INF, INF, bad, bad)
    )
    one = fg.value is not None
    name = digest("nll'", "one" if one else fg.key, ft.ukey, shapes, more)
    exact = digest("nll'", "one" if one else fg.exact, ft.ekey, shapes, more)
    return Fact(numbers, name, exact, fg.coef * by, owner)


@rule("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "soft_margin_loss")
def _pair_loss(call: Call) -> Fact:
    tensors = _tensors(call)
    reductions = [x for x in call.args[2:] if isinstance(x, int) and not isinstance(x, bool)]
    reduction = reductions[0] if reductions else int(call.kwargs.get("reduction", 1))
    facts = [call.fact(t) for t in tensors]
    bad = any(not f.numbers.tame for f in facts) or (call.name == "binary_cross_entropy" and False)
    if reduction == 0:
        return entrywise(call, Numbers(-INF, INF, bad, bad), tensors)
    for each in facts:
        if each.why is not None:
            return Fact(why=each.why)
    owner = combined(torch.broadcast_shapes(*(t.shape for t in tensors)), [f.owner for f in facts])
    if owner is not None and int(owner.min()) >= 0 and len(records_of(owner)) == 1:
        return Fact(
            Numbers(-INF, INF, bad, bad),
            owner=torch.full((), records_of(owner)[0], dtype=torch.int16),
            **row_name(call, tensors, call.name, literals(call)),
        )
    return call.why(
        "raw-loss",
        "the loss of the batch is a raw sum over the records",
        "do not let it out, or add noise to clipped losses",
    )


@rule(
    "mse_loss_backward",
    "smooth_l1_loss_backward",
    "huber_loss_backward",
    "binary_cross_entropy_backward",
)
def _pair_backward(call: Call) -> Fact:
    """Linear in the gradient from above; a mean divides by the number of entries."""
    grad, x, y = call.args[:3]
    weight = call.args[3] if len(call.args) > 3 and isinstance(call.args[3], torch.Tensor) else None
    rest = [a for a in call.args[3:] if isinstance(a, int) and not isinstance(a, bool)]
    reduction = rest[0] if rest else 1
    facts = [call.fact(t) for t in (grad, x, y)]
    for each in facts:
        if each.why is not None:
            return Fact(why=each.why)
    tensors = [x, y, *([weight] if weight is not None else [])]
    owner = combined(call.out.shape, [fits(call.fact(t), t.shape).owner for t in (grad, *tensors)])
    if owner is not None and bool((owner == MIXED).any()):
        return call.why(*MIXES)
    bad = any(not f.numbers.tame for f in facts)
    if call.name == "binary_cross_entropy_backward":
        n = facts[1].numbers
        bad = bad or not (n.lo >= 0 and n.hi <= 1)  # torch keeps the denominator above 1e-12
    by = 1.0 / max(x.numel(), 1) if reduction == 1 else 1.0
    names = [call.fact(t).ukey for t in tensors], [call.fact(t).ekey for t in tensors]
    shapes = [shape_of(t, call.fact(t)) for t in tensors]
    more = [a for a in call.args[3:] if isinstance(a, float)]
    name = digest(call.name, facts[0].key, names[0], shapes, more)
    exact = digest(call.name, facts[0].exact, names[1], shapes, more)
    return Fact(Numbers(-INF, INF, bad, bad), name, exact, facts[0].coef * by, owner)


@rule("binary_cross_entropy_with_logits")
def _bce(call: Call) -> Fact:
    return _pair_loss(
        Call(call.tape, call.name, (*call.args[:2], int(call.arg(4, "reduction", 1))), {}, call.out)
    )


# ---------------------------------------------------------------- look-ups


def _in_range(fact: Fact, size: int) -> bool:
    return fact.public or (fact.numbers.lo >= -size and fact.numbers.hi <= size - 1)


def _outside(call: Call) -> Fact:
    return call.why(
        "index-range",
        "an index may lie outside the table it looks up",
        "declare the range of the labels or tokens",
    )


@rule("embedding")
def _embedding(call: Call) -> Fact:
    table, indices = call.args[:2]
    ft, fi = call.fact(table), call.fact(indices)
    if ft.private or fi.why is not None:
        return Fact(why=ft.why or fi.why) if ft.why or fi.why else call.why(*MIXES)
    if not _in_range(fi, table.shape[0]):
        return _outside(call)
    owner = fi.owner.unsqueeze(-1).expand(call.out.shape).clone()
    bad = not ft.numbers.tame
    return Fact(
        Numbers(-INF, INF, bad, bad), owner=owner, **row_name(call, [table, indices], "embedding")
    )


@rule("embedding_dense_backward")
def _embedding_backward(call: Call) -> Fact:
    grad, indices = call.args[:2]
    for each in (call.fact(grad), call.fact(indices)):
        if each.why is not None:
            return Fact(why=each.why)
    owner = combined(
        grad.shape,
        [
            call.fact(grad).owner,
            None if call.fact(indices).owner is None else call.fact(indices).owner.unsqueeze(-1),
        ],
    )
    found = records_of(owner)
    if len(found) > 1 and (tables := _tables(call, owner)) is not None:
        own, looked = tables
        fg = call.fact(grad)
        bad = not fg.numbers.tame
        per = (call.out.shape[0] // len(found), *shape_of(grad, fg))
        key = digest("embedding'", looked.key, fg.key, per)
        exact = digest("embedding'", looked.exact, fg.exact, per)
        return Fact(Numbers(-INF, INF, bad, bad), key, exact, fg.coef, own)
    if len(found) == 1 and found[0] >= 0:
        bad = not call.fact(grad).numbers.tame
        names = row_name(call, [indices], "embedding'", literals(call))
        fg = call.fact(grad)
        return Fact(
            Numbers(-INF, INF, bad, bad),
            digest(names["key"], fg.key, shape_of(grad, fg)),
            digest(names["exact"], fg.exact, shape_of(grad, fg)),
            fg.coef,
            torch.full(call.out.shape, found[0], dtype=torch.int16),
        )
    return call.why(
        "unclipped",
        "the gradient of an embedding is summed over the records",
        "clip every record's gradient before it is summed",
    )


def _tables(call: Call, owner: Any) -> Any:
    """Owners of the rows, and what is looked up, where every record has a table of its own, as vmap lays them out."""
    held = call.fact(call.args[1]).extra.get("between")
    if held is None or call.out.dim() != 2:
        return None
    rows, records = int(call.out.shape[0]), sorted(records_of(owner))
    if records[0] < 0 or rows % len(records):
        return None
    moved, looked = held
    each = owner.amin(-1)
    if moved.numel() != each.numel() or not bool((each == owner.amax(-1)).all()):
        return None
    size = rows // len(records)
    place = (moved.reshape(each.shape) // size).clamp(0, len(records) - 1)
    its = bool((torch.tensor(records)[place] == each).all())
    whole = bool((moved.reshape(each.shape) == place * size).all())
    if not (its and whole and looked.numbers.lo >= 0 and looked.numbers.hi < size):
        return None
    own = torch.tensor(records, dtype=torch.int16).repeat_interleave(size)[:, None]
    return own.expand(call.out.shape).clone(), looked


@rule("gather")
def _gather(call: Call) -> Fact:
    x, dim, index = call.args[:3]
    fx, fi = call.fact(x), call.fact(index)
    for each in (fx, fi):
        if each.why is not None:
            return Fact(why=each.why)
        if each.sum is not None:
            return opened(call, [x, index])
    dim = dim % max(x.dim(), 1)
    if not _in_range(fi, x.shape[dim]):
        return _outside(call)
    ox = public(x.shape) if fx.owner is None else fx.owner
    whole = reduced(ox, [dim], True)
    cut = tuple(slice(0, n) if d != dim else slice(None) for d, n in enumerate(index.shape))
    owner = combined(index.shape, [whole[cut].expand(index.shape), fi.owner])
    if bool((owner == MIXED).any()):
        return call.why(*MIXES)
    names = row_name(call, [index], "gather", dim)
    own = () if fx.value is not None else shape_of(x, fx)
    return Fact(
        replace(fx.numbers),
        digest(names["key"], fx.key, own),
        digest(names["exact"], fx.exact, own),
        fx.coef,
        owner,
    )


@rule("scatter_add", "scatter", "index_add")
def _scatter(call: Call) -> Fact:
    """Where a record's numbers go is its own; nothing is known of the result's norm."""
    x, dim, index = call.args[:3]
    source = call.arg(3, "src", call.kwargs.get("value"))
    inputs = [t for t in (x, index, source) if isinstance(t, torch.Tensor)]
    facts = [call.fact(t) for t in inputs]
    for each in facts:
        if each.why is not None:
            return Fact(why=each.why)
        if each.sum is not None:
            return opened(call, inputs)
    dim = dim % max(x.dim(), 1)
    fi = call.fact(index)
    if not _in_range(fi, x.shape[dim]):
        return _outside(call)
    if call.name.startswith("index_add"):
        return call.why("unknown-operation", "index_add has no rule", "use scatter_add")
    fs = call.fact(source)
    owners = [fi.owner]
    if fs.owner is not None:
        owners.append(fs.owner[tuple(slice(0, n) for n in index.shape)])
    goes = combined(index.shape, owners)
    own = public(x.shape) if call.fact(x).owner is None else call.fact(x).owner
    owner = own
    if goes is not None:
        spread = reduced(goes, [dim], True)
        shape = [n if d != dim else x.shape[dim] for d, n in enumerate(index.shape)]
        target = public(x.shape)
        target[tuple(slice(0, n) for n in shape)] = spread.expand(shape)
        owner = combined(x.shape, [own, target])
    if bool((owner == MIXED).any()):
        return call.why(
            "unclipped",
            "numbers of several records are added into one table",
            "clip every record's gradient before it is summed",
        )
    bad = any(not f.numbers.tame for f in facts)
    numbers = Numbers(-INF, INF, bad, bad)
    if call.name.startswith("scatter") and "add" not in call.name:
        numbers = call.fact(x).numbers.joined(fs.numbers)
    base = call.fact(x)
    names = row_name(call, [index], call.name.removesuffix("_"), (dim, literals(call)))
    if base.value == 0 and isinstance(source, torch.Tensor):
        return Fact(
            numbers,
            digest(names["key"], fs.key, () if fs.value is not None else shape_of(source, fs)),
            digest(names["exact"], fs.exact, () if fs.value is not None else shape_of(source, fs)),
            fs.coef,
            owner,
        )
    return Fact(
        numbers,
        digest(names["key"], base.ukey, fs.ukey),
        digest(names["exact"], base.ekey, fs.ekey),
        1.0,
        owner,
    )


def _whole_range(tensor: Any, size: int) -> bool:
    flat = tensor.reshape(-1)
    return (
        flat.numel() == size
        and not tensor.is_floating_point()
        and bool((flat == torch.arange(size)).all())
    )


@rule("index", "_unsafe_index")
def _index(call: Call) -> Fact:
    """x[i, j, ...]: public places are taken as they are; private ones may be any of their axis."""
    from dpcheck.training.torch.tape import selected

    x, indices = call.args[0], list(call.args[1])
    fx = call.fact(x)
    facts = [None if i is None else call.fact(i) for i in indices]
    for each in (fx, *[f for f in facts if f is not None]):
        if each.why is not None:
            return Fact(why=each.why)
    if any(i is not None and i.dtype == torch.bool for i in indices):
        if all(f is None or f.public for f in facts):
            places = torch.arange(x.numel()).reshape(x.shape)
            return selected(call.tape, fx, torch.ops.aten.index(places, indices), x.numel())
        return call.why(
            "private-shape", "a mask of the data decides the shape of a tensor", "use torch.where"
        )
    if all(f is None or f.public for f in facts):
        places = torch.arange(x.numel()).reshape(x.shape)
        return selected(call.tape, fx, torch.ops.aten.index(places, indices), x.numel())
    if fx.sum is not None:
        return opened(call, [x])
    owner = public(x.shape) if fx.owner is None else fx.owner
    plain: list[Any] = []
    names = []
    for axis, (index, fact) in enumerate(zip(indices, facts, strict=True)):
        if index is None or fact is None:
            plain.append(None)
            names.append("all")
        elif fact.public:
            plain.append(index)
            names.append("each" if _whole_range(index, x.shape[axis]) else str(fact.ukey))
        else:
            if not _in_range(fact, x.shape[axis]):
                return _outside(call)
            owner = reduced(owner, [axis], True).expand(owner.shape)
            plain.append(torch.zeros_like(index))
            names.append("own")
    taken = torch.ops.aten.index(owner.contiguous(), plain)
    private = [f.owner for f in facts if f is not None and f.owner is not None]
    lead = combined(torch.broadcast_shapes(*(tuple(p.shape) for p in private)), private)
    some = [i is not None for i in indices]
    first = some.index(True)
    adjacent = "".join("x" if s else "." for s in some).strip(".").find(".") < 0
    wide = torch.broadcast_shapes(*(tuple(i.shape) for i in plain if i is not None))
    lead = lead.expand(wide)
    before = first if adjacent else 0
    after = taken.dim() - before - len(wide)
    lead = lead.reshape(*([1] * before), *wide, *([1] * after))
    found = combined(taken.shape, [taken, lead.expand(taken.shape)])
    if bool((found == MIXED).any()):
        return call.why(*MIXES)
    more = (
        [f.ukey for f in facts if f is not None and f.private],
        [f.ekey for f in facts if f is not None and f.private],
    )
    return Fact(
        fx.numbers,
        digest("index", names, fx.key, shape_of(x, fx)[1:], more[0]),
        digest("index", names, fx.exact, shape_of(x, fx)[1:], more[1]),
        fx.coef,
        found,
    )


@rule("index_put", "_index_put_impl", "_unsafe_index_put")
def _index_put(call: Call) -> Fact:
    """The derivative of x[arange, j]: rows of records that are told apart by a public range."""
    x, indices, values = call.args[0], list(call.args[1]), call.args[2]
    fx, fv = call.fact(x), call.fact(values)
    facts = [None if i is None else call.fact(i) for i in indices]
    for each in (fx, fv, *[f for f in facts if f is not None]):
        if each.why is not None:
            return Fact(why=each.why)
        if each.sum is not None:
            return call.why(
                "partial-write",
                "a part of a tensor is overwritten with a private sum",
                "write whole tensors",
            )
    if (
        len(indices) == 1
        and indices[0] is not None
        and indices[0].dtype == torch.bool
        and tuple(indices[0].shape) == tuple(x.shape)
        and values.numel() == 1
    ):
        from dpcheck.training.torch.rules import chosen

        return chosen(call, indices[0], values, x)
    if any(i is None or f is None for i, f in zip(indices, facts, strict=True)) or fx.private:
        return call.why(
            "unknown-operation",
            "writing by index is not followed here",
            "use torch.where or scatter",
        )
    if not (
        facts[0] is not None
        and facts[0].public
        and _whole_range(indices[0], x.shape[0])
        and indices[0].dim() == 1
    ):
        return call.why(
            "unknown-operation",
            "writing by index is not followed here",
            "use torch.where or scatter",
        )
    for axis, each in enumerate(facts):
        if each is not None and not _in_range(each, x.shape[axis]):
            return _outside(call)
    owners = [
        fv.owner if fv.owner is None or fv.owner.dim() == 1 else None,
        *[f.owner for f in facts if f is not None],
    ]
    if fv.owner is not None and fv.owner.dim() != 1:
        return call.why(
            "unknown-operation",
            "writing by index is not followed here",
            "use torch.where or scatter",
        )
    lead = combined((x.shape[0],), owners)
    if lead is None or bool((lead == MIXED).any()):
        return call.why(*MIXES)
    owner = lead.reshape(-1, *([1] * (x.dim() - 1))).expand(x.shape).clone()
    bad = not fv.numbers.tame
    more = (
        [f.ukey for f in facts[1:] if f is not None],
        [f.ekey for f in facts[1:] if f is not None],
    )
    return Fact(
        Numbers(-INF, INF, bad, bad),
        digest("put", fx.ukey, fv.key, more[0], tuple(x.shape[1:])),
        digest("put", fx.ekey, fv.exact, more[1], tuple(x.shape[1:])),
        fv.coef,
        owner,
    )


_ = (as_sum, scaled, Why)
