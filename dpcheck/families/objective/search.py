"""Witnesses against objective-perturbed models: found without a recipe, certified, shrunk, saved.

The record that changes belongs to one set of people of a part and trains all their blocks, whose
features are disjoint; the loss is the sum over blocks and each is maximised on its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.auditing.auditors.witness_search import PairPoint, PlaneDomain, search, shrink
from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.shrink import kept_loss
from dpcheck.core.data import Plain
from dpcheck.core.errors import CannotReplay, DpcheckError
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner
from dpcheck.families.objective.loss import certified_lower, fast_loss
from dpcheck.mechanisms.common.data import Data, Labelled, Transfer, part_of
from dpcheck.mechanisms.objective.design import Block, ReleaseDesign
from dpcheck.mechanisms.objective.loss import exact_loss

Points = dict[str, PairPoint]  # by block; rows in raw units, centre as it is released


@dataclass(frozen=True, slots=True)
class Situation:
    """A model on data of a shape, and the part under attack."""

    model: Any
    blank: Data
    part: str
    free_center: bool

    @property
    def design(self) -> ReleaseDesign:
        """The blocks of the release."""
        design: ReleaseDesign = self.model.design(self.blank)
        return design

    def blocks(self) -> list[Block]:
        """The blocks of the people who are worst off: those with fewest rows."""
        mine = [b for b in self.design.blocks if b.part == self.part and b.columns is not None]
        fewest = min(mine, key=lambda block: len(block.rows)).people
        return [block for block in mine if block.people == fewest]

    def center_is_free(self, block: Block) -> bool:
        """A transferred model is always a free centre; a parameter is one if it was asked for."""
        # With eta = 1 the source's model has no weight in the regulariser.
        transferred = block.center is not None and block.center_scale != 0
        return transferred or (self.free_center and block.center is None)


def _scale(block: Block) -> float:
    return block.event.norm_bound / block.clip


def _center_scale(block: Block) -> float:
    return (block.center_scale or 1.0) if block.center is not None else 1.0


def search_blocks(situation: Situation, runner: Runner) -> Points:
    """The best point of every block; equal blocks are searched once."""
    found: dict[tuple[Any, ...], PairPoint] = {}
    points: Points = {}
    for block in situation.blocks():
        event, free = block.spherical, situation.center_is_free(block)
        dimensions = min(2, block.width)
        key = (event, free, dimensions)
        if key not in found:
            unit = 1.0 / (event.rows * event.regularization)
            domain = PlaneDomain(event.norm_bound, dimensions, free, unit)
            seed = runner.seeds("witness", len(found))
            found[key] = search(fast_loss(event), domain, seed)
        points[block.name] = _as_given(found[key], block)
    return points


def _as_given(point: PairPoint, block: Block) -> PairPoint:
    """Rows before scaling, a hair inside the clipping norm; the centre before its scaling."""
    back = (1 - 1e-12) / _scale(block)
    rows = {
        n: tuple(v * back for v in getattr(point, n)) for n in ("changed", "replaced", "background")
    }
    center = tuple(v / _center_scale(block) for v in point.center)
    return replace(point, center=center, **rows)


def _as_seen(point: PairPoint, block: Block) -> PairPoint:
    rows = {
        n: tuple(v * _scale(block) for v in getattr(point, n))
        for n in ("changed", "replaced", "background")
    }
    return replace(point, center=tuple(v * _center_scale(block) for v in point.center), **rows)


def quick(point: PairPoint, block: Block) -> float:
    """The block's loss in floats."""
    return fast_loss(block.spherical)(_as_seen(point, block))


def certified(situation: Situation, points: Points) -> float:
    """A proved lower bound on the loss; blocks without a point see the same data on both sides."""
    blocks = [
        (
            block.spherical,
            points[block.name],
            block.event.norm_bound,
            block.clip,
            _center_scale(block),
        )
        for block in situation.blocks()
        if block.name in points
    ]
    if len(blocks) != len(points):
        raise CannotReplay("the witness names a block the audited model does not have.")
    return certified_lower(blocks)


