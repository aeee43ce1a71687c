"""Thresholds on counts, votes, roundings, categories: what one person more or less tips over."""

from __future__ import annotations

import numpy as np

import dpcheck

from .base import Kinds, unit

CITIES = dpcheck.records(city=dpcheck.one_of("Ulm", "Bonn", "Kiel"))
AGES = dpcheck.records(age=dpcheck.number(0, 120, integer=True))
WORDS = dpcheck.records(word=dpcheck.text())
CLASSES = dpcheck.records(tier=dpcheck.one_of("basic", "silver", "gold"), x=dpcheck.number(0, 1))


def small_cells(x, rng):
    count = int((x > 0.5).sum())
    return (0.0 if count < 5 else count) + rng.laplace(scale=1.0)


def small_cells_right(x, rng):
    count = (x > 0.5).sum() + rng.laplace(scale=1.0)
    return 0.0 if count < 5 else count


def enough_people(x, rng):
    return float(len(x) >= 12) * 5 + rng.laplace(scale=1.0)


def enough_people_right(x, rng):
    return float(len(x) + rng.laplace(scale=1.0) >= 12) * 5


def majority(x, rng):
    return float((x > 0.5).mean() > 0.5) + rng.laplace(scale=0.4)


def majority_right(x, rng):
    return float((x > 0.5).mean() > 0.5) + rng.laplace(scale=1.0)


def quorum(x, rng):
    mean = float(np.clip(x, 0, 1).mean()) if len(x) >= 10 else 0.0
    return mean + rng.laplace(scale=0.1)


def quorum_right(x, rng):
    mean = float(np.clip(x, 0, 1).mean()) if len(x) >= 10 else 0.0
    return mean + rng.laplace(scale=1.0)


def tens(x, rng):
    return len(x) // 10 * 10 + rng.laplace(scale=1.0)


def tens_right(x, rng):
    return len(x) // 10 * 10 + rng.laplace(scale=10.0)


def fives(x, rng):
    return np.round(np.clip(x, 0, 1).sum() / 5) * 5 + rng.laplace(scale=1.0)


def fives_right(x, rng):
    return np.round(np.clip(x, 0, 1).sum() / 5) * 5 + rng.laplace(scale=5.0)


def frequent_cities(rows, rng):
    counts = {}
    for each in rows:
        counts[each["city"]] = counts.get(each["city"], 0) + 1
    return {c: n + rng.laplace(scale=1.0) for c, n in sorted(counts.items()) if n >= 3}


def frequent_cities_right(rows, rng):
    cities = [each["city"] for each in rows]
    return {c: cities.count(c) + rng.laplace(scale=1.0) for c in ("Ulm", "Bonn", "Kiel")}


def favourite(rows, rng):
    cities = [each["city"] for each in rows]
    return max(("Ulm", "Bonn", "Kiel"), key=cities.count)


def favourite_right(rows, rng):
    cities = [each["city"] for each in rows]
    counts = [cities.count(c) + rng.laplace(scale=2.0) for c in ("Ulm", "Bonn", "Kiel")]
    return ("Ulm", "Bonn", "Kiel")[int(np.argmax(counts))]


def runner_up(rows, rng):
    cities = [each["city"] for each in rows]
    counts = sorted((cities.count(c) for c in ("Ulm", "Bonn", "Kiel")), reverse=True)
    return float(counts[0] == counts[1]) * 3 + rng.laplace(scale=1.0)


def runner_up_right(rows, rng):
    cities = [each["city"] for each in rows]
    counts = sorted((cities.count(c) for c in ("Ulm", "Bonn", "Kiel")), reverse=True)
    return float(counts[0] == counts[1]) + rng.laplace(scale=1.0)


def of_seventy_seven(ages, rng):
    return np.where(ages == 77, 10, 1).sum() + rng.laplace(scale=1.0)


def of_seventy_seven_right(ages, rng):
    return np.where(ages == 77, 1, 1).sum() + rng.laplace(scale=1.0)


def narrow_band(x, rng):
    return 4.0 * ((x > 0.3) & (x < 0.301)).sum() + rng.laplace(scale=1.0)


def narrow_band_right(x, rng):
    return 1.0 * ((x > 0.3) & (x < 0.301)).sum() + rng.laplace(scale=1.0)


def one_word(rows, rng):
    return sum(5 if each["word"] == "shibboleth" else 1 for each in rows) + rng.laplace(scale=1.0)


def one_word_right(rows, rng):
    return sum(each["word"] == "shibboleth" for each in rows) + rng.laplace(scale=1.0)


def gold_only_if_any_silver(rows, rng):
    silver = any(each["tier"] == "silver" for each in rows)
    gold = sum(each["tier"] == "gold" for each in rows)
    return (gold if silver else 0) + rng.laplace(scale=1.0)


def gold_right(rows, rng):
    return sum(each["tier"] == "gold" for each in rows) + rng.laplace(scale=1.0)


def mean_of_gold(rows, rng):
    gold = [each["x"] for each in rows if each["tier"] == "gold"]
    return (sum(gold) / len(gold) if gold else 0.0) + rng.laplace(scale=1 / max(1, len(rows)))


def mean_of_gold_right(rows, rng):
    gold = [each["x"] for each in rows if each["tier"] == "gold"]
    return (sum(gold) / len(gold) if gold else 0.0) + rng.laplace(scale=1.0)


ADDED = "add-remove"
ROWS = [
    Kinds("small cells", small_cells, small_cells_right, unit(), ADDED),
    Kinds("enough people", enough_people, enough_people_right, unit(), ADDED),
    Kinds("majority", majority, majority_right, unit(15)),
    Kinds("quorum", quorum, quorum_right, unit(), ADDED),
    Kinds("rounded to tens", tens, tens_right, unit(), ADDED),
    Kinds("rounded to fives", fives, fives_right, unit(), ADDED),
    Kinds("frequent cities", frequent_cities, frequent_cities_right, CITIES, ADDED, "dicts"),
    Kinds("favourite city", favourite, favourite_right, CITIES, ADDED, "dicts"),
    Kinds("a tie at the top", runner_up, runner_up_right, CITIES, ADDED, "dicts"),
    Kinds("age 77", of_seventy_seven, of_seventy_seven_right, AGES, ADDED),
    Kinds("narrow band", narrow_band, narrow_band_right, unit(), ADDED),
    Kinds("one word", one_word, one_word_right, WORDS, ADDED, "dicts"),
    Kinds("gold if any silver", gold_only_if_any_silver, gold_right, CLASSES, ADDED, "dicts"),
    Kinds("mean of gold", mean_of_gold, mean_of_gold_right, CLASSES, ADDED, "dicts"),
]
