"""Single numbers: numpy's wrap around and keep their type, Python's do neither, and a test may choose."""

from __future__ import annotations

import numpy as np

from ..base import Group  # noqa: TID252 - shared by all groups

GROUP = Group("scalars")
BYTES = np.zeros(4, np.int8)
LONGS = np.zeros(4, np.int64)


def of(*values, dtype=np.int8):
    return np.array([*values, *[0] * (4 - len(values))], dtype)


WRAPS = {"data": BYTES, "pair": (of(100, 27), of(100, 28))}  # 127, and 128 as a byte: -128
STEPS = {"data": LONGS, "pair": (of(0, 0, dtype=np.int64), of(0, 9, dtype=np.int64))}


@GROUP.right(255.0, **WRAPS)
def sum_of_a_generator(x, rng):
    return sum(v for v in np.clip(x, 0, 100)) + rng.laplace()


@GROUP.right(255.0, **WRAPS)
def sum_of_a_list(x, rng):
    return sum([v for v in np.clip(x, 0, 100)]) + rng.laplace()  # noqa: C416


@GROUP.right(255.0, **WRAPS)
def sum_of_map(x, rng):
    return sum(map(lambda v: v, np.clip(x, 0, 100))) + rng.laplace()  # noqa: C417


@GROUP.right(255.0, **WRAPS)
def sum_of_filter(x, rng):
    return sum(filter(lambda v: v > 2, np.clip(x, 0, 100))) + rng.laplace()


@GROUP.right(255.0, **WRAPS)
def appended_one_by_one(x, rng):
    kept = []
    for v in np.clip(x, 0, 100):
        kept.append(v)
    return sum(kept) + rng.laplace()


@GROUP.right(255.0, **WRAPS)
def added_from_a_list(x, rng):
    total = 0
    for v in [w for w in np.clip(x, 0, 100)]:  # noqa: C416
        total += v
    return total + rng.laplace()


@GROUP.right(100.0, data=BYTES, pair=(of(100, 0), of(100, 100)))
def whole_numbers_of_python_do_not_wrap(x, rng):
    return sum([int(v) for v in np.clip(x, 0, 100)]) + rng.laplace()


@GROUP.wrong(255.0, data=BYTES, pair=(of(100, 27), of(100, 28)))
def one_of_python_on_one_side_into_bytes(x, rng):
    total = np.zeros(1, dtype=np.int8)
    for v in np.clip(x, 0, 100):
        total = total + (int(v) if v > 3 else 0)
    return total + rng.laplace()


@GROUP.wrong(120.0, data=LONGS, pair=(of(100, 0, dtype=np.int64), of(100, 120, dtype=np.int64)))
def numpys_number_from_a_list_into_bytes(x, rng):
    total = np.zeros(1, dtype=np.int8)  # becomes an array of np.int64 with the first of them
    for v in [w for w in np.clip(x, 0, 120)]:  # noqa: C416
        total = total + v
    return total + rng.laplace()


@GROUP.wrong(255.0, **WRAPS)
def a_byte_or_a_float(x, rng):
    return sum(v if v > 3 else 0.5 for v in np.clip(x, 0, 100)) + rng.laplace()


@GROUP.right(2.0, **STEPS)
def truths_of_python_add_up(x, rng):
    return sum((v > 3) + (v > 2) for v in x.tolist()) + rng.laplace()


@GROUP.right(1.0, **STEPS)
def truths_of_numpy_do_not(x, rng):
    return sum((v > 3) + (v > 2) for v in x) + rng.laplace()


@GROUP.right(1.0, **STEPS)
def minus_a_truth_of_python(x, rng):
    total = 0
    for v in x.tolist():
        total += -(v > 3)
    return total + rng.laplace()


@GROUP.wrong(1.0, **STEPS)
def a_truth_of_python_upside_down(x, rng):
    return sum(~(v > 3) for v in x.tolist()) + rng.laplace()


@GROUP.wrong(3.0, data=LONGS, pair=(of(9, 1, dtype=np.int64), of(9, 0, dtype=np.int64)))
def a_truth_of_either_upside_down(x, rng):
    total = 0
    for v in x:
        sure = (v > 3) if v > 0 else True  # ~True is -2, ~np.True_ is False
        total += ~sure
    return total + rng.laplace()


@GROUP.wrong(255.0, data=BYTES, pair=(of(100, 28), of(100, 29)))  # -128, and -129 as a byte
def sum_of_negatives(x, rng):
    return sum(-v for v in np.clip(x, 0, 100)) + rng.laplace()


@GROUP.wrong(255.0, **WRAPS)
def sum_of_those_above(x, rng):
    return sum([v for v in np.clip(x, 0, 100) if v > 3]) + rng.laplace()


@GROUP.wrong(255.0, **WRAPS)
def sum_over_a_list_of_a_list(x, rng):
    kept = [v for v in np.clip(x, 0, 100)]  # noqa: C416
    return sum(w for w in kept) + rng.laplace()


@GROUP.wrong(255.0, **WRAPS)
def sum_of_what_was_zipped(x, rng):
    return sum(a for a, _ in zip(np.clip(x, 0, 100), x, strict=True)) + rng.laplace()


@GROUP.wrong(255.0, **WRAPS)
def sum_of_what_dicts_hold(x, rng):
    kept = [{"value": v} for v in np.clip(x, 0, 100)]
    return sum(each["value"] for each in kept) + rng.laplace()


@GROUP.wrong(255.0, **WRAPS)
def a_byte_or_none(x, rng):
    return sum(v if v > 3 else 0 for v in np.clip(x, 0, 100)) + rng.laplace()


@GROUP.wrong(255.0, **WRAPS)
def the_larger_of_a_byte_and_a_float(x, rng):
    return sum(max(v, 0.5) for v in np.clip(x, 0, 100)) + rng.laplace()


@GROUP.wrong(255.0, data=LONGS, pair=(of(7, dtype=np.int64), of(8, dtype=np.int64)))
def the_largest_of_a_list_into_bytes(x, rng):
    largest = max(np.clip(x, 0, 10).tolist())
    return np.full(1, 120, np.int8) + largest + rng.laplace(size=1)
