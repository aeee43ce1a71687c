"""Privacy-loss-distribution accountants side by side: time, memory, both bounds.

    python benchmarks/accounting_pld.py [--tools dpcheck,google,...] [--timeout 60]

Every tool that is installed runs each workload in a process of its own (so that memory is its own):
one warm-up of imports, then the computation, timed once cold. dpcheck proves a lower and an upper
bound in both directions; Google's dp-accounting gives one bound from above in both directions at its
default grid; PRV gives both, PRV and Opacus are asked for +-0.01.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

WORKLOADS = [  # rate, noise, steps, delta
    (256 / 60000, 1.1, 14_063, 1e-5),
    (0.01, 1.0, 1000, 1e-5),
    (0.01, 0.8, 10_000, 1e-5),
    (32 / 795, 6.0, 8770, 1e-5),
    (0.001, 0.6, 100_000, 1e-5),
    (1.0, 50.0, 1000, 1e-5),
    (0.01, 1.0, 1000, 1e-10),
    (0.01, 1.0, 1000, 1e-15),
    (0.01, 1.0, 1000, 1e-30),
    (0.001, 1.0, 10_000_000, 1e-5),
    (0.01, 0.1, 100, 1e-5),
    (1e-6, 0.5, 1_000_000, 1e-10),
    (0.01, 1000.0, 1_000_000, 1e-10),
    (1e-8, 1.0, 1_000_000, 1e-12),
]
GROUPS = [(0.01, 1.0 + 0.01 * k) for k in range(100)]  # 100 distinct groups of 100 steps
CURVE = (0.01, 1.0, 1000)  # 100 epsilons from 0 to 5
MODULES = {
    "dpcheck": "dpcheck",
    "google": "dp_accounting",
    "prv": "prv_accountant",
    "opacus": "opacus",
    "riskcal": "riskcal",
}

Answer = tuple[float | None, float]


def dpcheck_epsilon(groups: list[tuple[float, float, int]], delta: float) -> Answer:
    from dpcheck.accounting.losses import GaussianLoss, GaussianMixtureLoss
    from dpcheck.accounting.pld.distribution import worse_epsilon
    from dpcheck.numerics.side import Side

    ends = []
    for side in (Side.LOWER, Side.UPPER):
        ways = []
        for backwards in (False, True):
            ways.append(
                [
                    (
                        GaussianLoss(1 / s)
                        if q == 1
                        else GaussianMixtureLoss((1 / s,), (q,), backwards),
                        n,
                    )
                    for q, s, n in groups
                ]
            )
            if all(q == 1 for q, _, _ in groups):
                break  # symmetric
        ends.append(worse_epsilon(ways, delta, side))
    return ends[0], ends[1]


def google_epsilon(groups: list[tuple[float, float, int]], delta: float) -> Answer:
    return None, float(_google(groups).get_epsilon_for_delta(delta))


def _google(groups: list[tuple[float, float, int]]):
    from dp_accounting.pld import privacy_loss_distribution as pld

    total = None
    for q, s, n in groups:
        part = pld.from_gaussian_mechanism(s, sampling_prob=q).self_compose(n)
        total = part if total is None else total.compose(part)
    return total


def prv_epsilon(groups: list[tuple[float, float, int]], delta: float) -> Answer:
    import prv_accountant as prv

    counts = [n for _, _, n in groups]
    accountant = prv.PRVAccountant(
        prvs=[prv.PoissonSubsampledGaussianMechanism(q, s) for q, s, _ in groups],
        max_self_compositions=counts,
        eps_error=0.01,
        delta_error=delta / 1000,
    )
    low, _, high = accountant.compute_epsilon(delta, counts)
    return float(low), float(high)


def opacus_epsilon(groups: list[tuple[float, float, int]], delta: float) -> Answer:
    from opacus.accountants import PRVAccountant

    accountant = PRVAccountant()
    accountant.history = [(s, q, n) for q, s, n in groups]
    return None, float(accountant.get_epsilon(delta=delta))


def riskcal_epsilon(groups: list[tuple[float, float, int]], delta: float) -> Answer:
    from riskcal.accountants import CTDAccountant

    accountant = CTDAccountant()
    accountant.history = [(s, q, n) for q, s, n in groups]
    return None, float(accountant.get_epsilon(delta=delta))


def dpcheck_curve(epsilons: list[float]) -> None:
    from dpcheck.accounting.losses import GaussianMixtureLoss
    from dpcheck.accounting.pld.distribution import pld_delta
    from dpcheck.numerics.side import Side

    q, s, n = CURVE
    for side in Side:
        for backwards in (False, True):
            pld_delta([(GaussianMixtureLoss((1 / s,), (q,), backwards), n)], epsilons, side)


def google_curve(epsilons: list[float]) -> None:
    _google([CURVE]).get_delta_for_epsilon(epsilons)


EPSILON: dict[str, Callable[[list[tuple[float, float, int]], float], Answer]] = {
    "dpcheck": dpcheck_epsilon,
    "google": google_epsilon,
    "prv": prv_epsilon,
    "opacus": opacus_epsilon,
    "riskcal": riskcal_epsilon,
}


def worker(tool: str, task: str) -> None:
    """Run one task and print seconds, peak memory and the answer as JSON."""
    import warnings

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    # Imports and first-call setup are not what is compared.
    EPSILON[tool]([(0.1, 2.0, 3)], 1e-3)
    before = time.perf_counter()
    answer: Answer = (None, math.nan)
    if task == "groups":
        answer = EPSILON[tool]([(q, s, 100) for q, s in GROUPS], 1e-5)
    elif task == "curve":
        (dpcheck_curve if tool == "dpcheck" else google_curve)([0.05 * k for k in range(100)])
    else:
        rate, noise, steps, delta = WORKLOADS[int(task)]
        answer = EPSILON[tool]([(rate, noise, steps)], delta)
    seconds = time.perf_counter() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps({"seconds": seconds, "memory": memory, "lower": answer[0], "upper": answer[1]})
    )


def run(tool: str, task: str, timeout: float) -> dict[str, object]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--worker", tool, "--task", task]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"over {timeout:g} s"}
    try:
        return dict(json.loads(done.stdout.strip().splitlines()[-1]))
    except (ValueError, IndexError):
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        return {"error": last[:60]}


def show(name: str, result: dict[str, object]) -> str:
    if "error" in result:
        return f"  {name:8} {result['error']}"
    if math.isnan(float(result["upper"])):  # a task without a single answer
        return f"  {name:8} {result['seconds']:9.3f} s {result['memory']:7.0f} MB"
    lower = "      -     " if result["lower"] is None else f"{result['lower']:12.7g}"
    return (
        f"  {name:8} {result['seconds']:9.3f} s {result['memory']:7.0f} MB  "
        f"[{lower}, {result['upper']:12.7g}]"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", default=",".join(MODULES))
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--worker")
    parser.add_argument("--task", default="0")
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.task)
        return
    tools = [t for t in options.tools.split(",") if importlib.util.find_spec(MODULES[t])]
    print(
        f"python {platform.python_version()}, {platform.machine()}, one thread; tools: {', '.join(tools)}"
    )
    ratios, worst_gap, worst_memory, above = [], 0.0, 0.0, []
    for k, (rate, noise, steps, delta) in enumerate(WORKLOADS):
        print(f"rate {rate:.6g}, noise {noise:g}, steps {steps}, delta {delta:g}")
        results = {tool: run(tool, str(k), options.timeout) for tool in tools}
        for tool, result in results.items():
            print(show(tool, result))
        ours, peer = results.get("dpcheck", {}), results.get("google", {})
        if "upper" in ours:
            gap = (ours["upper"] - ours["lower"]) / (1e-3 * ours["upper"] + 1e-6)
            worst_gap, worst_memory = max(worst_gap, gap), max(worst_memory, ours["memory"])
            if "upper" in peer:
                ratios.append(peer["seconds"] / ours["seconds"])
                if ours["upper"] > peer["upper"] * (1 + 1e-4):
                    above.append(k)
    for task in ("groups", "curve"):
        print("100 distinct groups x 100 steps" if task == "groups" else "curve of 100 points")
        eligible = [t for t in tools if task == "groups" or t in ("dpcheck", "google")]
        results = {tool: run(tool, task, 2 * options.timeout) for tool in eligible}
        for tool, result in results.items():
            print(show(tool, result))
        if "seconds" in results.get("dpcheck", {}) and "seconds" in results.get("google", {}):
            ratio = results["google"]["seconds"] / results["dpcheck"]["seconds"]
            worst_memory = max(worst_memory, results["dpcheck"]["memory"])
            print(f"  dpcheck is {ratio:.1f}x as fast as google; target 10: {_met(ratio >= 10)}")
    if ratios:
        median = statistics.median(ratios)
        print(
            f"median over the workloads: {median:.1f}x as fast as google; target 5: {_met(median >= 5)}"
        )
        print("  each: " + ", ".join(f"{r:.1f}" for r in ratios))
        print(f"upper more than 1e-4 above google's: {above or 'nowhere'}")
    print(
        f"largest gap over (1e-3 upper + 1e-6): {worst_gap:.2f}; target 1: {_met(worst_gap <= 1)}"
    )
    print(f"largest memory: {worst_memory:.0f} MB; target 200: {_met(worst_memory < 200)}")


def _met(good: bool) -> str:
    return "met" if good else "NOT MET"


if __name__ == "__main__":
    main()