def materialise(situation: Situation, points: Points) -> tuple[Any, Data, Data, np.ndarray]:
    """(model, D, D', release) as the mechanism itself takes them."""
    design, slices = situation.design, situation.design.slices()
    rows = part_of(situation.blank, situation.part)
    first, second = np.zeros_like(rows.X), np.zeros_like(rows.X)
    release = np.zeros(design.width)
    own_center = np.zeros(rows.X.shape[1])
    blocks = situation.blocks()
    record = blocks[0].rows[0]
    for block in blocks:
        if block.name not in points:
            continue
        point = points[block.name]
        assert block.columns is not None
        columns = block.columns[: len(point.output)]
        for X, row in ((first, point.changed), (second, point.replaced)):
            X[np.ix_(block.rows, columns)] = point.background
            X[record, columns] = row
        start = slices[block.name].start
        release[start : start + len(columns)] = point.output
        if block.center is not None:
            start = slices[block.center].start
            release[start : start + len(columns)] = point.center
        else:
            own_center[columns] = point.center
    model = situation.model
    if own_center.any():
        from sklearn.base import clone

        model = clone(model).set_params(center=own_center)
    ones = np.ones(len(first))
    return model, _with(situation, first, ones), _with(situation, second, ones), release


def _with(situation: Situation, X: np.ndarray, y: np.ndarray) -> Data:
    blank = situation.blank
    if isinstance(blank, Labelled):
        return Labelled(X, y)
    if situation.part == "source":
        return Transfer(X, y, blank.X_target, blank.y_target)
    return Transfer(blank.X_source, blank.y_source, X, y)


def confirm(situation: Situation, points: Points, proved: float) -> None:
    """The mechanism's own density must say the same as the independent certified formula."""
    model, first, second, release = materialise(situation, points)
    stated = float(exact_loss(model, first, second, release))
    if abs(stated - proved) > 1e-6 * (1 + abs(proved)):
        raise DpcheckError(
            f"the mechanism's density gives a loss of {stated!r} where the certified formula "
            f"gives {proved!r}; one of the two is wrong, so no verdict is given.",
            stated=stated,
            proved=proved,
        )


def simplify(situation: Situation, points: Points, claim: float) -> Points:
    """Fewest blocks, then simplest points, that still prove a loss of at least `claim`."""
    blocks = {block.name: block for block in situation.blocks()}
    worth = {name: quick(point, blocks[name]) for name, point in points.items()}
    kept: Points = {}
    for name in sorted(worth, key=lambda n: -worth[n]):
        kept[name] = points[name]
        if sum(worth[n] for n in kept) > claim:
            break
    for name in list(kept):
        rest = sum(quick(point, blocks[n]) for n, point in kept.items() if n != name)
        block = blocks[name]
        free = situation.center_is_free(block)

        def keeps(
            point: PairPoint, block: Block = block, rest: float = rest, free: bool = free
        ) -> bool:
            longest = max(
                sum(v * v for v in row) for row in (point.changed, point.replaced, point.background)
            )
            if longest > (block.clip * (1 - 1e-12)) ** 2 or (not free and any(point.center)):
                return False
            # A little above the claim, so that the certified loss is above it too.
            return rest + quick(point, block) > claim + 1e-4 * max(claim, 0.1)

        kept[name] = shrink(kept[name], keeps)
    return kept if certified(situation, kept) > claim else points


@dataclass(frozen=True, slots=True)
class ObjectiveSearch:
    """Search, certify, confirm, shrink, render."""

    situation: Situation
    claim: float
    header: Mapping[str, Plain]  # audit, variant, part, epsilon, settings: what a replay needs
    constructor: str

    @property
    def delta(self) -> float:
        """One loss is proved."""
        return 0.0

    @property
    def detectable(self) -> None:
        """Everything above the claim."""
        return

    def find(self, runner: Runner) -> tuple[float, Witness]:
        """(certified loss, witness)."""
        points = search_blocks(self.situation, runner)
        proved = certified(self.situation, points)
        confirm(self.situation, points, proved)
        shown, loss = points, proved
        if proved > self.claim:
            shown = simplify(self.situation, points, kept_loss(proved, self.claim))
            loss = certified(self.situation, shown)
            confirm(self.situation, shown, loss)
        return proved, Witness(
            WitnessKind.EXACT_WITNESS,
            {
                **self.header,
                "pair": _label(self.situation, shown),
                "claim": self.claim,
                "loss": loss,
                "strongest_loss": proved,
                "blocks": {name: to_dict(point) for name, point in shown.items()},
                "python": render(self.situation, shown, self.constructor),
            },
        )

    def shown(self, witness: Witness) -> tuple[Any, Pair]:
        """The witness's pair as the mechanism takes it."""
        points = {str(name): from_dict(point) for name, point in witness["blocks"].items()}
        model, first, second, _ = materialise(self.situation, points)
        return model, Pair(first, second, str(witness["pair"]))


