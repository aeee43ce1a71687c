# ruff: noqa: B007, C417, F841
"""What notebooks do that the other corpora do not: rows one by one, categories, helpers, lists."""

from __future__ import annotations

import functools
import itertools
import math
import random

import numpy as np
import pandas as pd

import dpcheck

from .base import Corpus

CASES = Corpus()
AGE = dpcheck.records(age=dpcheck.number(0, 100), rows=1000)
BIT = dpcheck.records(x=dpcheck.number(0, 1, integer=True), rows=1000)
LABELLED = dpcheck.records(
    a=dpcheck.number(-1, 1),
    b=dpcheck.number(-1, 1),
    y=dpcheck.number(0, 1, integer=True),
    rows=1000,
)
PEOPLE = dpcheck.records(
    age=dpcheck.number(0, 100),
    income=dpcheck.number(0, 100_000),
    city=dpcheck.one_of("NY", "LA", "SF"),
    sex=dpcheck.one_of("F", "M"),
    rows=1000,
)
CITIES = ["NY", "LA", "SF"]


def laplace_mech(value, sensitivity, epsilon):
    return value + np.random.laplace(loc=0, scale=sensitivity / epsilon)


@CASES(AGE, replace_one=1.0, add_remove=1.0)
def count_written_out(ages):
    count = 0
    for a in ages:
        if 20 <= a < 30:
            count = count + 1
    return count + np.random.laplace(0, 1, 1)[0]


@CASES(AGE, replace_one=1.0, add_remove=1.0)
def total_written_out(ages, rng):
    total = 0.0
    for i, a in enumerate(ages):
        total = min(a, 50) + total
    return total + rng.laplace(scale=50)


@CASES(AGE, replace_one=1.0)
def mean_of_a_plain_list(ages):
    values = [max(0.0, min(v, 100.0)) for v in ages.tolist()]
    return sum(values) / len(values) + np.random.laplace(0, 100 / len(values))


@CASES(AGE, replace_one=1.0, add_remove=1.0)
def count_by_filter(ages):
    return len(list(filter(lambda v: v > 65, ages))) + np.random.laplace()


@CASES(AGE, replace_one=1.0, add_remove=1.0)
def sum_by_map(ages):
    return math.fsum(map(lambda v: min(max(v, 0), 10), ages)) + np.random.laplace(scale=10)


@CASES(AGE, replace_one=1.0, add_remove=1.0)
def mechanism_as_a_partial(ages):
    mechanism = functools.partial(laplace_mech, sensitivity=100, epsilon=1.0)
    return mechanism(ages.sum())


@CASES(AGE, replace_one=2.0, add_remove=2.0)
def releases_added_by_reduce(ages, rng):
    parts = [(ages > t).sum() + rng.laplace() for t in (20, 60)]
    return functools.reduce(lambda a, b: a + b, parts, 0.0)


@CASES(LABELLED, replace_one=0.5 * math.sqrt(2), add_remove=0.25 * math.sqrt(2), mu=True)
def gradients_in_a_comprehension(data):
    """At theta = 0 the gradients are x / 2, of norm 1/sqrt(2); released with sigma 2."""
    rows, labels = data[:, :2], data[:, 2]

    def gradient(theta, x, y):
        return -(y * x) / (1 + np.exp(y * np.dot(x, theta)))

    def clip(v, b):
        norm = np.linalg.norm(v, ord=2)
        if norm > b:
            return b * (v / norm)
        return v

    theta = np.zeros(2)
    gradients = [clip(gradient(theta, x, y), 1.0) for x, y in zip(rows, labels, strict=True)]
    return np.sum(gradients, axis=0) + np.random.normal(0, 2.0, size=2)


@CASES(BIT, replace_one=math.log(3))
def respondents_with_two_coins(data):
    def respond(x):
        if np.random.randint(0, 2) == 0:
            return x
        return np.random.randint(0, 2)

    return [respond(v) for v in data]


@CASES(BIT, replace_one=math.log(3))
def responses_as_a_series(data):
    coins = np.random.randint
    answers = pd.Series([v if coins(0, 2) == 0 else coins(0, 2) for v in data])
    return (answers == 1).sum() - len(data) / 4


