"""jax-privacy's GDP bound reports leakage where there is none.

    pip install --no-deps jax-privacy==2.0.0
    python benchmarks/findings/jax_privacy_gdp.py

Scores of canaries that were in and of canaries that were out, all drawn from one normal distribution,
are perfectly private: mu = 0 and epsilon = 0 at every delta. A lower bound at significance 5% may be
above 0 in 5% of such experiments. CanaryScoreAuditor.epsilon_from_gdp takes the largest absolute value
of the mu of all thresholds; its upper limits on the two error rates add up to more than 1 under the
null, so every mu is negative, and the absolute value turns the weakest evidence into the strongest.
The same bounds without the absolute value (mu below 0 says nothing) are shown beside it, and so is
Clopper-Pearson of the same class on the same scores. Exits 1 when the rate is above the nominal one.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.stats import beta, norm
from statsmodels.stats.proportion import proportion_confint

sys.path.insert(0, str(Path(__file__).parents[1]))

from peers import jax_privacy

NOMINAL, DELTA, EXPERIMENTS = 0.05, 1e-5, 400
CANARIES = (50, 200, 1000, 5000)


def without_absolute_value(inside: np.ndarray, outside: np.ndarray) -> float:
    """The same construction with max(0, mu): thresholds, Bonferroni and limits as in the library."""
    thresholds = np.unique(np.concatenate([inside, outside]))
    missed = np.searchsorted(np.sort(inside), thresholds, side="left")
    alarms = len(outside) - np.searchsorted(np.sort(outside), thresholds, side="left")
    share = NOMINAL / (2 * (len(thresholds) + 1))

    def limit(count: np.ndarray, total: int) -> np.ndarray:
        return np.where(
            count == total, 1.0, beta.isf(share, count + 1, np.maximum(total - count, 1))
        )

    fnr, fpr = limit(missed, len(inside)), limit(alarms, len(outside))
    return float(np.max(norm.isf(fpr) - norm.ppf(fnr), initial=0.0))


def main() -> int:
    peers = {peer.name: peer for peer in jax_privacy()}
    if not peers:
        print("jax-privacy is not installed: pip install --no-deps jax-privacy==2.0.0")
        return 2
    methods = {
        "GDP": lambda a, b: peers["jax-privacy GDP"].bound(a, b, NOMINAL, DELTA),
        "GDP without abs": without_absolute_value,
        "Clopper-Pearson": lambda a, b: peers["jax-privacy Clopper-Pearson"].bound(
            a, b, NOMINAL, DELTA
        ),
    }
    print(f"jax-privacy {version('jax-privacy')}, numpy {np.__version__}, seed 2026")
    print(f"{EXPERIMENTS} experiments on pure noise, nominal {NOMINAL:.0%}, delta {DELTA:g}")
    print(f"{'canaries':>8}  {'bound':16} {'above 0':>8}  95% interval      median epsilon")
    wrong = False
    for canaries in CANARIES:
        rng = np.random.default_rng((2026, canaries))
        scores = [rng.normal(size=(2, canaries)) for _ in range(EXPERIMENTS)]
        for name, bound in methods.items():
            found = np.array([bound(*pair) for pair in scores])
            alarms = int((found > 1e-6).sum())
            low, high = proportion_confint(alarms, EXPERIMENTS, 0.05, method="beta")
            wrong |= name == "GDP" and low > NOMINAL
            print(
                f"{canaries:>8}  {name:16} {alarms / EXPERIMENTS:>8.3f}  [{low:.3f}, {high:.3f}]"
                f"    {np.median(found):.3f}"
            )
    print("false alarms far above the nominal rate" if wrong else "within the nominal rate")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
