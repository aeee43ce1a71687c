"""The proof against the real step: the same coins and noise, one record changed.

Whatever a release is without its noise moves, in units of that noise, by no more than two records' worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from dpcheck.core.errors import ProofsContradict

_SLACK = 1e-3  # of float32 sums


def check(run: Callable[[Any], Any], batches: Sequence[tuple[Any, Any]], multiplier: float) -> None:
    """`run(batch)` gives a tape; `multiplier` is the noise over the bound on one record.

    Guarantee: raises ProofsContradict only if the real step moved further than was proved.
    """
    if math.isinf(multiplier):
        return
    for one, other in batches:
        moved = shift(run(one), run(other))
        if moved is not None and moved > 2 / multiplier * (1 + _SLACK) + 1e-5:
            raise ProofsContradict(
                f"the proof says that one record moves the step by {2 / multiplier:.6g} units of its noise; "
                f"a run moved by {moved:.6g}."
            )


def shift(a: Any, b: Any) -> float | None:
    """By how many units of noise the releases of two runs lie apart; None where they cannot be compared."""
    if len(a.settled) != len(b.settled):
        return None
    total = 0.0
    for i, (x, y) in enumerate(zip(a.settled, b.settled, strict=True)):
        if not x.parts or i not in a.values or i not in b.values or not x.deviation:
            continue
        left, right = (_without(t, s, t.values[i]) for t, s in ((a, x), (b, y)))
        if left is None or right is None or left.shape != right.shape:
            return None
        total += float(((left - right).double() / x.deviation).square().sum())
    return math.sqrt(total)


def _without(tape: Any, settled: Any, value: Any) -> Any:
    found = value.double()
    for name, coef in settled.noise:
        drawn = tape.drawn.get(name)
        if drawn is None or drawn[0].numel() != value.numel():
            return None
        found = found - (drawn[0].double() * (coef / drawn[1])).reshape(value.shape)
    return found


def neighbours(batch: Any, generator: torch.Generator) -> list[tuple[Any, Any]]:
    """Batches that fit, with one record replaced: at random, large, zero, by another of the batch."""
    from torch.utils import _pytree as pytree

    def with_row(kind: str) -> Any:
        def other(x: Any) -> Any:
            if not isinstance(x, torch.Tensor) or x.shape[0] < 2:
                return x
            fresh = x.clone()
            if not x.is_floating_point() or kind == "copy":
                fresh[0] = x[1]
            elif kind == "zero":
                fresh[0] = 0
            elif kind == "large":
                fresh[0] = 50 * torch.randn(x[0].shape, generator=generator).to(x.dtype)
            else:
                fresh[0] = -3 * x[0]
            return fresh

        return pytree.tree_map(other, batch)

    return [(batch, with_row(kind)) for kind in ("copy", "zero", "large", "turned")]