@CASES(PEOPLE, replace_one=1.0, add_remove=1.0)
def rows_by_iterrows(df):
    total = 0
    for _, row in df.iterrows():
        total += min(row["income"], 50_000)
    return total + np.random.laplace(0, 50_000)


@CASES(PEOPLE, replace_one=1.0, add_remove=1.0)
def rows_by_itertuples(df):
    n = 0
    for r in df.itertuples():
        if r.age > 30 and r.city == "NY":
            n += 1
    return n + np.random.laplace(scale=1)


@CASES(PEOPLE, replace_one=1.0, add_remove=1.0)
def rows_as_dicts(df, rng):
    n = sum(1 for r in df.to_dict("records") if r["sex"] == "F" and r["city"] != "NY")
    return n + rng.laplace()


@CASES(PEOPLE, replace_one=1.0, add_remove=1.0)
def column_by_apply(df):
    cut = df["income"].apply(lambda v: max(0, min(v, 1000)))
    return cut.sum() + np.random.laplace(scale=1000)


@CASES(PEOPLE, replace_one=1.0)
def rows_by_apply(df, rng):
    flags = df.apply(lambda r: 1 if r["age"] > 40 and r["sex"] == "F" else 0, axis=1)
    return flags.sum() / len(flags) + rng.laplace(scale=1 / 1000)


