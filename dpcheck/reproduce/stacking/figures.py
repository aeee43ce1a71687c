"""Figures of the stacking papers: groups K, importances, how models are combined, no privacy at all."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from dpcheck.execution.progress import counted
from dpcheck.mechanisms import PSTF
from dpcheck.mechanisms.objective.stacking import block_margins
from dpcheck.reproduce.stacking.data import load_digits
from dpcheck.reproduce.stacking.table import (
    SEED,
    Echo,
    digit_trials,
    post_trials,
    pptl_methods,
    pst_methods,
    transfer_trials,
)
from dpcheck.reproduce.stacking.trials import (
    Floats,
    Space,
    TrainedMethod,
    Trial,
    cell,
    keywords_of,
    tune,
)

GROUP_NUMBERS = (1, 2, 3, 5, 10, 20, 50)
ALPHAS = (0.9, 0.95, 0.98, 1.0, 1.02, 1.05, 1.1)
COSTS = (0.01, 0.1, 1.0, 10.0, 100.0)
REPETITIONS, MANY = 10, 30
VARIANT = "tight"


def pptl_fs_groups(data_dir: Path | None, echo: Echo, repetitions: int = MANY) -> None:
    """[Guo2018] Figure 4: K on MNIST at epsilon 1; and Figure 3's line without privacy."""
    trials = transfer_trials(load_digits(data_dir), repetitions)
    done = begin("[Guo2018] Figure 4 on digits 0/8 -> 0/9: testing AUC by K, epsilon 1", echo)
    target = [replace(trial, train=trial.train[2:]) for trial in trials]
    _table(pptl_methods()[:2], GROUP_NUMBERS, _regrouped, trials, echo)
    echo(f"\nwithout privacy (Figure 3's line): {_shown([plain_auc(one) for one in target])}")
    done()


def pst_groups(data_dir: Path | None, echo: Echo, repetitions: int = REPETITIONS) -> None:
    """[Yao2019] Figure 2: K at epsilon 1, on both datasets; and Figure 1's points without privacy."""
    for name, trials in _pst_data(data_dir, repetitions):
        done = begin(f"[Yao2019] Figure 2 on {name}: testing AUC by K, epsilon 1", echo)
        _table(pst_methods()[:2], GROUP_NUMBERS, _regrouped, trials, echo)
        plr = next(method for method in pst_methods() if method.name == "PLR")
        mean, deviation = cell(plr, 1.0, VARIANT, trials[:2], trials, [SEED, 7])
        echo(f"\nPLR, which has no groups: {mean:.4f} ± {deviation:.4f}")
        echo(f"logistic regression without privacy: {_shown([plain_auc(t) for t in trials])}")
        done()


def pst_importances(data_dir: Path | None, echo: Echo, repetitions: int = REPETITIONS) -> None:
    """[Yao2019] Figure 3: importances alpha^i of the features, the most varied first."""
    for name, trials in _pst_data(data_dir, repetitions):
        done = begin(f"[Yao2019] Figure 3 on {name}: testing AUC by alpha, epsilon 1", echo)
        weighted, random = pst_methods()[:2]
        _table([weighted], ALPHAS, _reweighted, trials, echo)
        for method in (weighted, random):
            mean, deviation = cell(method, 1.0, VARIANT, trials[:2], trials, [SEED, 8])
            said = "by variance" if method is weighted else "all equal"
            echo(f"\n{method.name}, importances {said}: {mean:.4f} ± {deviation:.4f}")
        done()


def pst_combined(data_dir: Path | None, echo: Echo, repetitions: int = REPETITIONS) -> None:
    """[Yao2019] Figure 4: single models, votes and stacking from the same release, epsilon 1."""
    for name, trials in _pst_data(data_dir, repetitions):
        done = begin(f"[Yao2019] Figure 4 on {name}: testing AUC, epsilon 1", echo)
        names = [f"C-{k}" for k in range(5)] + ["C-mv", "C-wmv", "C-hl"]
        echo("| method | " + " | ".join(names) + " |")
        echo("|" + "---|" * (1 + len(names)))
        for index, method in enumerate(pst_methods()[:2]):
            rng = np.random.default_rng([SEED, 9, index])
            chosen = tune(method, 1.0, VARIANT, trials[:2], rng)
            found = []
            for trial in trials:
                model = method.make(1.0, trial.space, **chosen, **keywords_of(VARIANT))
                model.fit(*trial.train, rng=rng)
                assert isinstance(model, PSTF)
                found.append(combined(model, *trial.test))
            cells = [_shown([one[each] for one in found]) for each in names]
            echo(f"| {method.name} | " + " | ".join(cells) + " |")
        done()


