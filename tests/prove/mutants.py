"""Certificates with one statement made false: the program stays, what is said of it changes.

Whether a statement is false is not judged by prover or kernel: the program runs on neighbouring datasets that
fit its description, and a statement that these values contradict is false.
"""

from __future__ import annotations

import copy
import itertools
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpcheck.attack.datasets import pairs, space_of
from dpcheck.core.adjacency import as_adjacency
from dpcheck.core.errors import CannotCertify, NotProvable
from dpcheck.program.facts.rowsets import RowSet
from dpcheck.program.proof import Program, proof_of, read
from dpcheck.program.running import CannotRun, run
from dpcheck.verify.file import check_data
from dpcheck.verify.program import check
from dpcheck.verify.program.steps import agreement
from dpcheck.verify.result import Refused

NORMS = ("l1", "l2", "linf", "changed")
SLIGHT = 1e-9  # rounding of floats is no contradiction
RANDOM = ("draw", "release", "respond", "assume", "element", "pick")


@dataclass
class Seen:
    """What a node was seen to be: its values entry by entry, and how large a row or a difference was."""

    low: np.ndarray
    high: np.ndarray
    nan: bool
    sizes: dict[str, float] = field(default_factory=dict)
    moves: bool = False

    def join(self, other: Seen) -> None:
        """Of two datasets or pairs."""
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        self.nan |= other.nan
        self.moves |= other.moves
        self.sizes = {n: max(self.sizes.get(n, 0.0), other.sizes.get(n, 0.0)) for n in NORMS}


@dataclass
class Base:
    """A certificate, and what its program was seen to do."""

    name: str
    certificate: dict[str, Any]
    seen: dict[int, Seen]

    @property
    def nodes(self) -> dict[int, dict[str, Any]]:
        """The nodes of the program, those of loops too."""
        listed = self.certificate["program"]["nodes"]
        flat = itertools.chain.from_iterable(
            e["loop"]["nodes"] if "loop" in e else [e] for e in listed
        )
        return {each["id"]: each for each in flat}


def norms(value: np.ndarray) -> dict[str, float]:
    """Of one vector."""
    flat = np.abs(np.nan_to_num(np.asarray(value, dtype=float).ravel(), nan=0.0))
    if not flat.size:
        return dict.fromkeys(NORMS, 0.0)
    with np.errstate(over="ignore"):
        return {
            "l1": float(flat.sum()),
            "l2": float(np.sqrt((flat**2).sum())),
            "linf": float(flat.max()),
            "changed": float((flat > 0).sum()),
        }


def base_of(case: Any, count: int = 12) -> Base | None:
    """The certificate of a function and its values on neighbours; None where there is no certificate."""
    try:
        program = read(case.function, case.data, as_adjacency(case.adjacency))
        certificate = proof_of(program, case.data).certificate()
    except (NotProvable, CannotCertify):
        return None
    return Base(case.name, certificate, observed(program, case, count))


def observed(program: Program, case: Any, count: int) -> dict[int, Seen]:
    """Values of every node that no draw has a part in, on `count` pairs of neighbours."""
    space = space_of(case.data, None)
    found: dict[int, Seen] = {}
    if space is None:
        return found
    certain = _certain(program)
    for one, two in itertools.islice(pairs(space, as_adjacency(case.adjacency)), count):
        try:
            values = [run(program, data, np.random.default_rng(0)).values for data in (one, two)]
        except (CannotRun, ValueError, TypeError, KeyError, IndexError, FloatingPointError):
            continue
        for node in program.graph.nodes:
            if node.id in certain and all(node.id in each for each in values):
                made = _seen(node, [np.asarray(each[node.id]) for each in values])
                if made is not None and node.id in found:
                    found[node.id].join(made)
                elif made is not None:
                    found[node.id] = made
    return found


def _certain(program: Program) -> set[int]:
    """Nodes that are functions of the data alone."""
    found: set[int] = set()
    for node in program.graph.nodes:
        random = node.primitive in RANDOM or node.id in program.graph.when
        if not random and all(arg.id in found for arg in node.args):
            found.add(node.id)
    return found


