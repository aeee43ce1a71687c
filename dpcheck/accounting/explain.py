"""Why an epsilon is what it is: who proved it, what drives it, and how it moves."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TypeVar, cast

from dpcheck.accounting.accountants.best import METHODS
from dpcheck.accounting.accountants.distribution import drawn_loss
from dpcheck.accounting.api import epsilon, epsilon_upper
from dpcheck.accounting.compose import profiles
from dpcheck.accounting.sides import upper_side
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.data import Plain
from dpcheck.core.errors import CannotCertify, DpcheckError
from dpcheck.core.events.event import Event, Repeated, Sequential
from dpcheck.numerics.rounding import Array

# Factors a parameter is multiplied by to see how epsilon moves.
FACTORS = (0.5, 0.8, 1.25, 2.0)
# Parts of a composition that are looked at one by one; the smallest of more are left out of the table.
MOST_PARTS = 8
# The fields of events that a person would turn, by the name shown.
KNOBS = {
    "noise": ("noise_multiplier", "scale", "noise"),
    "sampling rate": ("sampling_rate",),
    "steps": ("times",),
}
Node = TypeVar("Node")


@dataclass(frozen=True, slots=True)
class Share:
    """One part of a composition: what it costs alone, and what the whole would cost without it."""

    part: str
    alone: float
    without: float
    share: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to one question about epsilon, taken apart."""

    bound: Bound
    delta: float
    methods: tuple[tuple[str, float, str], ...]
    shares: tuple[Share, ...]
    moves: tuple[tuple[str, tuple[float, ...]], ...]

    def __str__(self) -> str:
        return "\n".join((*self._winner(), *self._shares(), *self._moves()))

    def _winner(self) -> list[str]:
        proved = f"the upper bound is proved by {self.bound.method}"
        if math.isinf(self.bound.upper):
            never = math.isinf(self.bound.lower)
            proved = "no finite epsilon holds" if never else "no accountant proves a finite bound"
        lines = [
            f"epsilon is between {_show(self.bound.lower)} and {_show(self.bound.upper)} at delta "
            f"{self.delta:g} ({self.bound.adjacency}); {proved}.",
            "",
            "what each accountant would have said",
        ]
        for method, value, note in self.methods:
            tail = "  <- tightest" if method == self.bound.method else f"  {note}" if note else ""
            lines.append(f"  {method:<24}{_show(value):>12}{tail}")
        return lines

    def _shares(self) -> list[str]:
        if len(self.shares) < 2:
            return []
        lines = ["", f"  {'what spends it':<64}{'alone':>10}{'without it':>12}{'share':>8}"]
        for one in self.shares:
            numbers = f"{_show(one.alone):>10}{_show(one.without):>12}{one.share:>8.1%}"
            lines.append(f"  {one.part[:63]:<64}{numbers}")
        return lines

    def _moves(self) -> list[str]:
        if not self.moves:
            return []
        head = "".join(f"{f'x {factor:g}':>11}" for factor in FACTORS)
        lines = ["", f"  {'epsilon if this is':<24}{head}"]
        for name, values in self.moves:
            lines.append(f"  {name:<24}" + "".join(f"{_show(value):>11}" for value in values))
        return lines

    def to_dict(self) -> dict[str, Plain]:
        """The same as plain data; infinity is the string "inf"."""
        return {
            "methods": [
                {"method": method, "epsilon": _plain(value), "note": note}
                for method, value, note in self.methods
            ],
            "shares": [
                {
                    "part": one.part,
                    "alone": _plain(one.alone),
                    "without": _plain(one.without),
                    "share": one.share,
                }
                for one in self.shares
            ],
            "moves": {
                name: {
                    f"{factor:g}": _plain(value)
                    for factor, value in zip(FACTORS, values, strict=True)
                }
                for name, values in self.moves
            },
        }


def explain_epsilon(event: Event, delta: float, adjacency: Adjacency) -> Explanation:
    """Take the answer of `epsilon` apart.

    Guarantee: every number is an upper bound proved as `epsilon` proves it; shares are the drops of
    that bound when a part is left out, as parts of their sum.

    >>> from dpcheck import Gaussian, PureDP
    >>> why = explain_epsilon(Gaussian(1.0) + PureDP(0.1), 1e-5, Adjacency.ADD_REMOVE)
    >>> [round(one.share, 2) for one in why.shares]
    [0.99, 0.01]
    """
    bound = epsilon(event, delta=delta, adjacency=adjacency)
    return Explanation(
        bound,
        delta,
        by_method(event, delta, adjacency),
        _by_part(event, delta, adjacency, bound.upper),
        _by_knob(event, delta, adjacency),
    )


