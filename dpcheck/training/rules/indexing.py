"""Gather and scatter: indices and arrays of one record each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.training.derive import Context
from dpcheck.training.facts import Aggregate, Fact, Keys, Numbers, Public, Region, Rows, Term
from dpcheck.training.graph import Node
from dpcheck.training.rules import numbers as of
from dpcheck.training.rules.registry import rule
from dpcheck.training.rules.rowwise import (
    after_sum,
    is_public,
    shared,
    terms_scaled,
    zero_of,
)
from dpcheck.training.rules.shapes import sliced


def _picked(at: Context) -> Fact:
    return at.mixed(
        "records-picked",
        "this line picks or repeats records by their place in the batch",
        "use each record of the batch once",
    )


def inside(node: Node, indices: Numbers, numbers: dict[str, Any], lengths: list[int]) -> bool:
    """Whether no index can be out of bounds."""
    room = min(lengths, default=0)
    return indices.lo >= 0 and indices.hi <= room


@rule("gather")
def gather(at: Context, node: Node, x: Fact, indices: Fact) -> Fact:
    """Entries read at indices.

    **Lemma.** Records in batching axes, in whole window axes or in the axes of the indices stay apart.
    """
    p, sizes, mode = node.params["numbers"], node.params["sizes"], node.params["mode"]
    shape, places = node.args[0].shape, node.args[1].shape
    if isinstance(x.kind, Keys):
        return _keys(at, node, x, indices)
    x, indices = at.settled(x), at.settled(indices)
    room = [shape[axis] - sizes[axis] for axis in p["start_index_map"]]
    image = x.numbers
    if mode == "fill" and not inside(node, indices.numbers, p, room):
        image = replace(image, nan=True, nonzero=False) if node.out.floating else of.ANY
    if is_public(x, indices):
        return Fact(image, at.public([x, indices]))
    if isinstance(x.kind, Aggregate) or isinstance(indices.kind, Aggregate):
        if isinstance(x.kind, Aggregate) and is_public(indices):
            terms = terms_scaled(x.kind.terms, math.sqrt(max(node.out.size, 1)), whole=False)
            return Fact(image, replace(x.kind, terms=terms))
        return after_sum(at)
    offsets = sorted(p["offset_dims"])
    batch_out = [i for i in range(len(node.out.shape)) if i not in offsets]
    gone = (*p["collapsed_slice_dims"], *p["operand_batching_dims"])
    windows = [i for i in range(len(shape)) if i not in gone]
    moved = []
    if isinstance(indices.kind, Rows):
        if indices.kind.inner > 1 or any(a >= len(places) - 1 for a in indices.kind.axes):
            return _picked(at)
        moved.append(
            (indices, replace(indices.kind, axes=tuple(batch_out[a] for a in indices.kind.axes)))
        )
    if isinstance(x.kind, Rows):
        axes = []
        for axis in x.kind.axes:
            if axis in p["operand_batching_dims"]:
                which = list(p["operand_batching_dims"]).index(axis)
                axes.append(batch_out[p["start_indices_batching_dims"][which]])
            elif axis in windows and sizes[axis] == shape[axis]:
                axes.append(offsets[windows.index(axis)])
            else:
                return _one_record(at, node, x, indices)
        moved.append((x, replace(x.kind, axes=tuple(axes))))
    rows = shared(at, [Fact(fact.numbers, kind) for fact, kind in moved])
    if isinstance(rows, Fact):
        return rows
    return Fact(image, rows.bare(zero=zero_of(x) and not image.nan))


def _one_record(at: Context, node: Node, x: Fact, indices: Fact) -> Fact:
    """x[i] with a constant i is a slice."""
    p, sizes = node.params["numbers"], node.params["sizes"]
    known = at.known(node.args[1])
    shape, rows = node.args[0].shape, x.kind
    assert isinstance(rows, Rows)
    if known is None or len(node.args[1].shape) != 1 or p["operand_batching_dims"]:
        return _picked(at)
    start = [0] * len(shape)
    for which, axis in enumerate(p["start_index_map"]):
        start[axis] = int(min(max(known.reshape(-1)[which], 0), shape[axis] - sizes[axis]))
    limit = [a + n for a, n in zip(start, sizes, strict=True)]
    found = sliced(at, node, x, start, limit, [1] * len(shape))
    if not isinstance(found.kind, Rows):
        return found
    kept = [i for i in range(len(shape)) if i not in p["collapsed_slice_dims"]]
    axes = tuple(kept.index(a) for a in found.kind.axes if a in kept)
    return Fact(found.numbers, replace(found.kind, axes=axes))


def _keys(at: Context, node: Node, x: Fact, indices: Fact) -> Fact:
    """Some of several keys."""
    assert isinstance(x.kind, Keys)
    p, known = node.params["numbers"], at.known(node.args[1])
    lead = node.out.shape[:-1] if x.kind.raw else node.out.shape
    simple = x.kind.paths.ndim == 1 and tuple(p["collapsed_slice_dims"]) == (0,)
    found = np.empty(lead, dtype=object)
    if simple and known is not None and known.size == found.size:
        chosen = np.clip(known.reshape(lead).astype(int), 0, len(x.kind.paths) - 1)
        for index in np.ndindex(*lead):
            found[index] = x.kind.paths[chosen[index]]
        return Fact(x.numbers, Keys(found, x.kind.raw))
    at.ledger.keys.look(x.kind, node.line)
    for index in np.ndindex(*lead):
        found[index] = (("unknown", "chosen by a number that is not known here"),)
    return Fact(x.numbers, Keys(found, x.kind.raw))


@rule("scatter_add", "scatter")
def scatter(at: Context, node: Node, x: Fact, indices: Fact, updates: Fact) -> Fact:
    """Entries written or added at indices.

    **Lemma.** As for `gather`. Records whose updates go to one array are summed there: nothing bounds that.
    """
    x, indices, updates = at.settled(x), at.settled(indices), at.settled(updates)
    p = node.params["numbers"]
    shape, places, new = (arg.shape for arg in node.args)
    windows = set(p["update_window_dims"])
    lanes = [i for i in range(len(new)) if i not in windows]
    batching = list(p["scatter_indices_batching_dims"])
    hits = math.prod(n for i, n in enumerate(places[:-1]) if i not in batching)
    image = x.numbers.joined(updates.numbers)
    if node.op == "scatter_add":
        added = (
            of.summed(updates.numbers, max(hits, 1))
            .joined(Numbers(0.0, 0.0))
            .joined(updates.numbers)
        )
        image = of.add(x.numbers, added)
    if is_public(x, indices, updates):
        return Fact(image, at.public([x, indices, updates]))
    facts = (x, indices, updates)
    if any(isinstance(fact.kind, Aggregate) for fact in facts):
        return after_sum(at)
    out_of = {i: p["operand_batching_dims"][k] for k, i in enumerate(batching)}
    gone = (*p["inserted_window_dims"], *p["operand_batching_dims"])
    kept = [i for i in range(len(shape)) if i not in gone]
    moved = []
    if isinstance(x.kind, Rows):
        whole = [a for a in x.kind.axes if a in p["operand_batching_dims"] or _whole(node, a, kept)]
        if len(whole) != len(x.kind.axes):
            return _picked(at)
        moved.append(x)
    if isinstance(indices.kind, Rows):
        if indices.kind.inner > 1 or any(a not in out_of for a in indices.kind.axes):
            return _summed(at, node, image)
        moved.append(
            Fact(
                indices.numbers,
                replace(indices.kind, axes=tuple(out_of[a] for a in indices.kind.axes)),
            )
        )
    if isinstance(updates.kind, Rows):
        axes = []
        for a in updates.kind.axes:
            if a in windows:
                axis = kept[sorted(windows).index(a)]
                if new[a] != shape[axis] or axis in p["scatter_dims_to_operand_dims"]:
                    return _picked(at)
                axes.append(axis)
            elif lanes.index(a) in out_of and updates.kind.inner == 1:
                axes.append(out_of[lanes.index(a)])
            else:
                return _summed(at, node, image)
        moved.append(Fact(updates.numbers, replace(updates.kind, axes=tuple(axes))))
    rows = shared(at, moved)
    if isinstance(rows, Fact):
        return rows
    return Fact(image, rows.bare(zero=zero_of(x) and zero_of(updates)))


def _whole(node: Node, axis: int, kept: list[int]) -> bool:
    p = node.params["numbers"]
    if axis not in kept or axis in p["scatter_dims_to_operand_dims"]:
        return False
    window = sorted(p["update_window_dims"])[kept.index(axis)]
    return bool(node.args[2].shape[window] == node.args[0].shape[axis])


def _summed(at: Context, node: Node, image: Numbers) -> Fact:
    if node.op == "scatter":
        return _picked(at)
    token = frozenset({("sum", at.name)})
    return Fact(image, Aggregate((Term(token, token, math.inf, line=node.line),)))


__all__ = ["Public", "Region"]