def _seen(node: Any, values: list[np.ndarray]) -> Seen | None:
    if any(value.dtype.kind not in "biuf" for value in values):
        return None
    first, second = (value.astype(float) for value in values)
    axes = [i for i, dim in enumerate(node.shape) if isinstance(dim, RowSet)]
    if len(axes) > 1 or (not axes and first.shape != second.shape):
        return None
    sizes: dict[str, float] = {}
    moves = first.shape != second.shape or repr(first.tolist()) != repr(second.tolist())
    if axes:
        rows = [np.moveaxis(value, axes[0], 0) for value in (first, second)]
        flat = [row for side in rows for row in side]
        if not flat:
            return None
        for row in flat:
            sizes = {n: max(sizes.get(n, 0.0), size) for n, size in norms(row).items()}
        stack = np.stack([row.ravel() for row in flat])
    else:
        with np.errstate(invalid="ignore"):
            sizes = norms(first - second)
        sizes["changed"] = (
            float((first != second).sum()) if not np.isnan(first + second).any() else 0.0
        )
        stack = np.stack([first.ravel(), second.ravel()])
    if not stack.shape[1]:
        return None
    clean = np.where(np.isnan(stack), np.nan, stack)
    if np.isnan(clean).all(axis=0).any():
        return None
    low, high = np.nanmin(clean, axis=0), np.nanmax(clean, axis=0)
    return Seen(low, high, bool(np.isnan(stack).any()), sizes, moves)


# Mutants ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutant:
    """A certificate that states something false: `what` says what."""

    what: str
    certificate: dict[str, Any]


def accepted(mutant: Mutant) -> bool:
    """Whether the kernel believes it."""
    try:
        check_data(mutant.certificate)
    except Refused:
        return False
    return True


def mutants(base: Base, rng: np.random.Generator, many: int | None = None) -> Iterator[Mutant]:
    """Every kind of false statement about this program, `many` of them at random if it is given."""
    made = [*_of_facts(base, rng), *_of_events(base, rng)]
    order = rng.permutation(len(made))[:many]
    for i in order:
        what, change = made[int(i)]
        mutant = copy.deepcopy(base.certificate)
        change(mutant)
        yield Mutant(f"{base.name}: {what}", mutant)


def _number(value: float) -> Any:
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _float(value: Any) -> float:
    return float(value)


