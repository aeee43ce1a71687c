"""Lattice measures lie on their side of the curve they stand for, at every y."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcheck.accounting.pld.pairs.atomic import AtomicPair
from dpcheck.accounting.pld.pairs.atoms import Atoms, common_span
from dpcheck.accounting.pld.pairs.mixtures import LaplacePair, Mixture, NormalPair
from dpcheck.numerics.lattice import Lattice, LatticeLoss, pool


def _curve(p: np.ndarray, q: np.ndarray, y: Fraction) -> Fraction:
    """sum (p - y q)+ exactly."""
    pairs = zip(p.tolist(), q.tolist(), strict=True)
    return sum((max(Fraction(a) - y * Fraction(b), Fraction(0)) for a, b in pairs), Fraction(0))


def _lattice_curve(loss: LatticeLoss, y: float) -> float:
    levels = loss.levels - loss.slack
    return (
        float(np.sum(loss.masses * np.maximum(-np.expm1(np.log(y) - levels), 0.0))) + loss.infinite
    )


@pytest.mark.parametrize("seed", range(6))
def test_tables_are_bounded_on_both_sides(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7))
    pair = AtomicPair(Atoms(p, q, 4 * 2.0**-53))
    losses = np.log(p / q)
    for step in (0.5, 0.01):
        upper = pair.upper(step, float(losses.min()), float(losses.max()))
        lower = pair.lower(step, float(losses.min()), float(losses.max()))
        assert (upper.masses >= 0).all()
        assert (lower.masses >= 0).all()
        for y in np.exp(rng.uniform(losses.min() - 1, losses.max() + 0.1, 200)).tolist():
            true = float(_curve(p, q, Fraction(y)))
            assert _lattice_curve(lower, y) <= true + 1e-14
            assert _lattice_curve(upper, y) >= true - 1e-14
            # Neither is trivial: the step times the largest slope bounds what is lost.
            assert _lattice_curve(upper, y) - _lattice_curve(lower, y) <= 2 * step


@pytest.mark.parametrize(
    "pair",
    [
        NormalPair(Mixture((1.0,), (0.01,)), Mixture()),
        NormalPair(Mixture(), Mixture((-1.0,), (0.01,))),
        NormalPair(Mixture((2.0,), (1e-6,)), Mixture()),
        NormalPair(Mixture((0.5, 1.5), (0.1, 0.05)), Mixture()),
        NormalPair(Mixture((0.5,), (0.1,)), Mixture((-0.5,), (0.1,))),
        LaplacePair(Mixture((0.7,), (1.0,)), Mixture()),
        LaplacePair(Mixture((0.7,), (0.2,)), Mixture()),
        LaplacePair(Mixture(), Mixture((-0.7,), (0.2,))),
    ],
)
def test_smooth_pairs_are_bounded_and_nearly_mean_preserving(pair) -> None:
    losses, logs = pair.nodes()
    spread = float(np.sqrt(np.exp(logs) @ (losses - pair.anchor) ** 2))
    step = spread / 8 if pair.span is None else pair.span / 64
    tail = np.exp(np.logaddexp.accumulate(logs[::-1])[::-1])
    low = (
        losses[np.exp(np.logaddexp.accumulate(logs)) > 1e-15][0]
        if pair.span is None
        else losses.min()
    )
    high = pair.top if np.isfinite(pair.top) else losses[tail > 1e-11][-1]
    upper, lower = pair.upper(step, low, high), pair.lower(step, low, high)
    grid = np.linspace(max(low, -20 * spread), min(high, 20 * spread), 101)
    # The true curve by the best threshold: any threshold gives a value below F, the best gives F.
    cuts = np.linspace(*np.clip(pair.ends, -12.0, 14.0), 200_001)
    p, _, q, _ = pair.masses(np.append(cuts, np.inf))
    atom = pair.atoms.p[1] if len(pair.atoms.p) else 0.0
    atom_q = pair.atoms.q[1] if len(pair.atoms.p) else 0.0
    if len(pair.atoms.p):
        p, q = p[:-1], q[:-1]
    a = np.cumsum(p[::-1])[::-1] + atom
    b = np.cumsum(q[::-1])[::-1] + atom_q
    for level in grid.tolist():
        y = float(np.exp(level))
        true = float(np.max(np.append(a - y * b, [atom - y * atom_q, 1 - y, 0.0])))
        assert _lattice_curve(upper, y) >= true - 1e-13
        assert _lattice_curve(lower, y) <= true + 1e-6 * spread
    # Both keep the Q-mass (their mean likelihood ratio) but for what is cut off.
    assert float(np.sum(upper.masses * np.exp(-upper.levels))) == pytest.approx(1, abs=1e-6)
    assert float(np.sum(lower.masses * np.exp(-lower.levels))) == pytest.approx(1, abs=1e-6)
    assert float(np.sum(lower.masses)) <= 1


def test_pool_drops_what_it_cannot_place_and_keeps_the_rest() -> None:
    lattice = Lattice(0.1)
    lonely = pool(lattice, np.array([1.0]), np.array([np.exp(-0.35)]), (0, 10), 0.0, 0.0)
    # One atom between two points and no help: moved down to the lower one.
    assert lonely.levels[lonely.masses > 0] == pytest.approx([0.3])
    assert float(lonely.masses.sum()) == pytest.approx(1.0)


def _table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Masses of a few outcomes, some crowded and some far apart, heavy and faint ones."""
    count = int(rng.integers(1, 12))
    q = rng.dirichlet(np.full(count, rng.choice([0.2, 1.0, 20.0]))) + 1e-12
    return q * np.exp(rng.normal(0.0, rng.choice([0.01, 0.1, 1.0, 3.0]), count)), q


