# ruff: noqa: E501
"""Functions that are refused, and the same after what the refusal says was done, and nothing else."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import dpcheck

UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=100)
PLANE = dpcheck.records(a=dpcheck.number(-1, 1), b=dpcheck.number(-1, 1), rows=100)
PEOPLE = dpcheck.records(
    age=dpcheck.number(0, 100),
    n=dpcheck.number(0, 5, integer=True),
    city=dpcheck.one_of("A", "B"),
    rows=100,
)
ANY = np.zeros(100)
TABLE = np.arange(100.0)
SEEN: list[float] = []


@dataclass
class Refusal:
    """What is refused with which words, and what is proved instead."""

    function: Callable[..., Any]
    data: Any
    message: str
    adjacency: str
    public: tuple[str, ...] = ()
    mended: Callable[..., Any] | None = None
    then: str = ""  # the adjacency of the mended one

    @property
    def name(self) -> str:
        return self.function.__name__


REFUSALS: dict[str, Refusal] = {}


def refused(data, message, adjacency="replace-one", **more):
    def add(function):
        REFUSALS[function.__name__] = Refusal(function, data, message, adjacency, **more)
        return function

    return add


def mends(name):
    def add(function):
        REFUSALS[name].mended = function
        return function

    return add


@refused(ANY, "values without bounds reach this release; clip them first: np.clip(x, low, high)")
def unbounded(x, rng):
    return np.nan_to_num(x).sum() + rng.laplace()


@mends("unbounded")
def _(x, rng):
    return np.clip(np.nan_to_num(x), 0, 1).sum() + rng.laplace()


@refused(
    ANY, "the released value may be NaN for some data; replace NaN before with np.nan_to_num(x)"
)
def missing(x, rng):
    return np.clip(x, 0, 1).sum() + rng.laplace()


@mends("missing")
def _(x, rng):
    return np.clip(np.nan_to_num(x), 0, 1).sum() + rng.laplace()


@refused(UNIT, "returns a private aggregate without noise; add noise to it before it is returned")
def no_noise(x, rng):
    return x.sum()


@mends("no_noise")
def _(x, rng):
    return x.sum() + rng.laplace()


@refused(UNIT, "a private aggregate decides a branch; add noise to it first")
def branch(x, rng):
    return 1 if x.sum() > 5 else 0


@mends("branch")
def _(x, rng):
    return 1 if x.sum() + rng.laplace() > 5 else 0


@refused(UNIT, "a private value is printed; print it after noise was added")
def printed(x, rng):
    print(x.sum())
    return x.sum() + rng.laplace()


@mends("printed")
def _(x, rng):
    noisy = x.sum() + rng.laplace()
    print(noisy)
    return noisy


@refused(UNIT, "a private aggregate becomes text; add noise to it first")
def text(x, rng):
    return f"{x.sum()}"


@mends("text")
def _(x, rng):
    return f"{x.sum() + rng.laplace()}"


@refused(UNIT, "a drawn number is used a second time; draw fresh noise for every release")
def same_noise(x, rng):
    noise = rng.laplace()
    return x.sum() + noise, (x > 0.5).sum() + noise


@mends("same_noise")
def _(x, rng):
    return x.sum() + rng.laplace(), (x > 0.5).sum() + rng.laplace()


@refused(PLANE, "drawn number(s) are added to; draw one for each: pass size=")
def one_for_two(x, rng):
    return x.sum(axis=0) + rng.laplace()


@mends("one_for_two")
def _(x, rng):
    return x.sum(axis=0) + rng.laplace(size=2)


@refused(UNIT, "the scale of the noise is computed from the data; use a public number")
def private_scale(x, rng):
    return x.sum() + rng.laplace(scale=x.std())


@mends("private_scale")
def _(x, rng):
    return x.sum() + rng.laplace(scale=1.0)


@refused(UNIT, "the global generator is seeded; draw from np.random.default_rng() instead")
def seeded(x):
    np.random.seed(0)
    return x.sum() + np.random.laplace()


@mends("seeded")
def _(x):
    return x.sum() + np.random.default_rng().laplace()


@refused(UNIT, "catches errors; write it without, and let errors end the function")
def caught(x, rng):
    try:
        return x.sum() + rng.laplace()
    except ValueError:
        return 0.0


@mends("caught")
def _(x, rng):
    return x.sum() + rng.laplace()


@refused(UNIT, "TABLE holds 100 numbers; declare them public: dpcheck.prove(..., public=['TABLE'])")
def large_constant(x, rng):
    return (x.sum() + rng.laplace()) * TABLE[3]


@mends("large_constant")
def _(x, rng):
    return (x.sum() + rng.laplace()) * TABLE[3]


@refused(UNIT, "outlives the call; use a variable of the function, and return it")
def kept(x, rng):
    SEEN.append(x.sum())
    return x.sum() + rng.laplace()


@mends("kept")
def _(x, rng):
    seen = []
    seen.append(x.sum())
    return seen[0] + rng.laplace()


@refused(PEOPLE, "the table that was handed in is changed; copy it first: df = df.copy()")
def table_changed(df, rng):
    df["age"] = df["age"].clip(0, 50)
    return df["age"].sum() + rng.laplace(scale=50)


@mends("table_changed")
def _(df, rng):
    df = df.copy()
    df["age"] = df["age"].clip(0, 50)
    return df["age"].sum() + rng.laplace(scale=50)


@refused(PEOPLE, "which groups appear is decided by the data; .reindex(CATEGORIES, fill_value=0)")
def groups(df, rng):
    return df["city"].value_counts() + rng.laplace(scale=2, size=2)


@mends("groups")
def _(df, rng):
    counts = df["city"].value_counts().reindex(["A", "B"], fill_value=0)
    return counts + rng.laplace(scale=2, size=2)


@refused(
    PEOPLE,
    "which groups appear is decided by the data; pass index=[...] and columns=[...], both public",
)
def cross_table(df, rng):
    table = pd.crosstab(df["city"], df["n"]).reindex(index=["A", "B"], fill_value=0)
    return table + rng.laplace(scale=2, size=table.shape)


@mends("cross_table")
def _(df, rng):
    table = pd.crosstab(df["city"], df["n"])
    table = table.reindex(index=["A", "B"], columns=[0, 1, 2, 3, 4, 5], fill_value=0)
    return table + rng.laplace(scale=2, size=table.shape)


@refused(
    PEOPLE,
    "a mean of a group divides by the private number of its records; release noisy sums and noisy counts, and divide those",
)
def group_means(df, rng):
    means = df.groupby("city")["age"].mean().reindex(["A", "B"], fill_value=0)
    return means + rng.laplace(size=2)


@mends("group_means")
def _(df, rng):
    groups = df.groupby("city")["age"]
    sums = groups.sum().reindex(["A", "B"], fill_value=0) + rng.laplace(scale=100, size=2)
    counts = groups.count().reindex(["A", "B"], fill_value=0) + rng.laplace(scale=2, size=2)
    return sums / counts


@refused(
    UNIT,
    "a mean over a private number of records; release the sum and the number of records, each with noise, and divide those",
    "add-remove",
)
def mean(x, rng):
    return x.mean() + rng.laplace()


@mends("mean")
def _(x, rng):
    return (x.sum() + rng.laplace()) / (len(x) + rng.laplace())


@refused(
    UNIT,
    "a variance over a private number of records; release sums of x and of x ** 2, and a count, each with noise",
    "add-remove",
)
def variance(x, rng):
    return x.var() + rng.laplace()


@mends("variance")
def _(x, rng):
    count = len(x) + rng.laplace()
    first, second = x.sum() + rng.laplace(), (x**2).sum() + rng.laplace()
    return second / count - (first / count) ** 2


@refused(
    UNIT, "np.histogram without range= puts its bins where the data are; pass range=(low, high)"
)
def bins_of_the_data(x, rng):
    return np.histogram(x, bins=4)[0] + rng.laplace(size=4)


@mends("bins_of_the_data")
def _(x, rng):
    return np.histogram(x, bins=4, range=(0, 1))[0] + rng.laplace(size=4)


@refused(UNIT, "density=True divides by a private count; divide a noisy histogram", "add-remove")
def density(x, rng):
    return np.histogram(x, bins=4, range=(0, 1), density=True)[0] + rng.laplace(size=4)


@mends("density")
def _(x, rng):
    noisy = np.histogram(x, bins=4, range=(0, 1))[0] + rng.laplace(size=4)
    return noisy / noisy.sum()


@refused(PEOPLE, "pd.cut with a number of bins puts them where the data are; pass a list of edges")
def cut_by_the_data(df, rng):
    return pd.cut(df["age"], 4).value_counts(sort=False) + rng.laplace(size=4)


@mends("cut_by_the_data")
def _(df, rng):
    return pd.cut(df["age"], [0, 25, 50, 75, 100]).value_counts(sort=False) + rng.laplace(size=4)


@refused(
    PEOPLE,
    "the data decide which categories there are; pass a public list: pd.Categorical(x, categories=[...])",
)
def categories_of_the_data(df, rng):
    return pd.Series(pd.Categorical(df["city"])).value_counts().sort_index() + rng.laplace(size=2)


@mends("categories_of_the_data")
def _(df, rng):
    kinds = pd.Categorical(df["city"], categories=["A", "B"])
    return pd.Series(kinds).value_counts().sort_index() + rng.laplace(size=2)


@refused(UNIT, "total is read in the loop that adds it up; use it after the loop")
def read_too_early(x, rng):
    total, most = 0.0, 0.0
    for v in x:
        total += v
        most += total
    return total + rng.laplace()


@mends("read_too_early")
def _(x, rng):
    total = 0.0
    for v in x:
        total += v
    most = total
    return most + rng.laplace()


@refused(
    UNIT, "a loop over records ends early, which reveals a record; let the loop run to its end"
)
def left_early(x, rng):
    count = 0
    for v in x:
        if v > 0.9:
            break
        count += 1
    return count + rng.laplace()


@mends("left_early")
def _(x, rng):
    count = 0
    for v in x:
        if v <= 0.9:
            count += 1
    return count + rng.laplace()


@refused(
    UNIT,
    "functools.reduce goes through the records one by one; use sum(), or a for loop that adds up",
)
def reduced(x, rng):
    return functools.reduce(lambda a, b: a + b, x) + rng.laplace()


@mends("reduced")
def _(x, rng):
    return sum(x) + rng.laplace()


@refused(UNIT, "private values are put in order; add noise to them first")
def ordered(x, rng):
    counts = [(x > t).sum() for t in (0.2, 0.8)]
    return sorted(counts)


@mends("ordered")
def _(x, rng):
    counts = [(x > t).sum() + rng.laplace() for t in (0.2, 0.8)]
    return sorted(counts)


@refused(
    UNIT,
    "max() with key= chooses by private values; add noise to the scores: np.argmax(scores + rng.gumbel(...))",
)
def largest_by_key(x, rng):
    cuts = [0.2, 0.5, 0.8]
    return max(cuts, key=lambda t: (x < t).sum())


@mends("largest_by_key")
def _(x, rng):
    cuts = [0.2, 0.5, 0.8]
    scores = np.array([(x < t).sum() for t in cuts])
    return cuts[np.argmax(scores + rng.gumbel(scale=2.0, size=3))]


@refused(
    UNIT,
    "math.floor of a private value raises for some values, and the error would reveal them; use np.floor",
)
def math_of_private(x, rng):
    return math.floor(x.mean()) + rng.laplace()


@mends("math_of_private")
def _(x, rng):
    return np.floor(x.mean()) + rng.laplace()


@refused(UNIT, "looks for a private value; use np.isin, and add noise to the count")
def looked_for(x, rng):
    return 0.5 in x


@mends("looked_for")
def _(x, rng):
    return np.isin(x, [0.5]).sum() + rng.laplace()


@refused(UNIT, "a private value decides which entry is taken; add noise to it first")
def taken_by_count(x, rng):
    names = np.arange(200)
    return names[(x > 0.5).sum()]


@mends("taken_by_count")
def _(x, rng):
    names = np.arange(200)
    return names[int(np.clip(np.rint((x > 0.5).sum() + rng.laplace()), 0, 199))]


@refused(
    UNIT,
    "a private value decides how often a loop runs; loop over the records themselves, or a public number of times",
)
def rounds_by_count(x, rng):
    total = 0.0
    for _ in range((x > 0.5).sum()):
        total += 1
    return total + rng.laplace()


@mends("rounds_by_count")
def _(x, rng):
    total = 0.0
    for v in x:
        if v > 0.5:
            total += 1
    return total + rng.laplace()


@refused(
    UNIT,
    "something is drawn for every record, and their number is private; draw for all records at once, before the loop: rng.random(len(x)); or state the claim under replace-one",
    "add-remove",
    then="replace-one",
)
def drawn_for_each(x, rng):
    return [v + rng.laplace() for v in x]


@mends("drawn_for_each")
def _(x, rng):
    return [v + rng.laplace() for v in x]


@refused(
    PEOPLE,
    "the members of a set are private values, and its size would reveal them; count with np.histogram or np.bincount over public bins",
)
def distinct(df, rng):
    return len(set(df["n"])) + rng.laplace()


@mends("distinct")
def _(df, rng):
    return np.bincount(df["n"].to_numpy(), minlength=6) + rng.laplace(size=6)


@refused(
    PEOPLE,
    "this item may not exist, and the error would reveal the record; list all categories in the dict, and describe the column by dpcheck.one_of(...)",
)
def item_that_may_be_missing(df, rng):
    counts = {"A": 0}
    for city in df["city"]:
        counts[city] += 1
    return counts["A"] + rng.laplace()


@mends("item_that_may_be_missing")
def _(df, rng):
    counts = {"A": 0, "B": 0}
    for city in df["city"]:
        counts[city] += 1
    return counts["A"] + rng.laplace()


@refused(
    UNIT,
    "this entry may not exist, and the error would reveal the record; clip the place first: min(max(int(v), 0), k - 1)",
)
def entry_that_may_be_missing(x, rng):
    counts = np.zeros(10)
    for v in x:
        counts[int(v * 10)] += 1
    return counts + rng.laplace(size=10)


@mends("entry_that_may_be_missing")
def _(x, rng):
    counts = np.zeros(10)
    for v in x:
        counts[min(max(int(v * 10), 0), 10 - 1)] += 1
    return counts + rng.laplace(size=10)


@refused(
    UNIT,
    "how often a loop runs is decided by a released value alone; use `for _ in range(most):` with a public number of rounds, and break",
)
def unending(x, rng):
    noisy = x.sum() + rng.laplace()
    while noisy > 0:
        noisy = rng.normal()
    return noisy


@mends("unending")
def _(x, rng):
    noisy = x.sum() + rng.laplace()
    for _ in range(20):
        if noisy <= 0:
            break
        noisy = rng.normal()
    return noisy


@refused(UNIT, "a released value is a key of a dict or a member of a set; use a list of pairs")
def released_key(x, rng):
    return {x.sum() + rng.laplace(): "sum"}


@mends("released_key")
def _(x, rng):
    return [(x.sum() + rng.laplace(), "sum")]


@refused(UNIT, "a released value decides how much is drawn; use a public number")
def as_many_as_released(x, rng):
    count = int(np.clip(x.sum() + rng.laplace(), 1, 10))
    return rng.random(count)


@mends("as_many_as_released")
def _(x, rng):
    count = int(np.clip(x.sum() + rng.laplace(), 1, 10))
    return rng.random(10), count


@refused(UNIT, "ValueError('few') is raised where a released value; return a value instead")
def raised(x, rng):
    noisy = x.sum() + rng.laplace()
    if noisy < 3:
        raise ValueError("few")
    return noisy


@mends("raised")
def _(x, rng):
    noisy = x.sum() + rng.laplace()
    if noisy < 3:
        return None
    return noisy


@refused(UNIT, "uniform noise is added to a private value; add Laplace, Gaussian or discrete noise")
def one_sided(x, rng):
    return np.array([x.sum()]) + rng.uniform(-1, 1, size=1)


@mends("one_sided")
def _(x, rng):
    return np.array([x.sum()]) + rng.laplace(size=1)


@refused(
    UNIT,
    "whole-number noise is added to numbers that are not whole; round the private value to whole numbers first",
)
def fractions(x, rng):
    return x.sum() + rng.geometric(0.5) - rng.geometric(0.5)


@mends("fractions")
def _(x, rng):
    return np.rint(x.sum()).astype(int) + rng.geometric(0.5) - rng.geometric(0.5)


@refused(
    UNIT,
    "as many answers are given as there are records, which is private; state the claim under replace-one",
    "add-remove",
    then="replace-one",
)
def responses(x, rng):
    bits = x > 0.5
    return np.where(rng.random(len(x)) < 0.75, bits, ~bits)


@mends("responses")
def _(x, rng):
    bits = x > 0.5
    return np.where(rng.random(len(x)) < 0.75, bits, ~bits)


@refused(UNIT, "the order of private values is computed; add noise to them first")
def ranks(x, rng):
    return np.argsort(np.array([x.sum(), (x > 0.5).sum()]))


@mends("ranks")
def _(x, rng):
    return np.argsort(np.array([x.sum(), (x > 0.5).sum()]) + rng.laplace(size=2))


@refused(
    UNIT,
    "the place of the largest record says which record it is; add noise to an aggregate for each candidate, and take the argmax of that",
)
def place_of_the_largest(x, rng):
    return np.argmax(x)


@mends("place_of_the_largest")
def _(x, rng):
    counts = np.histogram(x, bins=4, range=(0, 1))[0]
    return np.argmax(counts + rng.laplace(scale=2, size=4))


@refused(UNIT, "is not followed with keepdim; leave")
def unknown_option(x, rng):
    return np.sum(x, keepdim=True) + rng.laplace()


@mends("unknown_option")
def _(x, rng):
    return np.sum(x) + rng.laplace()


@refused(
    UNIT,
    "complex of a private aggregate is not an operation whose effect is known; add noise first",
)
def plain_number(x, rng):
    return complex(x.sum())


@mends("plain_number")
def _(x, rng):
    return complex(x.sum() + rng.laplace())


@refused(PEOPLE, "a record's text is taken apart or changed; compare the whole text with ==")
def text_of_a_record(df, rng):
    n = 0
    for city in df["city"]:
        if city.lower() == "a":
            n += 1
    return n + rng.laplace()


@mends("text_of_a_record")
def _(df, rng):
    n = 0
    for city in df["city"]:
        if city == "A":
            n += 1
    return n + rng.laplace()


@refused(
    UNIT,
    "how many records a part has is decided by their private number; state the claim under replace-one",
    "add-remove",
    then="replace-one",
)
def parts(x, rng):
    return np.mean([p.mean() for p in np.array_split(x, 4)]) + rng.laplace()


@mends("parts")
def _(x, rng):
    return np.mean([p.mean() for p in np.array_split(x, 4)]) + rng.laplace()


@refused(UNIT, "running sums over records mix all of them; add them up to one sum")
def running(x, rng):
    return np.cumsum(x)[-1] + rng.laplace()


@mends("running")
def _(x, rng):
    return np.sum(x) + rng.laplace()


@refused(
    UNIT, "an assert tells something of the data by failing; check what is public, or leave it out"
)
def asserted(x, rng):
    assert x.max() <= 1
    return x.sum() + rng.laplace()


@mends("asserted")
def _(x, rng):
    return x.sum() + rng.laplace()


@refused(
    UNIT, "any() or all() asks private values one by one, and decides; use np.any, and add noise"
)
def any_of_them(x, rng):
    return any([x.sum() > 5, x.sum() > 7])


@mends("any_of_them")
def _(x, rng):
    return np.any(x > 0.9) * 1.0 + rng.laplace()


@refused(UNIT, "private values are clipped at a private value; clip at a public number")
def clipped_at_private(x, rng):
    return np.clip(x, 0, x.mean()).sum() + rng.laplace()


@mends("clipped_at_private")
def _(x, rng):
    return np.clip(x, 0, 0.5).sum() + rng.laplace()
