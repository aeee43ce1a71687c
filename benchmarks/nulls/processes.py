"""A million e-processes for every path a conviction may take, from laws on the edge of the claim.

    python benchmarks/nulls/processes.py --processes 1000000      # continues results/null_processes.jsonl
    python benchmarks/nulls/processes.py --summary

A path is one of the tests a verdict may rest on. Each process is looked at after every run, and counts as a
false alarm if its e-value ever reaches 1/alpha. The laws keep the claim exactly, where Ville's inequality is
nearly an equality. The paths with a fixed number of runs count p-values below alpha. `limit` is the one-sided
99.9% upper limit of the rate; a path fails where the lower limit is above alpha.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import zlib
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammainc, gammaincc

from dpcheck.auditing.statistics.game import exact_p_value
from dpcheck.auditing.statistics.guesses import Guesses, p_value
from dpcheck.auditing.statistics.sequential import (
    Bet,
    Counts,
    average_log_e,
    log_e_approximate,
    log_e_pure,
)
from dpcheck.replay.coin_game import log_bet

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from records import append, missing, read, stamp  # noqa: E402

FILE = "null_processes.jsonl"
Array = NDArray[np.float64]
# The log of the largest e-value, or of 1/p, of so many processes.
Test = Callable[[int, np.random.Generator], Array]
_BLOCK = 50_000
ALPHAS = (0.05, 0.001)
_STEPS = 150


def by_table(value: Callable[[int, int], float], rates: Callable[..., tuple]) -> Test:
    """Processes whose e-value depends on two counts: it is tabulated, and looked up after every step."""

    def largest(processes: int, rng: np.random.Generator) -> Array:
        grid = _grid(value)
        first, second = (np.zeros(processes, int) for _ in range(2))
        best = np.full(processes, -np.inf)
        for _ in range(_STEPS):
            one, two = rates(processes, rng)
            first += one
            second += two
            best = np.maximum(best, grid[first, second])
        return best

    return largest


@lru_cache(maxsize=1)
def _grid(value: Callable[[int, int], float]) -> NDArray[np.float64]:
    side = range(_STEPS + 1)
    return np.array([[value(a, b) for b in side] for a in side])


def runs(p: float, q: float) -> Callable[..., tuple]:
    """One run a side: is it in the output set?"""
    return lambda size, rng: (rng.random(size) < p, rng.random(size) < q)


def guesses(right: float, wrong: float) -> Callable[..., tuple]:
    """One call and one guess: right, wrong or passed."""

    def rates(size, rng):
        u = rng.random(size)
        return u < right, (u >= right) & (u < right + wrong)

    return rates


def by_four_counts(p: float, q: float, epsilon: float, delta: float, half: bool = False) -> Test:
    """Run pairs against (epsilon, delta); the betting martingale is a product, step by step.

    With `half` it is the mean of two processes, as for events hit about half the time.
    """

    def largest(processes: int, rng: np.random.Generator) -> Array:
        counts, side = np.zeros((4, processes), int), _STEPS + 1
        best = np.full(processes, -np.inf)
        for _ in range(_STEPS):
            a, b = rng.random(processes) < p, rng.random(processes) < q
            for row, hit in enumerate((a & b, a & ~b, ~a & b, ~a & ~b)):
                counts[row] += hit
            codes = counts[0] + side * (counts[1] + side * (counts[2] + side * counts[3]))
            _, places, where = np.unique(codes, return_index=True, return_inverse=True)
            logs = [_four(counts[:, place], epsilon, delta, half) for place in places]
            best = np.maximum(best, np.array(logs)[where])
        return best

    return largest


def _four(counts: NDArray[np.int64], epsilon: float, delta: float, half: bool) -> float:
    both = Counts(*map(int, counts))
    if half:
        return average_log_e([both], epsilon, delta, [Bet(by_pairs=True)])
    return log_e_approximate(both, epsilon, delta)


def averaged(epsilon: float) -> Test:
    """Three events, two of them the same runs: the mean of their e-values, with unequal stakes."""
    bets = [Bet(0.5), Bet(0.3, 20.0, 5.0), Bet(0.2)]
    q = (0.05, 0.2, 0.01)
    grids = [
        np.array(
            [
                [log_e_pure(a, b, epsilon, bet) + math.log(bet.share) for b in range(_STEPS + 1)]
                for a in range(_STEPS + 1)
            ]
        )
        for bet in bets
    ]

    def largest(processes: int, rng: np.random.Generator) -> Array:
        hits = np.zeros((3, 2, processes), int)
        best = np.full(processes, -np.inf)
        for _ in range(_STEPS):
            u, v = rng.random(processes), rng.random(processes)
            for row, rate in enumerate(q):
                hits[row, 0] += u < math.exp(epsilon) * rate
                hits[row, 1] += v < rate
            logs = np.array([g[one, two] for g, (one, two) in zip(grids, hits, strict=True)])
            best = np.maximum(best, np.logaddexp.reduce(logs))
        return best

    return largest


def binomially(right: Callable[[int], float], calls: int, rate: float) -> Test:
    """A test of a fixed number of guesses: p-values by how many were right."""

    def largest(processes: int, rng: np.random.Generator) -> Array:
        logs = np.array([-math.log(right(k)) for k in range(calls + 1)])
        return logs[rng.binomial(calls, rate, processes)]

    return largest


def noise_scale(processes: int, rng: np.random.Generator) -> Array:
    """The two-sided test that the sum of 200 pivots is Gamma(200)."""
    total = rng.gamma(200.0, size=processes)
    return -np.log(2 * np.minimum(gammainc(200.0, total), gammaincc(200.0, total)))


E1 = math.e / (1 + math.e)
LEAK = (math.e + 0.1) / (1 + math.e)  # right guesses that (1, 0.1) allows
PATHS: dict[str, Test] = {
    "events, rare": by_table(partial(log_e_pure, epsilon=1.0), runs(0.05 * math.e, 0.05)),
    "events, common": by_table(partial(log_e_pure, epsilon=1.0), runs(E1, 1 - E1)),
    "events, epsilon 0.1": by_table(
        partial(log_e_pure, epsilon=0.1), runs(0.5 * math.exp(0.1), 0.5)
    ),
    "events, guessed rate": by_table(
        lambda a, b: log_e_pure(a, b, 1.0, Bet(1.0, 30.0, 3.0)), runs(0.1 * math.e, 0.1)
    ),
    "guessing game": by_table(partial(log_e_pure, epsilon=1.0), guesses(E1, 1 - E1)),
    "guessing game, passes": by_table(partial(log_e_pure, epsilon=1.0), guesses(0.2 * math.e, 0.2)),
    "named event": by_table(partial(log_bet, epsilon=1.0, delta=0.0), guesses(E1, 1 - E1)),
    "named event, delta": by_table(
        partial(log_bet, epsilon=1.0, delta=0.1), guesses(LEAK, 1 - LEAK)
    ),
    "readable event": binomially(lambda k: exact_p_value(k, 100 - k, 100, 1.0), 100, E1),
    "one run": binomially(lambda k: p_value(Guesses(400, 100, k), 1.0), 100, E1),
    "noise scale": noise_scale,
    # Slow ones, which count four things or three events:
    "events, averaged": averaged(1.0),
    "events, delta 0.1": by_four_counts(0.1 * math.e + 0.1, 0.1, 1.0, 0.1),
    "events, delta alone": by_four_counts(0.1, 0.0, 1.0, 0.1),
    "events, by pairs": by_four_counts(0.5 * math.exp(0.1), 0.5, 0.1, 0.0, half=True),
}


def limits(alarms: int, number: int) -> tuple[float, float]:
    """The 99.9% limits of a rate, each by itself."""
    low = float(betaincinv(alarms, number - alarms + 1, 1e-3)) if alarms else 0.0
    return low, float(betaincinv(alarms + 1, number - alarms, 1 - 1e-3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=1_000_000)
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    wanted = [(name, block) for name in PATHS for block in range(-(-options.processes // _BLOCK))]
    if not options.summary:
        for name, block in missing(FILE, wanted, ("path", "block")):
            began = time.process_time()
            seed = np.random.SeedSequence([zlib.crc32(name.encode()), block])
            logs = PATHS[name](_BLOCK, np.random.default_rng(seed))
            found = {f"{a:g}": int((logs >= -math.log(a)).sum()) for a in ALPHAS}
            cpu = round(time.process_time() - began, 2)
            line = {"path": name, "block": block, "processes": _BLOCK, "alarms": found}
            append(FILE, line | {"cpu": cpu, **stamp()})
    for name in PATHS:
        rows = [row for row in read(FILE) if row["path"] == name]
        number = sum(row["processes"] for row in rows)
        for alpha in ALPHAS if number else ():
            alarms = sum(row["alarms"][f"{alpha:g}"] for row in rows)
            low, high = limits(alarms, number)
            word = "TOO MANY" if low > alpha else "ok"
            rate = f"{alarms:,} of {number:,} = {alarms / number:.6f} <= {high:.6f}"
            print(f"{name:24} {alpha:6g} {rate} {word}")


if __name__ == "__main__":
    main()
