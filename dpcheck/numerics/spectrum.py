"""Characteristic functions of tilted lattice losses at the frequencies of a window, errors included.

Masses m become m e^{t l - K}, K their logarithmic moment, so that the tilted sum concentrates where the
divergence is wanted (`Tilted`). Of every factor, one such law or the sum of several, modulus and angle are
kept per use, at the frequencies where the product can still matter: products of any counts near the planned
ones then cost a few operations each.

- tilting and lattice rounding: a factor (1 + rho)^n, rho a few units times (1 + |t l|) (`Product.drift`);
- sums of laws that are used a few times: non-negative products added up, so their rounding is relative and
  part of the drift too (`dpcheck.numerics.merging`);
- the transform: each coefficient errs by `transform_error` |x|_1 (`dpcheck.numerics.fourier`), or by
  `direct_error` |x|_1 where only the lowest frequencies are summed (`dpcheck.numerics.direct`); the
  heaviest mass needs no transform, with it at the origin its spectrum is constant, so |x|_1 is that of
  the others;
- powers: (|s| + e)^n <= |s|^n e^{n e/|s|}, plus the rounding of modulus, logarithm and angle
  (`Factor.spread`);
- frequencies that are left out have a product below e^-FLAT.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import mul, sub
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcheck.numerics.direct import (
    direct_cost,
    direct_error,
    heavy_frequencies,
    low_coefficients,
    low_frequencies,
    transform_cost,
    worth_looking,
)
from dpcheck.numerics.fourier import Spectrum as Coefficients
from dpcheck.numerics.fourier import forward, transform_error
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.merging import merge
from dpcheck.numerics.rounding import ELEMENTARY, LARGEST_EXPONENT, TINY, UNIT, Array, Indices
from dpcheck.numerics.series import Series, Window
from dpcheck.numerics.uses import InfiniteMass, total

# Where the product is below e^-FLAT it is left out and counted as error.
FLAT = 50.0
# Counts may be smaller than planned by this factor: then e^(-FLAT FEWER) is left out.
FEWER = 0.9


@dataclass(slots=True)
class Tilted:
    """One loss, tilted: x its masses, right within `drift` relatively; `scale` is the K taken out."""

    loss: LatticeLoss
    levels: Array
    x: Array
    scale: float
    drift: float
    moments: dict[float, tuple[float, float]] = field(default_factory=dict)

    def log_moment(self, slope: float) -> tuple[float, float]:
        """(log sum x e^{slope l}, the largest exponent in it)."""
        if slope not in self.moments:
            exponent = slope * self.levels
            top = float(exponent.max())
            value = top + math.log(float(np.sum(self.x * np.exp(exponent - top))) + TINY)
            self.moments[slope] = value, top
        return self.moments[slope]


@dataclass(slots=True)
class Factor:
    """The spectrum of a law: modulus, angle and relative error per use at the frequencies `active`.

    Its heaviest mass is at the origin, `shift` is where that is on the lattice.
    """

    shift: int
    active: Indices
    log_modulus: Array
    turn: Array
    spread: Array

    def keep(self, wanted: npt.NDArray[np.bool_]) -> None:
        """Leave out all frequencies but the wanted ones."""
        kept = wanted[self.active]
        if not kept.all():
            self.log_modulus, self.turn = self.log_modulus[kept], self.turn[kept]
            self.spread, self.active = self.spread[kept], self.active[kept]


class Product(NamedTuple):
    """The spectrum of the composed law at `active`, and the constants that belong to it.

    `sizes` are the moduli, `left_out` bounds the modulus at all other frequencies. A coefficient errs by at
    most sizes (e^spread - 1 + slip) (1 + slip), with `spread` those of the factors added up
    (`Spectrum.missed`), at most `steepness` spread (1 + slip) + slip (1 + slip) times its size: the chord of
    e^x - 1 over all spreads there are.
    """

    active: Indices
    values: Coefficients
    sizes: Array
    slip: float
    steepness: float
    left_out: float
    log_scale: float
    drift: float
    shift: int


@dataclass(frozen=True)
class Spectrum:
    """The factors of a composition at the frequencies that matter for about the planned counts.

    A factor is a law of its own or the sum of several: `members` says of which laws, and a sum has them as
    often as planned.
    """

    window: Window
    step: float
    active: Indices
    laws: tuple[Tilted, ...]
    factors: tuple[Factor, ...]
    members: tuple[tuple[int, ...], ...]
    merged_drift: float
    planned: tuple[int, ...]
    #: What a search keeps here for the next one; nothing that is proved depends on it.
    notes: dict[object, object] = field(default_factory=dict)

    @cached_property
    def series(self) -> Series:
        """The transform of the weights at these frequencies."""
        return Series(self.active, self.window, self.step)

    @cached_property
    def error_weights(self) -> Array:
        """What moduli of a product are added up with: `Series.sizes`, and these times every spread."""
        sizes = self.series.sizes
        return np.concatenate([sizes, *(sizes * factor.spread for factor in self.factors)])

    @cached_property
    def each(self) -> Each:
        """Constants of each law per use."""
        laws, losses = self.laws, [law.loss for law in self.laws]
        return Each(
            scales=[law.scale for law in laws],
            drifts=[law.drift for law in laws],
            spreads=[float(factor.spread.max(initial=UNIT)) for factor in self.factors],
            shifts=[factor.shift for factor in self.factors],
            offsets=[loss.lattice.offset for loss in losses],
            slacks=[loss.slack for loss in losses],
            firsts=[loss.first for loss in losses],
            lasts=[loss.first + len(loss.masses) - 1 for loss in losses],
            infinite=InfiniteMass(losses),
        )

    def uses(self, counts: Sequence[int]) -> list[int]:
        """How often each factor is used where the laws are used so often."""
        found = []
        for group in self.members:
            alone = len(group) == 1
            if not alone and any(counts[i] != self.planned[i] for i in group):
                raise ValueError("laws that were added up are used as often as planned.")
            found.append(counts[group[0]] if alone else 1)
        return found

    def placed(self, counts: Sequence[int]) -> Window:
        """The window at the same losses: offsets of the lattices add up to others with other counts."""
        moved = total(map(sub, counts, self.planned), self.each.offsets)
        tilt, start, size, slope_below, slope_above = self.window
        return Window(tilt, start - round(moved / self.step), size, slope_below, slope_above)

    def product(self, counts: Sequence[int]) -> Product:
        """The composed spectrum, each law so many times.

        Assumes: no count is below FEWER times the planned one.
        """
        each, uses = self.each, self.uses(counts)
        pairs = list(zip(self.factors, uses, strict=True))
        angle = _added([np.remainder(n * f.turn, 2 * np.pi) for f, n in pairs])
        drift = sum(map(mul, counts, each.drifts)) + self.merged_drift
        least = min(n / planned for n, planned in zip(counts, self.planned, strict=True))
        grown = np.exp(_added([n * f.log_modulus for f, n in pairs]))
        # Logarithms err by 10 units of themselves, at most FLAT / FEWER in all; a turn, its remainder and
        # the function of it by 32; m logarithms add up with m FLAT, m angles with 4 m^2 units.
        terms = len(self.factors)
        slip = UNIT * (FLAT + 4 * terms) * (32 + terms)
        most = min(sum(map(mul, uses, each.spreads)), LARGEST_EXPONENT)
        # Masses add up to 1 within 4 drift; 1e-9 is room for the rounding of what was compared.
        left_out = math.exp(min(-FLAT * min(least, 1.0) + 4 * drift + 1e-9, 0.0))
        return Product(
            self.active,
            grown * np.exp(1j * angle),
            grown,
            slip,
            math.expm1(most) / most,
            left_out,
            sum(map(mul, counts, each.scales)),
            drift,
            sum(map(mul, uses, each.shifts)),
        )

    def missed(self, counts: Sequence[int], product: Product) -> Array:
        """Bounds on the errors of the coefficients of a product."""
        pairs = zip(self.factors, self.uses(counts), strict=True)
        spread = np.minimum(_added([n * f.spread for f, n in pairs]), LARGEST_EXPONENT)
        return np.asarray(product.sizes * (1 + product.slip) * (np.expm1(spread) + product.slip))


class Each(NamedTuple):
    """Constants of a spectrum, a list of each: a total is their product with the counts.

    `spreads` and `shifts` are those of its factors, all others of its laws.
    """

    scales: list[float]
    drifts: list[float]
    spreads: list[float]
    shifts: list[int]
    offsets: list[float]
    slacks: list[float]
    firsts: list[int]
    lasts: list[int]
    infinite: InfiniteMass


def _added(terms: Sequence[Array]) -> Array:
    return sum(terms[1:], terms[0])


def spectrum(parts: Sequence[tuple[LatticeLoss, int]], window: Window) -> Spectrum | None:
    """The spectrum of a composition; None where some loss has no finite part at all."""
    tilted = [_tilted(loss, window.tilt) for loss, _ in parts]
    laws = [law for law in tilted if law is not None]
    counts = [count for _, count in parts]
    if len(laws) < len(parts):
        return None
    found = [(law.x, law.loss.first) for law in laws]
    few = _few_frequencies([(x, n) for (x, _), n in zip(found, counts, strict=True)], window.size)
    merged = merge(found, counts, window.size if few is None else few)
    if few is None and len(merged) > 1:  # the widest first: it leaves the others few frequencies
        merged.sort(key=lambda one: (-one.count * _variance(one.x), one.members))
    active: Indices | None = None if few is None else np.arange(few)
    upper = np.zeros(0 if few is None else few)
    factors = []
    for one in merged:
        count, heaviest = one.count, int(np.argmax(one.x))
        coefficients, error = _coefficients(one.x, heaviest, window.size, few)
        if active is None:
            # Where one factor is below e^-FLAT the product is: nothing there is worth computing.
            least = max(math.exp(-FLAT / count) - 2 * error, 0.0)
            squares = coefficients.real**2 + coefficients.imag**2
            active = np.flatnonzero(squares > least**2)
            upper = np.zeros(len(active))
        coefficients = coefficients[active]
        modulus = np.maximum(np.abs(coefficients), max(error, 1e-300))
        log_modulus, turn = np.log(modulus), np.angle(coefficients)
        # The transform: a modulus raised to `error` is off by 2 error, and 1 + 2 < e^1.1. Then the sum (1),
        # modulus (8), and per radian the angle (8), its product (1) and 2 pi (0.35).
        spread = 1.1 * error / modulus + UNIT * (10 + 10 * np.abs(turn))
        factors.append(Factor(one.first + heaviest, active, log_modulus, turn, spread))
        # |product| <= e^upper: the other factors are at most 1 but for their drift.
        upper = upper + count * (log_modulus + spread)
        kept = upper > -FLAT
        if not kept.all():
            active, upper = active[kept], upper[kept]
        # Cutting all factors every time would take longer than the transforms, at the end much memory.
        if 2 * len(active) < len(factors[0].active):
            _keep(factors, active, window.size)
    assert active is not None
    _keep(factors, active, window.size)
    return Spectrum(
        window,
        parts[0][0].lattice.step,
        active,
        tuple(laws),
        tuple(factors),
        tuple(one.members for one in merged),
        sum(one.drift for one in merged),
        tuple(counts),
    )


def _variance(x: Array) -> float:
    at = np.arange(len(x))
    mean = float(x @ at)
    return float(x @ (at - mean) ** 2)


def _keep(factors: Sequence[Factor], active: Indices, size: int) -> None:
    wanted = np.zeros(size // 2 + 1, dtype=bool)
    wanted[active] = True
    for factor in factors:
        factor.keep(wanted)


def _few_frequencies(laws: Sequence[tuple[Array, int]], size: int) -> int | None:
    """The number of lowest frequencies that are worth summing directly; None: transform all of them."""
    lengths = [len(x) for x, _ in laws]
    if not worth_looking(lengths, size):
        return None
    for look in (heavy_frequencies, low_frequencies):
        few = look(laws, size, FLAT)
        if few is not None and direct_cost(lengths, few) < transform_cost(lengths, size):
            return few
    return None


def _coefficients(
    x: Array, heaviest: int, size: int, few: int | None
) -> tuple[Coefficients, float]:
    """The spectrum of a law with its heaviest mass at the origin, and a bound on its error."""
    others = x.copy()
    others[heaviest] = 0.0
    total = float(np.sum(others))
    if few is None:
        found = forward(_wrapped(others, -heaviest, size))
        error = transform_error(size) * total
    else:
        found = low_coefficients(others, heaviest, size, few)
        error = direct_error(len(others)) * total
    found += x[heaviest]
    return found, error


def _tilted(loss: LatticeLoss, tilt: float) -> Tilted | None:
    """The masses tilted and normalised; the normalisation is exact up to `drift`."""
    levels = loss.levels
    exponent = np.where(loss.masses > 0, tilt * levels, -math.inf)
    top = float(exponent.max())
    if not math.isfinite(top):
        return None
    scale = top + math.log(float(np.sum(loss.masses * np.exp(exponent - top))))
    power = exponent - scale
    if (
        power.max() > 700.0
    ):  # of a mass near the smallest float: in two steps, neither of which overflows
        half = np.exp(power / 2)
        x = loss.masses * half * half
    else:
        x = loss.masses * np.exp(power)
    largest = abs(tilt) * float(np.abs(levels).max())
    # Level, product with t and difference: 4 |t l| + t h + |scale| units; e^x twice and two products.
    drift = 3 * ELEMENTARY + 6 * UNIT * (largest + abs(scale))
    return Tilted(loss, levels, x, scale, drift)


def _wrapped(x: Array, first: int, size: int) -> Array:
    """`x` laid on a circle of `size` points, starting at `first`."""
    start = first % size
    circle = np.zeros(size)
    if start + len(x) <= size:
        circle[start : start + len(x)] = x
        return circle
    if len(x) <= size:
        circle[start:] = x[: size - start]
        circle[: len(x) - (size - start)] = x[size - start :]
        return circle
    folded = np.bincount((start + np.arange(len(x))) % size, weights=x, minlength=size)
    return np.asarray(folded, dtype=np.float64)


def tail(laws: Sequence[Tilted], counts: Sequence[int], slope: float, edge: float) -> float:
    """Chernoff: the tilted mass of sums on the far side of `edge` as seen by the sign of `slope`."""
    total, size = -slope * edge, abs(slope * edge)
    for law, count in zip(laws, counts, strict=True):
        moment, top = law.log_moment(slope)
        term = count * moment
        total += term
        # 128 units a use: a pairwise sum of masses needs 64, the functions in it 20.
        size += abs(term) + count * (8.0 + abs(top))
    units = 2 * ELEMENTARY + 2 * UNIT * len(laws)
    return math.exp(min(total + units * size, 0.0))
