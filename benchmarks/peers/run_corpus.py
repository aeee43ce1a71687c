"""The peers' bounds on the planted bugs, given dpcheck's scores and fresh runs for nothing.

    python benchmarks/peers/run_corpus.py --seeds 2       # continues results/peers.jsonl

For every mechanism dpcheck learns a score on its learning runs, as in an audit; the peers then get
that score of 2^17 fresh runs a side, at dpcheck's default confidence. What they can express: pure
epsilon, and all but TensorFlow Privacy's (epsilon, delta); a claimed curve is given to them as its
point at the claim's delta. The papers' audits have no scores and are left out.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np

from dpcheck.auditing.auditors.distinction import distinguish
from dpcheck.auditing.auditors.floating_point import BitReader
from dpcheck.auditing.claims import audited_claim
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, as_mechanism, as_pairs
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

from records import append, forget, missing, stamp

from peers import auditors
from tests.power.planted import CORPUS, Registered

FILE = "peers.jsonl"
RUNS = 1 << 17
ALPHA = 1e-3


def scores(row, side: str, seed: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Scores of fresh runs, larger where the first is likelier."""
    mechanism = as_mechanism(getattr(row, side))
    if row.floating_point:
        mechanism = Mechanism(BitReader(mechanism), True)
    pairs, claim = as_pairs(row.pairs), audited_claim(row.claim)
    runner = Runner(seed=seed, prefix=f"peers/{row.name}/{side}")
    found = distinguish(mechanism, pairs, claim, Limits(alpha=ALPHA), runner)
    best = found.candidates[found.best]
    event, pair = best.event, pairs[best.pair]
    data = (pair.second, pair.first) if event.swapped else (pair.first, pair.second)
    sign = 1.0 if event.upper else -1.0
    seeds = runner.seeds("fresh", 0).spawn(2)
    outputs = [mechanism.sample(d, RUNS, generator(s)) for d, s in zip(data, seeds, strict=True)]
    first, second = (sign * event.score(event.layout.rounded(o)) for o in outputs)
    return first, second, event.describe()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--row", action="append")
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    peers = auditors()
    if not peers:
        raise SystemExit("no peer is installed; see benchmarks/peers/__init__.py")
    rows = {r.name: r for r in CORPUS if not isinstance(r.broken, Registered)}
    names = [n for n in rows if not options.row or any(w in n for w in options.row)]
    wanted = [
        (name, side, seed)
        for seed in range(options.seeds)
        for name in names
        for side in ("broken", "corrected")
    ]
    if options.fresh:
        forget(FILE, lambda record: record["mechanism"] in names)
    deadline = time.monotonic() + 60 * options.minutes
    for name, side, seed in list(missing(FILE, wanted, ("mechanism", "side", "seed"))):
        if time.monotonic() > deadline:
            break
        row = rows[name]
        budget = row.claim.budget
        first, second, event = scores(row, side, seed)
        bounds, seconds = {}, {}
        for peer in peers:
            if budget.delta > 0 and not peer.takes_delta:
                continue
            began = time.process_time()
            bounds[peer.name] = float(peer.bound(first, second, ALPHA, budget.delta))
            seconds[peer.name] = round(time.process_time() - began, 3)
        append(
            FILE,
            {
                "mechanism": name,
                "side": side,
                "seed": seed,
                "claim": budget.epsilon,
                "delta": budget.delta,
                "runs": RUNS,
                "score": event,
                "bounds": bounds,
                "cpu_seconds": seconds,
                "peers": {p.name: p.version for p in peers},
                **stamp("scikit-learn", "statsmodels"),
            },
        )
        above = [n for n, b in bounds.items() if b > budget.epsilon]
        print(f"{name:52} {side:10} seed {seed} above the claim: {above}", flush=True)


if __name__ == "__main__":
    main()
