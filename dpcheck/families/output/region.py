"""What Wang2018 claims of its source models, for rows in the ball and in the box."""

from __future__ import annotations

import math

from scipy.optimize import brentq

from dpcheck.session.region import Box, Case, Hypotheses, Interval


def labelled_rows(box: Box, case: Case) -> Interval:
    """Output perturbation at rate n lambda eps/2, over eps, of labelled rows of a set.

    Norm at most 1 is what the rate is for: at most 1 times the claim. In [0, 1]^d rows are sqrt(d) long and
    the sensitivity is 2 sqrt(d)/x, x = n lambda. One row of ones among zeros with its label flipped has
    minimisers +-t u with sqrt(d) s(-sqrt(d) t) = x t and loses r = x t: r (1 + e^(sqrt(d) r/x)) = sqrt(d),
    and r rises with x.
    """
    if case["rows_in"] == "norm at most 1":
        return 0.0, 1.0
    longest = math.sqrt(int(case["features"]))
    x = box["n_lambda"][0]

    def excess(r: float) -> float:
        return r * (1 + math.exp(min(700.0, longest * r / x))) - longest

    return float(brentq(excess, 0.0, longest)) * (1 - 1e-9), longest


DPHTL = (
    Hypotheses(
        "source",
        "[Wang2018] Theorem 1, labelled rows: epsilon",
        {"n_lambda": (2e-5, 1e4)},
        {"rows_in": ("norm at most 1", "[0, 1]^d"), "features": (2, 10, 100, 1000)},
        labelled_rows,
    ),
)