@CASES(PEOPLE, replace_one=1.0, add_remove=1.0)
def some_by_query(df):
    limit = 50
    return df.query("age > @limit and city == 'NY'").shape[0] + np.random.laplace()


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def intervals_by_cut(df):
    groups = pd.cut(df["age"], bins=[0, 18, 35, 50, 101], right=False)
    counts = groups.value_counts(sort=False)
    return counts + np.random.laplace(0, 2.0, size=len(counts))


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def intervals_as_groups(df, rng):
    df = df.copy()
    df["group"] = pd.cut(df["age"], [0, 30, 60, 100], labels=["a", "b", "c"])
    sizes = df.groupby("group", observed=False).size()
    return {name: sizes[name] + rng.laplace(scale=2) for name in ("a", "b", "c")}


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def cross_table(df, rng):
    table = pd.crosstab(df["city"], df["sex"])
    table = table.reindex(index=CITIES, columns=["F", "M"], fill_value=0)
    return table + rng.laplace(scale=2.0, size=table.shape)


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def pivot_table(df, rng):
    table = df.pivot_table(
        index="city", columns="sex", values="age", aggfunc="count", fill_value=0
    ).reindex(index=CITIES, columns=["F", "M"], fill_value=0)
    return (table + rng.laplace(scale=2, size=(3, 2))).round(1)


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def groups_by_two_columns(df, rng):
    every = pd.MultiIndex.from_product([CITIES, ["F", "M"]])
    counts = df.groupby(["city", "sex"]).size().reindex(every, fill_value=0)
    return counts + rng.laplace(0, 2, len(counts))


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def public_categories(df, rng):
    kinds = pd.Categorical(df["city"], categories=CITIES)
    counts = pd.Series(kinds).value_counts().sort_index()
    return counts + rng.laplace(scale=2.0, size=3)


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def decades(df, rng):
    decade = (df["age"] // 10).clip(0, 9).astype(int)
    return [max(0, int((decade == d).sum()) + rng.laplace(scale=2)) for d in range(10)]


@CASES(PEOPLE, replace_one=2.0)
def two_clipped_means(df, rng):
    means = df[["age", "income"]].clip(lower=0, upper=[100, 100_000], axis=1).mean()
    return means["age"] + rng.laplace(scale=0.1), means["income"] + rng.laplace(scale=100)


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def counts_noised_in_the_dict(df):
    counts = dict.fromkeys(CITIES, 0)
    for city in df["city"].tolist():
        counts[city] += 1
    for city in counts:
        counts[city] += np.random.laplace(0, 2)
    return counts


@CASES(PEOPLE, replace_one=2.0, add_remove=1.0)
def names_of_the_largest(df, rng):
    counts = {c: int((df["city"] == c).sum()) + rng.laplace(scale=1.0) for c in CITIES}
    ranked = sorted(counts.items(), key=lambda pair: pair[1], reverse=True)
    return [name for name, _ in ranked[:2]]


@CASES(AGE, replace_one=1.0, add_remove=0.5)
def bins_as_a_dict(ages, rng):
    counts, edges = np.histogram(ages, bins=10, range=(0, 100))
    noisy = (counts + rng.laplace(0, 2.0, counts.shape)).clip(0).tolist()
    return dict(zip(edges[:-1].tolist(), noisy, strict=True))


@CASES(PEOPLE, replace_one=2.0, add_remove=1.0)
def synthetic_marginals(df, rng):
    domains = {"city": CITIES, "sex": ["F", "M"]}
    found = {}
    for name, domain in domains.items():
        counts = np.array([(df[name] == v).sum() for v in domain], dtype=float)
        noisy = np.maximum(counts + rng.laplace(scale=2.0, size=len(domain)), 0)
        found[name] = rng.choice(domain, size=50, p=noisy / noisy.sum())
    return pd.DataFrame(found)


@CASES(AGE, replace_one=1.0, add_remove=0.5)
def synthetic_ages(ages, rng):
    counts, edges = np.histogram(ages, bins=5, range=(0, 100))
    noisy = np.clip(counts + rng.laplace(0, 2, 5), 0, None)
    places = rng.choice(5, size=200, p=noisy / noisy.sum())
    return edges[places] + rng.random(200) * 20


@CASES(PEOPLE, replace_one=1.0, add_remove=0.5)
def pairs_by_product(df):
    table = {}
    for city, sex in itertools.product(CITIES, ["F", "M"]):
        n = ((df["city"] == city) & (df["sex"] == sex)).sum()
        table[f"{city}/{sex}"] = int(n) + np.random.laplace(0, 2)
    return table


@CASES(AGE, replace_one=1.0)
def median_of_blocks(ages, rng):
    """A record moves one of 20 medians, by 100 at most."""
    medians = np.array([np.median(block) for block in np.array_split(ages, 20)])
    return medians.mean() + rng.laplace(scale=100 / 20)


@CASES(AGE, replace_one=1.0)
def trimmed_by_hand(ages, rng):
    low, high = 10.0, 60.0
    cut = np.where(ages < low, low, np.where(ages > high, high, ages))
    return cut.mean() + rng.laplace(scale=(high - low) / cut.shape[0])


@CASES(AGE, replace_one=1.0)
def exponential_mechanism_of_a_median(ages, rng):
    """A rank moves by 1, weights by exp(1/2) each."""
    candidates = np.arange(0, 101, 5)
    scores = np.array([-abs((ages < c).sum() - 500) for c in candidates])
    weights = np.exp(0.5 * (scores - np.max(scores)))
    return int(rng.choice(candidates, p=weights / np.sum(weights)))


@CASES(LABELLED, replace_one=1.5)
def signed_sums_of_two_classes(data, rng):
    """Counts: 1/4 twice. Each column: 2/4 in one class, or 1/4 in each."""
    parts = []
    for label in (0, 1):
        mask = data[:, 2] == label
        count = mask.sum() + rng.laplace(scale=4.0)
        sums = [np.clip(data[mask, j], -1, 1).sum() + rng.laplace(scale=4.0) for j in range(2)]
        parts.append((count, [s / max(count, 1.0) for s in sums]))
    return parts


@CASES(LABELLED, replace_one=2.0, add_remove=1.0, mu=True)
def first_guess_is_random(data, rng):
    """Starting weights are public randomness; gradients of norm 1, sigma 1."""
    w = rng.normal(size=2)
    rows = data[:, :2]
    steps = (rows @ w)[:, None] * rows + (rows - w)
    steps = steps / np.maximum(1, np.linalg.norm(steps, axis=1))[:, None]
    return w + steps.sum(axis=0) + rng.normal(0, 1.0, size=2)


@CASES(AGE, replace_one=1.0, add_remove=1.0)
def two_exponentials_of_random(ages):
    noise = random.expovariate(1 / 100) - random.expovariate(1 / 100)
    return sum(list(ages)) + noise
