"""What the audit of the protocol finds, and that it finds nothing where there is nothing."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dpcheck.audits.ftl.accumulate import Equations, accumulate
from dpcheck.audits.ftl.attacks import own_steps, rows_seen_by_a, signals_seen_by_b
from dpcheck.audits.ftl.audit import AUDIT, PARTS
from dpcheck.audits.ftl.leaks import LEAKS, LeakSearch, Neighbours
from dpcheck.audits.ftl.scenario import Scenario, read_scenario
from dpcheck.cli.audit import command
from dpcheck.core.errors import InvalidParameter
from dpcheck.execution.runner import Runner
from dpcheck.mechanisms.federated.protocol.autoencoder import forward
from dpcheck.mechanisms.federated.protocol.model import joint_gradients
from dpcheck.mechanisms.ftl import FederatedTransfer

SMALL = [
    "rows_a=14",
    "rows_b=7",
    "common=5",
    "labelled=3",
    "features_a=8",
    "features_b=6",
    "hidden=2",
    "iterations=4",
]


def scenario(*changes: str, signs: Any = "corrected") -> Scenario:
    return read_scenario(AUDIT.settings([*SMALL, *changes]), signs)


def fitted(case: Scenario, seed: int = 0) -> FederatedTransfer:
    return case.fitted(case.data(np.random.default_rng(seed)), seed + 1)


def steps_of_a(case: Scenario, run: FederatedTransfer) -> list[Any]:
    gradients = run.transcript_.view("a", "gradient")
    return own_steps(run.parties_[0], np.arange(case.rows_a), gradients)


def hidden_of_b(run: FederatedTransfer) -> np.ndarray:
    b = run.parties_[1]
    return forward(b.initial, b.X[run.data_.common_b]).hidden


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_told_apart_for_sure(part: str) -> None:
    case = scenario()
    leak = LEAKS[part]
    if part == "a sees b: training":  # the long solution has its own test
        leak = replace(leak, rebuild=LEAKS["b sees a: prediction"].rebuild)
    epsilon, witness = LeakSearch(leak, case, 1e-5, {"part": part}).find(Runner(seed=3))
    assert epsilon == math.inf
    starts = witness["starting_weights_unknown"]
    assert starts["largest_gap_first"] < 1e-9 < 1e-6 < starts["smallest_gap_second"]
    assert witness["same_data_twice_differs_by"] == 0.0
    assert witness["neighbours_differ_by"] > 1e-6
    json.dumps(witness.to_json(), allow_nan=False)


@pytest.mark.parametrize("part", PARTS)
def test_the_same_data_is_no_leak(part: str) -> None:
    case, leak = scenario(), LEAKS[part]

    def alike(given: Scenario, rng: np.random.Generator) -> Neighbours:
        pair = leak.pair(given, rng)
        return replace(pair, second=pair.first)

    quiet = replace(leak, pair=alike, rebuild=LEAKS["b sees a: prediction"].rebuild)
    epsilon, witness = LeakSearch(quiet, case, 0.0, {}).find(Runner(seed=3))
    assert epsilon == 0.0
    assert witness["neighbours_differ_by"] == 0.0


@pytest.mark.parametrize("signs", ["corrected", "printed"])
def test_one_gradient_gives_all_rows_of_b_where_features_outnumber_them(signs: Any) -> None:
    case = scenario(signs=signs)
    run = fitted(case)
    found = rows_seen_by_a(case.objective, steps_of_a(case, run)[0], case.known_a(run.data_))
    assert found.determined.all()
    assert found.rank == found.unknowns == 6
    np.testing.assert_allclose(found.rows, hidden_of_b(run), atol=1e-11)


def test_encryption_does_not_change_what_a_gradient_says() -> None:
    """The same attack on a run under 1024-bit keys: fixed-point rounding is all it loses."""
    case = scenario("iterations=1", "transport=in-process")
    run = fitted(case)
    found = rows_seen_by_a(case.objective, steps_of_a(case, run)[0], case.known_a(run.data_))
    assert found.determined.all()
    np.testing.assert_allclose(found.rows, hidden_of_b(run), atol=1e-7)
    plain = fitted(scenario("iterations=1"))
    gradients = [each.transcript_.view("a", "gradient")[0] for each in (run, plain)]
    assert 0 < np.abs(gradients[0] - gradients[1]).max() < 1e-9


def test_with_too_few_features_no_row_is_called_known() -> None:
    case = scenario("features_a=3")
    run = fitted(case)
    found = rows_seen_by_a(case.objective, steps_of_a(case, run)[0], case.known_a(run.data_))
    assert not found.determined.any()
    assert found.rank == 4 < found.unknowns


def test_gradients_of_several_iterations_give_what_one_cannot() -> None:
    case = scenario("features_a=4", "iterations=6")
    run = fitted(case, seed=1)
    known = case.known_a(run.data_)
    steps = steps_of_a(case, run)
    assert not rows_seen_by_a(case.objective, steps[0], known).determined.all()
    found = accumulate(case.objective, steps, known, case.rate, np.random.default_rng(0))
    assert found.solved
    assert found.ranks[0] < found.unknowns == found.ranks[-1] == 25
    np.testing.assert_allclose(found.hidden, hidden_of_b(run), atol=1e-8)
    rows = run.data_.X_b[run.data_.common_b]
    np.testing.assert_allclose(found.gram, rows @ rows.T + 1, atol=1e-5)


def test_the_attackers_model_of_b_is_exact() -> None:
    """At B's true rows the predicted gradients are the seen ones; elsewhere they are not."""
    case = scenario("features_a=4")
    run = fitted(case)
    equations = Equations(case.objective, steps_of_a(case, run), case.known_a(run.data_), case.rate)
    u = hidden_of_b(run)
    rows = run.data_.X_b[run.data_.common_b]
    truth = np.concatenate([np.log(u / (1 - u)).ravel(), (rows @ rows.T + 1)[equations.upper]])
    assert np.abs(equations.residuals(truth)).max() < 1e-12
    assert np.abs(equations.residuals(truth * 1.01)).max() > 1e-4
    step = 1e-6
    jacobian = equations.jacobian(truth)
    for place in range(0, len(truth), 5):
        moved = [truth.copy(), truth.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        slope = (equations.residuals(moved[0]) - equations.residuals(moved[1])) / (2 * step)
        np.testing.assert_allclose(jacobian[:, place], slope, atol=1e-7)


def test_b_sees_the_rows_of_a_that_have_no_label() -> None:
    case = scenario()
    run = fitted(case)
    known = case.known_b(run.data_)
    b, a = run.parties_[1], run.parties_[0]
    step = own_steps(b, np.arange(case.rows_b), run.transcript_.view("b", "gradient"))[0]
    rows, found = signals_seen_by_b(case.objective, step, known)
    assert rows.tolist() == list(range(5))
    o = case.objective
    guess = found.rows[3:] / (o.gamma * o.kappa)
    np.testing.assert_allclose(guess, forward(a.initial, a.X[3:5]).hidden, atol=1e-10)


def test_the_view_is_the_gradient_of_the_joint_objective() -> None:
    """The transcript's gradients against one holder of all data: the audit attacks the right thing."""
    case = scenario()
    run = fitted(case)
    a, b = run.parties_
    joint = joint_gradients(
        case.objective,
        (a.initial, b.initial),
        (forward(a.initial, a.X), forward(b.initial, b.X)),
        case.known_a(run.data_),
        case.known_b(run.data_),
    )
    step = steps_of_a(case, run)[0]
    np.testing.assert_allclose(step.gradient[0].weights, joint.of_a[0].weights, atol=1e-14)


def test_the_command_exits_1_for_a_finite_claim_and_says_inf() -> None:
    arguments = ["ftl", "--eps", "50", "--delta", "0.1", "--format", "json", "--jobs", "1"]
    small = [text for item in [*SMALL, "features_a=4"] for text in ("--set", item)]
    result = CliRunner().invoke(command, [*arguments, *small])
    assert result.exit_code == 1, result.output
    report = json.loads(result.stdout)
    assert [entry["part"] for entry in report["audits"]] == list(PARTS)
    for entry in report["audits"]:
        assert entry["observed"]["epsilon"] == "inf"
        assert entry["verdict"] == "violated"
        assert entry["claim"]["epsilon"] == 50
        assert "not a claim of [Liu2018], which states no epsilon" in entry["claim"]["source"]
    training = report["audits"][0]["witness"]
    assert training["figures"]["one gradient"]["rows"] < 5  # four features, five rows
    assert training["gradient_first"] != training["gradient_second"]


def test_sizes_that_cannot_be_attacked_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="common"):
        scenario("common=1")
    with pytest.raises(InvalidParameter, match="labelled"):
        scenario("labelled=4")
