"""What a node of a dataset has paid, and how far a plan was stepped, as text and back."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from decimal import Decimal
from typing import cast

import numpy as np

from dpcheck.core.adjacency import as_adjacency
from dpcheck.core.events.serialize import from_dict
from dpcheck.ledger.populations.accounts import Units
from dpcheck.ledger.pricing.costs import Cost, View
from dpcheck.ledger.provenance import Node, Split, SplitTotal
from dpcheck.ledger.state import PlanState, State, plan_place
from dpcheck.ledger.storage.entries import event_fields
from dpcheck.ledger.storage.seals import Fields, written

_DOUBLE = np.dtype("<f8")
Written = list[object]


def balance_at(state: State, place: str) -> str:
    """What is kept of a node (by its path) or a plan (by `plan_place`)."""
    node = state.nodes.get(place)
    if node is not None:
        return written(_node(node))
    plan = next(plan for name, plan in state.plans.items() if plan_place(name) == place)
    return written({"steps": [[event_fields(e), n] for e, n in plan.counts.items()]})


def set_balance(state: State, place: str, fields: Fields) -> None:
    """Take over what was kept."""
    node = state.nodes.get(place)
    if node is not None:
        _read_node(node, fields)
        return
    plan: PlanState = next(plan for name, plan in state.plans.items() if plan_place(name) == place)
    plan.counts = {
        from_dict(event): int(cast(int, times))
        for event, times in cast(list[Written], fields["steps"])
    }


def _node(node: Node) -> Fields:
    return {
        "paid": {_view(view): _cost(cost) for view, cost in node.totals.items()},
        "splits": {
            name: {_view(view): _split(total) for view, total in split.totals.items()}
            for name, split in node.splits.items()
        },
    }


def _read_node(node: Node, fields: Fields) -> None:
    size = len(node.nothing.divergences)
    paid = cast(dict[str, Written], fields["paid"])
    node.totals = {view: _read_cost(paid[_view(view)], size) for view in node.views}
    splits = cast(dict[str, dict[str, Written]], fields["splits"])
    for name, totals in splits.items():
        split: Split = node.splits[name]
        for view, total in totals.items():
            split.totals[_read_view(view)] = _read_split(total, size)


def _view(view: View) -> str:
    return f"{view.adjacency.value}:{view.rows}"


def _read_view(text: str) -> View:
    relation, rows = text.rsplit(":", 1)
    return View(as_adjacency(relation), int(rows))


def _cost(cost: Cost) -> Written:
    numbers = [str(cost.pure), str(cost.failure), str(cost.slip)]
    divergences = cost.divergences.astype(_DOUBLE).tobytes().hex()
    return [*numbers, [str(repeats) for repeats in cost.repeats], divergences]


def _read_cost(values: Written, size: int) -> Cost:
    pure, failure, slip, repeats, text = values
    divergences = np.frombuffer(bytes.fromhex(cast(str, text)), dtype=_DOUBLE).astype(float)
    if len(divergences) != size:
        raise ValueError(f"{len(divergences)} divergences instead of {size}")
    each = tuple(Decimal(number) for number in cast(Sequence[str], repeats))
    numbers = [Decimal(cast(str, number)) for number in (pure, failure, slip)]
    if not all(number >= 0 for number in (*numbers, *each)) or (divergences < 0).any():
        raise ValueError("a cost is below 0")
    return Cost(numbers[0], numbers[1], numbers[2], each, divergences)


def _split(total: SplitTotal) -> Written:
    """Who is costliest matters only where records move between parts."""
    found: Written = [_cost(total.value), _cost(total.inside)]
    if max(total.holders[:3]) < 0:
        return found
    holders = [*total.holders[:3], total.holders[3].tolist()]
    return [*found, _cost(total.first), _cost(total.second), holders]


def _read_split(values: Written, size: int) -> SplitTotal:
    value, inside = (_read_cost(cast(Written, part), size) for part in values[:2])
    if len(values) == 2:
        nobody = np.full(size, -1)
        nothing = Cost(Decimal(0), Decimal(0), Decimal(0), (), np.zeros(size))
        return SplitTotal(value, inside, nothing, nothing, (-1, -1, -1, nobody))
    first, second = (_read_cost(cast(Written, part), size) for part in values[2:4])
    p, f, s, each = cast("tuple[int, int, int, list[int]]", tuple(cast(Written, values[4])))
    return SplitTotal(value, inside, first, second, (p, f, s, np.array(each, dtype=np.int_)))


def piece_place(number: int) -> str:
    """Where a piece of a population is kept."""
    return f"accounts/{number}"


def piece_number(place: str) -> int:
    """The number of the piece that is kept there."""
    return int(place.removeprefix("accounts/"))


def write_piece(accounts: Units) -> str:
    """Accounts as text; nothing where nothing was paid."""
    return b64encode(accounts.astype("<i8").tobytes()).decode("ascii") if accounts.any() else ""


def read_piece(text: str, size: int) -> Units:
    """The accounts that `write_piece` wrote."""
    if not text:
        return np.zeros(size, dtype=np.int64)
    found = np.frombuffer(b64decode(text), dtype="<i8").astype(np.int64)
    if len(found) != size:
        raise ValueError(f"{len(found)} accounts instead of {size}")
    if (found < 0).any():
        raise ValueError("an account is below 0")
    return found
