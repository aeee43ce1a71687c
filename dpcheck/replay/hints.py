"""What two runs show without proving it: hints, and the event another auditor should test."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from dpcheck.core.data import Value
from dpcheck.numerics.rounding import Array
from dpcheck.replay.draws import UNKNOWN, Draw, Line
from dpcheck.replay.findings import Hint, HintKind, SuggestedEvent
from dpcheck.replay.following.values import Affine, Followed
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.outputs import Flat
from dpcheck.replay.run import Run

_SHOWN = 3


def hints_of(first: Run, second: Run, start: Line) -> tuple[Hint, ...]:
    """Everything worth a line, the most telling first."""
    found = [
        *_seeds(first),
        *_no_draw(first, second, start),
        *_path(first, second),
        *_scale(first, second),
        *_reused(first),
        *_unused(first),
        *_shift(first, second, start),
        *_marks(first, second),
    ]
    return tuple(dict.fromkeys(found))


def _seeds(run: Run) -> list[Hint]:
    lost = {MarkKind.LEFT, MarkKind.UNFOLLOWED, MarkKind.ENTROPY, MarkKind.NATIVE}
    drawn = any(mark.kind in lost for mark in run.recorder.marks)  # a seed may have been drawn
    words = (
        "a generator is made with {}: unless that is itself drawn, its draws are the same in every run"
        if drawn
        else "a generator is made with a fixed {}: its draws are the same in every run"
    )
    return [
        Hint(HintKind.FIXED_SEED, mark.line, words.format(mark.detail))
        for mark in run.recorder.fixed_seeds[:_SHOWN]
    ]


def _no_draw(first: Run, second: Run, start: Line) -> list[Hint]:
    if first.recorder.draws or second.recorder.draws:
        return []
    unseen = {MarkKind.ENTROPY, MarkKind.NATIVE, MarkKind.UNFOLLOWED, MarkKind.GENERATOR}
    if any(mark.kind in unseen for mark in first.recorder.marks):
        return []
    return [Hint(HintKind.NO_DRAW, start, "nothing random was drawn during the run")]


def _described(draw: Draw) -> tuple[Value, ...]:
    return draw.source, draw.family, draw.shape


def _path(first: Run, second: Run) -> list[Hint]:
    one, other = first.recorder.draws, second.recorder.draws
    for a, b in zip(one, other, strict=False):
        if _described(a) != _described(b):
            words = (
                f"{a.source} with shape {a.shape} is drawn on D where D' draws {b.source} with "
                f"shape {b.shape}: the data decides which noise there is"
            )
            return [Hint(HintKind.PATH, a.line, words)]
    if len(one) != len(other):
        longer = one if len(one) > len(other) else other
        words = f"{len(one)} draws are made on D and {len(other)} on D'"
        return [Hint(HintKind.PATH, longer[min(len(one), len(other))].line, words)]
    return []


def line_of(run: Run, atom: int) -> Line:
    """Where an atom was drawn."""
    if atom >= len(run.recorder.atoms):
        return UNKNOWN
    return run.recorder.draws[run.recorder.atoms[atom].draw].line


def _scale(first: Run, second: Run) -> list[Hint]:
    for a, b in zip(first.flat.scalars, second.flat.scalars, strict=False):
        if isinstance(a, Affine) and isinstance(b, Affine):
            for atom, c in a.coefficients.items():
                other = b.coefficients.get(atom)
                if other is not None and abs(abs(c) - abs(other)) > 1e-9 * abs(c):
                    words = (
                        f"this noise has scale {abs(c):.6g} on D and {abs(other):.6g} on D': the "
                        "scale depends on the data"
                    )
                    return [Hint(HintKind.SCALE, line_of(first, atom), words)]
    return []


def _reused(run: Run) -> list[Hint]:
    uses: Counter[int] = Counter()
    for value in run.flat.scalars:
        if isinstance(value, Affine) and len(value.coefficients) == 1:
            uses.update(list(value.coefficients))
    for atom, times in uses.most_common(1):
        if times > 1:
            words = f"one draw is the noise of {times} outputs: their differences have no noise"
            return [Hint(HintKind.REUSED, line_of(run, atom), words)]
    return []


def _unused(run: Run) -> list[Hint]:
    if not run.recorder.clean:
        return []  # it may have reached the output unseen
    reached: set[int] = set()
    for value in run.flat.scalars:
        if isinstance(value, Followed):
            reached |= value.depends
    for selection, _ in run.recorder.decisions:
        reached |= run.recorder.selections[selection].atoms
    for draw in run.recorder.draws:
        if not reached & set(range(draw.first, draw.first + draw.count)):
            words = "this noise never reaches the output and protects nothing"
            return [Hint(HintKind.UNUSED, draw.line, words)]
    return []


def numbers(run: Run) -> Array | None:
    """The output of one run as plain numbers; None where it has others."""
    return plain_numbers(run.flat)


def plain_numbers(flat: Flat) -> Array | None:
    """The scalars of an output as plain numbers; None where it has others."""
    found = []
    for value in flat.scalars:
        plain = value.concrete() if isinstance(value, Followed) else value
        if isinstance(plain, bool | int | float | np.number) and math.isfinite(plain):
            found.append(float(plain))
        else:
            return None
    return np.array(found)


def suggested(first: Run, second: Run) -> SuggestedEvent | None:
    """Beyond the midpoint of the two outputs that the same draws gave."""
    one, other = numbers(first), numbers(second)
    if one is None or other is None or one.shape != other.shape or not len(one):
        return None
    moved = other - one
    length = float(np.linalg.norm(moved))
    if length <= 1e-9 * (1 + float(np.abs(one).max())):
        return None
    direction = moved / length
    threshold = float(direction @ (one + other)) / 2
    return SuggestedEvent(tuple(float(x) for x in direction), threshold)


def _shift(first: Run, second: Run, start: Line) -> list[Hint]:
    event = suggested(first, second)
    if event is None:
        return []
    one, other = numbers(first), numbers(second)
    assert one is not None
    assert other is not None
    far = float(np.linalg.norm(other - one))
    words = f"with the same draws the output moves by {far:.6g} between the two datasets"
    return [Hint(HintKind.SHIFT, start, words)]


def _marks(first: Run, second: Run) -> list[Hint]:
    found = []
    for mark in dict.fromkeys([*first.recorder.marks, *second.recorder.marks]):
        kind = HintKind.UNREPEATABLE if mark.kind is MarkKind.STATE else HintKind.NOT_FOLLOWED
        detail = f" ({mark.detail})" if mark.detail else ""
        found.append(Hint(kind, mark.line, f"{mark.kind}{detail}"))
    return found[:_SHOWN]
