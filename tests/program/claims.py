"""What a fact claims, checked against the values of two neighbouring datasets."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.program.facts.boxes import Box
from dpcheck.program.facts.kinds import (
    Aggregate,
    Answers,
    Cell,
    Coins,
    Fact,
    Places,
    Public,
    Released,
    Rows,
)
from dpcheck.program.facts.rowsets import Predicate, Region, RowSet, disjoint
from dpcheck.program.facts.sizes import Size
from dpcheck.program.graph import Node

from .examples.worlds import REMOVE, ZERO, Pair, Side, World
from .rowclaims import check_relations


class Wrong(AssertionError):
    """A claim that does not hold."""


def check(world: World, pair: Pair) -> None:
    """Every claim of every node."""
    slack = slacks(world, pair)
    one_sided: set[int] = set()  # what is computed after `assume` counts where a select takes it
    for node in world.graph.nodes:
        if node.primitive != "select" and any(arg.id in one_sided for arg in node.args):
            one_sided.add(node.id)
        if node.primitive == "assume":
            one_sided.add(node.id)
        if node.dtype.kind not in "biuf" or node.id in one_sided:
            continue
        try:
            _check_node(world, pair, node, slack[node.id])
        except AssertionError as error:
            raise Wrong(f"{_named(world, node)}: {error}") from error


def _named(world: World, node: Node) -> str:
    args = ", ".join(f"{arg.id}:{arg.primitive}" for arg in node.args)
    return f"{node.id}: {node.primitive}({args}) {dict(node.params)} {node.dtype} {node.fact}"


def slacks(world: World, pair: Pair) -> dict[int, float]:
    """Rounding: some units in the last place of the largest number on the way."""
    found: dict[int, float] = {}
    for node in world.graph.nodes:
        before = [found[arg.id] for arg in node.args]
        steep = max((_magnitude(side.values[node.id]) for side in _sides(pair)), default=0.0)
        eps = float(np.finfo(node.dtype.name).eps) if node.dtype.kind == "f" else 1e-15
        grown = max(before) * _growth(node, pair) if before and steep < 1e100 else 0.0
        fresh = 0.0 if isinstance(node.fact, Public) else 32 * eps * max(1.0, steep)
        found[node.id] = min(fresh + grown, 1e300)
    return found


def _growth(node: Node, pair: Pair) -> float:
    """By how much rounding of the operands may grow: the ratio of the magnitudes, at least 4."""
    ins = [_magnitude(side.values[arg.id]) for arg in node.args for side in _sides(pair)]
    outs = [_magnitude(side.values[node.id]) for side in _sides(pair)]
    return 8.0 * min(max(1.0, *outs, *ins), 1e100)


def _sides(pair: Pair) -> tuple[Side, Side]:
    return pair.one, pair.two


def _magnitude(value: object) -> float:
    found = np.asarray(value)
    if found.dtype.kind not in "biuf" or not found.size:
        return 0.0
    sizes = np.abs(found.astype(float))
    return float(np.max(sizes, where=np.isfinite(sizes), initial=0.0))


def _check_node(world: World, pair: Pair, node: Node, slack: float) -> None:
    fact = node.fact
    for side in _sides(pair):
        value = np.asarray(side.values[node.id])
        _check_shape(node, side, value)
        in_box(fact.box, value, node.fact, slack)
    if isinstance(fact, Public):
        for side in _sides(pair):
            np.testing.assert_array_equal(side.values[node.id], fact.value)
    elif isinstance(fact, Rows):
        _check_rows(world, pair, node, fact, slack)
    elif isinstance(fact, Aggregate):
        _check_aggregate(world, pair, node, fact, slack)
    elif isinstance(fact, Released) and not _releases(node):
        np.testing.assert_array_equal(pair.one.values[node.id], pair.two.values[node.id])
    elif isinstance(fact, Coins):
        values = np.asarray(pair.one.values[node.id])
        assert np.isin(values, (0, 1)).all()
    if not isinstance(fact, Public | Released | Answers):  # answers are seen with all their draws
        seen = frozenset().union(*(_coins(arg.fact) for arg in node.args))
        assert seen <= _coins(fact), "coins are forgotten"


def _coins(fact: Fact) -> frozenset[int]:
    """The draws of rows it may tell of."""
    if isinstance(fact, Coins | Places):
        return frozenset(fact.ids.ravel().tolist())
    return fact.coins


def _releases(node: Node) -> bool:
    """Whether it comes from noise on private values."""
    return node.primitive in ("release", "respond", "answer", "pick") or any(
        _releases(arg) for arg in node.args
    )


def _check_shape(node: Node, side: Side, value: np.ndarray) -> None:
    shape = tuple(len(side.inside[id(n)]) if isinstance(n, RowSet) else n for n in node.shape)
    assert value.shape == shape, f"shape {value.shape}, not {shape}"
    assert value.dtype == node.dtype, f"type {value.dtype}, not {node.dtype}"


def in_box(box: Box, value: np.ndarray, fact: Fact, slack: float) -> None:
    """Every entry within its ends."""
    found = value.astype(float)
    missing = np.isnan(found)
    assert box.nan or not missing.any(), "NaN"
    low, high = (np.broadcast_to(end, found.shape) for end in (box.lo, box.hi))
    assert (box.lo <= box.hi).all(), "an empty box"
    with np.errstate(invalid="ignore", over="ignore"):
        assert (missing | (found >= low - slack)).all(), f"{found.min()} below {box.lo}"
        assert (missing | (found <= high + slack)).all(), f"{found.max()} above {box.hi}"
    if box.plain_zero:
        assert not (np.signbit(found) & (found == 0)).any(), "-0.0"


def fits(size: Size, vector: np.ndarray, slack: float) -> None:
    """A vector is no larger than its size says."""
    if np.isnan(vector).any():
        return
    with np.errstate(all="ignore"):
        found = np.abs(vector)
        entries = np.broadcast_to(size.coordinates, found.shape)
        assert (found <= 1.000000000001 * entries + slack).all(), f"entries {found} above {entries}"
        many = max(1, found.size)
        top = float(found.max()) if found.size else 0.0
        total = float(found.sum())
        unit = top if 0 < top < np.inf else 1.0
        length = unit * float(np.sqrt(np.square(found / unit).sum()))
    near = 1 + 1e-12  # bounds are computed in floats, too
    assert total <= near * size.l1 + many * slack, f"L1 {total} above {size.l1}"
    assert length <= near * size.l2 + many * slack, f"L2 {length} above {size.l2}"
    assert top <= near * size.linf + slack, f"Linf {top} above {size.linf}"
    changed = int((found > slack).sum())
    assert changed <= size.changed, f"{changed} entries above {size.changed}"


# Rows -----------------------------------------------------------------------------------------------


def row_of(side: Side, node: Node, record: int) -> np.ndarray | None:
    """The row of one record, None where it is not in."""
    fact = node.fact
    assert isinstance(fact, Rows)
    places = np.flatnonzero(side.inside[id(fact.rows)] == record)
    if not len(places):
        return None
    return np.take(np.asarray(side.values[node.id]), [places[0]], fact.axis)


def _check_rows(world: World, pair: Pair, node: Node, fact: Rows, slack: float) -> None:
    if fact.rows.count is not None:
        assert len(pair.one.inside[id(fact.rows)]) == fact.rows.count
    for record in range(world.count):
        rows = [row_of(side, node, record) for side in _sides(pair)]
        if record != pair.record:
            assert (rows[0] is None) == (rows[1] is None), "who is in depends on others"
            if rows[0] is not None:
                np.testing.assert_array_equal(rows[0], rows[1])
        for side, row in zip(_sides(pair), rows, strict=True):
            if row is None:
                continue
            if node.dtype.kind == "f":
                fits(fact.row, row.astype(float), slack)
            else:
                fits(fact.row, row.astype(float), 0.0)
            _check_row(world, side, node, fact, record, row)
    null = row_of(pair.two, node, pair.record) if world.graph.adjacency is ZERO else None
    if fact.zero_null and null is not None:
        assert not null.any(), f"the null record has {null}"
    for side in _sides(pair):
        check_relations(world, side, node, fact, slack)


def _check_row(
    world: World, side: Side, node: Node, fact: Rows, record: int, row: np.ndarray
) -> None:
    """Zero unless sampled, zero unless the predicate holds; in only if that of the rows holds."""
    holds_all(world, side, fact.rows.predicate, record, "is in")
    if fact.rows.sampling is not None and fact.rows.sampling.batch is None:
        assert heads(world, side, fact.rows.sampling.ids, fact.rows.sampling.rate, record)
    if row.any():
        holds_all(world, side, fact.predicate, record, "is not 0")
        if fact.sampling is not None:
            assert heads(world, side, fact.sampling.ids, fact.sampling.rate, record)


def heads(world: World, side: Side, ids: frozenset[int], rate: float, record: int) -> bool:
    """Whether a record's own coin fell on heads."""
    for node in world.graph.nodes:
        fact = node.fact
        if not isinstance(fact, Coins) or abs(fact.rate - rate) > 1e-12:
            continue
        if frozenset(fact.ids.ravel().tolist()) == ids:
            places = np.flatnonzero(side.records == record)
            return bool(np.asarray(side.values[node.id]).ravel()[places[0]])
    raise AssertionError(f"no coins of rate {rate}")


