"""Certificates of proofs: the program and its facts as plain data, which `dpcheck.verify` checks on its own.

Nothing here is trusted: the facts are found by the kernel's rules and rounded outwards, and a certificate
that does not prove the event of the proof is refused by the same kernel.
"""

from __future__ import annotations

import hashlib
import linecache
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Plain
from dpcheck.core.errors import CannotCertify
from dpcheck.core.events.event import Event, Repeated
from dpcheck.core.events.serialize import to_dict
from dpcheck.program.facts.kinds import Public, Rows
from dpcheck.program.facts.rowsets import RowSet
from dpcheck.program.graph import Graph, Node
from dpcheck.program.reading.values import Array, Instance, Opaque, Scalar, Series
from dpcheck.program.repeats import shorter
from dpcheck.verify.program import check
from dpcheck.verify.program.boxes import Box
from dpcheck.verify.program.check import SCHEMA, check_outputs, check_proved, digest
from dpcheck.verify.program.common import Node as Checked
from dpcheck.verify.program.facts import Aggregate as CheckedAggregate
from dpcheck.verify.program.facts import Fact as CheckedFact
from dpcheck.verify.program.facts import Released as CheckedReleased
from dpcheck.verify.program.facts import Rows as CheckedRows
from dpcheck.verify.program.numbers import Number
from dpcheck.verify.program.sizes import NORMS, Size
from dpcheck.verify.program.steps import NAMES, rule_name
from dpcheck.verify.result import Refused

if TYPE_CHECKING:
    from dpcheck.program.proof import Program
    from dpcheck.program.releases import Release

_RELEASING = ("release", "respond", "answer", "pick")
_MOST_CONSTANTS = 65_536


def certificate(
    program: Program,
    event: Event,
    adjacency: str,
    assumes: tuple[str, ...],
    rows_per_person: int = 1,
    bound: Mapping[str, Plain] | None = None,
) -> dict[str, Plain]:
    """The certificate that `program` spends `event`; CannotCertify where the kernel has no lemma."""
    from dpcheck.program.proof import ASSUMES

    graph = program.graph
    rest: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "program",
        "claim": {"event": to_dict(event), "adjacency": adjacency},
        "source": _sources(program.reader.files),
        "assumes": [
            each for each in assumes if each not in ASSUMES
        ],  # the kernel says these itself
        **({} if bound is None else {"bound": dict(bound)}),
    }
    whole = _program(program, adjacency, rows_per_person)
    for written in shorter(whole, graph):
        try:
            return _certified(written, rest, graph)
        except Refused:
            continue  # node by node, then
    try:
        return _certified(whole, rest, graph)
    except Refused as reason:
        raise CannotCertify(
            f"no certificate can be written for this proof yet: {reason}."
        ) from None


def _certified(written: dict[str, Any], rest: dict[str, Any], graph: Graph) -> dict[str, Plain]:
    """The certificate of a program as it is written; Refused if the kernel does."""
    steps = _Steps()
    check_outputs(check.run(written, steps.settle), written)
    kept = {entry["id"] for entry in _entries(written)}
    data = rest | {
        "digest": digest(written),
        "program": written,
        "steps": steps.stated,
        "releases": _releases(graph, kept),
    }
    check_proved(data)
    return data


def _sources(files: Mapping[str, Mapping[str, None]]) -> list[Plain]:
    """The files that were read, with a digest of each and the functions of it."""
    return [
        {
            "name": Path(path).name,
            "sha256": hashlib.sha256("".join(linecache.getlines(path)).encode()).hexdigest(),
            "functions": list(names),
        }
        for path, names in files.items()
    ]


# The program --------------------------------------------------------------------------------------------


def _program(program: Program, adjacency: str, rows_per_person: int) -> dict[str, Any]:
    graph = program.graph
    outputs = list(dict.fromkeys(node.id for node in _nodes_of(program.output, graph)))
    wanted = _needed(graph, outputs)
    names: dict[int, int] = {}
    count = None
    nodes = []
    for node in graph.nodes:
        if node.id not in wanted:
            continue
        if node.primitive == "data":
            assert isinstance(node.fact, Rows)
            names.setdefault(id(node.fact.rows), -1)
            count = node.fact.rows.count
        path = graph.when.get(node.id, ())
        told = path and not isinstance(node.fact, Public)
        when = {"when": [[test.id, answer] for test, answer in path]} if told else {}
        nodes.append(_node(node, names) | when)
    return {
        "adjacency": adjacency,
        "rows": count,
        "rows_per_person": rows_per_person,
        "nodes": nodes,
        "outputs": outputs,
    }


