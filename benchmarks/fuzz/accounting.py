"""The accountant on random cases: against independent truth where it exists, for consistency elsewhere.

    python benchmarks/fuzz/accounting.py --to 102000 --jobs 2   # resumes where the record ends
    python benchmarks/fuzz/accounting.py --case 1234            # one case again, in full
    python benchmarks/fuzz/accounting.py --summary

Case k depends on the seed and k alone. Checked for each: no error but the documented refusals, less
than a minute and a gibibyte; a curve of deltas around the proved epsilon; the truth between the bounds
(closed forms and enumeration in balls); more noise, fewer steps, a larger delta never cost provably more;
the order of a composition and equal questions give equal answers; a replacement never costs provably less
than leaving out; no two proofs contradict each other. The record is one JSON object per batch.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from records import append, read, stamp

RECORD = "accounting_fuzz.jsonl"
SEED = 20
SECONDS = 60
MEMORY = 2**30
BATCH = 500


class TooSlow(BaseException):
    """Over a minute."""


def _alarm(*_: object) -> None:
    raise TooSlow


class Checker:
    """Runs the checks of one case and collects what is wrong."""

    def __init__(self, seed: int) -> None:
        import dpcheck
        from dpcheck.core.errors import DpcheckError

        self.dpcheck, self.refusal, self.seed = dpcheck, DpcheckError, seed
        self.checks: Counter[str] = Counter()

    def run(self, number: int) -> list[str]:
        """What is wrong with the case of that number."""
        from dpcheck.core.errors import ProofsContradict
        from fuzz.cases import draw_case

        case = draw_case(self.seed, number)
        self.found: list[str] = []
        signal.signal(signal.SIGPROF, _alarm)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of CPU time: machines are shared
        try:
            self._checks(number, case)
        except TooSlow:
            self.found.append("over a minute")
        except MemoryError:
            self.found.append("over a gibibyte")
        except self.refusal as error:
            if isinstance(error, ProofsContradict) or "internal error" in str(error):
                self.found.append(f"internal: {error}")
            else:
                self.checks["refused"] += 1
        except Exception as error:  # a raw error is what is looked for
            self.found.append(f"raw {type(error).__name__}: {error}")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return self.found

    def _checks(self, number: int, case) -> None:
        before = self.checks["truth, upper"]
        bound = self._ask(case.event, case)
        self._sane("bounds", bound)
        self._against_truth(case, bound)
        # One further question a case at most keeps the fuzz cheap; which one depends on the number.
        if number % 4 and self.checks["truth, upper"] > before:
            return
        extra = (self._delta, self._order, self._noise, self._more, self._looser, self._adjacency)
        extra[number // 4 % len(extra)](case, bound)

    def _ask(self, event, case, delta=None, adjacency=None):
        return self.dpcheck.epsilon(
            event,
            delta=case.delta if delta is None else delta,
            adjacency=adjacency or case.adjacency,
        )

    def _sane(self, name: str, bound) -> None:
        self.checks[name] += 1
        if not 0 <= bound.lower <= bound.upper or math.isnan(bound.upper):
            self.found.append(f"{name}: {bound}")

    def _ordered(self, name: str, low, high) -> None:
        """low is dominated by high: its proved lower bound cannot exceed high's upper."""
        self.checks[name] += 1
        if low.lower > high.upper:
            self.found.append(f"{name}: {low.lower!r} > {high.upper!r}")

    def _against_truth(self, case, bound) -> None:
        for end in ("upper", "lower"):
            value = getattr(bound, end)
            if not math.isinf(value) and (end == "upper" or value > 0):
                self._true("truth", end, case, value, case.delta, wrong=1 if end == "upper" else -1)

    def _true(self, name: str, end: str, case, epsilon: float, delta: float, wrong: int) -> None:
        """The true delta at epsilon is not on the wrong side of delta."""
        from fuzz.truth import side_of

        if epsilon > 1e4:  # enumerations underflow their purpose there
            return
        try:
            side, text = side_of(case.event, case.adjacency, epsilon, delta)
        except KeyError:
            return
        self.checks[f"{name}, {end}"] += 1
        if side == wrong:
            self.found.append(f"{name}: {end} {(epsilon, delta)!r} is wrong: delta {text}")

    def _delta(self, case, bound) -> None:
        """A few points of the curve: each as it must be, beside the next one and beside one asked alone."""
        if not math.isfinite(bound.upper) or bound.upper > 1e6:
            return
        epsilons = sorted({0.0, bound.lower / 2, bound.lower, bound.upper, 1.5 * bound.upper})
        ask, asked = self.dpcheck.delta, {"adjacency": case.adjacency}
        curve = ask(case.event, epsilon=epsilons, **asked)
        for epsilon, found in zip(epsilons, curve, strict=True):
            self._sane("delta at epsilon", found)
            self._true("delta", "upper", case, epsilon, found.upper, wrong=1)
            self._true("delta", "lower", case, epsilon, found.lower, wrong=-1)
        for nearer, further in pairwise(curve):
            self._ordered("curve", further, nearer)
        alone = ask(case.event, epsilon=bound.upper, **asked)
        together = curve[epsilons.index(bound.upper)]
        self._ordered("curve and point", alone, together)
        self._ordered("point and curve", together, alone)
        if max(alone.lower, together.lower) > case.delta:
            self.found.append(f"delta at epsilon: {alone}, {together} above {case.delta!r}")
        if curve[epsilons.index(bound.lower)].upper < case.delta * (1 - 1e-9) and bound.lower > 0:
            self.found.append(f"delta below epsilon: {curve} below {case.delta!r}")

    def _order(self, case, bound) -> None:
        other = self.dpcheck.PureDP(0.25)
        one = self._ask(case.event + other, case)
        two = self._ask(other + case.event, case)
        self.checks["order"] += 1
        if (one.lower, one.upper) != (two.lower, two.upper):
            self.found.append(f"order: {one} and {two}")
        self._ordered("more parts", bound, one)

    def _noise(self, case, bound) -> None:
        quieter = _with(case.event, "noise_multiplier", lambda v: v * 1.3)
        quieter = _with(quieter, "sampling_rate", lambda v: v * 0.8)
        if quieter != case.event:
            self._ordered("noise and rate", self._ask(quieter, case), bound)

    def _more(self, case, bound) -> None:
        self._ordered("steps", bound, self._ask(case.event * 2, case))

    def _looser(self, case, bound) -> None:
        self._ordered("delta", self._ask(case.event, case, delta=min(2 * case.delta, 0.5)), bound)

    def _adjacency(self, case, _bound) -> None:
        """Replacing a record by an empty one is leaving its contribution out."""
        from fuzz.truth import flat

        if flat(case.event) is None or "Pair" in repr(case.event):
            return
        zero = self._ask(case.event, case, adjacency="zero-out")
        full = self._ask(case.event, case, adjacency="replace-one")
        self._ordered("adjacency", zero, full)


