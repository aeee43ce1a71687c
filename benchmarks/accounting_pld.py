"""Privacy-loss-distribution accountants side by side: time, memory, both bounds.

    python benchmarks/accounting_pld.py [--tools dpcheck,google,...] [--timeout 60] [--rows 0,5,7]

Every tool that is installed runs in a process of its own: one warm-up of imports, then each workload, timed
in CPU seconds: the least of up to REPEATS runs within LONG seconds, every one without anything the tool has
kept (`forget`), because the time of a run that shares its machine only errs upwards. Rows whose factor is
below NEAR_TARGET are timed in ROUNDS rounds in which dpcheck and dp-accounting take turns and each keeps
its least time, so that a change of the machine's speed does not fall on one of them. dpcheck proves a lower
and an upper bound in both directions (`dpcheck.epsilon`); Google's dp-accounting gives one bound from above
in both directions at its default grid; PRV gives both, PRV and Opacus are asked for +-0.01. Rows in which
dp-accounting needs less than INSTANT are shown and not held against the factor: what is compared there is a
handful of Python calls. These, and rows in which it is quick with a bound that is more than 1% looser, are
shown once more with our bound of the same kind (`method="rdp"`). A last part measures reuse: a curve, a loop
that asks after every step, 100 different groups; then 100 different mechanisms of a kind, each used once; and
where dpcheck's own time goes.
"""

from __future__ import annotations

import argparse
import cProfile
import functools
import importlib.util
import json
import math
import os
import platform
import pstats
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from peers.coverage import uncovered
from peers.pld_answers import EPSILON, Answer, NotOffered, dpcheck_curve, google_curve
from peers.pld_workloads import CURVE, DIFFERENT, GROUPS, WORKLOADS, Work

MODULES = {
    "dpcheck": "dpcheck",
    "google": "dp_accounting",
    "prv": "prv_accountant",
    "opacus": "opacus",
    "riskcal": "riskcal",
}
REPEATS, LONG, CHUNK = 60, 1.0, 11  # repeated until this many seconds are spent; rows a process
ROUNDS, NEAR_TARGET = 4, 12
INSTANT = 1e-3
TARGET = 5
TABLES = {"coefficients", "accountants"}
CALIBRATING = Work("gaussian", 2.0, 0.1, 3, 1e-3)


def dpcheck_loop() -> None:
    """A training loop that asks for epsilon after every one of its steps."""
    import dpcheck

    step = dpcheck.SampledGaussian(CURVE.noise, CURVE.rate)
    for done in range(1, LOOP + 1):
        dpcheck.epsilon(step * done, delta=CURVE.delta)


LOOP = 5000
FIFTY = [0.05 * k for k in range(100)]


class TooLong(Exception):
    """A workload took more CPU time than it may."""


def _alarm(*_: object) -> None:
    raise TooLong


def forget(tool: str) -> None:
    """Everything the tool has kept of earlier questions; its imports and tables stay.

    Nothing else is done between two runs, of any tool: code that ran just before is quicker by up to half.
    """
    if tool.startswith("dpcheck"):
        from dpcheck.accounting.pld.reuse import SPECTRA

        for kept in caches(len(sys.modules)):
            kept.cache_clear()
        SPECTRA.clear()


@functools.lru_cache(maxsize=1)
def caches(modules: int) -> list[functools._lru_cache_wrapper[object]]:  # noqa: ARG001 - the key
    """What dpcheck keeps, but for tables of functions, which are no answers; looked up for new modules."""
    ours = [module for name, module in sys.modules.items() if name.startswith("dpcheck.")]
    found = [kept for module in ours for kept in vars(module).values()]
    caches_ = {id(kept): kept for kept in found if isinstance(kept, functools._lru_cache_wrapper)}
    return [kept for kept in caches_.values() if kept.__wrapped__.__name__ not in TABLES]


