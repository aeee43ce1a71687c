"""What can be told and rebuilt from a party's view, algorithm by algorithm.

Functions that return a gap give a number that is 0 for sure on the first of two neighbours, and None
where the equations do not fix it; those that return `Rebuilt` count the rows they reconstruct.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpcheck.audits.ftl.accumulate import accumulate
from dpcheck.audits.ftl.attacks import (
    Step,
    gram_of_b,
    own_steps,
    recovered_from_scores,
    rows_seen_by_a,
    signals_seen_by_b,
)
from dpcheck.audits.ftl.scenario import Scenario, largest
from dpcheck.core.data import Plain
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator
from dpcheck.mechanisms.federated.protocol.autoencoder import Array, forward
from dpcheck.mechanisms.federated.protocol.messages import TrainRequest
from dpcheck.mechanisms.federated.protocol.model import KnownToA, KnownToB, translator
from dpcheck.mechanisms.ftl import FederatedTransfer, Federation

Finding = dict[str, Plain]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Rows of the other party that were reconstructed: in words, and in figures."""

    lines: dict[str, str]
    figures: Finding


# --- training, seen by A -------------------------------------------------------------------------


def _steps_of_a(scenario: Scenario, run: FederatedTransfer) -> list[Step]:
    return own_steps(
        run.parties_[0], np.arange(scenario.rows_a), run.transcript_.view("a", "gradient")
    )


def copy_in_b(scenario: Scenario, run: FederatedTransfer) -> float | None:
    """How far A's copy of a repeated row of B is from B's own, from one gradient."""
    step = _steps_of_a(scenario, run)[0]
    found = rows_seen_by_a(scenario.objective, step, scenario.known_a(run.data_))
    if not found.determined[:2].all():
        return None
    return largest(found.rows[0] - found.rows[1])


