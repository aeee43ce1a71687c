"""What a ledger says when it refuses: in epsilon, with what would still fit."""

from __future__ import annotations

import math
from decimal import Decimal

from dpcheck.core.errors import BudgetExceeded
from dpcheck.core.events.event import Event, leaves
from dpcheck.core.events.guarantee import NotPrivate
from dpcheck.ledger.account import Account
from dpcheck.ledger.populations.sharing import can_fail
from dpcheck.ledger.pricing.allocation import Allocation
from dpcheck.ledger.pricing.costs import ZERO, Cost, as_float
from dpcheck.ledger.pricing.filters import PureFilter
from dpcheck.ledger.provenance import Node
from dpcheck.ledger.queries import how_many, largest_pure
from dpcheck.ledger.state import PlanState, Proposal, State


def refused_step(plan: PlanState, event: Event, times: int) -> BudgetExceeded:
    """The error for a step beyond the end of a plan."""
    limit, taken = plan.limits[event], plan.counts.get(event, 0)
    return BudgetExceeded(
        f"plan {plan.name!r} has {limit - taken} of {limit} x {event!r} left, wanted "
        f"{times}; declare another plan, or spend with ledger.spend().",
        dataset=plan.node.path,
        spent=taken,
        allowed=limit,
        wanted=times,
    )


def refused_release(state: State, node: Node, event: Event, times: int) -> BudgetExceeded:
    """The error for releases that an account cannot bear."""
    proposal = state.proposal(node, event, times)
    found = proposal.refused_by()
    if found is None:
        return _too_much_for_accounts(state, node, event, times, proposal)
    account, allocation, total = found
    cost = state.price(event, node.root.views[0])
    planned = account.planned()
    failing = account.failing(total, planned[1])
    if failing > allocation.failing and math.isfinite(account.needed(total, allocation, planned)):
        return _too_likely_to_fail(state, node, event, times, account, allocation, failing)
    would_be = account.needed(total, allocation, planned)
    spent, wanted = _before(account, allocation, total, cost, times, would_be)
    budget = account.budget
    what = f"{times} x {_short(event)}" if times > 1 else _short(event)
    reach = next(
        (text for text in (f"{would_be:.4g}", f"{would_be:.8g}") if float(text) > budget.epsilon),
        f"the certified end of {allocation.repeats} repetitions, {would_be:.6g}",
    )
    return BudgetExceeded(
        f"{what} from {node.path!r} would bring epsilon to {reach} of {budget.epsilon:g} at delta "
        f"{budget.delta:g} for {account.name!r}; it stands at {spent:.4g}. "
        f"{_advice(state, account, allocation, node, event, times, would_be)}",
        dataset=node.path,
        account=account.name,
        quantity="epsilon",
        spent=spent,
        allowed=budget.epsilon,
        wanted=wanted,
        would_be=would_be,
    )


def _too_much_for_accounts(
    state: State, node: Node, event: Event, times: int, proposal: Proposal
) -> BudgetExceeded:
    """Of a population whose people may be in the dataset."""
    assert proposal.full is not None  # asked only after a refusal
    spec = proposal.full.spec
    what = f"{times} x {_short(event)}" if times > 1 else _short(event)
    if can_fail(proposal.cost):
        why = (
            f"{what} from {node.path!r} can fail outright, which the accounts of {spec.name!r}, whose "
            "people may be in it, do not add up; describe it by its noise."
        )
    else:
        fits = _still_fits(state, node, event, times, proposal.accounts[0], proposal.allocations[0])
        why = (
            f"{what} from {node.path!r} would bring an account of {spec.name!r}, whose people may be in "
            f"it, beyond {spec.budget}. {fits} Stop here, or add noise."
        )
    return BudgetExceeded(
        why,
        dataset=node.path,
        account=spec.name,
        quantity="epsilon",
        allowed=spec.budget.epsilon,
    )


