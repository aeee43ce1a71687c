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


def too_large_for_int32(x, rng):
    return float(np.int32(int(x.sum() * 1e9))) + rng.laplace(scale=1e10)


def too_large_for_an_entry(x, rng):
    table = np.zeros(1, dtype=np.int8)
    table[0] = int(x.sum() * 100)
    return table.astype(float) + rng.laplace(size=1, scale=1e3)


def too_large_to_be_added(x, rng):
    table = np.zeros(3, dtype=np.int8) + int(x.sum() * 100)
    return table.astype(float) + rng.laplace(size=3, scale=1e3)


def too_large_to_be_added_in_place(x, rng):
    table = np.zeros(1, dtype=np.int8)
    table += int(x.sum() * 100)
    return table.astype(float) + rng.laplace(size=1, scale=1e3)


def negative_for_uint8(x, rng):
    table = np.zeros(3, dtype=np.uint8) + (int(x.sum()) - 25)
    return table.astype(float) + rng.laplace(size=3, scale=1e3)


def too_large_for_an_array(x, rng):
    table = np.array([int(x.sum() * 100)], dtype=np.int8)
    return table.astype(float) + rng.laplace(size=1, scale=1e3)


def too_large_to_be_chosen(x, rng):
    return float(np.where(True, np.int8(1), int(x.sum() * 100))) + rng.laplace(scale=1e3)


def too_large_to_be_compared(x, rng):
    return float(np.minimum(np.int8(5), int(x.sum() * 100))) + rng.laplace(scale=1e3)


def nan_as_a_whole_number(x, rng):
    return float(np.clip(np.int64(x.max()), 0, 1)) + rng.laplace()


def nan_in_an_array_of_whole_numbers(x, rng):
    return np.clip(np.array([x.max()], dtype=int), 0, 1) + rng.laplace(size=1)


def more_than_64_bits(x, rng):
    """No error: Python's numbers have no end, so that this moves by 2**65."""
    return float(int(8 * x.sum()) * 2**62) + rng.laplace(scale=2.0**64)


EXAMPLE = np.zeros(50)


def a_length_into_bytes(x, rng):
    return np.zeros(1, np.int8) + len(x) + rng.laplace(size=1)


def a_shape_written_into_bytes(x, rng):
    counts = np.zeros(1, np.int8)
    counts[0] = x.shape[0]
    return counts + rng.laplace(size=1)


def a_loop_that_counts_into_bytes(x, rng):
    count = 0
    for _ in x:
        count += 1
    return np.zeros(1, np.int8) + count + rng.laplace(size=1)


def a_sum_of_a_list_into_bytes(x, rng):
    return np.zeros(1, np.int8) + sum([1 for v in x if v > 2]) + rng.laplace(size=1)


@pytest.mark.parametrize(
    "function",
    [
        *(a_length_into_bytes, a_shape_written_into_bytes, a_loop_that_counts_into_bytes),
        a_sum_of_a_list_into_bytes,
    ],
)
def test_a_number_of_records_that_does_not_fit_is_an_error(function):
    """A count of Python raises an error in a byte from 128 on, and adding a record shows it."""
    assert function(np.full(127, 3.0), np.random.default_rng(0)).shape == (1,)
    with pytest.raises(OverflowError):
        function(np.full(128, 3.0), np.random.default_rng(0))
    with pytest.raises(dpcheck.NotProvable, match=r"test_unforeseen\.py:\d+"):
        dpcheck.prove(function, data=EXAMPLE, adjacency="add-remove")


def whole_numbers_that_fit(x, rng):
    many = int((x > 0.5).sum())
    table = np.zeros(2, dtype=np.int8)
    table[0] = many
    return np.int32(many) + rng.laplace(), table.astype(float) + rng.laplace(size=2)


def test_whole_numbers_that_fit_are_proved():
    proof = dpcheck.prove(whole_numbers_that_fit, data=UNIT, adjacency="replace-one")
    assert proof.epsilon().upper == pytest.approx(2)


def scores_that_fit(x, rng):
    weights = np.exp(np.array([-100 * x.max(), -200 * x.max()]))
    return rng.choice(2, p=weights / weights.sum())


@pytest.mark.parametrize(
    ("function", "data"),
    [
        *[(mapped_to_text, CITIES), (written_at_a_text, UNIT), (all_scores_underflow, UNIT)],
        *[(too_large_for_int32, UNIT), (too_large_for_an_entry, UNIT)],
        *[(too_large_to_be_added, UNIT), (too_large_to_be_added_in_place, UNIT)],
        *[(negative_for_uint8, UNIT), (too_large_for_an_array, UNIT)],
        *[(too_large_to_be_chosen, UNIT), (too_large_to_be_compared, UNIT)],
        *[(nan_as_a_whole_number, EXAMPLE), (nan_in_an_array_of_whole_numbers, EXAMPLE)],
        (more_than_64_bits, UNIT),
    ],
)
def test_what_raises_an_error_is_refused(function, data):
    with pytest.raises(dpcheck.NotProvable, match=r"test_unforeseen\.py:\d+"):
        dpcheck.prove(function, data=data, adjacency="replace-one")


def test_scores_that_fit_are_the_exponential_mechanism():
    proof = dpcheck.prove(scores_that_fit, data=UNIT, adjacency="replace-one")
    assert proof.epsilon().upper == pytest.approx(400)
