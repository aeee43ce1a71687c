"""The filter's certificate: against its dual, against 50-digit arithmetic, and with constants spoiled."""

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import dpcheck
from dpcheck import Budget, BudgetExceeded, Gaussian, Ledger, PureDP, SampledGaussian
from dpcheck.accounting.renyi.conversion import optimal
from dpcheck.core.errors import DpcheckError, LedgerBroken, LedgerMisuse
from dpcheck.ledger.pricing.certificate import (
    ANNOUNCED,
    ORDERS,
    SURPRISED,
    Certificate,
    best_order,
    certify,
    certify_order,
    limits,
    shared,
)
from dpcheck.ledger.pricing.filters import RenyiFilter
from dpcheck.ledger.pricing.mixture import SOME, favouring, one_order
from dpcheck.ledger.storage.entries import from_fields, to_fields

mpmath.mp.dps = 50
CASES = [
    (order, epsilon, delta)
    for order in (1.5, 2.0, 3.2, 8.0, 33.5, 500.0)
    for epsilon, delta in (
        (0.0, 1e-3),
        (0.0, 0.9),
        (0.3, 0.1),
        (0.3, 0.5),
        (1.0, 1e-5),
        (4.0, 1e-9),
        (20.0, 1e-12),
    )
]


def smallest_divergence(order, epsilon, delta):
    """The least divergence of two coins with p - e^epsilon q = delta [Asoodeh2021]: the dual.

    No pair of distributions with a smaller one has delta(epsilon) >= delta, and these coins do.
    """

    def divergence(log_q):
        q = mpmath.exp(mpmath.mpf(log_q))
        p = delta + mpmath.exp(epsilon) * q
        if p >= 1:
            return mpmath.inf
        moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
        return mpmath.log(moment) / (order - 1)

    top = math.log1p(-delta) - epsilon
    starts = np.linspace(top - 60, top - 1e-9, 400)
    values = [divergence(x) for x in starts]
    best = int(np.argmin([float(v) for v in values]))
    low, high = starts[max(best - 1, 0)], starts[min(best + 1, len(starts) - 1)]
    found = minimize_scalar(
        lambda x: float(divergence(x)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return min(float(found.fun), float(values[best]))


@pytest.mark.parametrize(("order", "epsilon", "delta"), CASES)
def test_the_limit_is_the_lossless_one(order, epsilon, delta):
    limit = float(limits(np.array([order]), epsilon, np.array([delta]))[0])
    dual = smallest_divergence(order, epsilon, delta)
    assert limit <= dual * (1 + 1e-9)  # what has less cannot reach delta, and this much can
    if order > 2 or epsilon < 2:  # elsewhere the best C is beyond what is tried
        assert limit >= dual * (1 - 1e-3)
    assert limit >= float(one_order(np.array([order]), epsilon, delta)[0]) - 1e-9
    if order > 2 and epsilon and order * delta < 1:  # the accountant's own lossless conversion
        spent = optimal(order, limit, delta)
        assert spent == pytest.approx(epsilon, rel=1e-2)


def constants(order, epsilon, delta, limit):
    """(A, B, C) of the certificate with the least A + B + C at this divergence, at 50 digits."""
    s, e = mpmath.mpf(order) - 1, mpmath.mpf(epsilon)
    t = s / (1 + s)

    def least(a, c):
        return (1 + s) * s**-t * a ** (1 - t) * c**t

    def build(log_c):
        c = mpmath.exp(log_c)
        k = (1 + s) * s**-t
        a = (k * ((c + mpmath.exp(e)) ** t - c**t)) ** -(1 + s)
        return a * mpmath.exp(s * limit), -least(a, c), c

    low, high = mpmath.log(delta) - 80, mpmath.log(delta) + 16
    for _ in range(120):  # by thirds; the sum is convex in C
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if sum(build(left)) > sum(build(right)) else (low, right)
    return build(low)


@pytest.mark.parametrize(
    ("order", "epsilon", "delta"),
    [(2.0, 1.0, 1e-5), (3.2, 0.0, 1e-3), (3.2, 4.0, 1e-9), (8.0, 1.0, 1e-5), (33.5, 4.0, 1e-9)],
)
def test_the_constants_hold_for_all_x_and_hardly_less_would(order, epsilon, delta):
    limit = float(limits(np.array([order]), epsilon, np.array([delta]))[0])
    a, b, c = constants(order, epsilon, delta, limit)
    assert a + b + c <= delta  # so the limit is proved
    assert a + b + c >= 0.999 * delta
    s = mpmath.mpf(order) - 1

    def worst(a, b, c):
        """The least of g - (1 - e^(epsilon - x))_+ over a grid of x: above the infimum."""
        grid = [mpmath.mpf(x) / 40 for x in range(-1200, 1600)]
        return min(
            a * mpmath.exp(s * (x - limit))
            + b
            + c * mpmath.exp(-x)
            - max(0, 1 - mpmath.exp(epsilon - x))
            for x in grid
        )

    assert worst(a, b, c) >= -mpmath.mpf("1e-40")
    assert worst(a, b * mpmath.mpf("1.2"), c) < 0
    assert worst(a * mpmath.mpf("0.8"), b, c) < 0


def test_shares_add_up_to_at_most_all_of_delta():
    for place in range(len(ORDERS)):
        for hedge in (ANNOUNCED, SURPRISED):
            assert math.fsum(shared(place, hedge).values()) <= 1
            assert max(shared(place, hedge), key=shared(place, hedge).get) == place


@pytest.mark.parametrize("hedge", [ANNOUNCED, SURPRISED])
def test_a_certificate_keeps_nearly_all_of_its_favoured_order_and_less_of_others(hedge):
    cost, epsilon, delta = ORDERS * 1e-3, 2.0, 1e-6
    fixed = certify(cost, epsilon, delta, hedge)
    whole = limits(ORDERS, epsilon, np.full(len(ORDERS), delta))
    assert fixed.order == ORDERS[(whole / cost).argmax()]
    for order, limit in fixed.limits:
        alone = float(whole[np.flatnonzero(order == ORDERS)[0]])
        assert limit < alone
        if order == fixed.order:
            assert limit >= alone - math.log(1 / (1 - hedge)) / (order - 1) - 1e-9


def test_any_order_within_its_limit_is_enough_and_one_beyond_all_is_not():
    fixed = certify(ORDERS * 1e-3, 2.0, 1e-6, SURPRISED)
    for order, limit in fixed.limits:
        place = int(np.flatnonzero(order == ORDERS)[0])
        divergences = np.full(len(ORDERS), math.inf)
        divergences[place] = limit
        assert fixed.lowest(ORDERS, divergences) == pytest.approx(2.0, abs=1e-12)
        divergences[place] = limit - 0.3
        assert fixed.lowest(ORDERS, divergences) == pytest.approx(1.7, abs=1e-12)
    beyond = np.full(len(ORDERS), 3.0)
    assert fixed.lowest(ORDERS, beyond) > 2.0


def test_lowering_epsilon_by_a_late_plan_is_no_more_than_a_certificate_of_its_own():
    """limit - E never exceeds the limit that would have been lossless at epsilon - E."""
    for order, epsilon, delta in CASES:
        if epsilon == 0:
            continue
        (limit,) = certify_order(order, epsilon, delta).limits[0][1:]
        for part in (0.1, 0.5, 0.9):
            lowered = epsilon * part
            own = float(limits(np.array([order]), epsilon - lowered, np.array([delta]))[0])
            assert limit - lowered <= own + 1e-9


def test_what_reveals_nothing_or_all_is_certified_as_for_a_gaussian():
    gaussian = best_order(ORDERS, 1.0, 1e-5)
    assert best_order(np.zeros(len(ORDERS)), 1.0, 1e-5) == gaussian
    assert best_order(np.full(len(ORDERS), math.inf), 1.0, 1e-5) == gaussian
    assert certify(ORDERS, 1.0, 0.0, 0.1) == certify(ORDERS, -1.0, 0.1, 0.1) == Certificate(2.0)
    ledger = Ledger(Budget(1.0, 1e-5), "add-remove", filter="rdp")
    data = ledger.dataset("d")
    ledger.spend(data, PureDP(0.0))
    other = Ledger(Budget(1.0, 1e-5), "add-remove", filter="rdp")
    first = other.how_many(other.dataset("d"), Gaussian(50.0))
    # The choice of an order has waited for free: nothing was revealed.
    assert first <= ledger.how_many(data, Gaussian(50.0)) <= 1.03 * first
    assert first > 100


def test_a_certificate_of_other_orders_is_not_read():
    assert Certificate(8.0, 1.0, ((8.0, 0.5),)).readable()
    assert certify(ORDERS, 1.0, 1e-5, 0.1).readable()
    assert not Certificate(8.0, 1.0, ((8.0, 0.5), (9.0, 0.4))).readable()


# What is announced. ------------------------------------------------------------------------------

STEP, OTHER = SampledGaussian(1.0, 0.005), SampledGaussian(1.0, 0.02)


def alternating(ledger, events):
    data, done = ledger.dataset("d"), 0
    try:
        while True:
            ledger.spend(data, events[done % len(events)])
            done += 1
    except BudgetExceeded:
        return done


def test_an_announced_schedule_gets_nearly_what_a_fixed_one_would_in_any_order():
    budget = Budget(2.0, 1e-5)
    told = Ledger(budget, "add-remove", expect=STEP * 2 + OTHER)
    done = alternating(told, [STEP, OTHER, STEP])
    bundles = done // 3
    both = [
        dpcheck.epsilon((STEP * 2 + OTHER) * n, delta=budget.delta, adjacency="add-remove").upper
        for n in (bundles, math.ceil(bundles / 0.95) + 1)
    ]
    assert both[0] <= 2.0 < both[1]
    shuffled = Ledger(budget, "add-remove", expect=(OTHER + STEP * 2) * 5)
    data = shuffled.dataset("d")
    shuffled.spend(data, OTHER, times=bundles)
    shuffled.spend(data, STEP, times=2 * bundles)
    with pytest.raises(BudgetExceeded):
        shuffled.spend(data, OTHER)
    assert done > 2 * alternating(Ledger(budget, "add-remove"), [STEP, OTHER, STEP])


def test_other_proportions_than_announced_end_with_the_first_kind_that_is_used_up():
    ledger = Ledger(Budget(2.0, 1e-5), "add-remove", expect=STEP + OTHER)
    data = ledger.dataset("d")
    most = ledger.how_many(data, STEP + OTHER)
    assert ledger.remaining().loop is None  # nothing was released yet
    assert ledger.how_many(data, OTHER) == most
    ledger.spend(data, STEP, times=3)
    assert ledger.remaining().loop == (most - 3, STEP + OTHER)
    assert ledger.how_many(data, OTHER) == most
    assert ledger.how_many(data, SampledGaussian(1.01, 0.02)) == most  # dominated by the other
    ledger.spend(data, Gaussian(300.0))  # not announced: by the filter
    assert ledger.how_many(data, OTHER) < most


def test_the_filter_follows_what_was_announced_and_holds_without_it():
    budget = Budget(2.0, 1e-5)
    found = [
        alternating(Ledger(budget, "add-remove", filter="rdp", expect=expect), [STEP, OTHER])
        for expect in (None, STEP, STEP + OTHER)
    ]
    assert found[2] > found[0] > 0.9 * found[2]  # the order waited for the second event
    assert found[1] < 100 < 200 < found[2]  # it did not where only the first was announced
    # A first release that was not announced is what the loop repeats.
    ledger = Ledger(budget, "add-remove", expect=STEP)
    assert ledger.how_many(ledger.dataset("d"), OTHER) == (
        plain := Ledger(budget, "add-remove")
    ).how_many(plain.dataset("d"), OTHER)


@pytest.mark.parametrize("expect", [3, "steps", [STEP], STEP * 0])
def test_what_is_no_schedule_cannot_be_announced(expect):
    with pytest.raises(DpcheckError, match="expect"):
        Ledger(Budget(1.0, 1e-5), "add-remove", expect=expect)


# In the file. ------------------------------------------------------------------------------------


def written_shares():
    with Ledger(Budget(2.0, 1e-5), "add-remove", filter="rdp") as ledger:
        ledger.spend(ledger.dataset("d"), STEP)
        return to_fields(next(e for e in ledger.history() if e.kind == "shares"))


def test_limits_are_kept_and_those_of_other_orders_are_refused():
    fields = written_shares()
    found = from_fields(fields).allocation.certificate
    assert (found.order, found.epsilon) == (fields["order"], 2.0)
    assert [list(pair) for pair in found.limits] == fields["limits"]
    fields["limits"][0][0] += 1e-3
    with pytest.raises(LedgerBroken, match="other orders"):
        from_fields(fields)


def test_what_earlier_versions_wrote_goes_on_with_its_weights():
    fields = {**written_shares(), "kind": "division"}
    fields["order"] = float(SOME[20])
    for name in ("limits", "epsilon", "choices", "gates"):
        fields.pop(name, None)
    fixed = from_fields(fields).allocation.certificate
    assert fixed == Certificate(float(SOME[20]))
    mixture, rule = favouring(float(SOME[20])), RenyiFilter()
    for rho in np.geomspace(1e-3, 1.0, 40):
        allowed = mixture.allows(SOME * rho, 2.0, 1e-5)
        assert rule.allows(ORDERS * rho, 2.0, 1e-5, fixed) == allowed
        assert rule.epsilon(ORDERS * rho, 1e-5, fixed) == mixture.epsilon(SOME * rho, 1e-5)


def test_what_was_announced_is_part_of_the_terms(tmp_path):
    path, budget = tmp_path / "told.ledger", Budget(2.0, 1e-5)
    with Ledger.open(path, budget, "add-remove", expect=(STEP * 2 + OTHER) * 3) as ledger:
        ledger.spend(ledger.dataset("d"), OTHER)
        left = ledger.remaining()
    with Ledger.open(path, expect=STEP * 2 + OTHER) as again:
        assert again.terms.expect == STEP * 2 + OTHER
        assert again.remaining() == left
        assert left.loop is not None
    with pytest.raises(LedgerMisuse, match="expect"):
        Ledger.open(path, expect=STEP)
