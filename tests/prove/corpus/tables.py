"""Histograms, groups, choices, answers of one person, data frames."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

import dpcheck

from .base import BITS, COLUMN, TABLE, WHOLE, Corpus
from .sums import bounded

CASES = Corpus()
PEOPLE = dpcheck.records(
    age=dpcheck.number(0, 100),
    income=dpcheck.number(0, 1000),
    city=dpcheck.one_of("A", "B", "C"),
    rows=100,
)


@CASES(COLUMN, replace_one=2.0, add_remove=1.0)
def histogram(x, rng):
    """A replaced row leaves one bin and enters another; an added one enters one. Scale 1."""
    counts, _ = np.histogram(bounded(x), bins=[0.0, 0.25, 0.5, 0.75, 1.0])
    return counts + rng.laplace(size=4)


@CASES(COLUMN, replace_one=1.0, add_remove=0.5)
def histogram_over_a_public_range(x, rng):
    """The same with ten bins, scale 2."""
    counts = np.histogram(bounded(x), bins=10, range=(0.0, 1.0))[0]
    return counts + rng.laplace(scale=2.0, size=10)


@CASES(WHOLE, replace_one=2.0, add_remove=1.0)
def bincount(x, rng):
    """Whole numbers 0 to 4."""
    return np.bincount(np.clip(x, 0, 4), minlength=5) + rng.laplace(size=5)


@CASES(COLUMN, replace_one=2.0, add_remove=1.0)
def digitized(x, rng):
    """Places among three public edges, four of them."""
    places = np.digitize(bounded(x), [0.25, 0.5, 0.75])
    return np.bincount(places, minlength=4) + rng.laplace(size=4)


@CASES(TABLE, replace_one=2.0, add_remove=1.0)
def sums_of_groups(x, rng):
    """A replaced row takes at most 1 from one group and adds at most 1 to another."""
    x = bounded(x)
    groups = np.digitize(x[:, 0], [0.3, 0.6])
    return np.bincount(groups, weights=x[:, 1], minlength=3) + rng.laplace(size=3)


@CASES(COLUMN, replace_one=math.sqrt(2), add_remove=1.0, mu=True)
def histogram_with_normal_noise(x, rng):
    """L2 distance sqrt 2 or 1, sigma 1."""
    counts, _ = np.histogram(bounded(x), bins=[0.0, 0.5, 1.0])
    return counts + rng.normal(size=2)


@CASES(TABLE, replace_one=4.0, add_remove=3.0)
def counts_and_a_sum_in_one_vector(x, rng):
    """Replaced: two counts of one histogram and a sum of [0, 2]: 2 + 2; added: 1 + 2."""
    x = bounded(x, 0.0, 2.0)
    counts, _ = np.histogram(x[:, 0], bins=[0.0, 1.0, 2.0])
    both = np.concatenate([counts, x[:, 1].sum(keepdims=True)])
    return both + rng.laplace(size=3)


@CASES(COLUMN, replace_one=1.0)
def median(x, rng):
    """Any quantile of values in [0, 1] stays in [0, 1]."""
    return np.median(bounded(x)) + rng.laplace()


@CASES(COLUMN, replace_one=2.0)
def maximum(x, rng):
    """In [0, 1], scale 1/2."""
    return bounded(x).max() + rng.laplace(scale=0.5)


@CASES(COLUMN, replace_one=2.0, add_remove=1.0)
def exponential_mechanism_by_gumbel_noise(x, rng):
    """2 D / scale where scores move both ways (replaced), D / scale where counts only grow (added)."""
    counts, _ = np.histogram(bounded(x), bins=[0.0, 0.5, 1.0])
    return np.argmax(counts + rng.gumbel(scale=1.0, size=2))


@CASES(COLUMN, replace_one=2.0, add_remove=1.0)
def report_noisy_max(x, rng):
    """The same bound with Laplace noise."""
    counts, _ = np.histogram(bounded(x), bins=[0.0, 0.3, 0.6, 1.0])
    return np.argmax(counts + rng.laplace(scale=1.0, size=3))


@CASES(BITS, replace_one=math.log(3))
def randomized_response(x, rng):
    """Each answer is true with probability 3/4: log(0.75/0.25)."""
    return np.where(rng.random(len(x)) < 0.75, x, ~x)


@CASES(WHOLE, replace_one=-math.log1p(-0.5), add_remove=-math.log1p(-0.5))
def whole_numbers_with_geometric_noise(x, rng):
    """A difference of geometric draws with p = 1/2 is discrete Laplace of rate -log(1 - p)."""
    count = (np.clip(x, 0, 1)).sum()
    return count + (rng.geometric(0.5) - rng.geometric(0.5))


@CASES(TABLE, replace_one=3.0, add_remove=3.0)
def marginals(x, rng):
    """Shares above public thresholds, one per column."""
    return (bounded(x) > np.array([0.2, 0.5, 0.8])).sum(axis=0) + rng.laplace(size=3)


@CASES(PEOPLE, replace_one=1.0)
def sum_of_a_data_frame(people: pd.DataFrame, rng):
    """Ages in [0, 100], scale 100."""
    return people["age"].sum() + rng.laplace(scale=100.0)


@CASES(PEOPLE, replace_one=0.5)
def mean_of_a_data_frame(people: pd.DataFrame, rng):
    """Incomes in [0, 1000], 100 rows: 10, scale 20."""
    return people["income"].mean() + rng.laplace(scale=20.0)


@CASES(PEOPLE, replace_one=1.0)
def count_of_a_filter(people: pd.DataFrame, rng):
    """Rows above 60."""
    return (people["age"] > 60).sum() + rng.laplace(scale=1.0)


@CASES(PEOPLE, replace_one=0.5)
def sum_over_a_filter(people: pd.DataFrame, rng):
    """Incomes of those above 60: one person, in or out, moves it by 1000; scale 2000."""
    return people[people["age"] > 60]["income"].sum() + rng.laplace(scale=2000.0)


CITIES = ["A", "B", "C"]


@CASES(PEOPLE, replace_one=2.0, add_remove=1.0)
def counts_of_public_groups(people: pd.DataFrame, rng):
    """Three cities that are public: a replaced person leaves one and enters another."""
    counts = people.groupby("city")["age"].count().reindex(CITIES, fill_value=0)
    return counts.to_numpy() + rng.laplace(size=3)


@CASES(PEOPLE, replace_one=2.0, add_remove=1.0)
def sums_of_public_groups(people: pd.DataFrame, rng):
    """Ages in [0, 100]: 100 leave one group, 100 enter another; scale 100."""
    sums = people.groupby("city")["age"].sum().reindex(CITIES, fill_value=0)
    return sums.to_numpy() + rng.laplace(scale=100.0, size=3)


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def values_counted(people: pd.DataFrame, rng):
    """The same by value_counts, scale 2."""
    counts = people["city"].value_counts().reindex(CITIES, fill_value=0)
    return counts.to_numpy() + rng.laplace(scale=2.0, size=3)


@CASES(PEOPLE, replace_one=1.0, add_remove=1.0)
def clipped_column(people: pd.DataFrame, rng):
    """Incomes cut to [0, 50], scale 50."""
    return people["income"].clip(0, 50).sum() + rng.laplace(scale=50.0)
