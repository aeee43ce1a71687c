"""Random trees of splits and releases against a twin that recomputes from the definition."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcheck
from dpcheck import Budget, BudgetExceeded, Gaussian, Laplace, Ledger, PureDP, SampledGaussian
from dpcheck.core.events.event import Grouped

ORDER = 6.0
# Costs are sums of eighths, so sums of floats are exact and equality means equality.
EVENTS = (PureDP(0.125), PureDP(0.5), Laplace(8.0), Laplace(4.0), Gaussian(8.0))
ADJACENCIES = ("replace-one", "add-remove", "zero-out")


def pure(event, moves):
    """Epsilon of one release, from the definition."""
    if isinstance(event, PureDP):
        return Fraction(event.epsilon)
    if isinstance(event, Laplace):
        return Fraction(moves) / Fraction(event.noise_multiplier)
    return math.inf


def divergence(event, moves):
    """Renyi divergence of ORDER of one release, from the papers' formulas."""
    if isinstance(event, Gaussian):
        return ORDER * (moves / event.noise_multiplier) ** 2 / 2
    if isinstance(event, Laplace):
        r, a = moves / event.noise_multiplier, ORDER
        first = a / (2 * a - 1) * math.exp((a - 1) * r)
        return math.log(first + (a - 1) / (2 * a - 1) * math.exp(-a * r)) / (a - 1)
    e, a = event.epsilon, ORDER
    return math.log((math.exp(a * e) + math.exp((1 - a) * e)) / (1 + math.exp(e))) / (a - 1)


@cache
def most_divergence(epsilon, delta):
    """The least divergence of ORDER of two laws that are not (epsilon, delta)-close.

    An event of probability p on one side and (p - delta)/e^epsilon on the other shows it, and the divergence
    is at least that of the event alone; so it is that of some event.
    """
    near = np.geomspace(1e-12, 0.5, 100_001)
    p = np.concatenate([np.geomspace(delta * (1 + 1e-9), 0.5, 400_001), 1 - near])
    q, a = (p - delta) / math.exp(epsilon), ORDER
    return float(np.log(p**a * q ** (1 - a) + (1 - p) ** a * (1 - q) ** (1 - a)).min() / (a - 1))


class Twin:
    """A person's cost by enumerating where the person can be, recomputed from scratch."""

    def __init__(self):
        self.own, self.splits = Counter(), []

    def cost(self, adjacency, measure):
        moves = 2 if adjacency == "replace-one" else 1
        total = sum((measure(e, moves) * n for e, n in self.own.items() if n), Fraction(0))
        for kind, parts in self.splits:
            inside = [part.cost(adjacency, measure) for part in parts]
            if kind == "columns":
                total += sum(inside)
            elif kind == "key" and adjacency == "replace-one":
                apart = [part.cost("add-remove", measure) for part in parts]
                pairs = [a + b for a, b in itertools.combinations(apart, 2)]
                total += max([*inside, *pairs, *apart])
            else:
                total += max(inside)
        return total


@st.composite
def histories(draw):
    """Splits and releases in any order, as a list of instructions."""
    steps = []
    nodes = 1
    for _ in range(draw(st.integers(1, 14))):
        where = draw(st.integers(0, nodes - 1))
        if draw(st.booleans()) and nodes < 12:
            kind = draw(st.sampled_from(["rows", "columns", "key"]))
            parts = draw(st.integers(1, 3))
            steps.append(("split", where, kind, parts))
            nodes += parts
        else:
            event = draw(st.sampled_from(EVENTS))
            steps.append(("spend", where, event, draw(st.integers(1, 40))))
    return steps


def split_both(handles, twins, where, kind, size, number):
    data = handles[where]
    if kind == "key":
        handles += data.split_by(f"key {number}", size)
    else:
        handles += data.split_rows(size) if kind == "rows" else data.split_columns(size)
    parts = [Twin() for _ in range(size)]
    twins[where].splits.append((kind, parts))
    twins += parts


def divergence_of(ledger):
    """The ledger's own total at ORDER, without what was counted ahead."""
    return ledger._read(None, lambda r: float(r.total(r.state.accounts[0]).divergences[0]))


def play(steps, ledger):
    """Carry out the instructions on a ledger and on the twin; the root of each, and the handles."""
    handles, twins = [ledger.dataset("d")], [Twin()]
    for number, (what, where, detail, size) in enumerate(steps):
        if what == "spend":
            ledger.spend(handles[where], detail, times=size)
            twins[where].own[detail] += size
            continue
        split_both(handles, twins, where, detail, size, number)
    return handles, twins


WIDE = Budget(1e6, 1e-5)


