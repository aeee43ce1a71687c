"""Arguments that no lowering foresaw are refused at their line; nothing else is raised."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck

UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=50)
CITIES = dpcheck.records(city=dpcheck.one_of("A", "B"), rows=50)

ARGUMENTS = {
    "round to 400 digits": lambda x, rng: np.round(x.sum(), 400) + rng.laplace(),
    "round to a text": lambda x, rng: np.round(x.sum(), "a") + rng.laplace(),
    "a list for NaN": lambda x, rng: np.nan_to_num(x, nan=[0.0] * 50).sum() + rng.laplace(),
    "a text for an axis": lambda x, rng: np.sum(x, axis="a") + rng.laplace(),
    "a text for a shape": lambda x, rng: x.reshape("a").sum() + rng.laplace(),
    "an order of reshape": lambda x, rng: np.reshape(x, (50, 1), "F").sum() + rng.laplace(),
    "a text for axes": lambda x, rng: x.transpose(3, "a").sum() + rng.laplace(),
    "a text for a scale": lambda x, rng: x.sum() + rng.laplace(scale="a"),
    "a text for a level": lambda x, rng: np.percentile(x, "a") + rng.laplace(),
    "millions of digits": lambda x, rng: x.sum() + 10 ** (10**8) * 0 + rng.laplace(),
    "digits to the left": lambda x, rng: x.sum() + (1 << 10**9) * 0 + rng.laplace(),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_unforeseen_arguments_are_refused(name):
    with pytest.raises(dpcheck.NotProvable, match=r"test_unforeseen\.py:\d+"):
        dpcheck.prove(ARGUMENTS[name], data=UNIT, adjacency="replace-one")


def mapped_to_text(df, rng):
    return df["city"].map({"A": "x", "B": "y"}).sum()


def written_at_a_text(x, rng):
    table = np.zeros(3)
    table["a"] = x.sum()
    return table + rng.laplace(size=3)


def all_scores_underflow(x, rng):
    """exp(-1000) is 0, so that the probabilities are NaN, and rng.choice raises an error."""
    scores = np.array([-1000 * x.max(), -1000 * x.max()])
    weights = np.exp(scores)
    return rng.choice(2, p=weights / weights.sum())


def scores_that_fit(x, rng):
    weights = np.exp(np.array([-100 * x.max(), -200 * x.max()]))
    return rng.choice(2, p=weights / weights.sum())


@pytest.mark.parametrize(
    ("function", "data"),
    [(mapped_to_text, CITIES), (written_at_a_text, UNIT), (all_scores_underflow, UNIT)],
)
def test_what_raises_an_error_is_refused(function, data):
    with pytest.raises(dpcheck.NotProvable, match=r"test_unforeseen\.py:\d+"):
        dpcheck.prove(function, data=data, adjacency="replace-one")


def test_scores_that_fit_are_the_exponential_mechanism():
    proof = dpcheck.prove(scores_that_fit, data=UNIT, adjacency="replace-one")
    assert proof.epsilon().upper == pytest.approx(400)
