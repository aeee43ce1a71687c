"""The loop of the first event: how many steps it gets, what counts as a repetition, what ends it."""

import math
from decimal import Decimal

import pytest

import dpcheck
from dpcheck import ApproxDP, Budget, BudgetExceeded, Gaussian, Ledger, PureDP, SampledGaussian
from dpcheck.core.adjacency import Adjacency
from dpcheck.ledger.pricing.costs import INFINITE, View
from dpcheck.ledger.pricing.loop import (
    certified_epsilon,
    checkpoints,
    most_within,
    pure_uses,
    repeats_of,
)

VIEW = View(Adjacency.ADD_REMOVE, 1)
STEP = SampledGaussian(1.0, 1 / 32)


@pytest.mark.parametrize(
    ("event", "budget", "certified"),
    [
        (STEP, Budget(3.0, 1e-5), 211),
        (SampledGaussian(1.0, 0.01), Budget(1.0, 1e-5), 254),
        (SampledGaussian(1.1, 256 / 60000), Budget(2.0, 1e-5), 10_205),
    ],
)
def test_a_loop_gets_nearly_what_a_fixed_schedule_would(event, budget, certified):
    # The certified number, by the accountant alone.
    spent = [
        dpcheck.epsilon(event * n, delta=budget.delta, adjacency="add-remove").upper
        for n in (certified, certified + 1)
    ]
    assert spent[0] <= budget.epsilon < spent[1]
    ledger = Ledger(budget, "add-remove")
    data = ledger.dataset("d")
    steps = sum(1 for _ in ledger.steps(data, event))
    assert 0.95 * certified <= steps < certified
    with pytest.raises(
        BudgetExceeded, match=rf"would bring epsilon to .* of {budget.epsilon:g} at"
    ):
        ledger.spend(data, event)
    assert "Renyi" not in str(ledger.remaining())
    assert ledger.epsilon(delta=budget.delta).upper == budget.epsilon


def test_leaving_the_loop_early_keeps_the_filter():
    ledger = Ledger(Budget(3.0, 1e-5), "add-remove")
    data = ledger.dataset("d")
    ledger.spend(data, STEP, times=20)
    ledger.spend(data, Gaussian(20.0))  # deviates, and fits the filter
    rest = ledger.how_many(data, STEP)
    assert 20 + rest < 150  # the loop's certificate is gone
    ledger.spend(data, STEP, times=rest)
    with pytest.raises(BudgetExceeded):
        ledger.spend(data, STEP)


def test_leaving_it_late_is_refused_and_the_message_says_what_fits():
    ledger = Ledger(Budget(3.0, 1e-5), "add-remove")
    data = ledger.dataset("d")
    ledger.spend(data, STEP, times=150)
    with pytest.raises(
        BudgetExceeded, match=r"What still fits: 52 more of SampledGaussian"
    ) as caught:
        ledger.spend(data, Gaussian(5.0))
    assert caught.value.data["would_be"] > 3.0
    ledger.spend(data, STEP, times=52)


def test_a_late_plan_ends_the_loop():
    ledger = Ledger(Budget(3.0, 1e-5), "add-remove")
    data = ledger.dataset("d")
    ledger.spend(data, STEP, times=10)
    ledger.plan(data, PureDP(0.1), delta=0.0)
    assert ledger.how_many(data, STEP) < 150
    other = Ledger(Budget(3.0, 1e-5), "add-remove")
    data = other.dataset("d")
    other.spend(data, STEP, times=200)
    with pytest.raises(BudgetExceeded):
        other.plan(data, PureDP(0.1), delta=0.0)


def test_parts_of_other_people_loop_each_on_their_own_and_columns_share_one():
    for split, number in (("split_rows", 2), ("split_columns", 1)):
        ledger = Ledger(Budget(3.0, 1e-5), "add-remove")
        parts = getattr(ledger.dataset("d"), split)(2)
        steps = sum(1 for part in parts for _ in ledger.steps(part, STEP))
        assert steps == 202 * number


@pytest.mark.parametrize(
    ("event", "repeats"),
    [
        (STEP, 1),
        (STEP * 7, 7),
        (SampledGaussian(1.5, 1 / 32), 1),
        (SampledGaussian(1.0, 1 / 64) + STEP, 2),
        (SampledGaussian(0.9, 1 / 32), INFINITE),
        (SampledGaussian(1.0, 1 / 16), INFINITE),
        (PureDP(0.001), INFINITE),
    ],
)
def test_what_counts_as_a_repetition(event, repeats):
    assert repeats_of(event, STEP, VIEW) == (repeats,)


