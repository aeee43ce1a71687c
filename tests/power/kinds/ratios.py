"""Ratios, correlations, shapes of a distribution: bounded only by who else is there."""

from __future__ import annotations

import numpy as np

import dpcheck

from .base import Kinds, two, unit


def noisy(statistic, scale):
    def release(data, rng):
        return statistic(data) + rng.laplace(scale=scale)

    return release


def row(name, statistic, records, wrong, right, bounded=None):
    return Kinds(name, noisy(statistic, wrong), noisy(bounded or statistic, right), records)


def ratio(data):
    return data[:, 0].sum() / max(data[:, 1].sum(), 0.01)


def bounded_ratio(data):
    return min(1.0, ratio(data))


def correlation(data):
    x, y = data[:, 0] - data[:, 0].mean(), data[:, 1] - data[:, 1].mean()
    size = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / size) if size > 1e-12 else 0.0


def slope(data):
    x = data[:, 0] - data[:, 0].mean()
    return float(x @ data[:, 1] / max(x @ x, 1e-6))


def bounded_slope(data):
    return float(np.clip(slope(data), -1, 1))


def weighted(data):
    return (data[:, 0] * data[:, 1]).sum() / max(data[:, 1].sum(), 1e-6)


def dispersion(x):
    return x.var() / max(x.mean(), 0.05)


def geometric(x):
    return float(np.exp(np.log(x + 1e-6).mean()))


def clipped_after(x):
    return float(np.clip((100 * x).sum(), 0, 5))


def outliers(x):
    return float((np.abs(x - x.mean()) > 2 * x.std()).sum())


def harmonic(x):
    return len(x) / (1 / np.maximum(x, 0.01)).sum()


def best_for_money(data):
    return data[:, 0].max() / (data[:, 1].mean() + 0.01)


def share_of_largest(x):
    return x.max() / max(x.sum(), 0.01)


def standardised_top(x):
    return float((x.max() - x.mean()) / max(x.std(), 1e-3))


def bounded(statistic):
    return lambda data: float(np.clip(statistic(data), 0, 1))


POSITIVE = dpcheck.records(x=dpcheck.number(0.01, 1), rows=10)
ROWS = [
    row("ratio", ratio, two(8), 1.0, 1.0, bounded_ratio),
    row("correlation", correlation, two(8), 2 / 8, 2.0),
    row("slope", slope, two(8), 1 / 8, 2.0, bounded_slope),
    row("weighted mean", weighted, two(10), 1 / 10, 1.0),
    row("dispersion", dispersion, unit(12), 1 / 12, 1.0, bounded(dispersion)),
    row("geometric mean", geometric, unit(10), 1 / 10, 1.0),
    row("clip after the sum", clipped_after, unit(10), 1.0, 5.0),
    row("outliers", outliers, unit(12), 0.9, 12.0),
    row("harmonic mean", harmonic, POSITIVE, 1 / 10, 1.0),
    row("best for money", best_for_money, two(8), 1.0, 1.0, bounded(best_for_money)),
    row("share of the largest", share_of_largest, unit(10), 1 / 10, 1.0),
    row("standardised top", standardised_top, unit(10), 0.5, 1.0, bounded(standardised_top)),
]
