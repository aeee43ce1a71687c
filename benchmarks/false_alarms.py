"""How often a correct, tight mechanism is called violated, at a nominal 5%.

    python benchmarks/false_alarms.py --audits 4000 --resume
    python benchmarks/false_alarms.py --show

Every audit learns its event and then looks after every batch. The upper limit is the one-sided 95%
Clopper-Pearson limit of the rate. With jax-privacy 2.0.0 on the path its bounds are run on the same
null scores (pure noise, so any epsilon above 0 is a false alarm); without it the table says so.
Results go to a file, fifty audits at a time; --resume continues from it.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import math
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from results_file import RESULTS, load, provenance, save
from scipy.special import betaincinv

from dpcheck.accounting.api import delta as delta_of
from dpcheck.accounting.api import epsilon as epsilon_of
from dpcheck.auditing.auditors.distinction import distinguish
from dpcheck.auditing.auditors.guessing_game import play
from dpcheck.auditing.claims import AuditedClaim, curve_lines
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.statistics.guesses import audit_one_run, guess, one_run_lower
from dpcheck.auditing.statistics.intervals import conditional_binomial_lower
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.noise import Gaussian
from dpcheck.core.verdict import Verdict
from dpcheck.execution.parallel import Workers
from dpcheck.execution.references import parse
from dpcheck.execution.runner import Runner
from dpcheck.mechanisms import PLR, Labelled, fork
from dpcheck.session.assertion import audit_function

ALPHA = 0.05
SHIFT = [Pair(0.0, 1.0)]


def upper_limit(alarms: int, audits: int) -> float:
    return 1.0 if alarms == audits else float(betaincinv(alarms + 1, audits - alarms, 0.95))


def black_box(function, claim, pairs, *, runs=4096, jobs=1):
    mechanism = Mechanism(function, True, batch_runs=256)
    limits = Limits(
        alpha=ALPHA,
        max_runs=runs,
        learning_runs=512,
        sharpening_runs=512,
        trees=False,
        tolerance=0.0,
        check_every_batch=True,
    )

    def audit(seed: int) -> bool:
        found = distinguish(
            mechanism, pairs, claim, limits, Runner(seed=seed, workers=Workers(jobs))
        )
        return found.lower > found.epsilon

    return audit


def laplace():
    claim = AuditedClaim(1.0, 0.0, Adjacency.REPLACE_ONE)
    return black_box(lambda d, size, rng: d + rng.laplace(size=size), claim, SHIFT)


def gaussian():
    def certified(e: float) -> float:
        return delta_of(Gaussian(1.0), epsilon=e, adjacency="zero-out").upper

    lines = curve_lines(certified, smallest=1e-4, points=12)
    claim = AuditedClaim(4.0, 1e-5, Adjacency.ZERO_OUT, lines=lines)
    return black_box(lambda d, size, rng: d + rng.normal(size=size), claim, SHIFT)


def randomized_response():
    keep = math.e / (1 + math.e)
    claim = AuditedClaim(1.0, 0.0, Adjacency.REPLACE_ONE)

    def respond(d, size, rng):
        return np.where(rng.random(size) < keep, d, 1 - d)

    return black_box(respond, claim, SHIFT)


def global_generator(name: str, jobs: int):
    """A function of targets_global.py, loaded as `dpcheck audit file.py:name` loads it."""
    target = parse(f"{Path(__file__).with_name('suite') / 'targets_global.py'}:{name}")
    claim = AuditedClaim(1.0, 0.0, Adjacency.REPLACE_ONE)
    return black_box(target, claim, SHIFT, runs=2048, jobs=jobs)


def plr():
    blank = Labelled(np.zeros((10, 2)), np.ones(10))
    found = fork(PLR(epsilon=1.0, regularization=1.0), blank, angle=0.1, margin=-3.0)
    event = found.model.release_event("data", blank)
    claim = AuditedClaim(
        epsilon_of(event, adjacency="replace-one").upper, 0.0, Adjacency.REPLACE_ONE
    )
    pairs = [Pair(found.data, found.neighbour)]
    return black_box(found.model.sample_releases, claim, pairs, runs=2048)


def one_run():
    def score(included, rng):
        keep = rng.random(len(included)) < math.e / (1 + math.e)
        return np.where(keep, included, ~included) + 1e-9 * rng.random(len(included))

    def audit(seed: int) -> bool:
        found = audit_one_run(
            score,
            canaries=500,
            guessed=500,
            delta=0.0,
            alpha=ALPHA,
            seed=np.random.SeedSequence(seed),
        )
        return found.epsilon > 1.0

    return audit


def game(function, claim, *, runs=40):
    """The guessing game, looked at after every call; small samples, where luck is largest."""
    mechanism = Mechanism(function, True, batch_runs=256)
    limits = Limits(alpha=ALPHA, max_runs=runs, check_every_batch=True)

    def audit(seed: int) -> bool:
        found = play(mechanism, SHIFT, claim, ALPHA, limits, Runner(seed=seed))
        return found.lower > found.line[0]

    return audit


PURE = AuditedClaim(1.0, 0.0, Adjacency.REPLACE_ONE)


def game_laplace():
    return game(lambda d, size, rng: d + rng.laplace(size=size), PURE)


def game_response():
    keep = math.e / (1 + math.e)
    return game(lambda d, size, rng: np.where(rng.random(size) < keep, d, 1 - d), PURE)


def game_leaky_delta():
    """Gives the side away with probability delta, and keeps to epsilon 1 otherwise."""
    keep, delta = math.e / (1 + math.e), 0.2
    claim = AuditedClaim(1.0, delta, Adjacency.REPLACE_ONE)

    def respond(d, size, rng):
        told = np.where(rng.random(size) < keep, d, 1 - d)
        return np.where(rng.random(size) < delta, 10 + d, told)

    return game(respond, claim)


def rarer():
    """The distinguisher with its second round, for rarer events."""
    mechanism = Mechanism(lambda d, size, rng: d + rng.laplace(size=size), True, batch_runs=256)
    limits = Limits(
        alpha=ALPHA, max_runs=16_384, trees=False, tolerance=2.0, check_every_batch=True
    )

    def audit(seed: int) -> bool:
        found = distinguish(mechanism, SHIFT, PURE, limits, Runner(seed=seed))
        return found.lower > found.epsilon

    return audit


def hashed_response(d, rng):
    """Randomized response whose draws replay cannot follow."""
    digest = hashlib.sha256(rng.bytes(8)).digest()
    return d if int.from_bytes(digest[:6], "big") / 2**48 < math.e / (1 + math.e) else 1 - d


def whole(function):
    """Everything `dpcheck.audit` does, few runs: noise followed, named events, the game, notes."""

    def audit(seed: int) -> bool:
        entry = audit_function(
            function,
            claim=1.0,
            neighbours=[(0.0, 1.0)],
            adjacency="replace-one",
            confidence=1 - ALPHA,
            seed=seed,
            max_runs=48,
            reads_code=False,
        )
        return entry.verdict is Verdict.VIOLATED

    return audit


CASES = {
    "whole audit, Laplace": partial(whole, lambda d, rng: d + rng.laplace()),
    "whole audit, hashed response": partial(whole, hashed_response),
    "game, Laplace": game_laplace,
    "game, randomized response": game_response,
    "game, delta given away": game_leaky_delta,
    "Laplace, two rounds": rarer,
    "Laplace": laplace,
    "Gaussian (curve)": gaussian,
    "randomized response": randomized_response,
    "PLR": plr,
    "one run": one_run,
} | {
    f"{name}, {jobs} job{'s' if jobs > 1 else ''}": partial(global_generator, name, jobs)
    for name in ("respond_numpy", "respond_python", "respond_kept")
    for jobs in (1, 4, 16)
}


def jax_privacy_auditing():
    """Its auditing module alone: it needs numpy and scipy, the package also jax."""
    spec = importlib.util.find_spec("jax_privacy")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(next(iter(spec.submodule_search_locations))) / "auditing.py"
    module_spec = importlib.util.spec_from_file_location("jax_privacy_auditing", path)
    module = importlib.util.module_from_spec(module_spec)
    sys.modules["jax_privacy_auditing"] = module
    module_spec.loader.exec_module(module)
    return module


def null_scores(seed: int, canaries: int = 1000):
    rng = np.random.default_rng(seed)
    return rng.normal(size=canaries), rng.random(canaries) < 0.5


def ours_split(scores, included) -> float:
    """Threshold on one half, exact conditional bound on the other."""
    half = len(scores) // 2
    learn, test = slice(0, half), slice(half, None)
    grid = np.quantile(scores[learn], np.linspace(0.02, 0.98, 49))
    hits = [(scores[learn][included[learn]] >= t).sum() for t in grid]
    other = [(scores[learn][~included[learn]] >= t).sum() for t in grid]
    best = grid[int(np.argmax(conditional_binomial_lower(hits, other, 1e-3)))]
    # Equally many on both sides, as the bound wants.
    a, b = scores[test][included[test]], scores[test][~included[test]]
    size = min(len(a), len(b))
    bound = conditional_binomial_lower((a[:size] >= best).sum(), (b[:size] >= best).sum(), ALPHA)
    return float(bound)


def peers():
    """Bounds on the same null scores, by name; (scores, included) -> epsilon at least."""
    methods = {
        "dpcheck one run": lambda s, i: one_run_lower(guess(s, i, 250), 1e-5, ALPHA),
        "dpcheck split threshold": ours_split,
    }
    module = jax_privacy_auditing()
    if module is None:
        print("jax-privacy is not on the path: pip install --no-deps jax-privacy==2.0.0")
        return methods

    def auditor(scores, included):
        return module.CanaryScoreAuditor(scores[included], scores[~included])

    return methods | {
        "jax-privacy GDP": lambda s, i: auditor(s, i).epsilon_from_gdp(ALPHA, 1e-5),
        "jax-privacy Clopper-Pearson": lambda s, i: auditor(s, i).epsilon_clopper_pearson(
            ALPHA, 1e-5
        ),
        "jax-privacy one run": lambda s, i: auditor(s, i).epsilon_one_run(ALPHA, 1e-5),
    }


def on_noise(bound):
    return lambda seed: bound(*null_scores(seed)) > 1e-6


TIGHT, NOISE = "tight null", "pure noise"


def run(kind, name, audit, wanted, rows, path) -> None:
    """Audits with seeds 0, 1, ... up to `wanted`, those in `rows` not again."""
    done = sum(row["audits"] for row in rows if (row["kind"], row["name"]) == (kind, name))
    while done < wanted:
        seeds = range(done, min(wanted, done + 50))
        began = time.process_time()
        alarms = sum(bool(audit(seed)) for seed in seeds)
        rows.append(
            {
                "kind": kind,
                "name": name,
                "first_seed": done,
                "audits": len(seeds),
                "alarms": alarms,
                "cpu_seconds": round(time.process_time() - began, 1),
                **provenance(),
            }
        )
        save(path, rows)
        done += len(seeds)


def show(kind, name, rows) -> None:
    mine = [row for row in rows if (row["kind"], row["name"]) == (kind, name)]
    audits, alarms = (sum(row[key] for row in mine) for key in ("audits", "alarms"))
    if audits:
        limit = upper_limit(alarms, audits)
        word = "ok" if limit <= 0.06 else "TOO HIGH"
        seconds = sum(row["cpu_seconds"] for row in mine)
        print(
            f"{kind:10}  {name:28} {audits:6} {alarms / audits:8.4f} {limit:12.4f} {word:>9} "
            f"{seconds:8.1f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=4000)
    parser.add_argument("--compare", type=int, default=4000)
    parser.add_argument("--case", action="append", help="only these tight nulls")
    parser.add_argument("--results", type=Path, default=RESULTS / "false_alarms.json")
    parser.add_argument("--resume", action="store_true", help="keep what the results file has")
    parser.add_argument("--show", action="store_true", help="only print the results file")
    options = parser.parse_args()
    rows = load(options.results) if options.resume or options.show else []
    print(
        f"alarms at a nominal {ALPHA:.0%}; tight nulls are looked at after every batch, "
        "games after every call"
    )
    print(
        f"{'null':10}  {'audit':28} {'audits':>6} {'rate':>8} {'95% limit':>12} {'':9} {'CPU s':>8}"
    )
    for name, build in CASES.items():
        if not options.case or name in options.case:
            if not options.show:
                run(TIGHT, name, build(), options.audits, rows, options.results)
            show(TIGHT, name, rows)
    if options.compare and not options.show:
        for name, bound in peers().items():
            run(NOISE, name, on_noise(bound), options.compare, rows, options.results)
    for name in dict.fromkeys(row["name"] for row in rows if row["kind"] == NOISE):
        show(NOISE, name, rows)


if __name__ == "__main__":
    main()