def holds(region: Region, value: object) -> bool:
    """Whether a value is in a region."""
    if region.members is not None:
        return any(value == each for each in region.members) != region.but
    number = float(value)  # type: ignore[arg-type]
    above = number > region.low or (number == region.low and region.low_in)
    return above and (number < region.high or (number == region.high and region.high_in))


def holds_all(world: World, side: Side, predicate: Predicate, record: int, what: str) -> None:
    """What is known of a record is true."""
    for place, region in predicate.items():
        row = row_of(side, world.graph.nodes[place], record)
        assert row is not None, f"record {record} {what}, but is not among node {place}"
        for value in row.ravel().tolist():
            assert holds(region, value), f"record {record} {what}: {value} not in {region}"


# Aggregates -----------------------------------------------------------------------------------------


def _check_aggregate(world: World, pair: Pair, node: Node, fact: Aggregate, slack: float) -> None:
    one, two = (np.asarray(side.values[node.id]).astype(float) for side in _sides(pair))
    with np.errstate(invalid="ignore", over="ignore"):
        step = np.where(one == two, 0.0, one - two)
    exact = 0.0 if node.dtype.kind in "iub" else slack
    fits(fact.diff, step, exact)
    if fact.records is not None and pair.record not in fact.records:
        assert not step.any(), "moved by a record it does not depend on"
    if fact.symmetric:
        np.testing.assert_allclose(one, one.T, atol=slack)
    if fact.counts is not None:
        assert float(one) == len(pair.one.inside[id(fact.counts)])
    if fact.contribution is not None:
        _check_contribution(world, pair, node, fact, exact)
    if fact.cells:
        _check_cells(world, pair, node, exact)
    if fact.rising:
        assert world.graph.adjacency is REMOVE
        assert (np.isnan(step) | (step >= -exact)).all(), "one more record moved it down"


