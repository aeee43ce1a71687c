"""Every transfer rule against brute force over neighbours: no bound is ever below what happens."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.tracing.namespace import traced_names
from dpcheck.tracing.rules.rowwise import as_aggregate
from dpcheck.tracing.standins import stand_in
from dpcheck.tracing.tracer import Tracer
from dpcheck.tracing.values import Rows

ROWS = 7
TABLE = {"a": (0.0, 1.0), "b": (-2.0, 1.0), "c": (0.5, 3.0)}


def described(rows=ROWS):
    fields = {name: dpcheck.number(*ends) for name, ends in TABLE.items()}
    return dpcheck.records(**fields, rows=rows)


def facts(expression, adjacency):
    """The symbol an expression of a table gives."""
    tracer = Tracer(Adjacency(adjacency))
    symbol = stand_in(tracer, described(), "array")
    with traced_names(tracer, expression):
        return expression(symbol)


def record(rng):
    """One record, often at an end of what it may be."""
    ends = np.array(list(TABLE.values()))
    inside = ends[:, 0] + rng.random(3) * (ends[:, 1] - ends[:, 0])
    corner = ends[np.arange(3), rng.integers(0, 2, 3)]
    return np.where(rng.random(3) < 0.6, corner, inside)


def neighbours(adjacency, rng):
    """A random pair."""
    same = record(rng) if rng.random() < 0.3 else None
    first = np.array([record(rng) if same is None else same for _ in range(ROWS)])
    place = rng.integers(ROWS)
    if adjacency == "add-remove":
        return first, np.delete(first, place, axis=0)
    second = first.copy()
    second[place] = record(rng)
    return first, second


def check_aggregate(expression, adjacency, rng, pairs=60):
    """Difference and box hold on every pair; gives the largest ratio of a norm to its bound."""
    found = facts(expression, adjacency)
    found = as_aggregate(found) if isinstance(found, Rows) else found
    size, box = found.diff, found.box
    tight = 0.0
    with np.errstate(all="ignore"):
        for _ in range(pairs):
            first, second = (
                np.asarray(expression(d), dtype=float) for d in neighbours(adjacency, rng)
            )
            if not box.nan:
                assert (first >= box.lo - 1e-9).all()
                assert (first <= box.hi + 1e-9).all()
            moved = np.abs(first - second)
            assert (moved <= size.coordinates + 1e-9).all()
            flat = moved.ravel()
            for value, bound in (
                (flat.sum(), size.l1),
                (np.sqrt((flat**2).sum()), size.l2),
                (flat.max(initial=0.0), size.linf),
                ((flat > 1e-12).sum(), size.changed),
            ):
                assert value <= bound + 1e-9
            tight = max(tight, flat.sum() / size.l1 if 0 < size.l1 < np.inf else 0.0)
    return tight


def check_rows(expression, adjacency, rng, pairs=25):
    """Every row is within its box and norms, and row i depends on record i alone."""
    found = facts(expression, adjacency)
    with np.errstate(all="ignore"):
        for _ in range(pairs):
            first, second = neighbours("replace-one", rng)
            ours, theirs = (np.asarray(expression(d), dtype=float) for d in (first, second))
            changed = (first != second).any(axis=1)
            rows, others = np.moveaxis(ours, found.axis, 0), np.moveaxis(theirs, found.axis, 0)
            assert np.array_equal(rows[~changed], others[~changed], equal_nan=True)
            low, high = (
                np.moveaxis(np.broadcast_to(e, found.element), found.axis, 0)
                for e in (found.box.lo, found.box.hi)
            )
            if not found.box.nan:
                assert not np.isnan(rows).any()
            known = np.where(np.isnan(rows), low, rows)
            assert (known >= low - 1e-9).all()
            assert (known <= high + 1e-9).all()
            flat = np.abs(rows.reshape(len(rows), -1))
            if not found.box.nan:
                assert (flat.sum(axis=1) <= found.row.l1 + 1e-9).all()
                assert (np.sqrt((flat**2).sum(axis=1)) <= found.row.l2 + 1e-9).all()
                assert (flat.max(axis=1, initial=0) <= found.row.linf + 1e-9).all()
                assert ((flat > 0).sum(axis=1) <= found.row.changed).all()


ROWWISE = {
    "arithmetic": lambda t: (t * 2 - 1) / 4 + t**2,
    "negative": lambda t: -t,
    "absolute": lambda t: np.abs(t - 0.3),
    "square": lambda t: np.square(t) * t,
    "power": lambda t: np.power(t, 3.0),
    "sqrt": lambda t: np.sqrt(t),
    "exp": lambda t: np.exp(-t),
    "log": lambda t: np.log(t[:, 2]),
    "log of 0": lambda t: np.log(t),
    "quotient": lambda t: t / t[:, 2:3],
    "quotient by 0": lambda t: 1 / t,
    "sigmoid": lambda t: 1 / (1 + np.exp(-t)),
    "tanh": lambda t: np.tanh(t),
    "sine": lambda t: np.sin(t) + np.cos(t),
    "floor": lambda t: np.floor(t * 2) + np.ceil(t) + np.rint(t) + np.trunc(t),
    "sign": lambda t: np.sign(t),
    "minimum": lambda t: np.minimum(t, [0.5, 0.0, 1.0]),
    "maximum": lambda t: np.maximum(t, t[:, :1]),
    "fmax": lambda t: np.fmax(np.log(t), 0.2),
    "clip": lambda t: np.clip(t, -0.5, 0.7),
    "clip one end": lambda t: np.clip(t, None, 0.7),
    "comparison": lambda t: (t > 0.4) & ~(t == 1.0),
    "where": lambda t: np.where(t > 0.4, t, 0),
    "where of two": lambda t: np.where(t[:, :1] > 0.4, t, -t),
    "remainder": lambda t: np.remainder(t, 0.7),
    "floor division": lambda t: t // 0.3,
    "nan_to_num": lambda t: np.nan_to_num(np.log(t), neginf=-9.0),
    "cast": lambda t: t.astype(np.int64) * 3,
    "cast to truth": lambda t: t.astype(bool),
    "int8 that wraps": lambda t: (t * 100).astype(np.int64).astype(np.int8) * np.int8(3),
    "columns": lambda t: t[:, [0, 2]] * t[:, 1:],
    "new axis": lambda t: t[:, None, :] * t[:, :, None],
    "transpose": lambda t: t.T * 2,
    "reshape": lambda t: t.reshape(-1, 3, 1),
    "joined": lambda t: np.column_stack([t[:, 0], t[:, 1:] * 2]),
    "sum of a row": lambda t: t.sum(axis=1),
    "mean of a row": lambda t: t.mean(axis=1, keepdims=True),
    "largest of a row": lambda t: t.max(axis=1),
    "place of the largest": lambda t: np.argmax(t, axis=1),
    "any of a row": lambda t: (t > 0.5).any(axis=1),
    "norm": lambda t: np.linalg.norm(t, axis=1),
    "product with public": lambda t: t @ np.array([[1.0, -2.0], [0.5, 0.0], [3.0, 1.0]]),
    "digitize": lambda t: np.digitize(t[:, 0], [0.2, 0.4, 0.9]),
    "isin": lambda t: np.isin(t, [0.0, 1.0]),
    "clip by factor": lambda t: t * np.minimum(1, 1.5 / np.linalg.norm(t, axis=1, keepdims=True)),
    "clip by quotient": lambda t: t / np.maximum(1, np.linalg.norm(t, axis=1) / 1.5)[:, None],
    "clip by ratio": lambda t: t * (1.5 / np.maximum(np.linalg.norm(t, axis=1), 1.5))[:, None],
    "clip with a guard": lambda t: (
        t * np.minimum(1.0, 1.5 / (np.linalg.norm(t, axis=1) + 1e-6))[:, None]
    ),
    "clip by where": lambda t: (
        t * np.where(np.linalg.norm(t, axis=1) > 1.5, 1.5 / np.linalg.norm(t, axis=1), 1.0)[:, None]
    ),
    "clip in L1": lambda t: (
        t / np.maximum(1.0, np.linalg.norm(t, ord=1, axis=1, keepdims=True) / 1.5)
    ),
    "clip by root": lambda t: t * np.minimum(1, 1.5 / np.sqrt((t**2).sum(axis=1, keepdims=True))),
    "clip_norm": lambda t: dpcheck.clip_norm(t, 1.5),
    "einsum": lambda t: np.einsum("ij,ik->ijk", t, t),
}

AGGREGATES = {
    "sum": lambda t: t.sum(axis=0),
    "sum of all": lambda t: t.sum(),
    "count": lambda t: (t > 0.5).sum(axis=0),
    "count_nonzero": lambda t: np.count_nonzero(t > 0.5),
    "filtered sum": lambda t: t[t[:, 0] > 0.5].sum(axis=0),
    "filtered column": lambda t: t[t[:, 0] > 0.5, 1].sum(),
    "where and sum": lambda t: np.where(t[:, 0] > 0.5, t[:, 2], 0).sum(),
    "clipped by norm": lambda t: (
        t * np.minimum(1, 1.5 / np.linalg.norm(t, axis=1, keepdims=True))
    ).sum(axis=0),
    "histogram": lambda t: np.histogram(t[:, 0], bins=[0, 0.3, 0.6, 1.0])[0],
    "weighted histogram": lambda t: np.histogram(t[:, 0], bins=[0, 0.3, 0.6, 1.0], weights=t[:, 1])[
        0
    ],
    "bincount": lambda t: np.bincount(np.floor(t[:, 0] * 3).astype(np.int64), minlength=4),
    "product": lambda t: t.T @ t,
    "product with a column": lambda t: t[:, 0] @ t,
    "einsum": lambda t: np.einsum("ij,ik->jk", t, t),
    "scaled": lambda t: t.sum(axis=0) * np.array([1.0, -2.0, 0.5]),
    "shifted": lambda t: 3 - t.sum(axis=0),
    "sum of sums": lambda t: t.sum(axis=0).sum(),
    "stacked": lambda t: np.stack([t[:, 0].sum(), (t[:, 1] ** 2).sum()]),
    "array of": lambda t: np.array([t[:, 0].sum(), (t[:, 1] > 0).sum(), 1.0]),
    "concatenated": lambda t: np.concatenate([t.sum(axis=0), (t > 0.5).sum(axis=0)]),
    "absolute": lambda t: np.abs(t[:, 1].sum()),
    "clipped sum": lambda t: np.clip(t.sum(axis=0), 0, 2),
    "tanh": lambda t: np.tanh(t.sum(axis=0)),
    "square": lambda t: np.square(t[:, 0].sum()),
    "rounded": lambda t: np.rint(t.sum(axis=0)),
    "floored": lambda t: np.floor(t.sum(axis=0) * 0.7),
    "any": lambda t: (t > 0.9).any(axis=0),
    "norm of a sum": lambda t: np.linalg.norm(t.sum(axis=0)),
    "largest of sums": lambda t: t.sum(axis=0).max(),
    "sorted sums": lambda t: np.sort(t.sum(axis=0)),
    "indexed": lambda t: t.sum(axis=0)[[2, 0, 0]],
    "product of sums": lambda t: np.clip(t[:, 0].sum(), 0, 3) * np.clip(t[:, 1].sum(), -1, 1),
    "written": lambda t: _written(t),
}

PUBLIC_ROWS = {
    "mean": lambda t: t.mean(axis=0),
    "variance": lambda t: t.var(axis=0),
    "deviation": lambda t: t[:, 1].std(ddof=1),
    "median": lambda t: np.median(t, axis=0),
    "quantiles": lambda t: np.quantile(t[:, 0], [0.25, 0.75]),
    "extrema": lambda t: t.max(axis=0) - t.min(axis=0),
    "part": lambda t: t[2:5].sum(axis=0),
    "parts": lambda t: np.stack([t[:3].sum(axis=0), t[3:].sum(axis=0)]),
    "one record": lambda t: t[3] * 2,
    "all records": lambda t: t * 2,
    "centred": lambda t: (t - t.mean(axis=0)).sum(axis=0),
    "own variance": lambda t: ((t - t.mean(axis=0)) ** 2).mean(axis=0),
    "quotient": lambda t: t[:, 0].sum() / t[:, 2].sum(),
    "logarithm": lambda t: np.log(t[:, 2].sum()),
    "root": lambda t: np.sqrt(t[:, 2].mean()),
    "exponential": lambda t: np.exp(t.mean(axis=0)),
    "reversed": lambda t: t[::-1].sum(axis=0),
    "sorted": lambda t: np.sort(t[:, 0]),
}


def _written(t):
    out = np.zeros(3)
    out[1] = t[:, 0].sum()
    out[2] = 2 * t[:, 1].sum()
    return out


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", ROWWISE)
def test_rows(name, adjacency):
    check_rows(ROWWISE[name], adjacency, np.random.default_rng(1))


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates(name, adjacency):
    check_aggregate(AGGREGATES[name], adjacency, np.random.default_rng(2))


@pytest.mark.parametrize("name", PUBLIC_ROWS)
def test_aggregates_of_a_public_number_of_rows(name):
    check_aggregate(PUBLIC_ROWS[name], "replace-one", np.random.default_rng(3))


TIGHT = {"sum", "count", "filtered column", "histogram", "where and sum", "sum of all"}


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", sorted(TIGHT))
def test_bounds_that_are_attained(name, adjacency):
    tight = check_aggregate(AGGREGATES[name], adjacency, np.random.default_rng(4), pairs=500)
    assert tight > 0.9
