"""The best adversary there is, computed exactly, against the ledger's rules.

Every release on the menu is a randomized response, with a chance to fail outright where it has a
delta. The adversary sees every output, then chooses the next release the ledger accepts, or stops.
By dynamic programming over (privacy loss, what was released) its best delta at the budget's epsilon
is exact: no strategy whatever does better with this menu.
"""

import math
from collections import Counter
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck import ApproxDP, Budget, BudgetExceeded, Ledger, PureDP
from dpcheck.ledger import account
from dpcheck.ledger.pricing import certificate
from dpcheck.ledger.pricing.loop import members

PLAN = "plan"


def best_delta(epsilon, menu, accepts):
    """max over strategies of P(outputs) - E_Q[e^epsilon; outputs], summed where positive.

    `menu` lists (epsilon, delta) of the releases; `accepts(history, choice)` is the rule and
    `epsilon` a number, or what an odometer reads after a history. Without plans only the first of
    a history matters to them beside its numbers, so the rest is sorted to have fewer of them.
    """
    ordered = any(PLAN in release for release in menu)
    reads = epsilon if callable(epsilon) else lambda history: epsilon

    @cache
    def value(loss, history):
        """Per unit of P: the best of stopping and of every accepted release."""
        best = max(0.0, -math.expm1(min(0.0, reads(history) - loss)))
        for choice, (cost, failure, *_) in enumerate(menu):
            if accepts(history, choice):
                after = (*history, choice)
                if not ordered:
                    after = (*after[:1], *sorted(after[1:]))
                up = 1 / (1 + math.exp(-cost))
                gained = up * value(round(loss + cost, 9), after)
                gained += (1 - up) * value(round(loss - cost, 9), after)
                best = max(best, failure + (1 - failure) * gained)
        return best

    return value(0.0, ())


def ledger_rule(budget, menu, **options):
    """Whether a ledger with this history accepts one more; PLAN marks a plan of one step."""

    @cache
    def accepted(history, choice):
        ledger = Ledger(budget, "replace-one", **options)
        data = ledger.dataset("d")
        try:
            for which in (*history, choice):
                epsilon, delta, *kind = menu[which]
                event = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
                if kind == [PLAN]:
                    ledger.plan(data, event, delta=delta).step()
                else:
                    ledger.spend(data, event)
        except BudgetExceeded:
            return False
        return True

    return accepted


MENUS = {
    "pure": [(0.15, 0.0), (0.3, 0.0), (0.9, 0.0)],
    "small steps and one loud": [(0.1, 0.0), (0.7, 0.0)],
    "some can fail": [(0.2, 0.0), (0.3, 0.004), (0.6, 0.001)],
    "late plans": [(0.2, 0.0), (0.4, 0.0, PLAN), (0.3, 0.003, PLAN)],
}


FILTERS = [
    {"order": 3.0},
    {"filter": "rdp"},
    {"filter": "rdp", "expect": PureDP(0.2) + PureDP(0.3)},
    {"filter": "zcdp"},
    {"filter": "gdp"},
]
# The gdp filter takes no late plans, which test_ledger checks.
FIGHTS = [pair for pair in product(MENUS, FILTERS) if pair != ("late plans", {"filter": "gdp"})]


@pytest.mark.parametrize(("name", "options"), FIGHTS)
def test_no_strategy_beats_the_budget(name, options):
    budget, menu = Budget(1.0, 0.06), MENUS[name]
    rule = ledger_rule(budget, menu, **options)
    found = best_delta(budget.epsilon, menu, rule)
    assert found <= budget.delta
    assert found > budget.delta / 5  # the adversary does get something, so there was a fight


