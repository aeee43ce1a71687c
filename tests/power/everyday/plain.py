"""Plain Python: lists of numbers in, dicts, lists, text and errors out."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import math
import statistics
from collections import Counter, namedtuple
from decimal import Decimal

from .base import AGES, AGES_OF_ANOTHER, Everyday

PAIR = [(AGES, AGES_OF_ANOTHER)]
SHORTER = [(AGES, AGES[:-1])]
WORDS = [(["flu", "flu", "cold"], ["flu", "flu", "rabies"])]


def clipped(ages):
    return [min(100, max(0, age)) for age in ages]


def mean_without_noise(ages, rng):
    return {"mean": statistics.fmean(ages), "n": len(ages)}


def mean_with_noise(ages, rng):
    total = sum(clipped(ages)) + rng.laplace(scale=100.0)
    return {"mean": total / len(ages), "n": len(ages)}


def exact_extremes(ages, rng):
    return {"mean": mean_with_noise(ages, rng)["mean"], "range": [min(ages), max(ages)]}


def only_the_mean(ages, rng):
    return {"mean": mean_with_noise(ages, rng)["mean"], "range": [0, 100]}


def histogram_of_what_occurs(ages, rng):
    return {k: v + rng.laplace(scale=2.0) for k, v in Counter(a // 10 for a in ages).items()}


def histogram_of_all_decades(ages, rng):
    counts = Counter(a // 10 for a in ages)
    return {decade: counts[decade] + rng.laplace(scale=2.0) for decade in range(11)}


def rounded_twice(ages, rng):
    return round(sum(ages) / len(ages) + rng.laplace(scale=0.1))


def rounded_once(ages, rng):
    return round((sum(clipped(ages)) + rng.laplace(scale=100.0)) / len(ages))


def threshold_on_the_truth(ages, rng):
    return "many" if sum(a > 60 for a in ages) >= 2 else "few"


def threshold_on_the_noisy(ages, rng):
    return "many" if sum(a > 60 for a in ages) + rng.laplace(scale=1.0) >= 2 else "few"


def none_if_too_small(ages, rng):
    return None if len(ages) < 6 else len(ages) + rng.laplace(scale=1.0)


def none_if_noisy_is_too_small(ages, rng):
    noisy = len(ages) + rng.laplace(scale=1.0)
    return None if noisy < 6 else noisy


def raises_if_too_small(ages, rng):
    if len(ages) < 6:
        raise ValueError(f"only {len(ages)} people")
    return len(ages) + rng.laplace(scale=1.0)


def raises_if_noisy_is_too_small(ages, rng):
    noisy = len(ages) + rng.laplace(scale=1.0)
    if noisy < 6:
        raise ValueError("too few people")
    return noisy


def log_of_a_difference(ages, rng):
    gap = max(ages) - 80
    return math.log(gap) if gap > 0 else float("nan")


def log_of_a_noisy_count(ages, rng):
    noisy = sum(a > 80 for a in ages) + rng.laplace(scale=1.0)
    return math.log(noisy) if noisy > 0 else float("nan")


@dataclasses.dataclass
class Stats:
    count: float
    oldest: int


def dataclass_with_the_oldest(ages, rng):
    return Stats(len(ages) + rng.laplace(scale=1.0), max(ages))


def dataclass_with_a_bound(ages, rng):
    return Stats(sum(a > 60 for a in ages) + rng.laplace(scale=1.0), 100)


def noisy_list_and_its_source(ages, rng):
    return [a + rng.laplace(scale=100.0) for a in ages] + sorted(ages)


def noisy_list(ages, rng):
    return [a + rng.laplace(scale=100.0) for a in clipped(ages)]


def set_of_diagnoses(words, rng):
    return {word for word in words if rng.random() < 0.9}


def set_over_a_public_list(words, rng):
    keep = math.exp(0.5) / (1 + math.exp(0.5))
    flip = {w: rng.random() > keep for w in ("cold", "flu", "rabies")}
    return {w for w, flipped in flip.items() if (w in words) != flipped}


def most_common(words, rng):
    return Counter(words).most_common()


def most_common_by_noise(words, rng):
    counts = {w: words.count(w) + rng.gumbel(scale=2.0) for w in ("cold", "flu", "rabies")}
    return max(counts, key=counts.get)


def json_report(ages, rng):
    return json.dumps({"report": {"mean": statistics.fmean(ages), "noise": rng.normal()}})


def json_report_with_noise(ages, rng):
    return json.dumps({"report": {"mean": mean_with_noise(ages, rng)["mean"], "noise": None}})


def sentence(ages, rng):
    return f"The oldest of {len(ages)} people is {max(ages)}."


def sentence_with_noise(ages, rng):
    return f"About {sum(a > 60 for a in ages) + rng.laplace(scale=1.0):.1f} are over 60."


def money_in_decimals(ages, rng):
    return Decimal(sum(ages)) + Decimal(repr(rng.laplace(scale=0.01)))


def money_with_noise(ages, rng):
    # Rounded: all digits of a float would tell how large the noise was.
    return round(Decimal(sum(clipped(ages))) + Decimal(repr(rng.laplace(scale=100.0))), 2)


def earliest_birth(ages, rng):
    return min(dt.date(2026 - age, 1, 1) for age in ages)


def noisy_birth(ages, rng):
    years = sum(clipped(ages)) / len(ages) + rng.laplace(scale=100.0 / len(ages))
    return dt.date(2026, 1, 1) - dt.timedelta(days=365 * min(1000.0, max(-1000.0, years)))


def identifier(ages, rng):
    return sum(ages) << 64 | int(rng.integers(1 << 62))


def identifier_of_noise(ages, rng):
    noisy = round((sum(clipped(ages)) + rng.laplace(scale=100.0)) * 1024)
    return (1 << 80) + noisy


Pair = namedtuple("Pair", "low high")


def quantiles_of_the_data(ages, rng):
    ordered = sorted(ages)
    return Pair(ordered[0], ordered[-1])


def quantile_by_noise(ages, rng):
    scores = [-abs(sum(a <= c for a in ages) - 3) + rng.gumbel(scale=2.0) for c in range(0, 101, 5)]
    best = max(range(21), key=scores.__getitem__)
    return Pair(0, 5 * best)


def stream(ages, rng):
    for age in ages:
        yield age + rng.laplace(scale=1.0)


def private_stream(ages, rng):
    for age in clipped(ages):
        yield age + rng.laplace(scale=100.0)


ROWS = (
    Everyday("mean without noise", mean_without_noise, mean_with_noise, PAIR),
    Everyday("exact extremes beside a noisy mean", exact_extremes, only_the_mean, PAIR),
    Everyday("keys that occur", histogram_of_what_occurs, histogram_of_all_decades, PAIR),
    Everyday("noise too small, then rounded", rounded_twice, rounded_once, PAIR),
    Everyday("a category by the truth", threshold_on_the_truth, threshold_on_the_noisy, PAIR),
    Everyday(
        "None by the truth",
        none_if_too_small,
        none_if_noisy_is_too_small,
        SHORTER,
        adjacency="add-remove",
    ),
    Everyday(
        "an error by the truth",
        raises_if_too_small,
        raises_if_noisy_is_too_small,
        SHORTER,
        adjacency="add-remove",
    ),
    Everyday("NaN by the truth", log_of_a_difference, log_of_a_noisy_count, PAIR),
    Everyday("dataclass", dataclass_with_the_oldest, dataclass_with_a_bound, PAIR),
    Everyday("noisy list and its source", noisy_list_and_its_source, noisy_list, PAIR),
    Everyday("set of what occurs", set_of_diagnoses, set_over_a_public_list, WORDS),
    Everyday("most common words", most_common, most_common_by_noise, WORDS),
    Everyday("JSON", json_report, json_report_with_noise, PAIR),
    Everyday("sentence", sentence, sentence_with_noise, PAIR),
    Everyday("Decimal", money_in_decimals, money_with_noise, PAIR),
    Everyday("date", earliest_birth, noisy_birth, PAIR),
    Everyday("large int", identifier, identifier_of_noise, PAIR),
    Everyday("named tuple", quantiles_of_the_data, quantile_by_noise, PAIR),
    Everyday("generator", stream, private_stream, PAIR),
)
