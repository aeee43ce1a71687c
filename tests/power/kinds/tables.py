"""Joins and groups of DataFrames: one row meets many."""

from __future__ import annotations

import numpy as np
import pandas as pd

import dpcheck

from .base import Kinds, unit

SALES = dpcheck.records(city=dpcheck.one_of("Ulm", "Bonn"), amount=dpcheck.number(0, 1), rows=10)
PEOPLE = dpcheck.records(city=dpcheck.one_of("Ulm", "Bonn"), amount=dpcheck.number(0, 1))


def met(frame, rng):
    return len(frame.merge(frame, on="city")) / 10 + rng.laplace(scale=1.0)


def met_right(frame, rng):
    return len(frame.merge(frame, on="city")) / 10 + rng.laplace(scale=2.0)


def mean_by_city(frame, rng):
    means = frame.groupby("city")["amount"].mean()
    return [means.get(c, 0.0) + rng.laplace(scale=2 / len(frame)) for c in ("Ulm", "Bonn")]


def mean_by_city_right(frame, rng):
    means = frame.groupby("city")["amount"].mean()
    return [means.get(c, 0.0) + rng.laplace(scale=2.0) for c in ("Ulm", "Bonn")]


def best_of_city(frame, rng):
    best = frame.groupby("city")["amount"].max()
    return float(best.sum()) + rng.laplace(scale=0.2)


def best_of_city_right(frame, rng):
    best = frame.groupby("city")["amount"].max()
    return float(best.sum()) + rng.laplace(scale=2.0)


def larger_city(frame, rng):
    totals = frame.groupby("city")["amount"].sum()
    return str(totals.idxmax()) if len(totals) else "nobody"


def larger_city_right(frame, rng):
    totals = frame.groupby("city")["amount"].sum()
    noisy = [totals.get(c, 0.0) + rng.laplace(scale=2.0) for c in ("Ulm", "Bonn")]
    return ("Ulm", "Bonn")[int(np.argmax(noisy))]


def close_pairs(x, rng):
    close = (np.abs(x[:, None] - x[None, :]) < 0.1).sum() - len(x)
    return close / 2 + rng.laplace(scale=1.0)


def close_pairs_right(x, rng):
    close = (np.abs(x[:, None] - x[None, :]) < 0.1).sum() - len(x)
    return close / 2 + rng.laplace(scale=float(len(x)))


def above_city_mean(frame, rng):
    means = frame.groupby("city")["amount"].transform("mean")
    return float((frame["amount"] > means).sum()) + rng.laplace(scale=1.0)


def above_city_mean_right(frame, rng):
    means = frame.groupby("city")["amount"].transform("mean")
    return float((frame["amount"] > means).sum()) + rng.laplace(scale=10.0)


def only_both(frame, rng):
    """Sales of a city count only if the other sold something."""
    if frame["city"].nunique() < 2:
        return rng.laplace(scale=1.0)
    return float(frame["amount"].sum()) + rng.laplace(scale=1.0)


def only_both_right(frame, rng):
    return float(pd.Series(frame["amount"]).sum()) + rng.laplace(scale=1.0)


ROWS = [
    Kinds("who met whom", met, met_right, SALES, form="pandas"),
    Kinds("mean by city", mean_by_city, mean_by_city_right, SALES, form="pandas"),
    Kinds("best of a city", best_of_city, best_of_city_right, SALES, form="pandas"),
    Kinds("larger city", larger_city, larger_city_right, SALES, form="pandas"),
    Kinds("close pairs", close_pairs, close_pairs_right, unit(10)),
    Kinds("above the city's mean", above_city_mean, above_city_mean_right, SALES, form="pandas"),
    Kinds("only if both", only_both, only_both_right, PEOPLE, "add-remove", "pandas"),
]
