"""Functions of scipy.special that are more than an entry's own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.program.facts.kinds import Aggregate
from dpcheck.program.lowering.functions import apply
from dpcheck.program.lowering.registry import lower
from dpcheck.program.lowering.weights import normalised
from dpcheck.program.reading.public import public_call, released_call
from dpcheck.program.reading.values import Opaque
from dpcheck.program.rules.common import whole

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

softmax = sys.modules["scipy.special"].softmax  # loaded once somebody uses it


@lower(softmax)
def softmax_(reader: Reader, x: object, axis: object = None) -> object:
    """The exponentials of scores over their sum."""
    if reader.is_public([x, axis]):
        return public_call(reader, softmax, (x, axis), {})
    if isinstance(x, Opaque) or reader.is_released(x):
        return released_call(reader, softmax, (x, axis))
    scores = whole(reader.graph, reader.node(x))
    one = scores.ndim == 1 and reader.plain(axis) in (None, 0, -1)
    if not one or not isinstance(scores.fact, Aggregate) or scores.dtype.kind not in "biuf":
        reader.unknown("softmax of something else than one vector")
    if scores.dtype.kind != "f":
        scores = reader.graph.add("convert", scores, dtype=np.dtype(float))
    largest = reader.graph.add("extreme", scores, axes=(0,), largest=True)
    shifted = apply(reader, "subtract", scores, largest)
    return reader.array(normalised(reader, apply(reader, "exp", shifted)))