def _before(
    account: Account,
    allocation: Allocation,
    total: Cost,
    cost: Cost,
    times: int,
    would_be: float,
) -> tuple[float, float]:
    """(spent so far, what the releases add) in epsilon."""
    planned = account.planned()
    if total.pure.is_finite() and as_float(planned[0] + total.pure) == would_be:
        # Epsilons that add up: what the people of this part have spent, not the worst-off.
        wanted = cost.pure * times
        return float(max(ZERO, planned[0] + total.pure - wanted)), float(wanted)
    spent = float(planned[0])
    if account.allocation is not None:
        spent = account.needed(account.total(), allocation, planned)
    return spent, max(0.0, would_be - spent)


def _too_likely_to_fail(
    state: State,
    node: Node,
    event: Event,
    times: int,
    account: Account,
    allocation: Allocation,
    failing: Decimal,
) -> BudgetExceeded:
    cost = state.price(event, node.root.views[0])
    wanted = float(account.failing(cost, ZERO) * times)
    allowed = float(allocation.failing)
    spent = max(0.0, float(failing) - wanted) if failing.is_finite() else 0.0
    return BudgetExceeded(
        f"{_short(event)} from {node.path!r} can fail outright with probability {wanted:.3g}; with "
        f"what was released before that is {float(failing):.3g}, of the {allowed:.3g} of delta "
        f"{account.budget.delta:g} kept for it. Open the ledger with a larger reserve=, or declare "
        "the schedule up front with ledger.plan().",
        dataset=node.path,
        account=account.name,
        quantity="delta",
        spent=spent,
        allowed=allowed,
        wanted=wanted,
    )


def _short(event: Event) -> str:
    text = repr(event)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _advice(
    state: State,
    account: Account,
    allocation: Allocation,
    node: Node,
    event: Event,
    times: int,
    would_be: float,
) -> str:
    reasons = [leaf.reason for leaf in leaves(event) if isinstance(leaf, NotPrivate)]
    if reasons:
        return f"It has no guarantee ({reasons[0]}); it cannot be released under any budget."
    if math.isinf(would_be):
        return _no_finite_epsilon(account, allocation)
    fits = _still_fits(state, node, event, times, account, allocation)
    mixed = state.terms.expect is None and node.root.first not in (None, event)
    hint = (
        "; if you know the releases in advance, a ledger opened with expect= allows more of them"
        if mixed
        else ""
    )
    return (
        f"{fits} Stop here, add noise, or declare the schedule up front with ledger.plan(){hint}."
    )


def _no_finite_epsilon(account: Account, allocation: Allocation) -> str:
    if account.budget.delta == 0:
        return (
            "It has no finite epsilon at delta 0: give the ledger a delta, for example "
            f"Budget({account.budget.epsilon:g}, 1e-6), or release with a pure mechanism such "
            "as Laplace."
        )
    if allocation.filter <= 0 and not isinstance(account.filter, PureFilter):
        return (
            "No delta is left to adaptive releases: declare plans with a smaller delta=, raise the "
            "budget, or release with a pure mechanism such as Laplace."
        )
    return (
        f"The {account.filter.name} filter has no finite cost for it: open the ledger with "
        "filter='rdp', or declare the schedule up front with ledger.plan()."
    )


def _still_fits(
    state: State, node: Node, event: Event, times: int, account: Account, allocation: Allocation
) -> str:
    """What would be accepted instead."""
    found = []
    fewer = how_many(state, node, event, times - 1) if times > 1 else 0
    if fewer:
        found.append(f"{fewer} of them")
    first = node.root.first
    if not fewer and first is not None and first != event and account.allocation is not None:
        more = how_many(state, node, first, allocation.repeats)
        if more:
            found.append(f"{more} more of {_short(first)}")
    pure = largest_pure(state, node, account, digits=3)
    if pure > 0:
        found.append(f"one pure release of epsilon {pure:.3g}")
    return f"What still fits: {', or '.join(found)}." if found else "Nothing else fits."
