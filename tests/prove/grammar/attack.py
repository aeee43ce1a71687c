"""The exact loss of a program's twin on one pair, by arithmetic that shares nothing with dpcheck.

On D every release comes out without noise and is noted; on D' it is forced to the same value. The
densities of Laplace and normal noise at that output are closed forms, and at the centre of D a
Laplace loss is at its largest. What is returned beside the releases must then agree on both sides.
"""

from __future__ import annotations

import hashlib
import itertools
import linecache
import math
import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from .programs import ROWS, Program

DELTA = 1e-5


class OtherPath(Exception):
    """The two runs did not make the same releases."""


@dataclass
class Attacker:
    """Stands in for the generator: notes releases on D, forces them on D'."""

    forced: list | None = None
    chosen: np.ndarray | None = None  # which rows coins chose
    notes: list = field(default_factory=list)
    kept: dict = field(default_factory=dict)
    draws: int = 0

    def release(self, family, value, scale, size):
        value = np.asarray(value, dtype=float)
        shape = np.broadcast_shapes(value.shape, tuple(size))
        self.notes.append((family, np.broadcast_to(value, shape), float(scale), tuple(size)))
        if self.forced is None:
            return np.broadcast_to(value, shape).copy()
        return self._same("release", shape)

    def choose(self, family, value, scale):
        self.notes.append((f"choose {family}", np.asarray(value, dtype=float), float(scale), ()))
        return 0

    def shared(self, name, value, scale):
        value = np.asarray(value, dtype=float)
        before = self.kept.setdefault(name, value)
        self.notes.append(("laplace", value, float(scale), np.shape(value)))
        # The difference of two values with the same noise is seen without any.
        self.notes.append(("plain", value - before, 0.0, ()))
        return value if self.forced is None else self._same("release", value.shape)

    def _same(self, _, shape):
        at = len(self.notes) - 1
        if at >= len(self.forced) or self.forced[at][1].shape != shape:
            raise OtherPath
        return self.forced[at][1].copy()

    def mask(self, rate, count):
        del rate
        if self.chosen is None or len(self.chosen) < count:
            raise OtherPath
        return self.chosen[:count]

    def batch(self, count, size):
        if self.chosen is None:
            raise OtherPath
        return np.flatnonzero(self.chosen[:count])[:size]


@dataclass(frozen=True)
class Loss:
    """What one pair shows: `certain` if it tells the sides apart for sure."""

    pure: float = 0.0  # of all Laplace noise and choices together
    mu: float = 0.0  # of all normal noise together
    certain: bool = False
    gaussian: bool = False
    scales: bool = False  # a scale differs: infinite at delta 0

    def epsilon(self, delta):
        """A lower bound on the pair's epsilon at `delta`."""
        if self.certain:
            return math.inf
        if delta == 0:
            return math.inf if self.mu > 0 or self.scales else self.pure
        return gaussian_epsilon(self.mu, delta)

    @property
    def rank(self):
        return (self.certain, self.scales, self.pure + 5 * self.mu)


def gaussian_epsilon(mu, delta):
    """epsilon of N(0, 1) against N(mu, 1) at delta, from the closed form of its delta."""
    if mu == 0:
        return 0.0
    if mu > 1e4 and delta < 0.4:  # delta at mu^2/2 is Phi(0) - e^(mu^2/2) Phi(-mu) > 1/2 - 1/mu
        return 0.5 * mu * mu

    def excess(epsilon):
        second = math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu))
        return norm.cdf(mu / 2 - epsilon / mu) - second - delta

    if excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
    return brentq(excess, 0.0, high, xtol=1e-12)


def compiled(source):
    """program of a source text, which can be read as that of a file can."""
    space = {"np": np}
    name = f"<program {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), space)
    return space["program"]


def run(twin, data, attacker):
    """(notes, output) or the name of what was raised."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return attacker.notes, twin(data.copy(), attacker)
        except OtherPath:
            raise
        except Exception as error:
            return attacker.notes, type(error).__name__


def loss_of(twin, first, second):
    """The loss on a pair, in the direction from `first` to `second`."""
    notes, output = run(twin, first, Attacker())
    try:
        others, seen = run(twin, second, Attacker(forced=notes))
    except OtherPath:
        return Loss(certain=True)
    if len(notes) != len(others) or not _alike(output, seen):
        return Loss(certain=True)
    return _sum(notes, others)


def _sum(notes, others):
    pure = square = 0.0
    gaussian = scales = False
    for (family, a, scale, size), (kind, b, other, _) in zip(notes, others, strict=True):
        if family != kind or a.shape != b.shape:
            return Loss(certain=True)
        with np.errstate(invalid="ignore"):
            moved = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, b - a)
        if not np.isfinite(moved).all() or (family == "plain" and not _small(moved, a)):
            return Loss(certain=True)
        if scale != other:
            scales = True
            continue
        if family.startswith("choose"):
            if not np.isfinite(a).all() or not np.isfinite(b).all():
                continue
            pure += choice_loss(family.split()[1], a / scale, b / scale)
            continue
        if family == "plain":
            continue
        if int(np.prod(size)) < moved.size:  # one draw for many: only a common shift is hidden
            if not _small(moved - moved.flat[0], a):
                return Loss(certain=True)
            moved = moved.flat[:1]
        if family == "laplace":
            pure += float(np.abs(moved).sum()) / scale
        else:
            gaussian = True
            square += float(np.square(moved).sum()) / scale**2
    return Loss(pure, math.sqrt(square), False, gaussian, scales)


def _small(moved, size):
    """Whether a difference may be rounding."""
    room = 1e-6 * (1 + np.abs(np.where(np.isfinite(size), size, 0.0)).max(initial=0.0))
    return bool((np.abs(moved) <= room).all())


def _alike(one, other):
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    if len(one) != len(other):
        return False
    for a, b in zip(one, other, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if not np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True):
            return False
    return True


def choice_loss(family, a, b):
    """max log P(k | D)/P(k | D') of an argmax under noise of scale 1."""
    if family == "gumbel":
        p, q = (v - v.max() - math.log(np.exp(v - v.max()).sum()) for v in (a, b))
        return float((p - q).max())
    p, q = (_argmax_probabilities(family, v) for v in (a, b))
    seen = p > 1e-6  # below that the grid is no proof
    return float(np.log(p[seen] / q[seen]).max()) - 1e-3 if seen.any() else 0.0


def _argmax_probabilities(family, v):
    low, high = v.min() - 30, v.max() + 40
    grid = np.linspace(low, high, 2_001)
    z = grid[:, None] - v[None, :]
    if family == "laplace":
        density = 0.5 * np.exp(-np.abs(z))
        below = np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0)), 1 - 0.5 * np.exp(-np.maximum(z, 0)))
    else:
        density = np.where(z >= 0, np.exp(-np.maximum(z, 0)), 0.0)
        below = np.where(z >= 0, 1 - np.exp(-np.maximum(z, 0)), 0.0)
    found = []
    for k in range(len(v)):
        others = np.prod(np.delete(below, k, axis=1), axis=1)
        found.append(np.trapezoid(density[:, k] * others, grid))
    return np.array(found)


