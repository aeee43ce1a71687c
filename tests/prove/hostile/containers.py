"""Private values inside lists, tuples, objects and buffers that compare, sort or copy them."""

from __future__ import annotations

import collections
import ctypes
import decimal
import enum
import fractions
import heapq
import json
import pickle
import statistics
import struct
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from .base import Group

GROUP = Group("containers")


@GROUP.wrong(50.0)
def equal_lists(x, rng):
    return 50.0 * ([x.max()] == [0.0]) + rng.laplace()


@GROUP.wrong(50.0)
def equal_tuples(x, rng):
    return 50.0 * ((x.max(), 1) == (0.0, 1)) + rng.laplace()


@GROUP.wrong(50.0)
def tuples_in_order(x, rng):
    return 50.0 * ((x.max(), 1) > (0.5, 0)) + rng.laplace()


@GROUP.wrong(50.0)
def member_of_a_list(x, rng):
    return 50.0 * (x.max() in [0.0]) + rng.laplace()


@GROUP.wrong(50.0)
def member_of_the_array(x, rng):
    return 50.0 * (1.0 in x) + rng.laplace()


@GROUP.wrong(50.0)
def count_of_a_list(x, rng):
    return 50.0 * [x.max()].count(0.0) + rng.laplace()


@GROUP.wrong(50.0)
def place_in_a_list(x, rng):
    return 50.0 * [0.0, 1.0].index(x.max()) + rng.laplace()


@GROUP.wrong(50.0)
def removed_from_a_list(x, rng):
    kept = [0.0, 1.0]
    kept.remove(x.max())
    return 50.0 * kept[0] + rng.laplace()


@GROUP.wrong(50.0)
def sorted_list(x, rng):
    return 100.0 * sorted([x.max(), 0.5])[0] + rng.laplace()


@GROUP.wrong(50.0)
def sorted_names(x, rng):
    return 50.0 * (sorted([(x.max(), "a"), (0.5, "b")])[0][1] == "a") + rng.laplace()


@GROUP.wrong(50.0)
def heap_of_two(x, rng):
    return 50.0 * (heapq.nsmallest(1, [(x.max(), 0), (0.5, 1)])[0][1]) + rng.laplace()


@GROUP.wrong(50.0)
def largest_by_key(x, rng):
    return max((0.0, 50.0), key=lambda v: v if x.max() > 0.5 else -v) + rng.laplace()


@GROUP.wrong(50.0)
def equal_deques(x, rng):
    return 50.0 * (collections.deque([x.max()]) == collections.deque([0.0])) + rng.laplace()


@GROUP.wrong(50.0)
def equal_namespaces(x, rng):
    return 50.0 * (SimpleNamespace(a=x.max()) == SimpleNamespace(a=0.0)) + rng.laplace()


@dataclass
class Point:
    """A value that compares."""

    at: float


@GROUP.wrong(50.0)
def equal_dataclasses(x, rng):
    return 50.0 * (Point(x.max()) == Point(0.0)) + rng.laplace()


class Level(enum.Enum):
    """Levels by number."""

    LOW = 0.0
    HIGH = 1.0


@GROUP.wrong(50.0)
def member_of_an_enum(x, rng):
    return 50.0 * (Level(x.max()) is Level.HIGH) + rng.laplace()


@GROUP.wrong(50.0)
def equal_dictionaries(x, rng):
    return 50.0 * ({"a": x.max()} == {"a": 0.0}) + rng.laplace()


@GROUP.wrong(50.0)
def pickled(x, rng):
    return 50.0 * pickle.loads(pickle.dumps(x))[-1] + rng.laplace()


@GROUP.wrong(50.0)
def length_of_a_pickle(x, rng):
    found = [len(pickle.dumps([v])) for v in x.tolist()]
    return 50.0 * (pickle.dumps(x.tolist()) != pickle.dumps([0.0] * len(found))) + rng.laplace()


@GROUP.wrong(50.0)
def json_of_a_list(x, rng):
    return 50.0 * json.loads(json.dumps(x.tolist()))[-1] + rng.laplace()


@GROUP.wrong(50.0)
def packed(x, rng):
    return 50.0 * (struct.pack("d", x.max()) != bytes(8)) + rng.laplace()


@GROUP.wrong(50.0)
def in_a_buffer(x, rng):
    return 50.0 * memoryview(x)[-1] + rng.laplace()


@GROUP.wrong(50.0)
def in_a_c_number(x, rng):
    return 50.0 * ctypes.c_double(x.max()).value + rng.laplace()


@GROUP.wrong(50.0)
def behind_a_pointer(x, rng):
    pointer = x.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
    return 50.0 * pointer[len(x) - 1] + rng.laplace()


@GROUP.wrong(50.0)
def as_a_fraction(x, rng):
    return float(50 * fractions.Fraction(x.max())) + rng.laplace()


@GROUP.wrong(50.0)
def as_a_decimal(x, rng):
    return 50.0 * float(decimal.Decimal(x.max())) + rng.laplace()


@GROUP.wrong(50.0)
def as_a_complex_number(x, rng):
    return 50.0 * complex(x.max()).real + rng.laplace()


@GROUP.wrong(50.0)
def mean_of_statistics(x, rng):
    return 2500.0 * statistics.fmean(x) + rng.laplace()


@GROUP.wrong(50.0)
def array_of_objects(x, rng):
    made = np.empty(1, dtype=object)
    made[0] = 50.0 * x.max()
    return made[0] + rng.laplace()


@GROUP.wrong(50.0)
def array_of_a_list(x, rng):
    return 50.0 * np.array([x.max(), 0.0]).sum() + rng.laplace()


@GROUP.wrong(50.0)
def array_of_all_values(x, rng):
    return 50.0 * np.array(list(x)).sum() + rng.laplace()


@GROUP.wrong(50.0)
def block_of_arrays(x, rng):
    return 25.0 * np.concatenate([x, x]).sum() + rng.laplace()


@GROUP.wrong(50.0)
def tiled(x, rng):
    return np.tile(x, 50).sum() + rng.laplace()


@GROUP.wrong(50.0)
def repeated_rows(x, rng):
    return np.repeat(x, 50).sum() + rng.laplace()


@GROUP.wrong(50.0)
def outer_product(x, rng):
    return np.outer(x, np.ones(50)).sum() + rng.laplace()


@GROUP.wrong(50.0)
def padded_with_the_edge(x, rng):
    return np.pad(x, (0, 49), mode="edge").sum() + rng.laplace()


@GROUP.wrong(50.0)
def many_times_the_same_place(x, rng):
    return x[np.full(50, -1)].sum() + rng.laplace()


@GROUP.wrong(50.0)
def broadcast(x, rng):
    return np.broadcast_to(x, (50, len(x))).sum() + rng.laplace()


@GROUP.right(1.0)
def named_values(x, rng):
    """Values in a tuple and taken out again."""
    total, rows = x.sum(), len(x)
    return {"total": total, "rows": rows}["total"] + rng.laplace()