def timed(tool: str, row: int, timeout: float) -> dict[str, object]:
    """One workload: its least time and its answer, or why there is none."""
    work, least, spent = WORKLOADS[row], math.inf, 0.0
    # Not a timer of CPU time: while one runs, the clock of CPU time lags by up to a tick of the kernel.
    signal.signal(signal.SIGALRM, _alarm)
    try:
        for _ in range(REPEATS):
            forget(tool)
            signal.setitimer(signal.ITIMER_REAL, timeout)
            before = time.process_time()
            answer = EPSILON[tool]([work], work.delta)
            seconds = time.process_time() - before
            signal.setitimer(signal.ITIMER_REAL, 0)
            least, spent = min(least, seconds), spent + seconds
            if spent > LONG:
                break
    except NotOffered:
        return {"error": "-"}
    except TooLong:
        return {"error": f"over {timeout:g} s", "seconds": timeout}
    except Exception as error:  # what a tool refuses is shown
        return {"error": f"{type(error).__name__}: {error}"[:60]}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": least, "memory": memory, "lower": answer[0], "upper": answer[1]}


def _least(tool: str, *asked: Callable[[], None], longest: float = LONG) -> list[float]:
    """CPU seconds of each, measured as a row is: the least of runs that begin anew and take turns."""
    least, spent = [math.inf] * len(asked), 0.0
    for _ in range(REPEATS):
        for i, ask in enumerate(asked):
            forget(tool)
            before = time.process_time()
            ask()
            seconds = time.process_time() - before
            least[i], spent = min(least[i], seconds), spent + seconds
        if spent > longest:
            break
    return least


def worker(tool: str, task: str, timeout: float) -> None:
    """Run one task and print CPU seconds, peak memory and the answer as JSON."""
    import warnings

    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    # Imports and first-call setup are not what is compared.
    EPSILON[tool]([CALIBRATING], CALIBRATING.delta)
    before, seconds, point = time.process_time(), math.nan, math.nan
    answer: Answer = (None, math.nan)
    if task == "groups":
        works = [Work("gaussian", noise, rate, 100, 1e-5) for rate, noise in GROUPS]
        answer = EPSILON[tool](works, 1e-5)
    elif task == "curve":
        curve = dpcheck_curve if tool == "dpcheck" else google_curve
        point, seconds = _least(tool, lambda: curve([1.0]), lambda: curve(FIFTY))
    elif task in DIFFERENT:
        answer = EPSILON[tool](DIFFERENT[task], DIFFERENT[task][0].delta)
        seconds = _least(tool, lambda: EPSILON[tool](DIFFERENT[task], DIFFERENT[task][0].delta))[0]
    elif task == "loop":
        seconds = _least(tool, dpcheck_loop, longest=8.0)[0]
    elif task.startswith("profile"):
        work = WORKLOADS[int(task.removeprefix("profile"))]
        profile = cProfile.Profile()
        profile.runcall(EPSILON["dpcheck"], [work], work.delta)
        stats = pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime")
        rows = []
        for where, (_, calls, own, _, _) in list(stats.stats.items()):
            rows.append((own, calls, f"{os.path.basename(where[0])}:{where[2]}"))
        rows.sort(reverse=True)
        print(json.dumps({"profile": rows[:8]}))
        return
    elif task.startswith("rows"):
        for row in task.removeprefix("rows").split(","):
            print(json.dumps(timed(tool, int(row), timeout) | {"row": int(row)}), flush=True)
        return
    if math.isnan(seconds):
        seconds = time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"seconds": seconds, "memory": memory, "lower": answer[0], "upper": answer[1]}
    print(json.dumps(found | {"point": point}))


def run(tool: str, task: str, timeout: float) -> dict[str, object]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--worker", tool, "--task", task]
    try:
        # Not a limit of CPU time: under one the clock of CPU time moves by ticks of 4 ms.
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"over {timeout:g} s"}
    if done.returncode < 0:
        return {"error": f"over {timeout:g} s"}
    try:
        return dict(json.loads(done.stdout.strip().splitlines()[-1]))
    except (ValueError, IndexError):
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        return {"error": last[:60]}