def _check_contribution(
    world: World, pair: Pair, node: Node, fact: Aggregate, slack: float
) -> None:
    """What the record adds: the value less that of the data without it."""
    full, rest = (
        np.asarray(side.values[node.id]).astype(float) for side in (pair.one, pair.without)
    )
    with np.errstate(invalid="ignore", over="ignore"):
        added = np.where(full == rest, 0.0, full - rest)
    assert fact.contribution is not None
    fits(fact.contribution, added, slack)
    if np.isnan(added).any() or not (np.abs(added) > slack).any():
        return
    holds_all(world, pair.one, fact.predicate, pair.record, "is behind it")
    if fact.sampling is not None and fact.sampling.batch is None:
        assert heads(world, pair.one, fact.sampling.ids, fact.sampling.rate, pair.record)


def _check_cells(world: World, pair: Pair, node: Node, slack: float) -> None:
    """A record is behind one cell at most, and adds no more to it than the cell says."""
    fact = node.fact
    assert isinstance(fact, Aggregate)
    for i, mine in enumerate(fact.cells):
        for other in fact.cells[:i]:
            assert disjoint(mine.predicate, other.predicate)
    full, rest = (
        np.asarray(side.values[node.id]).astype(float) for side in (pair.one, pair.without)
    )
    added = full - rest
    behind = [cell for cell in fact.cells if _is_in(world, pair, cell)]
    assert len(behind) <= 1
    largest = behind[0].contribution if behind else Size(np.asarray(0.0), 0.0, 0.0, 0.0, 0.0)
    free = Size(np.asarray(math.inf), largest.l1, largest.l2, largest.linf, largest.changed)
    fits(free, added, slack)


def _is_in(world: World, pair: Pair, cell: Cell) -> bool:
    """Whether the record fulfils the predicate of a cell."""
    try:
        holds_all(world, pair.one, cell.predicate, pair.record, "")
    except AssertionError:
        return False
    return True