def rebuild_b(scenario: Scenario, data: Federation, runner: Runner) -> Rebuilt:
    """u^B from one gradient; where that is too little, from all of them; B's inner products."""
    seed = weights_seed(runner)
    one = _from_one_gradient(scenario, data, seed)
    figures, lines = {"one gradient": one}, {"rows_reconstructed": _rows(one, scenario.common)}
    if one.get("inner_products", {}).get("rank") == scenario.common:
        lines["raw_rows"] = _products(one["inner_products"], scenario.common)
    narrow = replace(scenario, features_a=max(1, 3 * scenario.common // 4))
    runner.progress.stage(f"{runner.prefix}: solving {scenario.iterations} gradients together")
    thin = replace(data, X_a=data.X_a[:, : narrow.features_a])
    if thin.X_a.shape[1] == narrow.features_a:
        many = _from_many(narrow, thin, seed, generator(runner.seeds("solver", 0)))
        figures["accumulated"] = many
        lines["rows_with_fewer_features"] = (
            f"{_rows(many, scenario.common)}, with {narrow.features_a} features; rank "
            f"{many['rank_after_each_iteration'][-1]} of {many['unknowns']}"
            + (f", full after {many['determined_after_iterations']}" if many["rows"] else "")
        )
        if many["rows"]:
            lines["raw_rows_with_fewer_features"] = _products(
                many["inner_products"], scenario.common
            )
    return Rebuilt(lines, figures)


def weights_seed(runner: Runner) -> int:
    """The seed of both parties' starting weights."""
    return int(generator(runner.seeds("weights", 0)).integers(2**31))


def _rows(found: Finding, of: int) -> str:
    times = found["iterations"]
    return (
        f"{found['rows']} of {of} after {times} iteration{'s' if times > 1 else ''}, largest error "
        f"{found['largest_error']:.1e}"
    )


def _products(found: Finding, rows: int) -> str:
    return (
        f"all {rows} x {rows} inner products of B's raw rows after {found['iterations']} "
        f"iterations, largest error {found['largest_error']:.1e}"
    )


def _true_hidden(run: FederatedTransfer) -> list[Array]:
    b = run.parties_[1]
    gradients = run.transcript_.view("b", "gradient")
    return [step.trace.hidden for step in own_steps(b, run.data_.common_b, gradients)]


def _from_one_gradient(scenario: Scenario, data: Federation, seed: int) -> Finding:
    run = scenario.fitted(data, seed)
    steps, known = _steps_of_a(scenario, run), scenario.known_a(data)
    truth = _true_hidden(run)
    each = [rows_seen_by_a(scenario.objective, step, known) for step in steps]
    first, sure = each[0], each[0].determined
    found: Finding = {
        "features_of_a": scenario.features_a,
        "common_rows": scenario.common,
        "rank": first.rank,
        "unknowns": first.unknowns,
        "rows": int(sure.sum()),
        "iterations": 1,
        "largest_error": largest((first.rows - truth[0])[sure]),
    }
    if sure.all() and len(steps) > 1:
        gram, rank = gram_of_b(
            scenario.objective, steps, [one.rows for one in each], known, scenario.rate
        )
        rows = data.X_b[data.common_b]
        found["inner_products"] = {
            "iterations": scenario.iterations,
            "rank": rank,
            "largest_error": largest(gram - rows @ rows.T - 1),
        }
    return found


def _from_many(
    scenario: Scenario, data: Federation, seed: int, rng: np.random.Generator
) -> Finding:
    run = scenario.fitted(data, seed)
    steps, known = _steps_of_a(scenario, run), scenario.known_a(data)
    alone = rows_seen_by_a(scenario.objective, steps[0], known)
    found = accumulate(scenario.objective, steps, known, scenario.rate, rng)
    rows = data.X_b[data.common_b]
    return {
        "features_of_a": scenario.features_a,
        "common_rows": scenario.common,
        "rows_from_one_gradient": int(alone.determined.sum()),
        "rows": scenario.common if found.solved else 0,
        "iterations": scenario.iterations,
        "unknowns": found.unknowns,
        "equations_per_iteration": found.equations_per_iteration,
        "rank_after_each_iteration": list(found.ranks),
        "determined_after_iterations": found.overtaken,
        "residual": found.residual,
        "blind_starts": found.starts,
        "largest_error": largest(found.hidden - _true_hidden(run)[0]),
        "inner_products": {
            "iterations": scenario.iterations,
            "largest_error": largest(found.gram - rows @ rows.T - 1),
        },
    }


# --- training, seen by B -------------------------------------------------------------------------


def _steps_of_b(scenario: Scenario, run: FederatedTransfer) -> list[Step]:
    return own_steps(
        run.parties_[1], np.arange(scenario.rows_b), run.transcript_.view("b", "gradient")
    )


def copy_in_a(scenario: Scenario, run: FederatedTransfer) -> float | None:
    """How far B's copy of a repeated row of A is from A's own, from one gradient."""
    known = scenario.known_b(run.data_)
    rows, found = signals_seen_by_b(scenario.objective, _steps_of_b(scenario, run)[0], known)
    last = np.flatnonzero(np.isin(rows, known.common[-2:]))
    if not found.determined[last].all():
        return None
    return largest(found.rows[last[0]] - found.rows[last[1]])


def rebuild_a(scenario: Scenario, data: Federation, runner: Runner) -> Rebuilt:
    """u^A of the common rows without a label, from one gradient of B."""
    run = scenario.fitted(data, weights_seed(runner))
    known = scenario.known_b(data)
    rows, found = signals_seen_by_b(scenario.objective, _steps_of_b(scenario, run)[0], known)
    plain = np.setdiff1d(known.common, known.labelled)
    at = np.searchsorted(rows, plain)
    sure = found.determined[at]
    a = run.parties_[0]
    partner = {int(b): int(a) for a, b in zip(data.common_a, data.common_b, strict=True)}
    truth = forward(a.initial, a.X[[partner[int(row)] for row in plain]]).hidden
    o = scenario.objective
    guess = found.rows[at] / (o.gamma * o.kappa)
    figures: Finding = {
        "features_of_b": scenario.features_b,
        "rows_that_matter": len(rows),
        "rank": found.rank,
        "unknowns": found.unknowns,
        "rows": int(sure.sum()),
        "rows_with_a_label_seen_only_in_sum": len(known.labelled),
        "iterations": 1,
        "largest_error": largest((guess - truth)[sure]),
    }
    text = f"{_rows(figures, len(plain))} (common rows without a label)"
    return Rebuilt({"rows_reconstructed": text}, figures)


# --- prediction ----------------------------------------------------------------------------------


def predicted(scenario: Scenario, data: Federation, seed: int) -> FederatedTransfer:
    """Training, whose transcript is put away, then Algorithm 2 for all rows of B."""
    run = scenario.fitted(data, seed)
    run.transcript_.learned.clear()
    run.predict()
    return run


def copied_score(scenario: Scenario, run: FederatedTransfer) -> float | None:  # noqa: ARG001
    """How far apart the scores of two rows are that are one and the same."""
    scores = run.transcript_.view("a", "scores")[0]
    return float(abs(scores[0] - scores[1]))


def rebuild_from_scores(scenario: Scenario, data: Federation, runner: Runner) -> Rebuilt:
    """u_j of every row of B from d predictions, each with another row left out of Phi^A."""
    run = scenario.fitted(data, weights_seed(runner))
    a, b = run.parties_
    task, network = a.tasks["train"], a.networks["train"]
    hidden = forward(network, a.X).hidden
    translators, scores = [], []
    for left_out in range(scenario.hidden):
        kept = np.delete(task.rows, scenario.rows_a - 1 - left_out)
        a.tasks["train"] = replace(task, rows=kept, pairs=task.pairs[:0])
        scores.append(run.decision_function())
        translators.append(translator(hidden[kept], a.y[kept]))
    found, rank = recovered_from_scores(np.array(translators), np.array(scores))
    truth = forward(b.networks["train"], b.X).hidden
    sure = rank == scenario.hidden
    figures: Finding = {
        "predictions_of_every_row": scenario.hidden,
        "hidden_dimension": scenario.hidden,
        "rank": rank,
        "rows": len(truth) if sure else 0,
        "largest_error": largest(found - truth),
    }
    text = (
        f"{figures['rows']} of {len(truth)} after {scenario.hidden} predictions of each (d = "
        f"{scenario.hidden}), largest error {figures['largest_error']:.1e}"
    )
    return Rebuilt({"rows_reconstructed": text}, figures)


def labels_agree(scenario: Scenario, run: FederatedTransfer) -> float | None:  # noqa: ARG001
    """0 if every label is +1, 1 if every label is -1."""
    return float(np.mean(run.transcript_.view("b", "labels")[0] < 0))


def nothing_rebuilt(scenario: Scenario, data: Federation, runner: Runner) -> Rebuilt:  # noqa: ARG001
    """No row is rebuilt here; a label is all that leaks."""
    text = "none; one bit a row of B: the label"
    return Rebuilt({"rows_reconstructed": text}, {"rows": 0})


# --- cross-validation ----------------------------------------------------------------------------


def score_in_folds(scenario: Scenario, run: FederatedTransfer) -> float | None:  # noqa: ARG001
    """The two rows' scores in every prediction of all of B."""
    every = [
        scores
        for scores in run.transcript_.view("a", "scores")
        if len(scores) == len(run.parties_[1].X)
    ]
    return max(float(abs(scores[0] - scores[1])) for scores in every)


def rebuild_b_in_folds(scenario: Scenario, data: Federation, runner: Runner) -> Rebuilt:
    """B's rows as A rebuilds them during cross-validation."""
    run = scenario.validated(data, weights_seed(runner))
    a = run.parties_[0]
    sure, error = np.zeros(scenario.common, dtype=bool), 0.0
    truth = forward(run.parties_[1].initial, data.X_b[data.common_b]).hidden
    for task in a.tasks.values():
        gradients = run.transcript_.view("a", "gradient", task.name)
        if task.model != "transfer" or not gradients:
            continue
        where = np.full(len(a.X), -1)
        where[task.rows] = np.arange(len(task.rows))
        known = KnownToA(a.y[task.rows], task.labels, where[a.common[task.pairs]])
        found = rows_seen_by_a(scenario.objective, own_steps(a, task.rows, gradients[:1])[0], known)
        sure[task.pairs[found.determined]] = True
        error = max(error, largest((found.rows - truth[task.pairs])[found.determined]))
    figures = {"rows": int(sure.sum()), "iterations": 1, "largest_error": error}
    text = f"{_rows(figures, scenario.common)} of each fold"
    return Rebuilt({"rows_reconstructed": text}, figures)


def _trainings_of_b(run: FederatedTransfer) -> list[tuple[Step, KnownToB]]:
    """The first step of every transfer training B was asked for, and its rows."""
    b, found = run.parties_[1], []
    for message in run.transcript_.received["b"]:
        if isinstance(message, TrainRequest) and message.model == "transfer":
            gradients = run.transcript_.view("b", "gradient", message.task)
            step = own_steps(b, np.arange(len(b.X)), gradients[:1])[0]
            found.append((step, KnownToB(message.labelled, message.common)))
    return found


def copy_in_folds(scenario: Scenario, run: FederatedTransfer) -> float | None:
    """What A contributed to two rows of B, in the trainings that have both without labels."""
    two, gaps = np.array([scenario.common - 2, scenario.common - 1]), []
    for step, known in _trainings_of_b(run):
        if np.isin(two, known.common).all() and not np.isin(two, known.labelled).any():
            rows, found = signals_seen_by_b(scenario.objective, step, known)
            at = np.searchsorted(rows, two)
            if found.determined[at].all():
                gaps.append(largest(found.rows[at[0]] - found.rows[at[1]]))
    return max(gaps) if gaps else None


def rebuild_a_in_folds(scenario: Scenario, data: Federation, runner: Runner) -> Rebuilt:
    """A's rows as B rebuilds them during cross-validation."""
    run = scenario.validated(data, weights_seed(runner))
    o, a = scenario.objective, run.parties_[0]
    truth = forward(a.initial, a.X).hidden
    seen: set[int] = set()
    error = 0.0
    for step, known in _trainings_of_b(run):
        rows, found = signals_seen_by_b(o, step, known)
        for row in np.setdiff1d(known.common, known.labelled):
            at = int(np.searchsorted(rows, row))
            if found.determined[at]:
                seen.add(int(row))
                guess = found.rows[at] / (o.gamma * o.kappa)
                error = max(error, largest(guess - truth[int(row)]))
    figures = {"rows": len(seen), "iterations": 1, "largest_error": error}
    text = f"{_rows(figures, scenario.common)} of each fold"
    return Rebuilt({"rows_reconstructed": text}, figures)
