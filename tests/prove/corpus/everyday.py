"""Functions as people write them: loops over records, branches, classes, dicts, text."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

import dpcheck

from .base import Corpus

CASES = Corpus()
UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=100)
PLANE = dpcheck.records(a=dpcheck.number(-5, 5), b=dpcheck.number(-5, 5), rows=100)
PEOPLE = dpcheck.records(age=dpcheck.number(0, 100), city=dpcheck.one_of("A", "B", "C"), rows=100)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def added_up_in_a_loop(x, rng):
    """Values in [0, 1], scale 1."""
    total = 0.0
    for v in x:
        total += v
    return total + rng.laplace()


@CASES(UNIT, replace_one=2.5, add_remove=2.5)
def added_up_by_a_condition(x, rng):
    """total moves in [-1/2, 1], so by 3/2 at most; the count by 1; scale 1 each.

    Added: at most 1 and 1; but a record below 1/2 moves total by 1/2 and one above moves both: 2 at most.
    What is proved adds the two worst cases up, with rows in the box [-1/2, 1] and their largest size 1.
    """
    total, count = 0.0, 0
    for v in x:
        if v > 0.5:
            total += v
            count += 1
        else:
            total -= v
    return total + rng.laplace(), count + rng.laplace()


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def records_passed_over(x, rng):
    """0 or a value in [1, 2], scale 2."""
    total = 0
    for v in x:
        if v < 0.5:
            continue
        total += v * 2
    return total + rng.laplace(scale=2)


@CASES(PLANE, replace_one=2.0, add_remove=1.0, mu=True)
def clipped_row_by_row(x, rng):
    """Rows of norm at most 1, sigma 1."""
    total = np.zeros(2)
    for row in x:
        norm = np.linalg.norm(row)
        if norm > 1.0:
            row = row / norm
        total += row
    return total + rng.normal(size=2)


@CASES(PLANE, replace_one=2.0, add_remove=1.0, mu=True)
def clipped_at_each_place(x, rng):
    """The same by index, with a factor."""
    total = np.zeros(2)
    for i in range(len(x)):
        norm = np.linalg.norm(x[i])
        total += x[i] * min(1.0, 1.0 / max(norm, 1e-12))
    return total + rng.normal(size=2)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def generator_expression(x, rng):
    """Values in [0, 1], scale 1."""
    return sum(min(max(v, 0), 1) for v in x) + rng.laplace()


@CASES(UNIT, replace_one=1.0)
def mean_of_a_list(x, rng):
    """Squares in [0, 1], 100 rows, scale 1/100."""
    return np.mean([v * v for v in x]) + rng.laplace(scale=0.01)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def length_of_a_filtered_list(x, rng):
    """A count."""
    return len([v for v in x if v > 0.5]) + rng.laplace()


@CASES(UNIT, replace_one=1.0, add_remove=0.5)
def histogram_in_a_loop(x, rng):
    """One bin a record, scale 2."""
    counts = np.zeros(10)
    for v in x:
        counts[min(int(v * 10), 9)] += 1
    return counts + rng.laplace(size=10, scale=2)


@CASES(UNIT, replace_one=1.0, add_remove=0.5)
def histogram_by_comprehension(x, rng):
    """Four releases that no record shares: once (added), or twice (replaced)."""
    starts = (0.0, 0.25, 0.5, 0.75)
    return [((x >= low) & (x < low + 0.25)).sum() + rng.laplace(scale=2) for low in starts]


@CASES(UNIT, replace_one=1.0, add_remove=0.5)
def histogram_as_one_vector(x, rng):
    """The same, with one draw of four numbers."""
    starts = (0.0, 0.25, 0.5, 0.75)
    counts = np.array([np.sum((x >= low) & (x < low + 0.25)) for low in starts])
    return counts + rng.laplace(scale=2, size=4)


@CASES(UNIT, replace_one=1.0, add_remove=0.5)
def histogram_in_a_dict(x, rng):
    """The same, named by text."""
    out = {}
    for low in (0.0, 0.5):
        out[f"from {low}"] = len(x[(x >= low) & (x < low + 0.5)]) + rng.laplace(scale=2)
    return out


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def appended_to_a_list(x, rng):
    """Values in [0, 1/2], scale 1/2."""
    out = []
    for v in x:
        out.append(min(v, 0.5))
    return np.sum(out) + rng.laplace(scale=0.5)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def text_of_a_release(x, rng):
    """A function of what was released."""
    noisy = x.sum() + rng.laplace()
    if noisy > 50:
        return "high"
    return f"low: {noisy:.2f}"


class Mean:
    """A class with a method and a call."""

    def __init__(self, epsilon):
        self.epsilon = epsilon

    def scale(self, rows):
        return 1 / (rows * self.epsilon)

    def __call__(self, x, rng):
        return x.mean() + rng.laplace(scale=self.scale(len(x)))


@CASES(UNIT, replace_one=0.5)
def in_a_class(x, rng):
    """1/100 over 1/50."""
    return Mean(0.5)(x, rng)


@CASES(UNIT, replace_one=1.0, add_remove=0.5)
def name_of_the_largest(x, rng):
    """Two counts; replaced 2 / scale, added 1 / scale; scale 2."""
    counts = np.array([(x < 0.3).sum(), (x >= 0.3).sum()])
    return ["low", "high"][np.argmax(counts + rng.gumbel(size=2, scale=2))]


@CASES(UNIT, replace_one=1.0, add_remove=0.5)
def as_a_series(x, rng):
    """Two bins, scale 2."""
    counts, _ = np.histogram(x, bins=[0, 0.5, 1])
    return pd.Series(counts + rng.laplace(size=2, scale=2), index=["low", "high"])


@CASES(UNIT, replace_one=math.log(2), add_remove=math.log(2))
def one_geometric_number_after_the_other(x, rng):
    """The difference of two geometric draws with p = 1/2."""
    return int((x > 0.5).sum()) + rng.geometric(0.5) - rng.geometric(0.5)


@CASES(PLANE, replace_one=1.0, add_remove=0.5)
def rows_taken_apart(x, rng):
    """A product cut to [-1, 1], scale 2."""
    total = 0
    for a, b in x:
        total += np.clip(a * b, -1, 1)
    return total + rng.laplace(scale=2)


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def more_only_if_there_are_many(x, rng):
    """1/2, and another 1/2 on one path."""
    count = (x > 0.5).sum() + rng.laplace(scale=2)
    if count > 40:
        return count, x.sum() + rng.laplace(scale=2)
    return count


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def one_of_two_releases(x, rng):
    """1/2, and 1/2 on either path."""
    count = (x > 0.5).sum() + rng.laplace(scale=2)
    if count > 40:
        answer = x.sum()
        answer += rng.laplace(scale=2)
    else:
        answer = (x * x).sum() + rng.laplace(scale=2)
    return answer


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def binary_search(x, rng):
    """Four noisy counts, 1/4 each; where to count comes from the ones before."""
    low, high = 0.0, 1.0
    for _ in range(4):
        middle = (low + high) / 2
        below = (x < middle).sum() + rng.laplace(scale=4)
        if below < 50:
            low = middle
        else:
            high = middle
    return low


@CASES(UNIT, replace_one=1.0, add_remove=1.0)
def clip_from_a_release(x, rng):
    """1/2 for the count, 1/2 for values cut to at most 1."""
    count = (x > 0.5).sum() + rng.laplace(scale=2)
    bound = 1.0 if count > 50 else 0.5
    return np.clip(x, 0, bound).sum() + rng.laplace(scale=2)


@CASES(UNIT, replace_one=1.5)
def written_in_place(x, rng):
    """A sum of values below 1/2 and a count, each with a number of its own, scale 1."""
    out = np.zeros(2)
    out[0] = x[x < 0.5].sum()
    out[1] = (x >= 0.5).sum()
    for i in range(2):
        out[i] += rng.laplace(scale=1.0)
    return out


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def counted_by_city(people, rng):
    """Counts of public categories by a dict comprehension, scale 2."""
    return {c: (people["city"] == c).sum() + rng.laplace(scale=2) for c in ("A", "B", "C")}


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def counts_that_may_be_missing(people, rng):
    """value_counts().get, scale 2."""
    counts = people["city"].value_counts()
    return [counts.get(c, 0) + rng.laplace(scale=2) for c in ("A", "B", "C")]