def _entries(program: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The nodes of a program, those of loops among them."""
    for entry in program["nodes"]:
        yield from entry["loop"]["nodes"] if "loop" in entry else [entry]


def _needed(graph: Graph, outputs: list[int]) -> set[int]:
    """The nodes that outputs and releases are computed from; of public values nothing else is needed."""
    waiting = [*outputs, *(node.id for node in graph.nodes if node.primitive in _RELEASING)]
    data = [node.id for node in graph.nodes if node.primitive == "data"][:1]
    found: set[int] = set(data)
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(test.id for test, _ in graph.when.get(one, ()))
            if not isinstance(graph.nodes[one].fact, Public):
                waiting.extend(arg.id for arg in graph.nodes[one].args)
    return found


def _nodes_of(value: object, graph: Graph) -> Iterator[Node]:
    """The nodes in what a program returns."""
    if isinstance(value, Series):
        value = value.array
    if isinstance(value, Array):
        yield value.node(graph)
    elif isinstance(value, Scalar | Opaque):
        yield value.node
    elif isinstance(value, Instance):
        yield from _nodes_of(list(value.attributes.values()), graph)
    elif isinstance(value, dict):
        yield from _nodes_of([*value, *value.values()], graph)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _nodes_of(each, graph)


def _node(node: Node, names: dict[int, int]) -> dict[str, Any]:
    shape: list[Plain] = []
    for dim in node.shape:
        if isinstance(dim, RowSet):
            shape.append({"rows": names.setdefault(id(dim), node.id)})
        else:
            shape.append(int(dim))
    found = {"id": node.id, "shape": shape, "dtype": str(node.dtype), "line": str(node.line)}
    if isinstance(node.fact, Public):
        value = _constant(node.fact.value)
        return found | {"primitive": "constant", "args": [], "params": {"value": value}}
    return found | {
        "primitive": node.primitive,
        "args": [arg.id for arg in node.args],
        "params": _params(node),
    }


def _constant(value: object) -> Plain:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return value if isinstance(value, str) else None
    if array.size > _MOST_CONSTANTS:
        raise CannotCertify(
            f"no certificate can be written yet: a constant of {array.size} numbers."
        )
    return _listed(array.ravel().tolist())


def _listed(values: list[Any]) -> Any:
    """Numbers as JSON has them; one where all are the same."""
    found = [_number(each) for each in values]
    return found[0] if found and all(repr(each) == repr(found[0]) for each in found) else found


def _number(value: Any) -> Plain:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return value


def _params(node: Node) -> dict[str, Plain]:
    if node.primitive == "data":
        return _described(node)
    if node.primitive == "draw":
        return _law(node)
    found: dict[str, Plain] = {}
    for name, value in node.params.items():
        if name in ("dtype", "shape", "kind"):
            continue  # of the node itself
        if name in ("source", "method"):
            continue  # how somebody runs it
        if name == "key":
            assert isinstance(value, tuple)
            found[name] = [_place(each) for each in value]
        elif name == "function":
            found[name] = str(getattr(value, "__qualname__", "a function"))
        else:
            found[name] = _plain(value)
    return found


def _plain(value: object) -> Plain:
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int | float):
        return _number(value)
    raise CannotCertify(
        f"no certificate can be written yet: a parameter of type {type(value).__name__}."
    )


def _place(value: object) -> Plain:
    if value is None:
        return None
    if isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
        return {"slice": [None if part is None else int(part) for part in parts]}
    array = np.asarray(value)
    if array.ndim == 0:
        return int(array)
    if array.ndim == 1 and array.dtype.kind == "b":
        array = np.flatnonzero(array)
    if array.ndim > 1 or array.dtype.kind not in "iu":
        raise CannotCertify("no certificate can be written yet: an index of several axes.")
    return {"places": [int(each) for each in array]}


def _described(node: Node) -> dict[str, Plain]:
    fact = node.fact
    assert isinstance(fact, Rows)
    shape = tuple(1 if isinstance(n, RowSet) else n for n in node.shape)
    low, high = (
        _listed(np.broadcast_to(end, shape).ravel().tolist()) for end in (fact.box.lo, fact.box.hi)
    )
    if isinstance(low, list) or isinstance(high, list):
        count = math.prod(shape)
        low, high = (each if isinstance(each, list) else [each] * count for each in (low, high))
    return {
        "source": str(node.params["source"]),
        "low": low,
        "high": high,
        "missing": bool(fact.box.nan),
        **({"whole": True} if _whole(fact) else {}),
    }


def _whole(fact: Rows) -> bool:
    """Whether a column of floats holds whole numbers."""
    values = fact.values or ()
    return bool(values) and all(isinstance(v, int | float) and v == int(v) for v in values)


def _law(node: Node) -> dict[str, Plain]:
    params, shape = node.params, node.shape
    found: dict[str, Plain] = {"law": str(params["law"])}
    for name, default in (("scale", 1.0), ("location", 0.0)):
        value = np.asarray(params.get(name, default), dtype=float)
        if value.ndim:
            value = np.broadcast_to(value, tuple(n if isinstance(n, int) else 1 for n in shape))
        found[name] = _listed(value.ravel().tolist())
    if "count" in params:
        found["count"] = int(params["count"])  # type: ignore[call-overload]
    return found


# The facts ----------------------------------------------------------------------------------------------


class _Steps:
    """Writes down each fact that the kernel finds, rounded outwards to floats."""

    def __init__(self) -> None:
        self.stated: dict[str, Any] = {}

    def settle(self, node: Checked, fact: CheckedFact) -> CheckedFact:
        """The fact as it is written."""
        kind = NAMES[type(fact)]
        step: dict[str, Any] = {"rule": rule_name(node.primitive), "fact": {"kind": kind}}
        self.stated[str(node.id)] = step
        if isinstance(fact, CheckedRows | CheckedAggregate | CheckedReleased):
            box = fact.box
            lo, hi = tuple(_down(end) for end in box.lo), tuple(_up(end) for end in box.hi)
            step["fact"] |= _interval(lo, hi, box.nan)
            fact = replace(fact, box=Box(_exact(lo), _exact(hi), box.nan, box.plain))
        if isinstance(fact, CheckedRows | CheckedAggregate):
            size = fact.size
            entries = tuple(_up(each) for each in size.entries)
            norms = {name: _up(getattr(size, name)) for name in NORMS}
            step["fact"]["size"] = {"entries": _listed(list(entries))} | {
                name: _number(each) for name, each in norms.items()
            }
            fact = replace(fact, size=Size(_exact(entries), *_exact(tuple(norms.values()))))
        return fact


def _interval(lo: tuple[float, ...], hi: tuple[float, ...], nan: bool) -> dict[str, Any]:
    same = len(set(lo)) <= 1 and len(set(hi)) <= 1 and lo
    ends = (
        (_number(lo[0]), _number(hi[0]))
        if same
        else ([_number(x) for x in lo], [_number(x) for x in hi])
    )
    return {"low": ends[0], "high": ends[1], "nan": nan}


def _exact(values: tuple[float, ...]) -> tuple[Number, ...]:
    return tuple(each if math.isinf(each) else Fraction(each) for each in values)


def _up(value: Number) -> float:
    if isinstance(value, float):
        return value
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -float(np.finfo(float).max)
    return near if near >= value else math.nextafter(near, math.inf)


def _down(value: Number) -> float:
    return -_up(-value) + 0.0


# The releases -------------------------------------------------------------------------------------------


def _crossing(graph: Graph, release: Release) -> dict[str, Any]:
    """What is enough for a record that enters a release of a group, and what covers both cases of it."""
    from dpcheck.program.proof import of_one_or_two

    event, entering = release.event, release.entering
    if graph.adjacency is Adjacency.ADD_REMOVE or event is None or entering is None:
        return {}
    times = 1
    found: dict[str, Any] = {}
    both = list(of_one_or_two(release, event, graph.adjacency))
    if len(both) == 1 and both[0] not in (event, entering):
        found["covering"] = to_dict(both[0])
    if isinstance(entering, Repeated):
        times, entering = entering.times, entering.event
    return found | {"entering": to_dict(entering), "entering_times": times}


def _releases(graph: Graph, kept: set[int]) -> list[dict[str, Any]]:
    """The event of every release, as the proof has it."""
    from dpcheck.program.proof import _cells as cells

    groups = {
        id(each): number
        for number, cell in enumerate(cells(graph.releases))
        for each in cell
        if len(cell) > 1
    }
    with_hits = {id(alike[0]): alike for alike in graph.with_hits}
    found = []
    for release in graph.releases:
        event, times = release.event, 1
        if isinstance(event, Repeated):
            times, event = event.times, event.event
        entry: dict[str, Any] = {
            "line": str(release.line),
            "event": None if event is None else to_dict(event),
            "times": times,
        }
        if release.together:
            entry["nodes"] = [each.made_at for each in release.together]
        elif id(release) in with_hits:
            entry |= {"nodes": [each.made_at for each in with_hits[id(release)]], "hits": True}
        else:
            entry["node"] = release.made_at
        if id(release) in groups:
            entry |= {"group": groups[id(release)], **_crossing(graph, release)}
        if set(entry.get("nodes", [release.made_at])) <= kept:
            found.append(entry)
    return found
