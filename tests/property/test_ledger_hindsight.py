"""What no filter can promise, and what choosing an order late costs: exactly, on coins.

A release is a pair of coins: heads with probability p under P and q under Q. Orders and probabilities
are rational and e^epsilon is a whole number, so that every number below is exact.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from dpcheck import Budget, BudgetExceeded, FinitePair, Ledger
from dpcheck.ledger.pricing.certificate import ORDERS, SURPRISED, certify, one_order
from dpcheck.ledger.pricing.deferral import defer, price

Coin = tuple[Fraction, Fraction]


def moment(coin, order):
    """e^{(order - 1) D} of the larger direction."""
    p, q = coin
    pairs = [(p, q), (1 - p, 1 - q)]
    forth = sum(a**order / b ** (order - 1) for a, b in pairs)
    return max(forth, sum(b**order / a ** (order - 1) for a, b in pairs))


def delta_of(growth, paths):
    """The exact delta of paths (probability under P, under Q) at e^epsilon = growth."""
    return sum(max(Fraction(0), p - growth * q) for p, q in paths)


def then(prefix, after_heads, after_tails):
    """All paths of a coin and of the one that is thrown after it."""
    found = []
    for first, second in product((True, False), repeat=2):
        p, q = prefix if first else (1 - prefix[0], 1 - prefix[1])
        a, b = after_heads if first else after_tails
        found.append((p * a, q * b) if second else (p * (1 - a), q * (1 - b)))
    return found


GROWTH, DELTA = 50, Fraction(1, 100)
PREFIX: Coin = (Fraction(1, 10), Fraction(1, 20))
QUIET: Coin = (Fraction(21, 1000), Fraction(13, 50000))  # for order 3
LOUD: Coin = (Fraction(18, 25), Fraction(1, 40))  # for order 8


def within(order, *coins):
    """Whether one order proves (log GROWTH, DELTA) with all of delta: [Canonne2020], the classic one."""
    most = (
        DELTA * (order - 1) * Fraction(order, order - 1) ** order * Fraction(GROWTH) ** (order - 1)
    )
    return math.prod(moment(coin, order) for coin in coins) <= most


def test_no_filter_gives_every_schedule_what_its_best_order_would():
    """Each of two schedules is within one order's budget; who chooses by the first coin exceeds delta."""
    assert within(3, PREFIX, QUIET)
    assert within(8, PREFIX, LOUD)
    assert not within(8, PREFIX, QUIET, LOUD)
    for coin in (QUIET, LOUD):
        assert delta_of(GROWTH, then(PREFIX, coin, coin)) <= DELTA
    chosen = delta_of(GROWTH, then(PREFIX, LOUD, QUIET))
    assert chosen == Fraction(321, 20000)
    assert chosen > Fraction(8, 5) * DELTA


def event(coin):
    p, q = coin
    return FinitePair((float(p), float(1 - p)), (float(q), float(1 - q)))


@pytest.mark.parametrize("options", [{}, {"filter": "rdp"}, {"expect": event(PREFIX)}])
def test_so_a_ledger_refuses_one_of_them(options):
    def accepts(coin):
        ledger = Ledger(Budget(math.log(GROWTH), float(DELTA)), "replace-one", **options)
        data = ledger.dataset("d")
        ledger.spend(data, event(PREFIX))
        try:
            ledger.spend(data, event(coin))
        except BudgetExceeded:
            return False
        return True

    assert not (accepts(QUIET) and accepts(LOUD))


# Choosing an order after a little was seen. --------------------------------------------------------


def best_coin(order, growth, delta, spent):
    """The coin that gains most of what `order` has left after a moment of `spent`, with C = 0."""
    left = math.exp((order - 1) * float(one_order(np.array([order]), math.log(growth), delta)[0]))
    ratio = growth * order / (order - 1)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        fits = moment((middle, middle / ratio), order) * spent <= left
        low, high = (middle, high) if fits else (low, middle)
    return low, low / ratio


def gained(growth, delta, orders, prefix):
    """The delta of whoever sees an outcome of `prefix` and then chooses the order, and its best coin."""
    p, q = (np.array(masses) for masses in prefix)
    coins = []
    for order in orders:
        spent = max((p**order * q ** (1 - order)).sum(), (q**order * p ** (1 - order)).sum())
        coins.append(best_coin(order, growth, delta, float(spent)))
    return sum(
        max(0.0, *(a * x - growth * b * y for x, y in coins)) for a, b in zip(p, q, strict=True)
    )


def gates_of(prefix, order):
    p, q = (np.array(masses) for masses in prefix)
    both = [(p, q), (q, p)]
    return [
        max(math.log((a**o * b ** (1 - o)).sum()) / (o - 1) for a, b in both) for o in (order, 2.0)
    ]


WEAK = [
    ((0.5, 0.5), (0.49, 0.51)),
    ((0.1, 0.9), (0.09, 0.91)),
    ((0.2, 0.3, 0.5), (0.19, 0.3, 0.51)),
    ((0.001, 0.999), (0.0008, 0.9992)),
    ((0.01, 0.5, 0.49), (0.008, 0.49, 0.502)),
]