# Rows that coins choose: both laws are mixtures over what the coins may say.


def sampled_delta(program, first, second, epsilon):
    """delta at `epsilon` of a program that samples rows; a lower bound by what a grid shows."""
    if epsilon > 600:
        return 0.0  # what is left of any law there is no number
    twin = compiled(program.twin)
    laws = [_mixture(program, twin, data) for data in (first, second)]
    if any(law is None for law in laws):
        return None
    (p_at, weights, family, scale), (q_at, others, _, _) = laws
    centres = np.concatenate([p_at, q_at])
    found = 0.0
    for points in (4_001, 200_001):  # a coarse look, and where it finds something a fine one
        ends = centres.min() - 12 * scale, centres.max() + 12 * scale
        grid = np.unique(np.concatenate([np.linspace(*ends, points), centres]))
        p, q = (_density(grid, at, w, family, scale) for at, w in ((p_at, weights), (q_at, others)))
        found = float(np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0.0), grid))
        if found <= DELTA:
            break
    return found


def _density(grid, centres, weights, family, scale):
    z = (grid[:, None] - centres[None, :]) / scale
    each = (
        np.exp(-np.abs(z)) / 2
        if family == "laplace"
        else np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    )
    return each @ weights / scale


def _mixture(program, twin, data):
    count = len(data)
    centres, weights, found = [], [], None
    for bits in itertools.product((False, True), repeat=count):
        chosen = np.array(bits)
        if program.latent == "batch":
            size = int(program.source.split("size=")[1].split(",")[0])
            if chosen.sum() != size:
                continue
            weight = 1 / math.comb(count, size)
        else:
            rate = float(program.source.split("x.shape[0]) < ")[1].split("\n")[0])
            weight = rate ** chosen.sum() * (1 - rate) ** (count - chosen.sum())
        notes, output = run(twin, data, Attacker(chosen=chosen))
        if isinstance(output, str) or not np.isfinite(notes[0][1]).all():
            return None
        found = notes[0]
        centres.append(float(found[1]))
        weights.append(weight)
    if found is None:
        return None
    return np.array(centres), np.array(weights), found[0], found[2]


# Pairs ---------------------------------------------------------------------------------------------

_USUAL = (-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 0.75, -0.0, 0.3)
_WILD = (1e9, -1e9, math.nan, math.inf, -math.inf, 1e308, -1e308, 1e-300, 127.0, 2.0**31)


def pairs(program: Program, adjacency, count, seed=0):
    """Neighbours: usual and wild values, crowds of equal rows, few rows and none under add-remove."""
    dice = np.random.default_rng([program.seed, seed])
    columns = program.columns
    for _ in range(count):
        rows = ROWS
        if adjacency == "add-remove":
            rows = int(dice.choice([1, 2, 3, ROWS, ROWS, 9]))
        if program.latent:
            rows = min(rows, ROWS)
        wild = dice.random() < 0.3
        first = _rows(dice, rows, columns, wild and dice.random() < 0.5)
        if dice.random() < 0.4:
            first[:] = first[0]
        if adjacency == "add-remove":
            at = int(dice.integers(rows))
            second = np.delete(first, at, axis=0)
        else:
            second = first.copy()
            second[int(dice.integers(rows))] = _rows(dice, 1, columns, wild)[0]
        yield (first, second) if dice.random() < 0.5 else (second, first)


def _rows(dice, rows, columns, wild):
    if dice.random() < 0.3:
        made = np.round(dice.normal(size=(rows, columns)) * 2, 2)
    else:
        made = dice.choice(_USUAL, size=(rows, columns))
    if wild:
        made[dice.random(made.shape) < 0.4] = dice.choice(_WILD)
    return made


def worst_pair(program: Program, adjacency, count=60):
    """(loss, pair) of the pair that shows most; a second round starts from the best of the first."""
    twin = compiled(program.twin)
    best, found = Loss(), None
    for pair in pairs(program, adjacency, count):
        loss = loss_of(twin, *pair)
        if found is None or loss.rank > best.rank:
            best, found = loss, pair
        if loss.certain:
            break
    return best, found
