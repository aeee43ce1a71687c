"""Schedules fixed in advance: accounted as a whole, by the tightest accountant, when declared."""

from __future__ import annotations

from decimal import Decimal

from dpcheck.accounting.api import epsilon
from dpcheck.core.errors import BudgetExceeded, InvalidParameter, LedgerMisuse
from dpcheck.core.events.event import Event
from dpcheck.ledger.account import Account, Batch, Planned
from dpcheck.ledger.pricing.costs import ZERO, float_below, literal
from dpcheck.ledger.pricing.loop import kinds
from dpcheck.ledger.provenance import Node
from dpcheck.ledger.spending import Transaction
from dpcheck.ledger.state import State
from dpcheck.ledger.storage.entries import PlanDeclared


def plan_for(
    transaction: Transaction, path: str, event: Event, delta: float | None, name: str | None
) -> tuple[str, Batch]:
    """The name of a plan and what its batch costs; declared unless it is known."""
    state = transaction.state
    if name is None:
        name = f"plan-{len(state.plans) + 1}"
    on = transaction.storage.plan_of(name)
    if on is None:
        declared = declare_plan(state, state.nodes[path], event, delta, name)
        transaction.write(declared)
        return name, declared.cost
    known = state.plans.get(name)
    if known is None or known.node.path != path or known.event != event:
        raise LedgerMisuse(f"plan {name!r} already exists with another schedule.")
    return name, state.batches[known.node.root][known.batch]


def declare_plan(
    state: State, node: Node, event: Event, delta: float | None, name: str
) -> PlanDeclared:
    """The entry that adds a plan, or BudgetExceeded.

    Plans made before the first release are one schedule and get one bound; each later one is a
    schedule of its own. The bounds add up [Haney2023]: a plan is an interactive
    (epsilon, delta)-DP mechanism, whatever is released between its steps.
    """
    if not kinds(event):
        raise InvalidParameter("a plan needs at least one release.", value=event)
    root, accounts, terms = node.root, state.accounts_of(node.root), state.terms
    started = any(state.released(member) for a in accounts for member in a.roots)
    divided = any(a.allocation is not None for a in accounts)
    if started and not terms.filter.adapts and divided:
        raise LedgerMisuse(
            f"with the {terms.filter.name} filter all plans must be declared before the first "
            "adaptive release; use filter='rdp' to plan later."
        )
    batches = state.batches.get(root, [])
    index = len(batches)
    if batches and not started and not divided:
        index -= 1
        share = batches[index].delta
        if delta is not None and literal(delta) != share:
            raise LedgerMisuse(
                f"plans of {root.path!r} declared before the first release are accounted together, "
                f"at delta {share:g}; leave delta out."
            )
    else:
        room = min(map(_uncommitted, accounts))
        share = room if delta is None else literal(delta)
    whole = state.planned_event(root, index, (node, event))
    bound = epsilon(whole, delta=float_below(share), adjacency=terms.adjacency)
    batch = Batch(literal(bound.upper), share, bound.method)
    replaced = batches[index] if index < len(batches) else Batch(ZERO, ZERO, "")
    for account in accounts:
        planned = account.planned()
        wanted = (
            planned[0] - replaced.epsilon + batch.epsilon,
            planned[1] - replaced.delta + batch.delta,
        )
        if not account.accepts(account.total(), account.allocation, wanted):
            raise _too_much(account, node, planned, wanted, bound.method)
    if root.path in state.populations_by_dataset:
        full = state.full(root, state.whole_cost(root, plans={index: whole}))
        if full is not None:
            raise BudgetExceeded(
                f"this plan for {node.path!r} costs the accounts of {full.spec.name!r}, whose people may be "
                f"in it, more than is left of {full.spec.budget}; add noise, or take fewer steps.",
                dataset=node.path,
                account=full.spec.name,
                quantity="epsilon",
                allowed=full.spec.budget.epsilon,
            )
    return PlanDeclared(name, node.path, event, index, batch)


def _uncommitted(account: Account) -> Decimal:
    """The delta a plan may still take."""
    planned, allocation = account.planned()[1], account.allocation
    whole = literal(account.budget.delta) if allocation is None else allocation.failing
    return max(ZERO, whole - account.failing(account.total(), planned))


def _too_much(
    account: Account, node: Node, planned: Planned, wanted: Planned, method: str
) -> BudgetExceeded:
    total = account.total()
    spent = float(planned[0] + total.pure) if total.pure.is_finite() else float(planned[0])
    return BudgetExceeded(
        f"this plan for {node.path!r} costs epsilon {float(wanted[0] - planned[0]):.6g} at delta "
        f"{float(wanted[1] - planned[1]):.3g} ({method}), beyond what is left of the budget "
        f"{account.budget} of {account.name!r}, of which {float(planned[0]):.6g} is planned; add "
        "noise, take fewer steps, or pass delta= to divide the delta otherwise.",
        dataset=node.path,
        account=account.name,
        quantity="epsilon",
        spent=spent,
        allowed=account.budget.epsilon,
        wanted=float(wanted[0] - planned[0]),
    )