def run_rows(tool: str, rows: list[int], timeout: float) -> dict[int, dict]:
    """The workloads one after the other in one process of the tool."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    task = "rows" + ",".join(map(str, rows))
    command = [sys.executable, __file__, "--worker", tool, "--task", task]
    command += ["--timeout", str(timeout)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["row"]: line for line in lines}


def in_turns(tools: list[str], rows: list[int], timeout: float) -> dict[str, dict[int, dict]]:
    """The workloads of all tools; those near the target again while two tools take turns."""
    found = {tool: run_rows(tool, rows, timeout) for tool in tools}
    if not {"dpcheck", "google"} <= set(tools):
        return found
    both = [(row, found["dpcheck"].get(row, {}), found["google"].get(row, {})) for row in rows]
    near = [
        row
        for row, ours, peer in both
        if "upper" in ours and "upper" in peer and peer["seconds"] < NEAR_TARGET * ours["seconds"]
    ]
    for _ in range(ROUNDS - 1 if near else 0):
        for tool in ("dpcheck", "google"):
            for row, again in run_rows(tool, near, timeout).items():
                kept = found[tool][row]
                kept["seconds"] = min(kept["seconds"], again["seconds"])
    return found


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


class Summary:
    """The figures that are held against the targets."""

    def __init__(self) -> None:
        self.ratios: dict[int, float] = {}
        self.instant: dict[int, float] = {}
        self.looser: list[int] = []
        self.peer_looser: set[int] = set()
        self.gaps: dict[int, float] = {}
        self.memory = 0.0

    def add(self, row: int, ours: dict, peer: dict) -> None:
        """One more workload."""
        if "upper" not in ours:
            return
        self.memory = max(self.memory, ours["memory"])
        self.gaps[row] = (ours["upper"] - ours["lower"]) / (1e-2 * ours["upper"] + 1e-6)
        if "seconds" in peer:  # one that was stopped took at least that long
            held = self.ratios if peer["seconds"] >= INSTANT else self.instant
            held[row] = peer["seconds"] / ours["seconds"]
        if "upper" in peer and ours["upper"] > peer["upper"] * (1 + 1e-4):
            self.looser.append(row)
        if "upper" in peer and peer["upper"] > ours["upper"] * 1.01:
            self.peer_looser.add(row)

    def unlike(self) -> list[int]:
        """Rows in which the peer was quick with less: a handful of calls, or a looser bound."""
        quick = [row for row, ratio in self.ratios.items() if ratio < TARGET]
        return sorted([*self.instant, *(row for row in quick if row in self.peer_looser)])

    def show(self) -> None:
        """Print them."""
        if self.ratios:
            median = statistics.median(self.ratios.values())
            least = min(self.ratios.values())
            print(f"median over the workloads: {median:.1f}x; target 15: {_met(median >= 15)}")
            print(f"least: {least:.1f}x; target {TARGET}: {_met(least >= TARGET)}")
            print("  each: " + ", ".join(f"{row}: {r:.1f}" for row, r in self.ratios.items()))
            alike = [r for row, r in self.ratios.items() if row not in self.peer_looser]
            print(f"  least where dp-accounting's bound is within 1%: {min(alike, default=0):.1f}x")
            below = [row for row, r in self.ratios.items() if r < TARGET]
            looser = [row for row in below if row in self.peer_looser]
            print(
                f"  below {TARGET}x: rows {below or 'none'}, with a looser bound: {looser or 'none'}"
            )
            short = ", ".join(f"{row}: {r:.2f}" for row, r in self.instant.items())
            print(
                f"  dp-accounting below {1e3 * INSTANT:g} ms, not held against the factor: {short or 'none'}"
            )
            print(f"upper more than 1e-4 above google's: rows {self.looser or 'none'}")
        wide = [row for row, gap in self.gaps.items() if gap > 1]
        print(f"gap above 1%: rows {wide or 'none'}")
        print(f"largest memory: {self.memory:.0f} MB; target 200: {_met(self.memory < 200)}")


def reuse(tools: list[str], timeout: float) -> None:
    """A curve, a loop, and many groups."""
    for task, title in (
        ("groups", "100 distinct groups x 100 steps"),
        ("curve", "delta at 100 epsilons, asked at once"),
        ("loop", f"epsilon after each of {LOOP} steps"),
    ):
        print(title)
        offered = tools if task == "groups" else ["dpcheck", "google"]
        offered = ["dpcheck"] if task == "loop" else [t for t in offered if t in tools]
        results = {tool: run(tool, task, 2 * timeout) for tool in offered if tool in tools}
        for tool, result in results.items():
            print(show(tool, result), flush=True)
        if task == "curve" and "seconds" in results.get("dpcheck", {}):
            found = results["dpcheck"]
            ratio = found["seconds"] / found["point"]
            print(f"  one of them: {found['point']:.3f} s")
            print(f"  {ratio:.2f} times the point; target 2: {_met(ratio <= 2)}")
        if task == "loop" and "seconds" in results.get("dpcheck", {}):
            each = results["dpcheck"]["seconds"] / LOOP
            print(f"  {1000 * each:.2f} ms a step; target 1: {_met(each < 1e-3)}")


def different(tools: list[str], timeout: float) -> None:
    """Many different mechanisms together, dpcheck and dp-accounting."""
    print("100 different mechanisms of a kind, each used once")
    ratios = {}
    for title in DIFFERENT:
        offered = [tool for tool in ("dpcheck", "google") if tool in tools]
        results = {tool: run(tool, title, 2 * timeout) for tool in offered}
        print(title)
        for tool, result in results.items():
            print(show(tool, result), flush=True)
        if all("seconds" in result for result in results.values()) and len(results) == 2:
            ratios[title] = results["google"]["seconds"] / results["dpcheck"]["seconds"]
    if ratios:
        print("  each: " + "; ".join(f"{title} {ratio:.1f}x" for title, ratio in ratios.items()))
        print(
            f"  least {min(ratios.values()):.1f}x, median {statistics.median(ratios.values()):.1f}x"
        )


def alike(rows: list[int], timeout: float) -> None:
    """Our Renyi bound beside dp-accounting's, measured again side by side."""
    print("where dp-accounting was quick with less: our Renyi bound, its own, and their ratio")
    for row in rows:
        ours, peer = (run_rows(tool, [row], timeout)[row] for tool in ("dpcheck rdp", "google"))
        if "upper" in ours and "upper" in peer:
            shown = [f"{1e3 * one['seconds']:.2f} ms {one['upper']:.6g}" for one in (ours, peer)]
            ratio = peer["seconds"] / ours["seconds"]
            print(f"  {row}: {shown[0]}, {shown[1]}: {ratio:.1f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", default=",".join(MODULES))
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--rows", default="", help="these rows only, and no reuse")
    parser.add_argument("--worker")
    parser.add_argument("--task", default="0")
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.task, options.timeout)
        return
    tools = [t for t in options.tools.split(",") if importlib.util.find_spec(MODULES[t])]
    print(f"python {platform.python_version()}, {platform.machine()}, one thread, CPU seconds")
    print(f"tools: {', '.join(tools)}")
    if "google" in tools and uncovered():
        raise SystemExit(f"dp-accounting has what no row accounts: {', '.join(uncovered())}")
    rows = [int(row) for row in options.rows.split(",") if row] or range(len(WORKLOADS))
    summary = Summary()
    for start in range(0, len(rows), CHUNK):
        chunk = list(rows[start : start + CHUNK])
        found = in_turns(tools, chunk, options.timeout)
        for row in chunk:
            print(f"{row}: {WORKLOADS[row]}")
            results = {tool: found[tool].get(row, {"error": "no answer"}) for tool in tools}
            for tool, result in results.items():
                if result.get("error") != "-":
                    print(show(tool, result), flush=True)
            summary.add(row, results.get("dpcheck", {}), results.get("google", {}))
    if not options.rows:
        reuse(tools, options.timeout)
        different(tools, options.timeout)
    summary.show()
    if "google" in tools:
        alike(summary.unlike(), options.timeout)
    for row, _ in sorted(summary.ratios.items(), key=lambda item: item[1])[:4]:
        print(f"where dpcheck's time goes in row {row} (own seconds, calls, function)")
        for own, calls, name in run("dpcheck", f"profile{row}", options.timeout).get("profile", []):
            print(f"  {own:8.4f} {calls:6d}  {name}")


def _met(good: bool) -> str:
    return "met" if good else "NOT MET"


if __name__ == "__main__":
    main()
