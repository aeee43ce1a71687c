"""Keys and draws: how they were derived, and what they are used for."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dpcheck.training.derive import Context
from dpcheck.training.facts import Drawn, Fact, Keys, Mixed, Numbers, Public, Rows
from dpcheck.training.graph import Node
from dpcheck.training.rules import numbers as of
from dpcheck.training.rules.registry import rule

_DRAWS = itertools.count()
_LAWS = {"uniform": Numbers(0.0, 1.0)}


def unknown(shape: tuple[int, ...], why: str) -> Any:
    """Keys from which no noise can come."""
    found = np.empty(shape, dtype=object)
    for index in np.ndindex(*shape):
        found[index] = (("unknown", why),)
    return found


def as_keys(at: Context, node: Node, x: Fact) -> Keys:
    """The keys, or ones from which no noise can come."""
    if isinstance(x.kind, Keys):
        return x.kind
    arg = node.args[0]
    lead = arg.shape if arg.dtype == "key" else arg.shape[:-1]
    why = "derived from the data" if not isinstance(x.kind, Public) else "made of public numbers"
    at.settled(x)
    return Keys(unknown(lead, why))


@rule("key_constant")
def key_constant(at: Context, node: Node, *seed: Fact) -> Fact:
    """A key that is known: seeded with a constant, or with something public."""
    private = any(not isinstance(fact.kind, Public) for fact in seed)
    why = "derived from the data" if private else "seeded with a number that is known"
    return Fact(of.ANY, Keys(unknown(node.out.shape, why)))


@rule("key_wrap")
def key_wrap(at: Context, node: Node, x: Fact) -> Fact:
    """Words as a key."""
    return Fact(of.ANY, Keys(as_keys(at, node, x).paths))


@rule("key_unwrap")
def key_unwrap(at: Context, node: Node, x: Fact) -> Fact:
    """A key as words."""
    return Fact(of.ANY, Keys(as_keys(at, node, x).paths, raw=True))


@rule("key_split")
def key_split(at: Context, node: Node, x: Fact) -> Fact:
    """Children, told apart by their number."""
    paths = as_keys(at, node, x).paths
    found = np.empty(node.out.shape, dtype=object)
    per = node.out.shape[paths.ndim :]
    for index in np.ndindex(*paths.shape):
        at.ledger.keys.use(paths[index], "split", per, node.line)
        for child, place in enumerate(np.ndindex(*per)):
            found[index + place] = (*paths[index], ("split", child))
    return Fact(of.ANY, Keys(found))


@rule("key_fold")
def key_fold(at: Context, node: Node, x: Fact, data: Fact) -> Fact:
    """A key and a whole number: children told apart by that, where it is known or differs in each round."""
    paths = np.broadcast_to(as_keys(at, node, x).paths, node.out.shape)
    found = np.empty(node.out.shape, dtype=object)
    known = _whole_numbers(at, node, data)
    private = known is None and not isinstance(data.kind, Public)
    loop = at.round_of(node.args[1])
    for index in np.ndindex(*node.out.shape):
        if private:
            found[index] = (("unknown", "derived from the data"),)
            at.ledger.keys.use(paths[index], "look", None, node.line)
            continue
        if known is not None:
            what: Any = int(known[index])
        elif loop is not None and not node.out.shape:
            what = ("round", loop)
        else:
            what = ("value", at.scope, node.args[1].index)
        at.ledger.keys.use(paths[index], "fold", what, node.line)
        found[index] = (*paths[index], ("fold", what))
    return Fact(of.ANY, Keys(found))


def _whole_numbers(at: Context, node: Node, data: Fact) -> Any:
    """The numbers, if they are constants; of 0, 1, 2, ... along the records, too."""
    value = data.kind.value if isinstance(data.kind, Public) else None
    if isinstance(data.kind, (Mixed, Rows)):
        made = at.producer(node.args[1], ("convert", "copy", "reshape"))
        if made is not None and made.op == "iota" and len(made.out.shape) == 1:
            value = np.arange(made.out.shape[0])
    if value is None:
        return None
    return np.broadcast_to(np.reshape(value, value.shape), node.out.shape)


@rule("draw")
def draw(at: Context, node: Node, *key: Fact) -> Fact:
    """Independent numbers, from a key or from a generator that nobody can see."""
    which = next(_DRAWS)
    law = node.params["law"]
    paths = list(as_keys(at, node, key[0]).paths.flat) if key else []
    for path in paths:
        at.ledger.keys.use(path, "draw", which, node.line)
    at.ledger.paths[which] = paths
    at.ledger.where[which] = (node.line, at.loops)
    fact = Fact(
        _LAWS.get(law, Numbers() if law in ("normal", "laplace") else of.WILD),
        Drawn(which, law, 1.0),
    )
    varies = at.graph.varies.get(node.out.index)
    if (law not in ("normal", "laplace") or node.out.half) and not varies:
        return at.settled(fact)
    return fact