def _label(situation: Situation, points: Points) -> str:
    """What differs, in a few words."""
    changed = len(points)
    blocks = f", seen by {changed} feature blocks" if changed > 1 else ""
    whose = "" if situation.part == "data" else f" {situation.part}"
    return f"one{whose} record replaced{blocks}"


def to_dict(point: PairPoint) -> dict[str, list[float]]:
    """A point as plain data."""
    return {name: list(getattr(point, name)) for name in PairPoint.__slots__}


def from_dict(data: Mapping[str, Sequence[float]]) -> PairPoint:
    """The point `to_dict` wrote."""
    return PairPoint(**{n: tuple(float(v) for v in data[n]) for n in PairPoint.__slots__})


def replay(situation: Situation, witness: Mapping[str, Plain]) -> float:
    """The loss of a saved witness, proved and confirmed anew."""
    points = {str(name): from_dict(point) for name, point in witness["blocks"].items()}
    proved = certified(situation, points)
    confirm(situation, points, proved)
    return proved


def render(situation: Situation, points: Points, constructor: str) -> str:
    """The witness as a program that prints its loss."""
    model, first, _, release = materialise(situation, points)
    transfer = isinstance(first, Transfer)
    rows = part_of(first, situation.part).X
    name, data = type(model).__name__, "Transfer" if transfer else "Labelled"
    group = situation.blocks()[0]
    lines = [
        "import numpy as np",
        f"from dpcheck.mechanisms import {data}, {name}, exact_loss",
        f"model = {constructor}",
    ]
    lines.append(f"D, D2 = np.zeros({rows.shape}), np.zeros({rows.shape})  # {situation.part} rows")
    whole = len(group.rows) == len(rows)
    where = ":" if whole else "group"
    if not whole:
        lines.append(
            f"group = [b for b in model.design(BLANK).blocks if b.name == {group.name!r}][0].rows"
        )
    record = int(group.rows[0])
    center = getattr(model, "center", None)
    if center is not None:
        lines.append(f"center = np.zeros({rows.shape[1]})")
    for block in situation.blocks():
        if block.name not in points:
            continue
        point = points[block.name]
        assert block.columns is not None
        columns = json.dumps(block.columns[: len(point.output)].tolist())
        if any(point.background):
            target = f"[{where}, {columns}]" if whole else f"[np.ix_(group, {columns})]"
            lines += [f"{d}{target} = {list(point.background)}" for d in ("D", "D2")]
        lines.append(f"D[{record}, {columns}] = {list(point.changed)}")
        lines.append(f"D2[{record}, {columns}] = {list(point.replaced)}")
        if center is not None:
            lines.append(f"center[{columns}] = {list(point.center)}")
    if center is not None:
        lines.append("model.set_params(center=center)")
    lines.append(f"w = np.zeros({len(release)})")
    at = np.flatnonzero(release)
    lines.append(f"w[{at.tolist()}] = {release[at].tolist()}")
    lines.append(f"y = np.ones({len(rows)})")
    if transfer:
        assert isinstance(first, Transfer)
        other = first.X_target if situation.part == "source" else first.X_source
        lines.append(f"X, ones = np.zeros({other.shape}), np.ones({len(other)})")
        pattern = (
            "Transfer({}, y, X, ones)"
            if situation.part == "source"
            else ("Transfer(X, ones, {}, y)")
        )
    else:
        pattern = "Labelled({}, y)"
    if not whole:
        lines = [line.replace("BLANK", pattern.format("D")) for line in lines]
        lines = _group_last(lines)
    lines.append(f"print(exact_loss(model, {pattern.format('D')}, {pattern.format('D2')}, w))")
    return "\n".join(lines) + "\n"


def _group_last(lines: list[str]) -> list[str]:
    """Define y and the other part before the line that asks the model for its groups."""
    early = [line for line in lines if line.startswith(("y = ", "X, ones"))]
    rest = [line for line in lines if line not in early]
    at = next(i for i, line in enumerate(rest) if line.startswith("group = "))
    return [*rest[:at], *early, *rest[at:]]