def spoiled(orders, epsilon, deltas, times_b, times_c):
    """The filter's limits with constants that are off; right ones for times_b = times_c = 1.

    A naive twin: A e^{s (x - D)} + B + C e^{-x} touches 0 and 1 - e^{epsilon - x}, by the best C
    of a grid, and A is what delta leaves after paying times_b B + times_c C.
    """
    found = []
    for order, delta in zip(orders, deltas, strict=True):
        s, best = order - 1, (-math.inf, 0.0)
        k = order * s ** (-s / order)
        for above in range(-32, 28):
            c = delta * math.exp(above / 2)
            rise = (c + math.exp(epsilon)) ** (s / order) - c ** (s / order)
            log_a = -order * math.log(k * rise)
            b = -k * math.exp(log_a / order) * c ** (s / order)
            if delta - b - c > 0:
                right = (math.log(delta - b - c) - log_a) / s
                off = (math.log(max(1e-300, delta - times_b * b - times_c * c)) - log_a) / s
                best = max(best, (right, off))
        found.append(best[1])
    return np.array(found)


def certificate_rule(epsilon, delta, menu, times_b, times_c):
    """The filter's rule without a ledger: any order within its limit, favoured by the first."""
    orders = certificate.ORDERS
    up = [1 / (1 + math.exp(-cost)) for cost, _ in menu]
    divergences = [
        np.log(p**orders * (1 - p) ** (1 - orders) + (1 - p) ** orders * p ** (1 - orders))
        for p in up
    ]
    divergences = [found / (orders - 1) for found in divergences]

    @cache
    def fixed(first):
        favoured = certificate.best_order(divergences[first], epsilon, delta)
        shares = certificate.shared(favoured, certificate.SURPRISED)
        places = list(shares)
        deltas = [delta * share for share in shares.values()]
        return places, spoiled(orders[places], epsilon, deltas, times_b, times_c)

    def accepts(history, choice):
        releases = (*history, choice)
        places, ends = fixed(releases[0])
        total = sum(divergences[which] for which in releases)
        return bool((total[places] <= ends).any())

    return accepts


@pytest.mark.parametrize(
    ("epsilon", "delta", "costs"), [(0.5, 0.02, [0.2, 0.55]), (1.0, 0.06, [0.3, 0.8])]
)
def test_the_adversary_beats_a_certificate_whose_constants_are_off(epsilon, delta, costs):
    """Half of C, none of it, or a B half as large again: each is more than delta."""
    menu = [(cost, 0.0) for cost in costs]

    def found(*times):
        return best_delta(epsilon, menu, certificate_rule(epsilon, delta, menu, *times))

    assert delta / 3 < found(1.0, 1.0) <= delta
    assert found(1.0, 0.5) > 1.2 * delta
    assert found(1.0, 0.0) > 2 * delta
    assert found(1.5, 1.0) > 2 * delta


def test_without_a_delta_nothing_is_gained():
    budget, menu = Budget(1.0), MENUS["pure"]
    assert best_delta(1.0, menu, ledger_rule(budget, menu)) <= 1e-12


def composed_delta(epsilon, costs):
    """Exact delta of a fixed schedule of randomized responses."""
    total = 0.0
    for signs in product((1, -1), repeat=len(costs)):
        loss = sum(s * c for s, c in zip(signs, costs, strict=True))
        mass = math.prod(1 / (1 + math.exp(-s * c)) for s, c in zip(signs, costs, strict=True))
        total += mass * max(0.0, -math.expm1(min(0.0, epsilon - loss)))
    return total


def test_the_adversary_beats_the_natural_rule_that_is_not_a_filter():
    """Accepting what a fixed schedule of the same releases would allow is broken, and it shows."""
    menu, epsilon, delta = [(0.2, 0.0), (0.5, 0.0), (1.0, 0.0)], 1.0, 0.1

    @cache
    def natural(history, choice):
        costs = [menu[which][0] for which in (*history, choice)]
        return len(costs) <= 9 and composed_delta(epsilon, costs) <= delta

    assert best_delta(epsilon, menu, natural) > 1.01 * delta


# The two tracks of the default filter: a loop of the first event, and a filter for the rest. ------


