"""The table of examples, and the operands they are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from dpcheck.program.graph import Node

from .worlds import World

Example = Callable[[World], object]
EXAMPLES: dict[str, list[Example]] = defaultdict(list)


def example(*names: str) -> Callable[[Example], Example]:
    """Register an example of these primitives."""

    def register(build: Example) -> Example:
        for name in names:
            EXAMPLES[name].append(build)
        return build

    return register


INF = np.inf
# type, low, high, NaN: boxes in which every function of entries is tried.
BOXES: dict[str, tuple[object, float, float, bool]] = {
    "float": (float, -3.0, 2.0, False),
    "positive": (float, 0.5, 4.0, False),
    "from 0": (float, 0.0, 3.0, False),
    "negative": (float, -4.0, -0.25, False),
    "anything": (float, -INF, INF, True),
    "up": (float, 1.0, INF, False),
    "float32": (np.float32, -2.0, 5.0, False),
    "all float32": (np.float32, -3e38, 3e38, False),
    "int8": (np.int8, -128, 127, False),
    "few int8": (np.int8, -3, 3, False),
    "uint8": (np.uint8, 0, 255, False),
    "few uint8": (np.uint8, 0, 5, False),
    "int64": (np.int64, -4, 6, False),
    "all int64": (np.int64, -(2.0**63), 2.0**63 - 1024, False),
    "bool": (bool, 0, 1, False),
}
SHAPES = ((), (2,), (3, 2))


def rows(world: World, box: str, rest: tuple[int, ...] = (), axis: int = 0) -> Node:
    """Private rows in a box."""
    kind, low, high, nan = BOXES[box]
    return world.rows(rest, kind, low, high, nan, axis)


def aggregate(world: World, box: str, shape: tuple[int, ...] = (), **size: object) -> Node:
    """A private array in a box."""
    kind, low, high, nan = BOXES[box]
    return world.aggregate(shape, kind, low, high, nan, **size)


def released(world: World, box: str, shape: tuple[int, ...] = ()) -> Node:
    """A released array in a box."""
    kind, low, high, nan = BOXES[box]
    return world.released(shape, kind, low, high, nan)


def array(values: object, box: str = "float") -> np.ndarray:
    """Public numbers of a type."""
    return np.asarray(values).astype(BOXES[box][0])  # type: ignore[call-overload]


SIZES: tuple[dict[str, object], ...] = (
    {},
    {"coordinates": 1.0},
    {"coordinates": [0.5, 2.0]},
    {"l1": 1.5},
    {"l2": 1.0},
    {"linf": 1.0, "changed": 1},
)


def sized(size: dict[str, object], shape: tuple[int, ...]) -> dict[str, object]:
    """A size that fits a shape."""
    if isinstance(size.get("coordinates"), list) and (not shape or shape[-1] != 2):
        return {"coordinates": 1.0}
    return size