def _surely_below(loss: LatticeLoss, p: np.ndarray, q: np.ndarray) -> bool:
    """Whether the lattice curve is nowhere above sum (p - y q)+, in 50 digits.

    The one is convex and the other linear between its kinks p/q, so these, 0 and far right decide.
    """
    assert (loss.masses >= 0).all()
    with mpmath.workdps(50):
        at = np.flatnonzero(loss.masses)
        step, offset = mpmath.mpf(loss.lattice.step), mpmath.mpf(loss.lattice.offset)
        ratios = [mpmath.exp(-offset - (loss.first + int(k)) * step) for k in at]
        masses = [mpmath.mpf(m) for m in loss.masses[at].tolist()]
        more, less = ([mpmath.mpf(x) for x in table.tolist()] for table in (p, q))
        for y in [mpmath.mpf(0), *(a / b for a, b in zip(more, less, strict=True))]:
            true = sum(max(a - y * b, 0) for a, b in zip(more, less, strict=True))
            if sum(m * max(1 - y * r, 0) for m, r in zip(masses, ratios, strict=True)) > true:
                return False
        top = max(a / b for a, b in zip(more, less, strict=True))
        return all(top * r >= 1 for r in ratios)


@pytest.mark.parametrize("seed", range(30))
def test_a_pool_is_nowhere_above_its_table(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(5):
        p, q = _table(rng)
        losses = np.log(p / q)
        anchor = float(losses[int(np.argmax(p))]) if rng.random() < 0.5 else 0.0
        step = float(10 ** rng.uniform(-2.5, 0.3)) * max(float(np.std(losses)), 0.05)
        lattice = Lattice(step, anchor)
        span = lattice.below(float(losses.min())) - 1, lattice.below(float(losses.max())) + 1
        assert _surely_below(pool(lattice, p, q, span, 0.0, 0.0), p, q)
        cut = span[0], max(span[0], span[1] - int(rng.integers(0, 4)))
        assert _surely_below(pool(lattice, p, q, cut, 0.0, 0.0), p, q)


def test_a_table_on_the_wrong_side_is_found() -> None:
    lattice = Lattice(0.1)
    raised = LatticeLoss(lattice, 4, np.array([1.0]))
    p, q = np.array([1.0]), np.array([np.exp(-0.35)])
    assert not _surely_below(raised, p, q)


@pytest.mark.parametrize("step", [0.03, 0.01, 0.003])
def test_outcomes_far_apart_help_each_other(step: float) -> None:
    # Ratios 0.25 apart, none but the middle one on the lattice: each is moved by about a quarter of a step,
    # and what it loses its neighbour gains, so the mean ratio stays and the lost divergence is of the order
    # of step times distance; moving all of them down would lose a whole step of Q-mass.
    levels = np.array([-0.52, -0.249, 0.0, 0.2471, 0.5133])
    q = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    p = q * np.exp(levels)
    found = pool(Lattice(step), p, q, (-1000, 1000), 0.0, 0.0)
    assert float(np.sum(found.masses)) == pytest.approx(float(p.sum()), rel=1e-9)
    assert float(found.masses @ np.exp(-found.levels)) == pytest.approx(1.0, rel=1e-9)
    for y in np.exp(levels).tolist():
        true = float(np.sum(np.maximum(p - y * q, 0.0)))
        assert 0.0 <= true - _lattice_curve(found, y) + 1e-15 <= 0.1 * step


def test_common_span() -> None:
    assert common_span(np.array([-1.0, 3.0])) == pytest.approx(4.0)
    assert common_span(np.log([0.5, 1.0, 4.0])) == pytest.approx(np.log(2))
    assert common_span(np.array([0.0, 1.0, np.sqrt(2.0)])) is None
