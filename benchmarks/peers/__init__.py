"""Other people's auditors, behind one signature: scores of both sides in, a lower bound out.

They are installed without their dependencies (jax, TensorFlow), which their bounds do not use:

    pip install --no-deps jax-privacy==2.0.0 tensorflow-empirical-privacy==0.1.0 immutabledict

`auditors()` returns those that are there. None of them makes runs, scores or events: they are given
dpcheck's. StatDP does, and has a script of its own (peers/run_statdp.py). On PyPI but without a bound on
epsilon: privacy-meter 1.0.1. Not on PyPI: DP-Sniper, DP-Auditorium, Delta-Siege.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

# Their bounds need delta > 0; at a pure claim a tiny one only lowers them, by nothing one can see.
TINY = 1e-9


@dataclass(frozen=True)
class Peer:
    """`bound(scores with the record, scores without, alpha, delta)`, and what it can express."""

    name: str
    version: str
    bound: Callable[[np.ndarray, np.ndarray, float, float], float]
    takes_delta: bool = True


def _module(package: str, inside: str) -> ModuleType | None:
    """One file of a package, without importing the package."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    for folder in spec.submodule_search_locations:
        path = Path(folder) / inside
        if path.exists():
            name = f"peer_{package}"
            found = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(found)
            sys.modules[name] = module
            found.loader.exec_module(module)
            return module
    return None


def jax_privacy() -> list[Peer]:
    """jax-privacy's CanaryScoreAuditor, at its defaults."""
    module = _module("jax_privacy", "auditing.py")
    if module is None:
        return []
    version = importlib.metadata.version("jax-privacy")
    auditor = module.CanaryScoreAuditor
    return [
        Peer(
            "jax-privacy Clopper-Pearson",
            version,
            lambda a, b, alpha, delta: auditor(a, b).epsilon_clopper_pearson(alpha, delta),
        ),
        Peer(
            "jax-privacy Clopper-Pearson, split",
            version,
            lambda a, b, alpha, delta: auditor(a, b).epsilon_clopper_pearson(
                alpha, delta, one_sided=False, threshold_strategy=module.Split(seed=0)
            ),
        ),
        Peer(
            "jax-privacy GDP",
            version,
            lambda a, b, alpha, delta: auditor(a, b).epsilon_from_gdp(alpha, max(delta, TINY)),
        ),
    ]


def tf_privacy() -> list[Peer]:
    """TensorFlow Privacy's EpsilonLowerBound: the best of many thresholds, as in its example."""
    module = _module("tensorflow_privacy", "privacy/privacy_tests/epsilon_lower_bound.py")
    if module is None:
        return []
    version = importlib.metadata.version("tensorflow-empirical-privacy")

    def between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        # Its own default, every score, asks a private function of scikit-learn that 1.9 no longer
        # has. At most 2048, halfway between scores, since it breaks ties at random.
        distinct = np.unique(np.concatenate([a, b]))
        kept = distinct[np.unique(np.linspace(0, len(distinct) - 1, 2048).astype(int))]
        return np.concatenate([[kept[0] - 1.0], (kept[1:] + kept[:-1]) / 2])

    def best(method):
        def bound(a: np.ndarray, b: np.ndarray, alpha: float, delta: float) -> float:
            assert delta == 0
            with np.errstate(all="ignore"):
                lower = module.EpsilonLowerBound(a, b, alpha, thresholds=between(a, b))
                found = lower.compute_epsilon_lower_bound(method)
            return float(np.nanmax(found))

        return bound

    methods = module.BoundMethod
    return [
        Peer("TF Privacy Clopper-Pearson", version, best(methods.CLOPPER_PEARSON), False),
        Peer("TF Privacy Katz log", version, best(methods.KATZ_LOG), False),
    ]


def auditors() -> list[Peer]:
    """Every peer that is installed."""
    return jax_privacy() + tf_privacy()