def combined(model: PSTF, X: Floats, y: Floats) -> dict[str, float]:
    """The AUC of every model of the lower layer, of their votes, and of the whole."""
    margins = block_margins(model.design_, model.release_, X, "low")
    shares = np.array([b.event.norm_bound for b in model.design_.blocks if not b.stacks])
    votes = margins > 0
    scores = {f"C-{k}": margins[:, k] for k in range(margins.shape[1])}
    scores |= {"C-mv": votes.mean(axis=1), "C-wmv": votes @ shares}
    scores["C-hl"] = model.decision_function(X)
    return {name: float(roc_auc_score(y, values)) for name, values in scores.items()}


def plain_auc(trial: Trial) -> float:
    """Logistic regression without privacy, its regularisation by the trial's own tuning splits."""
    rng = np.random.default_rng(SEED)
    splits = list(trial.tuning(rng))
    best = max(COSTS, key=lambda cost: float(np.mean([_plain(split, cost) for split in splits])))
    return _plain(trial, best)


def _plain(trial: Trial, cost: float) -> float:
    X, y = trial.train
    model = LogisticRegression(C=cost, max_iter=2000).fit(X / trial.space.bound, y)
    X_test, y_test = trial.test
    return float(roc_auc_score(y_test, model.decision_function(X_test / trial.space.bound)))


@dataclass(frozen=True, slots=True)
class _Header:
    echo: Echo
    started: float

    def __call__(self) -> None:
        self.echo(f"\n{time.perf_counter() - self.started:.0f} seconds.\n")


def begin(title: str, echo: Echo, row: str = f"row {VARIANT}") -> Callable[[], None]:
    """Say what follows; what is returned says how long it took."""
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    echo(f"{title}\n\n{when}, {platform.machine()}, seed {SEED}, {row}, mean ± deviation\n")
    return _Header(echo, time.perf_counter())


def _table(
    methods: Sequence[TrainedMethod],
    values: Sequence[float],
    change: Callable[[Trial, float], Trial],
    trials: Sequence[Trial],
    echo: Echo,
) -> None:
    echo("| method | " + " | ".join(f"{value:g}" for value in values) + " |")
    echo("|" + "---|" * (1 + len(values)))
    for index, method in counted("methods", enumerate(methods), len(methods)):
        cells = []
        for place, value in enumerate(values):
            changed = [change(trial, value) for trial in trials]
            seed = [SEED, 6, index, place]
            mean, deviation = cell(method, 1.0, VARIANT, changed[:2], changed, seed)
            cells.append(f"{mean:.4f} ± {deviation:.4f}")
        echo(f"| {method.name} | " + " | ".join(cells) + " |")


def _regrouped(trial: Trial, number: float) -> Trial:
    """The same split with K groups."""
    rows = np.concatenate([*trial.train[::2], trial.test[0]])
    rng = np.random.default_rng([SEED, int(number)])
    return replace(trial, space=Space.of(rows, trial.space.variances, rng, int(number)))


def _reweighted(trial: Trial, alpha: float) -> Trial:
    """The same split with v_i = alpha^i, i the rank of the feature's variance."""
    space = trial.space
    sizes = [len(group) for group in space.sorted_groups]
    powers = np.split(alpha ** np.arange(sum(sizes), dtype=float), np.cumsum(sizes)[:-1])
    shares = np.array([piece.sum() for piece in powers])
    return replace(trial, space=replace(space, importances=(shares / shares.sum()).tolist()))


def _pst_data(data_dir: Path | None, repetitions: int) -> list[tuple[str, list[Trial]]]:
    digits = load_digits(data_dir)
    found = [(f"{digits.origin}, 0 against 8", digit_trials(digits, repetitions))]
    if data_dir is not None:
        found.append(
            ("20 Newsgroups, sci against talk", post_trials(data_dir, repetitions, public=False)[0])
        )
    return found


def _shown(values: Sequence[float]) -> str:
    return f"{np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}"