@pytest.mark.parametrize("prefix", WEAK)
@pytest.mark.parametrize("orders", [(3.0, 8.0), (2.0, 12.0), (4.0, 5.0, 6.0)])
@pytest.mark.parametrize(("growth", "delta"), [(50.0, 0.01), (2000.0, 1e-3)])
def test_a_late_choice_is_worth_no_more_than_its_price(prefix, orders, growth, delta):
    kappa = price(orders[0] - 1, orders[-1] - 1, *gates_of(prefix, orders[-1]))
    assert gained(growth, delta / kappa, orders, prefix) <= delta


def test_and_it_is_worth_something():
    """Without the price the choice gets more than delta; the price is not much more than that."""
    prefix, orders, growth, delta = WEAK[0], (2.0, 12.0), 1e6, 1e-3
    kappa = price(1.0, 11.0, *gates_of(prefix, 12.0))
    assert delta * (1 + (kappa - 1) / 2) < gained(growth, delta, orders, prefix) < kappa * delta


@pytest.mark.parametrize("seed", range(40))
def test_a_late_choice_after_any_prefix(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    p = rng.dirichlet(np.ones(size))
    q = p * np.exp(rng.normal(0, 10 ** rng.uniform(-3, -0.7), size))
    low, high = np.sort(rng.uniform(1.5, 14.0, 2))
    growth, delta = float(np.exp(rng.uniform(2, 12))), float(10 ** rng.uniform(-5, -2))
    prefix, orders = (p, q / q.sum()), tuple(np.linspace(low, high, 4).tolist())
    kappa = price(low - 1, high - 1, *gates_of(prefix, high))
    if math.isfinite(kappa):
        assert gained(growth, delta / kappa, orders, prefix) <= delta


def test_what_a_ledger_leaves_open_is_what_its_gates_are_priced_at():
    """Limits of the choices, the hedges and the price, added up again from the certificate alone."""
    cost, epsilon, delta = ORDERS * 1e-4, 2.0, 1e-6
    fixed = certify(cost, epsilon, delta, 0.1, waits=True)
    (high, most), (two, at_two) = fixed.gates
    steps = [order - 1 for order, _ in fixed.choices]
    assert high == 1 + max(steps)
    assert two >= 2
    kappa = price(min(steps), max(steps), most, at_two)
    whole = one_order(np.array(steps) + 1, epsilon, 0.9 * delta / kappa)
    assert (np.array([limit for _, limit in fixed.choices]) <= whole).all()
    assert defer(ORDERS, np.full(len(ORDERS), 0.5), 50, one_order(ORDERS, epsilon, delta)) is None


# The best adversary against the whole rule: gates, choice, hedges. ----------------------------------


def response(cost):
    """Divergences of a randomized response at all orders."""
    p = 1 / (1 + math.exp(-cost))
    up, down = ORDERS * math.log(p), ORDERS * math.log1p(-p)
    forth, back = up - down + math.log1p(-p), down - up + math.log(p)
    return np.logaddexp(forth, back) / (ORDERS - 1)


def best_delta(epsilon, costs, begun, most):
    """The largest delta of an adversary that sees every output, chooses from `costs` and stops.

    It makes at most `most` of each release. Where the order is to be chosen it may take any, which
    is more than a ledger lets it do.
    """
    divergences = [response(cost) for cost in costs]
    place = {float(order): number for number, order in enumerate(ORDERS)}

    @cache
    def total_of(counts):
        return sum(n * d for n, d in zip(counts, divergences, strict=True))

    @cache
    def after(fixed, counts):
        """The certificates it may go on with, if it makes these releases in all."""
        total = total_of(counts)
        found = [fixed]
        if fixed.settled(total, epsilon) is not fixed:
            found = [
                replace(fixed, limits=(*fixed.limits, c), choices=(), gates=())
                for c in fixed.choices
            ]
        return [f for f in found if any(total[place[a]] <= end for a, end in f.limits + f.choices)]

    @cache
    def value(loss, counts, fixed):
        best = max(0.0, -math.expm1(min(0.0, epsilon - loss)))
        for which, cost in enumerate(costs):
            if counts[which] == most[which]:
                continue
            more = (*counts[:which], counts[which] + 1, *counts[which + 1 :])
            up = 1 / (1 + math.exp(-cost))
            for found in after(fixed, more):
                gained = up * value(round(loss + cost, 9), more, found)
                gained += (1 - up) * value(round(loss - cost, 9), more, found)
                best = max(best, gained)
        return best

    return value(0.0, (0,) * len(costs), begun)


@pytest.mark.parametrize(
    ("epsilon", "delta", "costs", "most"),
    [
        (2.0, 1e-3, (0.02, 0.25), (2, 80)),
        (2.0, 1e-2, (0.02, 0.3, 0.9), (1, 24, 4)),
        (1.0, 1e-2, (0.01, 0.15, 0.5), (1, 60, 6)),
    ],
)
def test_no_strategy_beats_an_order_that_waits(epsilon, delta, costs, most):
    begun = certify(response(costs[0]), epsilon, delta, SURPRISED, waits=True)
    assert begun.choices
    found = best_delta(epsilon, costs, begun, most)
    assert delta / 20 < found <= delta
