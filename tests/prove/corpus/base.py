"""A plain function, what it is run on, and the epsilon that a derivation by hand gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

DELTA = 1e-6

# Examples give shapes and types only. A float may be NaN or infinite, a whole number may not.
COLUMN = np.zeros(100)
TABLE = np.zeros((100, 3))
WHOLE = np.zeros(100, dtype=np.int64)
BITS = np.zeros(100, dtype=bool)
R, A = "replace-one", "add-remove"


@dataclass(frozen=True)
class Case:
    """`epsilon` at `delta`; the function's docstring derives it."""

    function: Callable[[Any, Any], Any]
    data: Any
    adjacency: str
    epsilon: float
    delta: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.function.__name__}-{self.adjacency}"


class Corpus:
    """Functions, in the order in which they are written."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def __call__(self, data, replace_one=None, add_remove=None, *, delta=0.0, mu=False):
        """Register a function with its epsilon under each adjacency, or mu of its Gaussian pair."""

        def add(function):
            for adjacency, value in ((R, replace_one), (A, add_remove)):
                if value is not None:
                    at = DELTA if mu else delta
                    epsilon = gaussian(value, at) if mu else value
                    self.cases.append(Case(function, data, adjacency, epsilon, at))
            return function

        return add


def gaussian(mu: float, delta: float = DELTA) -> float:
    """epsilon of N(0, 1) against N(mu, 1): delta = F(mu/2 - e/mu) - exp(e) F(-mu/2 - e/mu)."""

    def excess(epsilon: float) -> float:
        second = math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu))
        return float(norm.cdf(mu / 2 - epsilon / mu) - second - delta)

    high = 1.0
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-13))
