"""Groups, winners, joins: what one more of a kind turns round."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

import dpcheck

from .base import Kinds

TOWNS = ("Ulm", "Bonn", "Kiel")
PLACES = dpcheck.records(town=dpcheck.one_of(*TOWNS))
TEN = dpcheck.records(town=dpcheck.one_of(*TOWNS), rows=10)
EVENTS = dpcheck.records(
    what=dpcheck.one_of("visit", "purchase"), shop=dpcheck.one_of("A", "B"), rows=10
)
PAID = dpcheck.records(town=dpcheck.one_of(*TOWNS), pay=dpcheck.number(0, 1))
PAID_TEN = dpcheck.records(town=dpcheck.one_of(*TOWNS), pay=dpcheck.number(0, 1), rows=10)
WORDS = dpcheck.records(word=dpcheck.text())
ADDED = "add-remove"


def counted(rows):
    found = Counter(each["town"] for each in rows)
    return [found[town] for town in TOWNS]


def noisy_counts(rows, rng, scale=1.0):
    return [count + rng.laplace(scale=scale) for count in counted(rows)]


def released(statistic, scale):
    return lambda rows, rng: float(statistic(rows)) + rng.laplace(scale=scale)


def row(name, statistic, records, wrong, right, adjacency="replace-one", form="dicts"):
    """A number with too little noise and with enough."""
    return Kinds(
        name, released(statistic, wrong), released(statistic, right), records, adjacency, form
    )


def share_of_the_top(rows, rng):
    return max(counted(rows)) / max(1, len(rows)) + rng.laplace(scale=1 / max(1, len(rows)))


def share_right(rows, rng):
    return max(counted(rows)) / max(1, len(rows)) + rng.laplace(scale=1.0)


def entropy(rows):
    shares = [count / len(rows) for count in counted(rows) if count]
    return -sum(share * math.log(share) for share in shares)


def second_town(rows, rng):
    return sorted(zip(counted(rows), TOWNS, strict=True))[-2][1]


def second_right(rows, rng):
    return sorted(zip(noisy_counts(rows, rng), TOWNS, strict=True))[-2][1]


def k_anonymous(rows, rng):
    return {
        t: n + rng.laplace(scale=1.0) for t, n in zip(TOWNS, counted(rows), strict=True) if n > 5
    }


def histogram(rows, rng):
    return dict(zip(TOWNS, noisy_counts(rows, rng), strict=True))


def random_ties(rows, rng):
    counts = counted(rows)
    best = [t for t, n in zip(TOWNS, counts, strict=True) if n == max(counts)]
    return best[int(rng.integers(len(best)))]


def noisy_winner(rows, rng):
    return TOWNS[int(np.argmax(noisy_counts(rows, rng)))]


def lead(rows):
    counts = sorted(counted(rows))
    return counts[-1] - counts[-2]


def top_two(rows, rng):
    best = sorted(zip(counted(rows), TOWNS, strict=True))[-2:]
    return sorted(town for _, town in best)


def top_two_right(rows, rng):
    best = sorted(zip(noisy_counts(rows, rng), TOWNS, strict=True))[-2:]
    return sorted(town for _, town in best)


def joined(rows):
    visits = [each["shop"] for each in rows if each["what"] == "visit"]
    bought = [each["shop"] for each in rows if each["what"] == "purchase"]
    return sum(visits.count(shop) * bought.count(shop) for shop in ("A", "B"))


def conversion(rows):
    visits = sum(each["what"] == "visit" for each in rows)
    return (len(rows) - visits) / max(1, visits)


def pays(rows, town):
    return [each["pay"] for each in rows if each["town"] == town]


def medians(rows):
    return sum(float(np.median(pays(rows, t))) if pays(rows, t) else 0.0 for t in TOWNS)


def mean_of_the_largest(rows):
    counts = counted(rows)
    return float(np.mean(pays(rows, TOWNS[int(np.argmax(counts))])))


def top_pay(rows):
    return sum(max(pays(rows, town), default=0.0) for town in TOWNS)


def richest_town(rows, rng):
    return max(TOWNS, key=lambda town: sum(pays(rows, town)))


def richest_right(rows, rng):
    return max(TOWNS, key=lambda town: sum(pays(rows, town)) + rng.laplace(scale=1.0))


def inequality(rows):
    means = [float(np.mean(pays(rows, t))) if pays(rows, t) else 0.0 for t in TOWNS]
    return max(means) - min(means)


def largest_sales(frame, rng):
    return float(frame.nlargest(3, "pay")["pay"].sum()) + rng.laplace(scale=0.3)


def largest_sales_right(frame, rng):
    return float(frame.nlargest(3, "pay")["pay"].sum()) + rng.laplace(scale=1.0)


def towns_with_three(frame, rng):
    kept = frame.groupby("town").filter(lambda group: len(group) >= 3)
    return float(kept["pay"].sum()) + rng.laplace(scale=1.0)


def all_towns(frame, rng):
    return float(frame["pay"].sum()) + rng.laplace(scale=1.0)


def above_own_median(frame, rng):
    own = frame.groupby("town")["pay"].transform("median")
    return float((frame["pay"] >= own).sum()) + rng.laplace(scale=1.0)


def above_own_median_right(frame, rng):
    own = frame.groupby("town")["pay"].transform("median")
    return float((frame["pay"] >= own).sum()) + rng.laplace(scale=10.0)


def longest_word(rows):
    return max((len(each["word"]) for each in rows), default=0)


def longest_word_right(rows, rng):
    return min(20, longest_word(rows)) + rng.laplace(scale=20.0)


def at_example(rows):
    return 3 * sum(each["word"].endswith("@example.org") for each in rows)


def at_example_right(rows, rng):
    return at_example(rows) / 3 + rng.laplace(scale=1.0)


def first_in_the_alphabet(rows, rng):
    return min((each["word"] for each in rows), default="")


def number_of_words(rows, rng):
    return len(rows) + rng.laplace(scale=1.0)


ROWS = [
    Kinds("share of the largest town", share_of_the_top, share_right, PLACES, ADDED, "dicts"),
    row("entropy", entropy, TEN, 0.11, 1.1),
    Kinds("second town", second_town, second_right, PLACES, ADDED, "dicts"),
    Kinds("five of a kind or none", k_anonymous, histogram, PLACES, ADDED, "dicts"),
    Kinds("ties by chance", random_ties, noisy_winner, PLACES, ADDED, "dicts"),
    row("lead of the winner", lead, TEN, 1.0, 2.0),
    Kinds("top two", top_two, top_two_right, PLACES, ADDED, "dicts"),
    row("visits joined to purchases", joined, EVENTS, 1.0, 10.0),
    row("purchases a visit", conversion, EVENTS, 1.0, 10.0),
    row("medians of towns", medians, PAID_TEN, 0.2, 2.0),
    row("mean of the largest town", mean_of_the_largest, PAID_TEN, 0.2, 1.0),
    row("highest pay of towns", top_pay, PAID, 0.5, 1.0, ADDED),
    Kinds("richest town", richest_town, richest_right, PAID, ADDED, "dicts"),
    row("gap between towns", inequality, PAID_TEN, 0.2, 1.0),
    Kinds("three largest", largest_sales, largest_sales_right, PAID, ADDED, "pandas"),
    Kinds("towns with three people", towns_with_three, all_towns, PAID, ADDED, "pandas"),
    Kinds(
        "above the own median", above_own_median, above_own_median_right, PAID_TEN, form="pandas"
    ),
    Kinds("longest word", released(longest_word, 1.0), longest_word_right, WORDS, ADDED, "dicts"),
    Kinds("one domain", released(at_example, 1.0), at_example_right, WORDS, ADDED, "dicts"),
    Kinds("first in the alphabet", first_in_the_alphabet, number_of_words, WORDS, ADDED, "dicts"),
]