@settings(max_examples=300, deadline=None)
@given(histories(), st.sampled_from(ADJACENCIES))
def test_running_totals_equal_the_definition(steps, adjacency):
    ledger = Ledger(WIDE, adjacency, order=ORDER, block=5)
    _, twins = play(steps, ledger)
    account = ledger.report().accounts[0]
    assert account.pure == twins[0].cost(adjacency, pure)
    expected = float(twins[0].cost(adjacency, divergence))
    assert expected * (1 - 1e-12) <= divergence_of(ledger) <= expected * (1 + 1e-9)
    state = ledger._read(None, lambda r: r.state)  # running totals, and the same from scratch
    root = state.nodes["d"]
    fresh = state.cost(root, lambda node: node.counts)
    assert root.total[:4] == fresh[:4]
    assert math.isclose(root.total.divergences[0], fresh.divergences[0], rel_tol=1e-12)


@settings(max_examples=120, deadline=None)
@given(histories(), st.sampled_from(ADJACENCIES), st.randoms(use_true_random=False))
def test_the_order_of_releases_does_not_matter(steps, adjacency, random):
    first = Ledger(WIDE, adjacency, order=ORDER)
    play(steps, first)
    spends = [step for step in steps if step[0] == "spend"]
    shuffled = [step for step in steps if step[0] == "split"]
    # Nodes are numbered by splits only, so releases may come in any order after them, one by one.
    singles = [("spend", where, event, 1) for _, where, event, n in spends for _ in range(n)]
    random.shuffle(singles)
    second = Ledger(WIDE, adjacency, order=ORDER, block=3)
    play(shuffled + singles, second)
    a, b = first.report().accounts[0], second.report().accounts[0]
    assert a.pure == b.pure
    assert math.isclose(divergence_of(first), divergence_of(second), rel_tol=1e-12)


@settings(max_examples=120, deadline=None)
@given(histories(), st.sampled_from(ADJACENCIES))
def test_the_derived_event_costs_what_the_ledger_says(steps, adjacency):
    ledger = Ledger(WIDE, adjacency, order=ORDER)
    handles, twins = play(steps, ledger)
    event = ledger.event(handles[0])
    exact = dpcheck.epsilon(event, adjacency=adjacency)
    assert exact.upper == twins[0].cost(adjacency, pure)
    # Whoever pays most in divergence pays that in one place, while the ledger adds up maxima.
    rdp = dpcheck.rdp(event, ORDER, adjacency=adjacency).upper
    assert rdp <= divergence_of(ledger) * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(
    histories(),
    st.sampled_from(ADJACENCIES),
    st.sampled_from([Budget(4.0), Budget(20.0, 1e-5), Budget(2.0, 1e-3)]),
    st.integers(1, 50),
)
def test_refusals_are_those_of_a_naive_filter_and_change_nothing(steps, adjacency, budget, block):
    ledger = Ledger(budget, adjacency, order=ORDER if budget.delta else None, block=block)
    handles, twins = [ledger.dataset("d")], [Twin()]
    # A tenth of delta is for failures, a fiftieth for the odometer.
    limit = most_divergence(budget.epsilon, 0.88 * budget.delta) if budget.delta else -1.0
    for number, (what, where, detail, size) in enumerate(steps):
        if what == "split":
            split_both(handles, twins, where, detail, size, number)
            continue
        for _ in range(size):
            twins[where].own[detail] += 1
            sums = twins[0].cost(adjacency, pure) <= Fraction(budget.epsilon)
            total = float(twins[0].cost(adjacency, divergence))
            if abs(total - limit) < 1e-9:  # too close to call in floats
                return
            allowed = sums or total <= limit
            try:
                ledger.spend(handles[where], detail)
                accepted = True
            except BudgetExceeded:
                accepted = False
                twins[where].own[detail] -= 1
            assert accepted == allowed
    assert ledger.report().accounts[0].pure == twins[0].cost(adjacency, pure)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                PureDP(0.25),
                Laplace(4.0),
                Gaussian(6.0),
                SampledGaussian(0.7, 0.02),
                SampledGaussian(3.0, 0.5),
            ]
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(2, 4),
)
def test_a_persons_rows_may_be_scattered_over_the_parts(events, rows):
    """The maximum over parts covers every way to place a person's rows, part by part."""
    ledger = Ledger(WIDE, "add-remove", order=ORDER)
    users = ledger.dataset("users", unit="user", max_rows_per_unit=rows)
    for part, event in zip(users.split_rows(len(events)), events, strict=True):
        ledger.spend(part, event)

    def cost(event, number):
        return dpcheck.rdp(Grouped(event, number), ORDER, adjacency="add-remove").upper

    worst = 0.0
    for placed in itertools.product(range(rows + 1), repeat=len(events)):
        if sum(placed) <= rows:
            there = zip(events, placed, strict=True)
            worst = max(worst, sum(cost(event, number) for event, number in there if number))
    assert divergence_of(ledger) >= worst * (1 - 1e-12)
