"""What rows claim about other nodes: the norm they are made of, whose multiple or opposite they are."""

from __future__ import annotations

import numpy as np

from dpcheck.program.facts.boxes import Missing
from dpcheck.program.facts.kinds import Rows
from dpcheck.program.facts.norms import NormTag, Threshold
from dpcheck.program.facts.rowsets import Predicate
from dpcheck.program.graph import Node

from .examples.worlds import Side, World


def check_relations(world: World, side: Side, node: Node, fact: Rows, slack: float) -> None:
    """Every relation of rows to other nodes."""
    value = np.asarray(side.values[node.id])
    if fact.tag is not None:
        _check_tag(world, side, fact.tag, _flat(value, fact.axis)[:, 0], slack)
    if fact.powers is not None:
        with np.errstate(over="ignore"):
            total = _flat(value, fact.axis).sum(axis=1)
        _check_tag(world, side, fact.powers, total, slack)
    if fact.missing is not None:
        _check_missing(side, fact.missing, value)
    if fact.threshold is not None:
        _check_threshold(world, side, fact.threshold, _flat(value, fact.axis)[:, 0], slack)
    for answer, known in ((True, fact.truth), (False, fact.falsehood)):
        _check_truth(side, node, value, known or {}, answer)
    if fact.complement_of is not None and value.dtype.kind in "biu":
        other = np.asarray(side.values[fact.complement_of])
        truths = np.isin(other, (0, 1))
        assert (~truths | (value.astype(int) == 1 - other.astype(int))).all(), "no opposite"
    if fact.multiple_of is not None:
        source = np.asarray(side.values[fact.multiple_of[0]]).astype(float)
        with np.errstate(all="ignore"):
            wanted = source * fact.multiple_of[1]
            near = np.abs(value.astype(float) - wanted) <= slack + 1e-6 * np.abs(wanted)
        strange = ~np.isfinite(wanted) | ~np.isfinite(value.astype(float))
        less = np.abs(value.astype(float)) <= np.abs(wanted)  # whole numbers that wrapped around
        assert (near | strange | (less & (value.dtype.kind in "iu"))).all(), "no multiple"
    if fact.values is not None:
        assert np.isin(value, list(fact.values)).all(), "not of the list"


def _flat(value: np.ndarray, axis: int) -> np.ndarray:
    """A table with a row for every record."""
    return np.moveaxis(value, axis, 0).reshape(value.shape[axis], -1)


def norms(world: World, side: Side, tag: NormTag) -> np.ndarray:
    """The norm of every row of the tag's source."""
    source = world.graph.nodes[tag.source]  # type: ignore[index]
    assert isinstance(source.fact, Rows)
    table = _flat(np.asarray(side.values[source.id]).astype(float), source.fact.axis)
    with np.errstate(all="ignore"):
        return np.linalg.norm(table, tag.order, axis=1)


def _check_tag(world: World, side: Side, tag: NormTag, factor: np.ndarray, slack: float) -> None:
    r = norms(world, side, tag)
    known = np.isfinite(r) & np.isfinite(factor) & (r < 1e100)
    r, s = r[known], factor[known].astype(float)
    near = slack + 1e-5 * np.abs(s) + 1e-9
    with np.errstate(all="ignore"):
        assert (s >= -near).all(), "a negative factor"
        for a, p in tag.above:
            assert (s <= a * r**p * (1 + 1e-6) + near).all(), f"factor {s} above {a} r^{p}, r={r}"
        for a, p in tag.below:
            assert (s * (1 + 1e-6) >= a * r**p - near).all(), f"factor {s} below {a} r^{p}, r={r}"
        assert (s * r <= tag.bound * (1 + 1e-6) + near).all(), f"r s above {tag.bound}"


def _check_missing(side: Side, missing: Missing, value: np.ndarray) -> None:
    source = np.asarray(side.values[missing.source])  # type: ignore[index]
    wanted = np.isfinite(source) if missing.finite else np.isnan(source)
    np.testing.assert_array_equal(value, wanted != missing.negated)


def _check_threshold(
    world: World, side: Side, test: Threshold, value: np.ndarray, slack: float
) -> None:
    r = norms(world, side, test.tag)
    above = np.asarray(value, dtype=bool) == test.greater
    known = np.isfinite(r)
    near = 1e-9 + slack + 1e-6 * np.abs(r)
    assert (~known | ~above | (r >= test.limit - near)).all()
    assert (~known | above | (r <= test.limit + near)).all()


def _check_truth(side: Side, node: Node, value: np.ndarray, known: Predicate, answer: bool) -> None:
    from .claims import holds

    for place, region in known.items():
        other = np.asarray(side.values[place])
        if other.size == value.size:
            pairs = zip(other.ravel().tolist(), value.ravel().tolist(), strict=True)
        else:
            wide = np.broadcast_to(other, value.shape)
            pairs = zip(wide.ravel().tolist(), value.ravel().tolist(), strict=True)
        for entry, truth in pairs:
            if truth == answer:
                assert holds(region, entry), f"{entry} is not in {region}, answer {answer}"