def test_gaussians_count_by_their_precision():
    assert repeats_of(Gaussian(5.0), Gaussian(10.0), VIEW) == (4,)
    assert repeats_of(Gaussian(20.0), Gaussian(10.0), VIEW) == (Decimal("0.25"),)
    ledger = Ledger(Budget(2.0, 1e-6), "add-remove")
    data = ledger.dataset("d")
    ledger.spend(data, Gaussian(40.0), times=100)
    ledger.spend(data, Gaussian(20.0), times=ledger.how_many(data, Gaussian(20.0)))
    ledger.spend(data, Gaussian(40.0), times=ledger.how_many(data, Gaussian(40.0)))
    lines = {line.event: line.times for line in ledger.report().lines}
    mu = math.sqrt(lines[Gaussian(40.0)] / 1600 + lines[Gaussian(20.0)] / 400)
    spent = dpcheck.epsilon(Gaussian(1 / mu), delta=1e-6, adjacency="add-remove")
    assert 0.97 * 2.0 < spent.upper <= 2.0


@pytest.mark.parametrize(
    ("event", "rows", "epsilon", "uses"),
    [
        (PureDP(0.2), 1, 0.2, 1),
        (PureDP(0.03) * 4, 1, 0.03, 4),
        (PureDP(0.2), 3, 0.6, 1),
        (dpcheck.Under("zero-out", PureDP(0.2)), 1, 0.4, 1),
    ],
)
def test_pure_guarantees_are_priced_by_their_optimal_composition(event, rows, epsilon, uses):
    view = View(Adjacency.REPLACE_ONE, rows)
    found = pure_uses(event, view)
    assert found == (pytest.approx(epsilon), uses)
    for times in (1, 7, 40):
        grouped = event if rows == 1 else dpcheck.Grouped(event, rows)
        whole = dpcheck.epsilon(grouped * times, delta=1e-6, adjacency="replace-one")
        priced = certified_epsilon(event, view, times, 1e-6)
        assert whole.lower <= priced <= whole.upper * (1 + 1e-12)
        assert certified_epsilon(event, view, times, 0.0) == pytest.approx(epsilon * uses * times)
    assert certified_epsilon(event, view, 0, 1e-6) == 0


def test_what_is_more_than_pure_or_less_is_no_pure_guarantee():
    for event in (
        ApproxDP(0.2, 1e-9),
        dpcheck.Laplace(2.0),
        PureDP(0.1) + PureDP(0.2),
    ):
        assert pure_uses(event, View(Adjacency.REPLACE_ONE, 1)) is None


def test_a_loop_that_can_fail_is_certified_with_its_failures():
    ledger = Ledger(Budget(2.0, 1e-5), "add-remove")
    data, event = ledger.dataset("d"), ApproxDP(0.1, 1e-7)
    steps = sum(1 for _ in ledger.steps(data, event))
    assert steps > 20
    exact = dpcheck.epsilon(event * steps, delta=1e-5, adjacency="add-remove")
    assert exact.upper <= 2.0


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 64, 1000, 123_456])
@pytest.mark.parametrize("start", [1, 50, 10**6])
def test_the_search_finds_the_largest(limit, start):
    low, high = most_within(lambda n: float(n) ** 0.6, (limit + 0.5) ** 0.6, start)
    assert (low, high) == (limit, limit + 1)


SHAPES = {
    "a power": lambda n: float(n) ** 0.6,
    "a power that grows": lambda n: 0.4 * n**0.15 + (n / 5000) ** 0.8,
    "a jump": lambda n: 0.5 if n <= 4321 else 50.0,
    "the end of what is certified": lambda n: 0.01 * n**0.5 if n <= 777 else math.inf,
    "nothing, then all": lambda n: 0.0 if n <= 10**6 else math.inf,
}
JUMPS = list(SHAPES)[2:]


@pytest.mark.parametrize("start", [1, 300, 10**7])
@pytest.mark.parametrize("precision", [0.0, 0.003])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_search_asks_few_questions_whatever_the_costs(shape, precision, start):
    asked = []

    def cost(number):
        asked.append(number)
        return SHAPES[shape](number)

    low, high = most_within(cost, 1.09, start, precision)
    assert SHAPES[shape](low) <= 1.09 < SHAPES[shape](high)
    assert high - low <= max(1.0, precision * low)
    assert len(asked) == len(set(asked)) <= (60 if shape in JUMPS else 20)


@pytest.mark.parametrize("repeats", [0, 1, 2, 10, 12_345])
def test_checkpoints_cover_every_number_and_divide_no_more_than_delta(repeats):
    found = checkpoints(repeats)
    assert math.fsum(share for _, share in found) <= 1
    numbers = [number for number, _ in found]
    assert numbers == sorted(set(numbers), reverse=True)
    assert (numbers[:1], numbers[-1:]) == (([repeats], [1]) if repeats else ([], []))