def _with(event, name: str, change):
    """The event with every field of that name changed, through the whole tree."""
    if isinstance(event, tuple):
        return tuple(_with(part, name, change) for part in event)
    if not is_dataclass(event):
        return event
    values = {}
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name == name and value is not None:
            values[field.name] = change(value)
        elif is_dataclass(value) or isinstance(value, tuple):
            values[field.name] = _with(value, name, change)
    return replace(event, **values) if values else event


def batch(first: int, last: int) -> dict:
    """Run the cases in this process."""
    warnings.simplefilter("error", RuntimeWarning)
    checker = Checker(SEED)
    import dpcheck.accounting.pld.distribution  # noqa: F401 - counted before the limit is set
    from fuzz.cases import draw_case

    status = Path("/proc/self/statm")
    size = int(status.read_text().split()[0]) * resource.getpagesize() if status.exists() else 0
    if size:
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    violations, slowest, before = [], (0.0, -1), time.process_time()
    for number in range(first, last):
        start = time.process_time()
        found = checker.run(number)
        slowest = max(slowest, (time.process_time() - start, number))
        if found:
            case = draw_case(SEED, number)
            asked = f"{case.event!r}, {case.adjacency}, delta {case.delta!r}"
            violations.append({"case": number, "what": found, "asked": asked})
    return {
        "seed": SEED,
        "from": first,
        "to": last,
        "violations": violations,
        "checks": dict(checker.checks),
        "cpu_seconds": round(time.process_time() - before, 1),
        "slowest": {"seconds": round(slowest[0], 2), "case": slowest[1]},
    }


def summary() -> int:
    """The record in a few lines; 1 if anything was violated."""
    records = [record for record in read(RECORD) if record["seed"] == SEED]
    checks: Counter[str] = Counter()
    violations = []
    for record in records:
        checks.update(record["checks"])
        violations += record["violations"]
    cases = sum(record["to"] - record["from"] for record in records)
    print(f"{cases} cases, {len(violations)} with a violation, {len(records)} batches, seed {SEED}")
    print(f"cpu {sum(r['cpu_seconds'] for r in records):.0f} s", end="; ")
    print(f"slowest case {max((r['slowest']['seconds'] for r in records), default=0):.1f} s")
    for name, count in sorted(checks.items()):
        print(f"  {name:<20}{count:>9}")
    for violation in violations:
        print(f"  case {violation['case']}: {'; '.join(violation['what'])}")
        print(f"    {violation['asked']}")
    return 1 if violations else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=int, default=102_000)
    parser.add_argument("--batch", type=int, nargs=2, help="run these cases and print the record")
    parser.add_argument("--case", type=int)
    parser.add_argument("--jobs", type=int, default=1, help="batches at a time")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    if options.case is not None:
        print(json.dumps(batch(options.case, options.case + 1), indent=1))
        return 0
    if options.batch:
        print(json.dumps(batch(*options.batch)))
        return 0
    if options.summary:
        return summary()
    done = {record["from"] for record in read(RECORD) if record["seed"] == SEED}
    # A line that is taken out of the record is run again.
    left = [start for start in range(0, options.to, BATCH) if start not in done]
    with ThreadPoolExecutor(options.jobs) as pool:
        for record in pool.map(in_a_process, left):
            append(RECORD, record | stamp())
    return summary()


def in_a_process(start: int) -> dict:
    """A batch in a process of its own; one that dies is a violation."""
    stop = start + BATCH
    command = [sys.executable, __file__, "--batch", str(start), str(stop)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if not run.returncode:
        return json.loads(run.stdout.strip().splitlines()[-1])
    return {
        "seed": SEED, "from": start, "to": stop, "checks": {}, "cpu_seconds": 0.0,
        "slowest": {"seconds": 0.0, "case": -1},
        "violations": [{"case": start, "what": [run.stderr[-400:]], "asked": "a whole batch"}],
    }  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
