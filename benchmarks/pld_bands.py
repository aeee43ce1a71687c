"""Bands of `dpcheck pld` on laws that are known: how often they cover, how wide they are, what they see.

    python benchmarks/pld_bands.py [--trials 200]

Three mechanisms with exact curves: spherical noise, whose tail is drawn tilted, and Laplace and Gaussian
noise, whose runs are plain. A trial misses if the exact curve leaves its band anywhere, at any of two dozen
epsilons, in either direction.
"""

from __future__ import annotations

import argparse
import datetime
import math
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from dpcheck.accounting.losses import SphericalLoss
from dpcheck.accounting.pld.pairs.spherical import deltas
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.plan import NoiseShift, PartPlan
from dpcheck.auditing.pld.measure import OTHER_NOISE, measure
from dpcheck.core.evidence import LossCurve
from dpcheck.execution.runner import Runner
from dpcheck.mechanisms.output.noise import spherical_noise
from dpcheck.session.claims import read_claim

WIDTH = 40
CONFIDENCES = (0.8, 0.999)


@dataclass(frozen=True)
class Law:
    """A mechanism that adds noise to data[0], and its exact curve."""

    name: str
    shift: float
    draw: Callable[[int, np.random.Generator], np.ndarray]
    log_density: Callable[[np.ndarray], np.ndarray]
    exact: Callable[[float], tuple[float, float]]
    width: int = 1
    tilted: bool = False

    def plan(self, shrunk: float = 1.0) -> PartPlan:
        """The plan of an audit, the noise drawn `shrunk` times as long as it is described."""

        def run(data, size, rng):
            noise = shrunk * self.draw(size, rng)
            noise[:, 0] += data[0]
            return noise

        def log_density(data, outputs):
            moved = np.array(outputs, dtype=float)
            moved[:, 0] -= data[0]
            return self.log_density(moved)

        axis = np.eye(self.width)[0]
        return PartPlan(
            self.name,
            "as given",
            read_claim(self.shift, "replace-one", "a benchmark"),
            Mechanism(run, True, None, log_density),
            [Pair([self.shift], [0.0], "moved")],
            shifts=(
                lambda _, backwards: [NoiseShift(WIDTH, -axis if backwards else axis, self.shift)]
            )
            if self.tilted
            else None,
        )


def _spherical(epsilon: float) -> tuple[float, float]:
    low, high = deltas(SphericalLoss(5.0, WIDTH), np.array([epsilon]))
    return float(low[0]), float(high[0])


def _laplace(epsilon: float) -> tuple[float, float]:
    exact = max(0.0, -math.expm1((epsilon - 1.0) / 2))
    return exact, exact


def _gaussian(epsilon: float) -> tuple[float, float]:
    exact = norm.cdf(0.5 - epsilon) - math.exp(epsilon) * norm.cdf(-0.5 - epsilon)
    return float(exact), float(exact)


LAWS = (
    Law(
        f"spherical, d = {WIDTH}, tilted",
        5.0,
        lambda size, rng: spherical_noise(1.0, WIDTH, size, rng),
        lambda moved: -np.linalg.norm(moved, axis=1),
        _spherical,
        WIDTH,
        tilted=True,
    ),
    Law(
        "Laplace, epsilon 1",
        1.0,
        lambda size, rng: rng.laplace(size=(size, 1)),
        lambda moved: -np.abs(moved[:, 0]),
        _laplace,
    ),
    Law(
        "Gaussian, mu 1",
        1.0,
        lambda size, rng: rng.normal(size=(size, 1)),
        lambda moved: -0.5 * moved[:, 0] ** 2,
        _gaussian,
    ),
)


def curves(law: Law, runs: int, alpha: float, seed: int, shrunk: float = 1.0) -> list[LossCurve]:
    """Both directions; all their bands hold together with probability 1 - alpha."""
    return measure(law.plan(shrunk), runs, alpha, Runner(seed=seed))


def outside(law: Law, found: LossCurve) -> bool:
    """Whether the exact curve leaves the band anywhere."""
    for point in found.curve:
        low, high = law.exact(point.epsilon)
        if point.observed[0] > high * (1 + 1e-9) + 1e-15:
            return True
        if point.observed[1] < low * (1 - 1e-9) - 1e-15:
            return True
    return False


def coverage(trials: int, runs: int) -> None:
    """Trials of which neither direction's band misses."""
    print("| law | " + " | ".join(f"covered at {c:g}" for c in CONFIDENCES) + " |")
    print("|---|" + "---|" * len(CONFIDENCES))
    for law in LAWS:
        cells = []
        for confidence in CONFIDENCES:
            missed = sum(
                any(outside(law, one) for one in curves(law, runs, 1 - confidence, seed))
                for seed in range(trials)
            )
            cells.append(f"{trials - missed} of {trials}")
        print(f"| {law.name} | " + " | ".join(cells) + " |", flush=True)


def widths(runs: int) -> None:
    """Relative half-widths of the default command."""
    print(f"\nHalf-width of the band at confidence 0.999, {runs:,} runs:\n")
    print("| law | delta 1e-2 | delta 1e-4 | delta 1e-6 |\n|---|---|---|---|")
    for law in LAWS:
        found = curves(law, runs, 1e-3, 0)[0].widths()
        cells = [f"{found[at]:.1%}" if at in found else "" for at in (1e-2, 1e-4, 1e-6)]
        print(f"| {law.name} | " + " | ".join(cells) + " |", flush=True)


def planted(trials: int) -> None:
    """Noise 5% too small or too large, drawn by code that describes it as it should be."""
    print("\nNoise 5% off, told at confidence 0.999 (spherical noise):\n")
    print("| runs | 0.95 times as long | 1.05 times as long |\n|---|---|---|")
    law = LAWS[0]
    for runs in (10_000, 40_000):
        cells = []
        for shrunk in (0.95, 1.05):
            seen = sum(
                any(
                    outside(law, one) or OTHER_NOISE in one.notes
                    for one in curves(law, runs, 1e-3, seed, shrunk)
                )
                for seed in range(trials)
            )
            cells.append(f"{seen} of {trials}")
        print(f"| {runs:,} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--runs", type=int, default=300, help="Runs of a trial of coverage.")
    parser.add_argument("--planted", type=int, default=10)
    chosen = parser.parse_args()
    started = time.process_time()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    print(f"{today}, {platform.machine()}, Python {platform.python_version()}, seeds from 0\n")
    coverage(chosen.trials, chosen.runs)
    widths(10_000)
    planted(chosen.planted)
    print(f"\n{time.process_time() - started:.0f} CPU seconds")


if __name__ == "__main__":
    main()