def tracks(budget, menu, expect=None):
    """(rule, reading) of a ledger; a history's first release decides what the loop repeats."""

    @cache
    def after(history):
        ledger = Ledger(budget, "replace-one", block=1, expect=expect)
        data = ledger.dataset("d")
        try:
            for which, times in [(w, 1) for w in history[:1]] + list(Counter(history[1:]).items()):
                epsilon, delta, *_ = menu[which]
                event = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
                ledger.spend(data, event, times=times)
        except BudgetExceeded:
            return None
        return ledger.epsilon(delta=budget.delta).upper

    def accepts(history, choice):
        return after((*history[:1], *sorted((*history[1:], choice)))) is not None

    return accepts, after


TRACKS = {
    "steps and one loud": (Budget(1.0, 0.06), [(0.3, 0.0), (0.8, 0.0)]),
    "dominated steps": (Budget(1.0, 0.1), [(0.4, 0.0), (0.3, 0.0)]),
    "some can fail": (Budget(1.2, 0.08), [(0.4, 0.004), (0.7, 0.0), (0.3, 0.002)]),
    "a small delta": (Budget(1.5, 4e-3), [(0.2, 0.0), (0.45, 0.0)]),
}


@pytest.mark.parametrize("name", TRACKS)
def test_no_strategy_beats_the_two_tracks(name):
    """An adversary that loops, stops, deviates and chooses by what it saw, exactly."""
    budget, menu = TRACKS[name]
    accepts, reading = tracks(budget, menu)
    found = best_delta(budget.epsilon, menu, accepts)
    assert budget.delta / 5 < found <= budget.delta
    # And whoever stops when the odometer reads little has not got more than that and delta.
    assert best_delta(reading, menu, accepts) <= budget.delta


ANNOUNCED = [
    (Budget(1.0, 0.06), [(0.1, 0.0), (0.35, 0.0)], PureDP(0.1) + PureDP(0.35)),
    (Budget(1.0, 0.1), [(0.15, 0.0), (0.5, 0.0)], PureDP(0.15) * 2 + PureDP(0.5)),
    (Budget(1.2, 0.08), [(0.25, 0.002), (0.4, 0.0)], ApproxDP(0.25, 0.002) + PureDP(0.4)),
]


@pytest.mark.parametrize(("budget", "menu", "expect"), ANNOUNCED)
def test_no_strategy_beats_what_was_announced(budget, menu, expect):
    """Bundles in any order, other proportions than announced, and things that were not."""
    accepts, reading = tracks(budget, menu, expect)
    found = best_delta(budget.epsilon, menu, accepts)
    assert budget.delta / 5 < found <= budget.delta
    assert best_delta(reading, menu, accepts) <= budget.delta


def test_the_adversary_beats_bundles_that_are_counted_all_in_one(monkeypatch):
    """n bundles of a quiet and a loud release are no 2 n releases of either kind."""

    def all_in_one(repeats, loop):
        return sum(repeats) / sum(members(loop).values())

    budget, menu, expect = ANNOUNCED[0]
    monkeypatch.setattr(account, "bundles", all_in_one)
    accepts, _ = tracks(budget, menu, expect)
    assert best_delta(budget.epsilon, menu, accepts) > 1.2 * budget.delta


@settings(max_examples=15, deadline=None)
@given(
    st.floats(0.6, 1.6),
    st.sampled_from([0.02, 0.05, 0.1]),
    st.lists(
        st.tuples(st.sampled_from([0.3, 0.45, 0.7, 1.1]), st.sampled_from([0.0, 0.0, 0.002])),
        min_size=2,
        max_size=3,
        unique=True,
    ),
)
def test_no_strategy_beats_any_budget(epsilon, delta, menu):
    budget = Budget(round(epsilon, 2), delta)
    accepts, reading = tracks(budget, menu)
    assert best_delta(budget.epsilon, menu, accepts) <= budget.delta
    assert best_delta(reading, menu, accepts) <= budget.delta