def by_method(
    event: Event, delta: float, adjacency: Adjacency
) -> tuple[tuple[str, float, str], ...]:
    """(method, epsilon, note) of every accountant with a finite answer, or with a reason for none."""
    found: list[tuple[str, float, str]] = []
    for method in METHODS:
        try:
            bound = epsilon(event, delta=delta, adjacency=adjacency, method=method)
        except CannotCertify as error:
            found.append((method, math.inf, error.message))
            continue
        if math.isfinite(bound.upper):
            found.append((method, bound.upper, ""))
    return tuple(found)


def _by_part(event: Event, delta: float, adjacency: Adjacency, whole: float) -> tuple[Share, ...]:
    parts = _parts(event)
    if len(parts) < 2 or math.isinf(whole):
        return ()
    alone = {
        part: epsilon_upper(_times(part, n), delta=delta, adjacency=adjacency)
        for part, n in parts.items()
    }
    largest = sorted(parts, key=lambda part: -alone[part])[:MOST_PARTS]
    without = {}
    for part in largest:
        others = Sequential(tuple(_times(p, n) for p, n in parts.items() if p != part))
        without[part] = epsilon_upper(others, delta=delta, adjacency=adjacency)
    drops = {part: max(whole - without[part], 0.0) for part in largest}
    total = sum(drops.values()) or 1.0
    shares = [
        Share(_named(part, parts[part]), alone[part], without[part], drops[part] / total)
        for part in largest
    ]
    return tuple(sorted(shares, key=lambda one: -one.share))


def _parts(event: Event) -> Counter[Event]:
    """The mechanisms of sequences and repetitions with their counts; other nodes stay whole."""
    found: Counter[Event] = Counter()
    stack = [(event, 1)]
    while stack:
        node, times = stack.pop()
        if isinstance(node, Sequential):
            stack += [(inner, times) for inner in reversed(node.events)]
        elif isinstance(node, Repeated):
            stack.append((node.event, times * node.times))
        elif times:
            found[node] += times
    return found


def _named(event: Event, times: int) -> str:
    return f"{event}" + (f" x {times:,}" if times > 1 else "")


def _times(event: Event, times: int) -> Event:
    return event if times == 1 else event * times


def _by_knob(
    event: Event, delta: float, adjacency: Adjacency
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    found: list[tuple[str, tuple[float, ...]]] = []

    def cost(changed: Event, at: float) -> float:
        try:
            return epsilon_upper(changed, delta=at, adjacency=adjacency)
        except DpcheckError:  # outside the range the mechanism is defined on
            return math.nan

    for name, knobs in KNOBS.items():
        turned = [turn(event, knobs, factor) for factor in FACTORS]
        if any(other != event for other in turned):
            found.append((name, tuple(cost(other, delta) for other in turned)))
    if delta > 0:
        deltas = [min(delta * factor, 1.0) for factor in FACTORS]
        found.append(("delta", tuple(cost(event, at) for at in deltas)))
    return tuple(found)


def turn(node: Node, knobs: tuple[str, ...], factor: float) -> Node:
    """The event with every field of those names multiplied, through the whole tree.

    Whole numbers stay whole, and at least 1 unless they are 0; a rate stops at 1.
    """
    if isinstance(node, tuple):
        return cast("Node", tuple(turn(part, knobs, factor) for part in node))
    if not is_dataclass(node) or isinstance(node, type):
        return node
    changed: dict[str, int | float | Event | tuple[object, ...]] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if field.name in knobs and isinstance(value, int):
            changed[field.name] = max(round(value * factor), min(value, 1))
        elif field.name in knobs and isinstance(value, float):
            top = 1.0 if field.name in ("sampling_rate", "noise") else math.inf
            changed[field.name] = min(value * factor, top)
        elif isinstance(value, Event | tuple):
            changed[field.name] = turn(value, knobs, factor)
    return replace(node, **changed) if changed else node


def loss_law(event: Event, adjacency: Adjacency) -> tuple[Array, Array] | None:
    """(losses, density) of the dominating privacy loss in its costlier direction, for drawing only.

    None where no distribution is at hand.
    """
    best: tuple[Array, Array] | None = None
    for profile in profiles(event, adjacency):
        found = drawn_loss(upper_side(profile).parts)
        if found is not None and (best is None or found[0][-1] > best[0][-1]):
            best = found
    return best


def _show(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "inf" if math.isinf(value) else f"{value:.6g}"


def _plain(value: float) -> float | str | None:
    return None if math.isnan(value) else value if math.isfinite(value) else "inf"
