"""Random programs of the whole language: loops, branches, containers, writes in place, classes, closures.

Every program is a file of its own with a class, a helper and `program(x, rng)`. What it spends is not judged
here: it is run, and read, and both must do the same.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

ROWS = 6
COLUMNS = 2

HEAD = """import itertools
import operator
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Pair:
    first: object
    second: float = 2.0

    def both(self, weight=1.0):
        return self.first * weight + self.second


class Holder:
    shared = 3.0

    def __init__(self, size):
        self.total = np.zeros(size)
        self.kept = []
        self.count = 0

    @property
    def twice(self):
        return self.total * 2.0

    @staticmethod
    def half(value):
        return value / 2.0

    def add(self, value):
        self.total += value
        self.count += 1
        self.kept.append(self.count)
        return self

    def __call__(self, value, *more, scale=1.0):
        return value * scale + sum(more)


def helper(value, weight=2.0, *more, **named):
    return value * weight + sum(more) + sum(named.values())


def accumulate(rows, total, weight):
    for row in rows:
        total += row * weight


"""

# {p} a public number, {q} another, {n} a list of public numbers, {w} a public array of two, {g} a vector of
# two private numbers, {s} a private number, {r} a released number, {x} rows, {c} a column, {new} a new name.
PUBLIC = (
    "{new} = [{p}, {q}]\n{new}_same = {new}\n{new}_same += [{p}]\n{p0} = float(len({new}))",
    "{new} = [[{p}], [{q}]]\n{new}[0].append({q})\n{p0} = sum({new}[0]) - sum({new}[1])",
    "{new} = {{'a': {p}, 'b': {q}}}\n{new}['a'] += {q}\n{p0} = max({new}.values())",
    "{p0} = sum(a * b for a, b in zip({n}, reversed({n})))",
    (
        "{p0} = 0.0\nfor {new}_i, {new} in enumerate({n}):\n    if {new} > {p}:\n        continue\n"
        "    {p0} += {new} * {new}_i"
    ),
    "{p0} = 1.0\nwhile {p0} < 4.0:\n    {p0} *= 2.0\nelse:\n    {p0} -= 1.0",
    "for {new} in {n}:\n    if {new} >= {p}:\n        {p0} = {new}\n        break\nelse:\n    {p0} = -1.0",
    "{p0} = ({new} := {p} + 1.0) * {new}",
    "{p0} = (lambda a, b=2.0: a * b)({p})",
    "({new}_a, *{new}_b), {new}_c = ({n} + [{p}]), {q}\n{p0} = {new}_a + sum({new}_b) * {new}_c",
    "{p0} = helper(*[{p}], {q}, 0.5, extra={p})",
    "{p0} = {p} if {p} < {q} <= 3.0 else {q}",
    "{new} = {{k: v for k, v in zip('ab', {n})}}\n{p0} = {new}.get('a', 0.0) + {new}.get('z', 1.0)",
    "{new} = [lambda v: v + i for i in (1.0, 2.0)]\n{p0} = {new}[0]({p})",
    "{new} = [(lambda v, i=i: v + i) for i in (1.0, 2.0)]\n{p0} = {new}[0]({p})",
    (
        "def {new}(value):\n    nonlocal_value = 0.0\n    def inner():\n"
        "        nonlocal nonlocal_value\n        nonlocal_value += value\n"
        "        return nonlocal_value\n    inner()\n    return inner()\n{p0} = {new}({p})"
    ),
    "{new} = Pair({p})\n{new}.second += {q}\n{p0} = {new}.both(0.5)",
    "{new} = Holder(2)\n{new}.shared = {p}\n{p0} = {new}.shared + Holder.shared + {new}({q}, 1.0, scale=0.5)",
    "{p0} = [a * b for a in {n} for b in {n} if a < b or not a > 1.0][-1] if len({n}) > 5 else {q}",
    "{new} = list({n})\n{new}[1:] = [{p}]\n{new} *= 2\n{p0} = {new}[-1] + len({new})",
    "assert {p} == {p}\n{p0} = abs(-{p}) ** 2 % 3.0",
    "{new} = tuple(sorted({n}, reverse=True))\n{p0} = {new}[0] - {new}[-1]",
    "{p0} = float('1.5') + len(f'{{1.25:.1f}}' + 'ab'.upper())",
    "{p0} = sum(itertools.chain({n}, [{p}])) + operator.mul({p}, {q})",
)

ARRAYS = (
    "{new} = {w}\n{new} += {p}",
    "{new} = {w}[::-1]\n{new}[0] = {p}",
    "{new} = {w}.copy()\n{new} *= {q}\n{w0} = {new}",
    "{new} = {w}.reshape(2, 1)\n{w0} = ({new} * {p}).ravel()",
    "for {new} in range(2):\n    {w}[{new}] -= {p} * {new}",
    "np.multiply({w}, {p}, out={w})",
    "{w0} = np.array([{p}, *{w}[1:]])",
    "{w}[{w} > {p}] = {q}",
    "{new} = {w}.T\n{new} += 1.0",
    "{w0} = np.where({w} > {p}, {w}, {q})",
    "{w0} = np.concatenate([{w}[:1], np.full(1, {p})])",
    "{new}_a, {new}_b = {w}\n{w0} = np.array([{new}_b, {new}_a])",
    "{w0} = np.asarray({w})\n{w0} /= 2.0",
)

ROWS_OF = (
    "{x0} = {x} * {p}",
    "{x0} = {x} * {w}",
    "{x0} = np.where({x} > {p}, {x}, {q})",
    "{x0} = {x}.copy()\n{x0} += {p}",
    "{x0} = {x} - {p}\n{x0}[:, 0] *= {q}",
    "{x0} = {x} + 0.0\n{x0}[{x0} > {p}] = {q}",
    "{x0} = {x}[:, ::-1]",
    "{x0} = np.clip({x}, -{p}, {p})",
    "{x0} = helper({x}, {p})",
    "{x0} = {x} + 0.0\n{new} = {x0}[:, 1]\n{new} *= {p}",
    "{x0} = np.column_stack([{x}[:, 1], np.abs({x}[:, 0])])",
)

SUMS = (
    "{g0} = {x}.sum(axis=0)",
    "{g0} = np.zeros(2)\nfor {new} in {x}:\n    {g0} += {new} * {p}",
    "{g0} = np.zeros(2)\n{new} = {g0}\naccumulate({x}, {new}, {p})",
    (
        "{g0} = np.zeros(2)\nfor {new} in {x}:\n    if {new}[0] > {p}:\n        {g0} += {new}\n"
        "    else:\n        {g0} -= {new} * 0.5"
    ),
    "{new} = Holder(2)\nfor {new}_row in {x}:\n    {new}.total\n{g0} = {x}.mean(axis=0)",
    "{new} = Holder(2).add({x}.sum(axis=0)).add({p})\n{g0} = {new}.twice + {new}.count + len({new}.kept)",
    (
        "{new}_s = 0.0\nfor {new} in {x}[:, 0]:\n    if {new} < {p}:\n        continue\n"
        "    {new}_s += {new}\n{g0} = np.array([{new}_s, {q}])"
    ),
    "{g0} = np.array([sum(v * {p} for v in {x}[:, 0]), sum([v for v in {x}[:, 1] if v > {p}])])",
    (
        "{new} = []\nfor {new}_v in {x}[:, 0]:\n    {new}.append({new}_v * {p})\n"
        "{g0} = np.array([np.sum({new}), {q}])"
    ),
    "{g0} = np.zeros(2)\nfor {new} in {x}[:, 0]:\n    {g0}[int(min(max({new}, 0), 1))] += 1",
    "{new} = {{'a': {x}[:, 0].sum(), 'b': {x}[:, 1].sum()}}\n{g0} = np.array([{new}[k] for k in ('b', 'a')])",
    (
        "{new}_t = 0.0\nfor {new} in range(len({x})):\n    {new}_t += {x}[{new}, 0] * {p}\n"
        "{g0} = np.array([{new}_t, -{new}_t])"
    ),
    "{g0} = np.array([({x}[:, j] > {p}).sum() for j in range(2)])",
    "{g0} = np.bincount(({x}[:, 0] > {p}).astype(int), minlength=2)",
    "{g0} = np.stack([np.dot({x}[:, 0], {x}[:, 1]), ({x}[:, 0] ** 2).sum()])",
)

VECTORS = (
    "{g0} = {g} * {w}",
    "{g0} = {g}[::-1] + {p}",
    "{g0} = np.zeros(2)\n{g0}[0] = {g}[1]\n{g0}[1] += {g}[0] * {p}",
    "{g0} = {g} + 0.0\n{g0} /= {p}",
    "{new}_a, {new}_b = {g}\n{g0} = np.array([{new}_b, {new}_a * {p}])",
    "{g0} = np.array([helper(v, {p}) for v in {g}])",
    "{g0} = np.cumsum({g})",
    "{g0} = np.minimum({g}, {p})",
    "{g0} = np.array([{g}.sum(), {g}.max()])",
    "{new} = Pair({g})\n{g0} = {new}.both({p})",
    "{new} = [{g}, {g} * {p}]\n{g0} = sum({new})",
    "{g0} = {g} + 0.0\nnp.add({g0}, {p}, out={g0})",
)

RELEASES = (
    "{y0} = {g} + rng.laplace(scale={k}, size=2)",
    "{y0} = {g} + rng.normal(0.0, {k}, 2)",
    "{y0} = np.array([v + rng.laplace(scale={k}) for v in {g}])",
    "{y0} = []\nfor {new} in {g}:\n    {y0}.append({new} + rng.laplace(0.0, {k}))\n{y0} = np.array({y0})",
    "{y0} = rng.laplace({g}, {k})",
    "{new} = rng.laplace(size=2)\n{new} *= {k}\n{y0} = {new} + {g}",
    "{y0} = np.array([{g}[0] + {k} * rng.standard_normal(), {g}[1] - rng.normal(scale={k})])",
)

AFTER = (
    "if {y}[0] > {p}:\n    {p0} = {q}\nelse:\n    {p0} = {p}",
    "{p0} = {p} if {y}[1] > 0.0 else {q}",
    "{y}[0] = max({y}[0], {p})",
    "{y0} = np.round({y}, 1)\n{y0} += {p}",
    "{p0} = float({y}.sum())",
    "{new} = {y}.tolist()\n{p0} = {new}[0] * 0.5",
    "{p0} = float(np.clip({y}[0], -{p}, {p}))",
    (
        "if ({y} > {p}).any():\n    {new} = {x}.sum() + rng.laplace()\nelse:\n    {new} = {p}\n"
        "shown.append({new})"
    ),
    "shown.append({{'value': {y}[0], 'text': f'{{float({y}[1]):.3f}}'}})",
    "shown.append(Pair({y}[0], {y}[1]))",
    "shown.append(sorted({y}.tolist()))",
    "shown.append((int(np.argmax({y})), [*{y}]))",
)


@dataclass
class Writer:
    """Names of each kind, and the lines so far."""

    dice: random.Random
    lines: list[str] = field(default_factory=list)
    names: dict[str, list[str]] = field(default_factory=dict)
    count: int = 0

    def new(self, kind: str = "v") -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def known(self, kind: str) -> str:
        return self.dice.choice(self.names[kind][-3:])

    def add(self, template: str) -> None:
        """A template with names in its places; names with a 0 are made."""
        words = {"new": self.new(), "k": self.dice.choice((0.5, 1.0, 2.0))}
        for kind in "pqnwgsrxcy":
            place = "p" if kind == "q" else kind
            if "{" + kind + "}" in template:
                words[kind] = self.known(place)
        made = {}
        for kind in "pwgxy":
            if "{" + kind + "0}" in template:
                words[kind + "0"] = made[kind] = self.new(kind)
        self.lines += template.format(**words).splitlines()
        for kind, name in made.items():
            self.names.setdefault(kind, []).append(name)


def write(seed: int) -> str:
    """The source of a seed."""
    dice = random.Random(seed * 6151 + 17)
    writer = Writer(dice)
    for kind, text in (
        ("p", repr(dice.choice((0.25, 0.5, 1.0)))),
        ("p", repr(dice.choice((1.5, 2.0, 3.0)))),
        ("n", f"[{dice.choice((0.5, 1.0))}, 2.0, 0.25]"),
        ("w", f"np.array([1.0, {dice.choice((0.5, 2.0))}])"),
    ):
        name = writer.new(kind)
        writer.lines.append(f"{name} = {text}")
        writer.names.setdefault(kind, []).append(name)
    writer.lines += ["shown = []", "x0 = np.clip(np.nan_to_num(x), -2.0, 2.0)"]
    writer.names["x"] = ["x0"]
    for _ in range(dice.choice((1, 1, 2))):
        for _ in range(dice.choice((1, 2, 3))):
            writer.add(dice.choice(PUBLIC))
        for _ in range(dice.choice((0, 1, 2))):
            writer.add(dice.choice(ARRAYS))
        for _ in range(dice.choice((0, 1, 2))):
            writer.add(dice.choice(ROWS_OF))
        writer.add(dice.choice(SUMS))
        for _ in range(dice.choice((0, 1, 2))):
            writer.add(dice.choice(VECTORS))
        writer.add(dice.choice(RELEASES))
        for _ in range(dice.choice((0, 1, 1, 2))):
            writer.add(dice.choice(AFTER))
    writer.lines.append(f"return shown, {', '.join(writer.names['y'])}, {writer.names['p'][-1]}")
    body = "\n".join(f"    {line}" for line in writer.lines)
    return f"{HEAD}def program(x, rng):\n{body}\n"
