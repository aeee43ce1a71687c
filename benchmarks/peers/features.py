"""What the peers' auditors do and do not, asserted on the installed releases.

python benchmarks/peers/features.py         # every line is a check that could have failed
"""

from __future__ import annotations

import inspect
import sys
from importlib.metadata import distribution, version
from pathlib import Path

import numpy as np
from statsmodels.stats.proportion import proportion_confint

sys.path.insert(0, str(Path(__file__).parents[1]))

from peers import _module

JAX = _module("jax_privacy", "auditing.py")
TF = _module("tensorflow_privacy", "privacy/privacy_tests/epsilon_lower_bound.py")


def _noise(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=count), rng.normal(size=count)


def jax_takes_scores() -> None:
    """Its auditor is made from two arrays of scores, all at once; bounds take epsilon and delta only."""
    taken = list(inspect.signature(JAX.CanaryScoreAuditor).parameters)
    assert taken == ["in_canary_scores", "out_canary_scores"]
    public = [name for name in dir(JAX.CanaryScoreAuditor) if not name.startswith("_")]
    assert not [name for name in public if "update" in name or "add" in name], public


def jax_answers_with_a_number() -> None:
    bound = JAX.CanaryScoreAuditor(*_noise(100, 0)).epsilon_clopper_pearson(0.05)
    assert isinstance(bound, float)


def jax_audits_one_run() -> None:
    rng = np.random.default_rng(0)
    found = JAX.CanaryScoreAuditor(rng.normal(3, 1, 500), rng.normal(0, 1, 500))
    assert found.epsilon_one_run(0.05, 1e-5) > 0.5


def tf_takes_scores() -> None:
    """Its bound is made from two arrays of scores, all at once."""
    taken = list(inspect.signature(TF.EpsilonLowerBound).parameters)
    assert taken[:3] == ["pos_scores", "neg_scores", "alpha"]
    assert not [name for name in dir(TF.EpsilonLowerBound) if "update" in name]


def tf_has_no_delta() -> None:
    """Pure epsilon only; nothing about canaries of one run."""
    named = set(inspect.signature(TF.EpsilonLowerBound).parameters)
    named |= set(inspect.signature(TF.EpsilonLowerBound.compute_epsilon_lower_bound).parameters)
    assert "delta" not in named
    assert "one_run" not in " ".join(dir(TF))


def tf_answers_with_numbers() -> None:
    a, b = _noise(100, 0)
    lower = TF.EpsilonLowerBound(a, b, 0.05, thresholds=np.linspace(-2, 2, 41))
    assert isinstance(lower.compute_epsilon_lower_bound(TF.BoundMethod.KATZ_LOG), np.ndarray)


def tf_best_of_thresholds_alarms() -> None:
    """The largest of its bounds on pure noise is above 0 far more often than alpha says."""
    for method in (TF.BoundMethod.CLOPPER_PEARSON, TF.BoundMethod.KATZ_LOG):
        alarms = 0
        for seed in range(400):
            a, b = _noise(1000, seed)
            every = np.sort(np.concatenate([a, b]))  # as when it is given none
            lower = TF.EpsilonLowerBound(a, b, 0.05, thresholds=(every[1:] + every[:-1]) / 2)
            alarms += lower.compute_epsilon_lower_bound(method)[0] > 0
        low, high = proportion_confint(alarms, 400, 0.05, method="beta")
        print(
            f"  {method.value}, best of all thresholds, nominal 5%: {alarms / 400:.3f} of 400 nulls, "
            f"95% interval [{low:.3f}, {high:.3f}]"
        )
        assert low > 0.05


def auditors_have_no_command() -> None:
    for package in ("jax-privacy", "tensorflow-empirical-privacy"):
        scripts = [e for e in distribution(package).entry_points if e.group == "console_scripts"]
        assert not scripts, (package, scripts)


CHECKS = (
    jax_takes_scores,
    jax_answers_with_a_number,
    jax_audits_one_run,
    tf_takes_scores,
    tf_has_no_delta,
    tf_answers_with_numbers,
    tf_best_of_thresholds_alarms,
    auditors_have_no_command,
)


def main() -> int:
    print(
        f"jax-privacy {version('jax-privacy')}, tensorflow-empirical-privacy "
        f"{version('tensorflow-empirical-privacy')}, numpy {np.__version__}"
    )
    for check in CHECKS:
        check()
        print(f"holds: {check.__name__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
