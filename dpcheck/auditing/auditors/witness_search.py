"""Searching for the pair and the output at which an exact loss is largest.

The search sees a loss and a domain, no recipe: where rows live, which rows may repeat, whether a
public centre is free. One record changes; all other rows are alike. Many random starts, then
Nelder-Mead from the best of each kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.auditing.auditors.interface import Finding
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.plan import PartPlan, ShowsItsPair
from dpcheck.core.audit_result import Observed
from dpcheck.core.evidence import Spent
from dpcheck.core.method import Method
from dpcheck.core.witness import Witness
from dpcheck.execution.runner import Runner

Vector = tuple[float, ...]
KINDS = ("zero", "replaced", "changed", "free")  # what all the other rows are


@dataclass(frozen=True, slots=True)
class PairPoint:
    """D has `changed`, D' has `replaced` in its place; every other row is `background`.

    Rows are times their label, so flipping a label is changing a sign. `center` is the public
    centre of the regulariser, 0 where it is not free.
    """

    changed: Vector
    replaced: Vector
    background: Vector
    output: Vector
    center: Vector


Loss = Callable[[PairPoint], float]


@dataclass(frozen=True, slots=True)
class PlaneDomain:
    """Rows in a ball of radius `norm_bound` in 1 or 2 dimensions, and what else may be chosen.

    Two dimensions hold the two rows that differ and nothing is gained by more. A free centre is
    searched relative to the output, in units of `center_unit`.
    """

    norm_bound: float = 1.0
    dimensions: int = 2
    free_center: bool = False
    center_unit: float = 1.0

    def size(self, kind: str) -> int:
        """How many numbers describe a point."""
        vectors = 3 + self.free_center + (kind == "free")
        return vectors * self.dimensions

    def start(self, kind: str, rng: np.random.Generator) -> np.ndarray:
        """A random point."""
        point = rng.normal(size=self.size(kind))
        d = self.dimensions
        point[2 * d : 3 * d] = rng.uniform(-_REACH, _REACH, d)
        return point

    def decode(self, point: np.ndarray, kind: str) -> PairPoint:
        """The pair and output a vector of numbers stands for."""
        d = self.dimensions
        changed = self._inside(point[:d])
        replaced = self._inside(point[d : 2 * d])
        output = _spread(point[2 * d : 3 * d])
        at = 3 * d
        center: Vector = (0.0,) * d
        if self.free_center:
            moved = _spread(point[at : at + d])
            center = tuple(w + self.center_unit * v for w, v in zip(output, moved, strict=True))
            at += d
        others = {"zero": (0.0,) * d, "replaced": replaced, "changed": changed}
        background = others[kind] if kind in others else self._inside(point[at : at + d])
        return PairPoint(changed, replaced, background, output, center)

    def _inside(self, row: np.ndarray) -> Vector:
        length = math.sqrt(float(row @ row))
        # A hair inside, so that a rounded row never leaves the ball.
        limit = self.norm_bound * (1 - 1e-12)
        factor = limit / length if length > limit else 1.0
        return tuple(float(v) * factor for v in row)


_REACH = 9.0  # outputs up to sinh(9), about 4000


def _spread(point: np.ndarray) -> Vector:
    """Outputs on all scales from 0.1 to thousands."""
    return tuple(math.sinh(min(_REACH, max(-_REACH, float(v)))) for v in point)


def search(
    loss: Loss, domain: PlaneDomain, seed: np.random.SeedSequence, *, starts: int = 1500
) -> PairPoint:
    """The point with the largest loss that was found.

    Guarantee: none beyond that it is a real point of the domain; its loss is what it is.
    """
    rng = np.random.default_rng(seed)
    pool: list[_Rated] = []
    for kind in KINDS:
        points = [domain.start(kind, rng) for _ in range(starts)]
        rated = [(loss(domain.decode(point, kind)), kind, point) for point in points]
        rated.sort(key=lambda item: -item[0])
        pool += [_refine(loss, domain, item, 500) for item in rated[:5]]
    pool.sort(key=lambda item: -item[0])
    best = pool[0]
    for item in pool[:2]:
        for _ in range(3):  # restarts rebuild a collapsed simplex
            item = _refine(loss, domain, item, 2500)
        best = max(best, item, key=lambda found: found[0])
    return domain.decode(best[2], best[1])


_Rated = tuple[float, str, np.ndarray]


def _refine(loss: Loss, domain: PlaneDomain, start: _Rated, evaluations: int) -> _Rated:
    from scipy.optimize import minimize  # takes half a second to import

    _, kind, point = start
    result: Any = minimize(
        lambda p: -loss(domain.decode(p, kind)),
        point,
        method="Nelder-Mead",
        options={"maxfev": evaluations, "xatol": 1e-9, "fatol": 1e-10, "adaptive": True},
    )
    return -float(result.fun), kind, result.x


def shrink(point: PairPoint, keeps: Callable[[PairPoint], bool]) -> PairPoint:
    """The simplest point that still `keeps` the finding: fewer rows but 0, rounder numbers.

    Greedy and deterministic; the result keeps the finding, or is `point` itself.
    """
    if not keeps(point):
        return point
    for simpler in _simpler(point):
        if keeps(simpler):
            point = simpler
    for name in ("output", "center", "changed", "replaced", "background"):
        point = _rounder(point, name, keeps)
    return point


def _simpler(point: PairPoint) -> Iterator[PairPoint]:
    zero = (0.0,) * len(point.background)
    yield replace(point, background=zero)
    yield replace(point, replaced=zero)
    yield replace(point, center=zero)
    yield replace(point, replaced=tuple(-v for v in point.changed))


def _rounder(point: PairPoint, name: str, keeps: Callable[[PairPoint], bool]) -> PairPoint:
    values = list(getattr(point, name))
    for index, value in enumerate(values):
        for digits in range(1, 8):
            short = float(f"{value:.{digits - 1}e}")
            candidates = [short] if digits > 1 else [0.0, short]
            for candidate in candidates:
                changed = replace(
                    point, **{name: (*values[:index], candidate, *values[index + 1 :])}
                )
                if keeps(changed):
                    point, values = changed, list(getattr(changed, name))
                    break
            else:
                continue
            break
    return point


@dataclass(frozen=True, slots=True)
class WitnessSearch:
    """The auditor of exact losses: a proof, so it needs no share of the error rate."""

    fraction: float = 0.0

    def applies(self, plan: PartPlan, before: Sequence[Finding]) -> bool:  # noqa: ARG002 - interface
        """Where a search proves something at the very delta of the claim."""
        return is_searched(plan)

    def run(self, plan: PartPlan, alpha: float, runner: Runner) -> Finding:  # noqa: ARG002 - interface
        """The largest certified loss that was found.

        An exact loss has no statistical error: anything above the claim would have been seen,
        unless the code's noise is not the formula's.
        """
        assert plan.search is not None
        runner.progress.stage(f"{runner.prefix}: searching a witness")
        epsilon, witness = plan.search.find(runner)
        method = Method.EXACT_WITNESS if plan.tested.delta == 0 else Method.CERTIFIED_PAIR
        reach = plan.search.detectable
        reach = plan.tested.epsilon if reach is None else reach
        return Finding(
            Spent(method, 0.0, (), "certified arithmetic: a proof, not a test"),
            Observed(epsilon, plan.tested.delta, 1.0, method, 0, reach),
            witness,
            drawn=_drawn(plan, witness),
        )


def _drawn(plan: PartPlan, witness: Witness) -> tuple[Mechanism, Pair] | None:
    """The witness's own pair, so that pictures and verdict speak of the same data."""
    if plan.mechanism is None or not isinstance(plan.search, ShowsItsPair):
        return None
    model, pair = plan.search.shown(witness)
    mechanism = replace(
        plan.mechanism, function=model.sample_releases, log_density=model.log_density
    )
    return mechanism, pair


def is_searched(plan: PartPlan) -> bool:
    """Whether a search of exact losses answers the plan's claim."""
    return (
        plan.search is not None
        and plan.tested.lines is None
        and plan.search.delta == plan.tested.delta
    )
