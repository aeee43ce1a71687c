"""The best adversary there is, computed exactly, against the ledger's rules.

Every release on the menu is a randomized response, with a chance to fail outright where it has a
delta. The adversary sees every output, then chooses the next release the ledger accepts, or stops.
By dynamic programming over (privacy loss, what was released) its best delta at the budget's epsilon
is exact: no strategy whatever does better with this menu.
"""

import math
from functools import cache
from itertools import product

import pytest

from dpcheck import ApproxDP, Budget, BudgetExceeded, Ledger, PureDP

PLAN = "plan"


def best_delta(epsilon, menu, accepts):
    """max over strategies of P(outputs) - e^epsilon Q(outputs), summed where positive.

    `menu` lists (epsilon, delta) of the releases; `accepts(history, choice)` is the rule. Without
    plans the order of the history does not matter to it, so it is sorted to have fewer of them.
    """
    ordered = any(PLAN in release for release in menu)

    @cache
    def value(loss, history):
        """Per unit of P: the best of stopping and of every accepted release."""
        best = max(0.0, -math.expm1(min(0.0, epsilon - loss)))
        for choice, (cost, failure, *_) in enumerate(menu):
            if accepts(history, choice):
                after = (*history, choice) if ordered else tuple(sorted((*history, choice)))
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


FILTERS = [{"order": 3.0}, {"order": 5.0}, {"filter": "zcdp"}, {"filter": "gdp"}]
# The gdp filter takes no late plans, which test_ledger checks.
FIGHTS = [pair for pair in product(MENUS, FILTERS) if pair != ("late plans", {"filter": "gdp"})]


@pytest.mark.parametrize(("name", "options"), FIGHTS)
def test_no_strategy_beats_the_budget(name, options):
    budget, menu = Budget(1.0, 0.06), MENUS[name]
    rule = ledger_rule(budget, menu, **options)
    found = best_delta(budget.epsilon, menu, rule)
    assert found <= budget.delta
    assert found > budget.delta / 5  # the adversary does get something, so there was a fight


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
