"""[Wang2018] Figures 4 and 5: accuracy by the share of the target that is labelled."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dpcheck.execution.progress import counted
from dpcheck.mechanisms.output.baselines import logistic_weights
from dpcheck.reproduce.dphtl.data import Domain, Sizes, draw, load_news, load_reviews
from dpcheck.reproduce.dphtl.table import (
    METHODS,
    NEWS_SIZES,
    REVIEW_SIZES,
    SEED,
    Centers,
    Echo,
    centers,
    score,
)

SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)
EPSILONS = (0.5, 1.0, 5.0, math.inf)
NOISES = ("printed", "coordinate")
REPETITIONS = 5


def news_labels(data_dir: Path | None, echo: Echo, repetitions: int = REPETITIONS) -> None:
    """Figure 4: 60% of the target from source 1, 40% from source 4."""
    # The first domain has too few posts for 60% of a target of 900.
    sizes = replace(NEWS_SIZES, target=750)
    _figure(
        "Figure 4, 20 Newsgroups",
        load_news(data_dir),
        (0.6, 0.0, 0.0, 0.4, 0.0),
        sizes,
        0.003,
        echo,
        repetitions,
    )


def review_labels(data_dir: Path | None, echo: Echo, repetitions: int = REPETITIONS) -> None:
    """Figure 5: 25% of the target from source 2, 75% from source 4."""
    _figure(
        "Figure 5, Amazon reviews",
        load_reviews(data_dir),
        (0.0, 0.25, 0.0, 0.75),
        REVIEW_SIZES,
        0.005,
        echo,
        repetitions,
    )


def labelled(found: Centers, share: float, lam: float) -> Centers:
    """The same draw with another share of the target's labels known."""
    X, y = found.data.target
    few = max(2, round(share * X.shape[0]))
    return replace(found, few=few, weak=logistic_weights(X[:few], (y[:few] + 1) / 2, lam))


def _figure(
    name: str,
    domains: Sequence[Domain],
    mixture: Sequence[float],
    sizes: Sizes,
    lam: float,
    echo: Echo,
    repetitions: int,
) -> None:
    started = time.perf_counter()
    echo(f"DPHTL [Wang2018] {name}: test accuracy by the share of labels, mixture {list(mixture)}")
    echo(
        f"{repetitions} repetitions (the paper: 20), seed {SEED}, target of {sizes.target}, "
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}; noise as in Table 2"
    )
    echo(f"  {'eps':>5} {'noise':<11}{'labels':>7}" + "".join(f"{m:>9}" for m in METHODS))
    kept: dict[tuple[float, str, float], list[dict[str, float]]] = {}
    for repetition in counted("repetitions", range(repetitions), repetitions):
        rng = np.random.default_rng([SEED, 30, repetition])
        found = centers(draw(domains, mixture, sizes, rng), lam)
        for share in SHARES:
            one = labelled(found, share, lam)
            for epsilon in EPSILONS:
                for noise in NOISES if math.isfinite(epsilon) else ("none",):
                    accuracy, _ = score(one, epsilon, noise, lam, rng)
                    kept.setdefault((epsilon, noise, share), []).append(accuracy)
    for (epsilon, noise, share), rows in sorted(kept.items()):
        cells = "".join(f"{np.mean([row[m] for row in rows]):>9.3f}" for m in METHODS)
        echo(f"  {epsilon:>5g} {noise:<11}{share:>7.0%}{cells}")
    echo(f"\n{time.perf_counter() - started:.0f} s")