def _of_facts(base: Base, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    for key, step in base.certificate["steps"].items():
        seen, fact = base.seen.get(int(key)), step["fact"]
        if seen is None or "low" not in fact:
            continue
        for what, false in _false_facts(fact, seen, rng):
            yield f"node {key} {what}", _stating(key, false)
            yield f"node {key} {what}, and all that follows", _following(int(key), false)


def _false_facts(
    fact: dict[str, Any], seen: Seen, rng: np.random.Generator
) -> Iterator[tuple[str, dict[str, Any]]]:
    share = float(rng.choice([1e-6, 0.01, 0.3, 0.9]))
    for side, edge, sign in (("low", seen.low, 1.0), ("high", seen.high, -1.0)):
        stated = fact[side]
        listed = stated if isinstance(stated, list) else [stated]
        at = int(rng.integers(len(listed)))
        reached = float(edge[at] if len(listed) > 1 else (edge.min() if sign > 0 else edge.max()))
        if len(listed) > 1 and len(listed) != len(edge):
            continue
        other = fact["high" if side == "low" else "low"]
        far = _float(other[at] if isinstance(other, list) else other)
        if not math.isfinite(reached):
            moved = -sign * 1e300 if math.isinf(reached) and reached * sign < 0 else math.nan
        else:
            room = abs(far - reached) if math.isfinite(far) else max(1.0, abs(reached))
            moved = reached + sign * share * room
        if math.isnan(moved) or abs(moved - reached) <= SLIGHT * max(1.0, abs(reached)):
            continue
        changed = [_number(moved) if i == at else each for i, each in enumerate(listed)]
        yield (
            f"{side} {moved:g}, seen {reached:g}",
            {**fact, side: changed if isinstance(stated, list) else changed[0]},
        )
    if seen.nan:
        yield "is never NaN", {**fact, "nan": False}
    if "size" in fact:
        for name in NORMS:
            size = seen.sizes.get(name, 0.0)
            if 0 < size < math.inf:
                less = size * (1 - share) if name != "changed" else size - 1
                yield (
                    f"{name} {less:g}, seen {size:g}",
                    {**fact, "size": {**fact["size"], name: less}},
                )
    if seen.moves and fact["kind"] in ("rows", "aggregate"):
        for kind in ("public", "released"):
            yield f"is {kind}", {**fact, "kind": kind}


def _stating(key: str, fact: dict[str, Any]) -> Any:
    def change(certificate: dict[str, Any]) -> None:
        certificate["steps"][key]["fact"] = fact

    return change


def _following(key: int, false: dict[str, Any]) -> Any:
    """The false fact, and everything after it derived from it."""

    def change(certificate: dict[str, Any]) -> None:
        from dpcheck.program.certificates import _Steps

        writer = _Steps()

        def settle(node: Any, fact: Any) -> Any:
            if node.id != key:
                return writer.settle(node, fact)
            writer.stated[str(key)] = {
                "rule": certificate["steps"][str(key)]["rule"],
                "fact": false,
            }
            try:
                loose = replace(
                    fact, box=replace(fact.box, lo=(-math.inf,), hi=(math.inf,), nan=True)
                )
                return agreement({str(key): writer.stated[str(key)]})(node, _empty(loose))
            except Refused:
                return fact

        with suppress(Refused):  # what follows stays as it was
            check.run(certificate["program"], settle)
        certificate["steps"].update(writer.stated)

    return change


def _empty(fact: Any) -> Any:
    """A fact that implies everything, so that the false one is taken."""
    box = replace(fact.box, lo=(math.inf,), hi=(-math.inf,), nan=False)
    if not hasattr(fact, "size"):
        return replace(fact, box=box)
    zero = Fraction(0)
    return replace(
        fact, box=box, size=replace(fact.size, entries=(zero,), **dict.fromkeys(NORMS, zero))
    )


def _of_events(base: Base, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    nodes, adjacency = base.nodes, base.certificate["claim"]["adjacency"]
    moves = 2 if adjacency == "replace-one" else 1
    for i, entry in enumerate(base.certificate["releases"]):
        if "nodes" in entry:
            yield from _of_several(base, i, entry, rng)
            continue
        node = nodes[entry["node"]]
        if node["primitive"] in ("pick", "respond"):
            yield from _of_choices(i, entry, rng)
        if node["primitive"] != "release" or entry["event"] is None:
            continue
        if any(
            each["primitive"].startswith("arg") and entry["node"] in each["args"]
            for each in nodes.values()
        ):
            continue  # only a place is seen, which costs less
        seen, noise = base.seen.get(node["args"][0]), nodes[node["args"][1]]
        scale = noise["params"].get("scale") if noise["primitive"] == "draw" else None
        shape = noise["shape"]
        if (
            seen is None
            or not isinstance(scale, int | float)
            or noise["params"]["law"] not in ("laplace", "normal")
        ):
            continue
        if math.prod(shape) != math.prod(nodes[node["args"][0]]["shape"]):
            continue
        attained = {name: seen.sizes[name] / scale for name in ("l1", "l2")}
        for what, event, times in _false_events(entry, attained, moves, rng):
            yield f"release {node['id']}: {what}", _charging(i, event, times)
        if "covering" in entry and attained["l1"]:
            less = attained["l1"] * (1 - float(rng.uniform(0.001, 0.5)))
            yield f"group {entry['group']}: covered by {less:g}", _covering(entry, less)
    if (
        len(base.certificate["releases"]) == 1
        and base.certificate["releases"][0]["event"] is not None
    ):
        entry = {"node": 0, **base.certificate["releases"][0]}
        seen = (
            base.seen.get(nodes[entry["node"]]["args"][0]) if nodes[entry["node"]]["args"] else None
        )
        if seen is not None and seen.moves and "group" not in entry:
            yield "the claim is nothing", _claiming({"kind": "Sequential", "events": []})
            yield "the release is not listed", _forgetting(0)


def _of_several(
    base: Base, i: int, entry: dict[str, Any], rng: np.random.Generator
) -> Iterator[tuple[str, Any]]:
    """Releases that are one mechanism: it tells at least what one of them tells by itself.

    One answer moves by d over the larger scale of query and threshold, far out in its tail.
    """
    nodes = base.nodes
    scales = [
        float(each["params"]["scale"])
        for each in nodes.values()
        if each["primitive"] == "draw" and isinstance(each["params"].get("scale"), int | float)
    ]
    moved = [
        base.seen[a].sizes["l1"]
        for n in entry["nodes"]
        for a in nodes[n]["args"][:1]
        if a in base.seen
    ]
    if not moved or max(moved) <= 0:
        return
    told = {name: max(moved) / max(scales) for name in ("l1", "l2")}
    event, moves = (
        entry["event"],
        2 if base.certificate["claim"]["adjacency"] == "replace-one" else 1,
    )
    if "compared" in _uses(base, entry["nodes"][0]) or event["kind"] != "PureDP":
        for what, false, times in _false_events({**entry, "times": 1}, told, moves, rng):
            yield f"several {entry['nodes'][0]}: {what}", _charging(i, false, times)
    yield "several: epsilon 0", _charging(i, {**event, "kind": "PureDP", "epsilon": 0.0}, 1)
    for at in range(len(entry["nodes"])):
        yield f"several: {entry['nodes'][at]} is not listed", _without(i, at)
    yield "several: they are not listed", _forgetting(i)
    yield "several: one is listed twice", _twice(i)
    if entry.get("hits"):
        yield "several: as if they were one", _alone(i)
        yield "several: no hit", _charging(i, event, 0)


def _uses(base: Base, release: int) -> str:
    """Whether a number is compared with noise, and nothing else."""
    found = {
        other
        for each in base.nodes.values()
        if release in each["args"]
        for other in each["args"]
        if other != release
    }
    noisy = all(base.nodes[other]["primitive"] != "release" for other in found)
    return "compared" if found and noisy else ""


def _of_choices(
    i: int, entry: dict[str, Any], rng: np.random.Generator
) -> Iterator[tuple[str, Any]]:
    """Randomized response costs what it costs; a choice that depends on the data costs something."""
    event = entry["event"]
    yield "choice: it costs nothing", _charging(i, None, 1)
    if event["kind"] == "RandomizedResponse":
        more = event["noise"] + float(rng.choice([1e-6, 0.01, 0.5])) * (1 - event["noise"])
        yield f"choice: noise {more:g}", _charging(i, {**event, "noise": more}, 1)
    else:
        yield "choice: epsilon 0", _charging(i, {**event, "epsilon": 0.0}, 1)


def _without(i: int, at: int) -> Any:
    def change(certificate: dict[str, Any]) -> None:
        del certificate["releases"][i]["nodes"][at]

    return change


def _twice(i: int) -> Any:
    def change(certificate: dict[str, Any]) -> None:
        listed = certificate["releases"][i]["nodes"]
        listed[-1] = listed[0]

    return change


def _alone(i: int) -> Any:
    def change(certificate: dict[str, Any]) -> None:
        del certificate["releases"][i]["hits"]

    return change


def _false_events(
    entry: dict[str, Any], attained: dict[str, float], moves: int, rng: np.random.Generator
) -> Iterator[tuple[str, Any, int]]:
    event, times = entry["event"], entry["times"]
    kind = event["kind"]
    more = float(1 + rng.choice([1e-6, 0.01, 1.0, 1000.0]))
    if kind in ("Laplace", "Gaussian"):
        norm = "l1" if kind == "Laplace" else "l2"
        if attained[norm] <= 0:
            return
        # What the release is seen to cost, in the noise multiplier that would be just enough.
        enough = moves * (times if kind == "Laplace" else 1) / attained[norm]
        yield (
            f"{kind} of multiplier {enough * more:g}, just enough is {enough:g}",
            {**event, "noise_multiplier": enough * more},
            times,
        )
        if (
            kind == "Laplace"
            and times > 1
            and (times - 1) * moves / event["noise_multiplier"] < attained["l1"] * (1 - SLIGHT)
        ):
            yield f"{times - 1} entries move, not {times}", event, times - 1
        yield "it costs nothing", None, times
    if kind == "PureDP" and attained["l1"] > 0:
        yield (
            f"epsilon below {attained['l1']:g}",
            {**event, "epsilon": attained["l1"] / more},
            times,
        )


def _charging(i: int, event: Any, times: int) -> Any:
    def change(certificate: dict[str, Any]) -> None:
        entry = certificate["releases"][i]
        before = entry["event"]
        entry["event"], entry["times"] = event, times
        certificate["claim"]["event"] = _replaced(certificate, before, event)
        certificate.pop("bound", None)

    return change


def _replaced(certificate: dict[str, Any], before: Any, event: Any) -> Any:
    """The composition of all listed events: a claim that fits the list."""
    del before, event
    parts = [
        {"kind": "Repeated", "event": each["event"], "times": each["times"]}
        for each in certificate["releases"]
        if each["event"] is not None
    ]
    return {"kind": "Sequential", "events": parts}


def _covering(entry: dict[str, Any], epsilon: float) -> Any:
    """All releases of a group together cost less than one of them by itself; the claim follows."""
    before = entry["covering"]
    after = {"kind": "PureDP", "epsilon": epsilon, "adjacency": before.get("adjacency")}

    def change(certificate: dict[str, Any]) -> None:
        for each in certificate["releases"]:
            if each.get("group") == entry["group"]:
                each["covering"] = after
        claim = json.dumps(certificate["claim"]["event"])
        written = [json.dumps(each) for each in (before, after)]
        certificate["claim"]["event"] = json.loads(claim.replace(*written))
        certificate.pop("bound", None)

    return change


def _claiming(event: Any) -> Any:
    def change(certificate: dict[str, Any]) -> None:
        certificate["claim"]["event"] = event

    return change


def _forgetting(i: int) -> Any:
    def change(certificate: dict[str, Any]) -> None:
        del certificate["releases"][i]
        certificate["claim"]["event"] = _replaced(certificate, None, None)

    return change
