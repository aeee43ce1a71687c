"""Schedules fixed in advance: accounted as a whole, by the tightest accountant, when declared."""

from __future__ import annotations

from decimal import Decimal

from dpcheck.accounting.api import epsilon
from dpcheck.core.errors import BudgetExceeded, InvalidParameter, LedgerMisuse
from dpcheck.core.events.event import Event
from dpcheck.ledger.account import Account, Batch
from dpcheck.ledger.book import Book, PlanState
from dpcheck.ledger.costs import ZERO, float_below, literal
from dpcheck.ledger.handles import kinds
from dpcheck.ledger.journal import Change, Facts
from dpcheck.ledger.provenance import Node


def declare_plan(
    book: Book, facts: Facts, node: Node, event: Event, delta: float | None, name: str
) -> tuple[Change, Change]:
    """The changes that add a plan, or BudgetExceeded.

    Plans made before the first release are one schedule and get one bound; each later one is a
    schedule of its own. The bounds add up [Haney2023]: a plan is an interactive
    (epsilon, delta)-DP mechanism, whatever is released between its steps.
    """
    schedule = kinds(event)
    if not schedule:
        raise InvalidParameter("a plan needs at least one release.", value=event)
    root, accounts = node.root, book.accounts_of(node.root)
    started = any(book.released(member) for a in accounts for member in a.roots)
    if started and not book.filter.adapts and any(a.set_aside is not None for a in accounts):
        raise LedgerMisuse(
            f"with the {book.filter.name} filter all plans must be declared before the first "
            "adaptive release; use filter='rdp' to plan later."
        )
    batches = book.batches.get(root, [])
    index = len(batches)
    if batches and not started:
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
    whole = book.planned_event(root, index, (node, event))
    bound = epsilon(whole, delta=float_below(share), adjacency=book.adjacency)
    batch = Batch(literal(bound.upper), share, bound.method)
    replaced = batches[index] if index < len(batches) else Batch(ZERO, ZERO, "")
    for account in accounts:
        planned = account.planned()
        wanted = (
            planned[0] - replaced.epsilon + batch.epsilon,
            planned[1] - replaced.delta + batch.delta,
        )
        refusal = account.refusal(account.total(), wanted)
        if refusal is not None:
            raise _too_much(account, node, planned, wanted, bound.method)
    state = PlanState(name, node, event, index, schedule)
    return facts.batch(root, index, batch), facts.plan(state)


def _uncommitted(account: Account) -> Decimal:
    """The delta a plan may still take."""
    planned = account.planned()[1]
    whole = literal(account.budget.delta) if account.set_aside is None else account.set_aside
    return max(ZERO, whole - account.failing(account.total(), planned))


def _too_much(
    account: Account,
    node: Node,
    planned: tuple[Decimal, Decimal],
    wanted: tuple[Decimal, Decimal],
    method: str,
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
