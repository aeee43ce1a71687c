"""Sums of entries of one private vector: they move together by less than one by one.

Lemma. Let neighbours differ by d in a vector, and let numbers c_j . vector (plus what is public or released)
be released with Laplace noise of scales b_j. Their losses add up to at most sum_j |c_j . d| / b_j, which is
at most max_i sum_j |c_ji| / b_j times the L1 norm of d. One of them moves by at most max |c_i| times the L1
norm, |c| times the L2 norm, or sum |c_i| times the largest entry. Different entries, each released once,
are entries of one vector.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpcheck.verify.program.boxes import is_float, limits
from dpcheck.verify.program.common import Node, Release, plain
from dpcheck.verify.program.facts import Aggregate, Public, Released
from dpcheck.verify.program.numbers import INF, ZERO, Number, inverse, root_up, times
from dpcheck.verify.program.sizes import Size, total

Form = tuple[Node, dict[int, Fraction]]  # a vector, and the factors of its entries


def form_of(node: Node) -> Form | None:
    """A private number as a sum of entries of one vector."""
    if node.ndim or not isinstance(node.fact, Aggregate) or node.dtype not in ("int64", "float64"):
        return None
    low, high = limits(node.dtype)
    if not (node.fact.box.finite and low < node.fact.box.least and node.fact.box.most < high):
        return None
    name, args = node.primitive, node.args
    if name == "index" and args[0].ndim == 1 and isinstance(args[0].fact, Aggregate):
        key, many = node.params.get("key"), plain(args[0])[0]
        if isinstance(key, list) and len(key) == 1 and type(key[0]) is int:
            return args[0], {key[0] % many: Fraction(1)}
    if name in ("add", "subtract"):
        return _combined(args, 1 if name == "add" else -1)
    if name in ("convert", "number") and (node.dtype == args[0].dtype or is_float(node.dtype)):
        return form_of(args[0])
    return None


def _combined(args: list[Node], sign: int) -> Form | None:
    found: dict[int, Fraction] = {}
    source: Node | None = None
    for node, factor in zip(args, (1, sign), strict=True):
        if isinstance(node.fact, Public | Released):
            continue
        form = form_of(node)
        if form is None or (source is not None and form[0] is not source):
            return None
        source = form[0]
        for at, each in form[1].items():
            found[at] = found.get(at, ZERO) + factor * each
    return None if source is None else (source, found)


def moves(form: Form) -> Size:
    """By how much such a sum moves at most."""
    source, factors = form
    assert isinstance(source.fact, Aggregate)
    size, values = source.fact.size, [abs(each) for each in factors.values()]
    root = root_up(sum((each * each for each in values), ZERO))
    most = min(
        times(max(values), size.l1), times(root, size.l2), times(sum(values, ZERO), size.linf)
    )
    return Size((most,))


def one_vector(members: list[Release]) -> Release | Number | None:
    """Releases of one vector's entries as one release, or what all of them cost; None if they are none."""
    first, forms = members[0], [each.form for each in members]
    source = None if first.form is None else first.form[0]
    longest = max((each.node.when for each in members), key=len)
    for each in members:
        plainly = each.count == 1 and len(each.scale) == 1 and not each.coins and not each.sampling
        one_way = longest[: len(each.node.when)] == each.node.when
        known = each.form is not None and each.form[0] is source
        if not (plainly and one_way and known and each.family == first.family):
            return None
    if source is None or first.family not in ("laplace", "normal"):
        return None
    assert isinstance(source.fact, Aggregate)
    size, known_forms = source.fact.size, [form[1] for form in forms if form is not None]
    places = [next(iter(form)) for form in known_forms]
    single = all(len(form) == 1 and set(form.values()) == {1} for form in known_forms)
    scales = tuple(each.scale[0] for each in members)
    if single and len(set(places)) == len(places):
        entries = size.entries * (max(places) + 1) if len(size.entries) == 1 else size.entries
        bound = size.laid(tuple(entries[at] for at in places))
        return replace(first, scale=scales, size=bound, count=len(members))
    if first.family != "laplace":
        return None
    spent: dict[int, Number] = {}
    for form, scale in zip(known_forms, scales, strict=True):
        for at, factor in form.items():
            spent[at] = total([spent.get(at, ZERO), times(abs(factor), inverse(scale))])
    return times(max(spent.values(), default=INF), size.l1)
