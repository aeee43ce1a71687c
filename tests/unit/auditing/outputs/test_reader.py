"""Columns are learned once, mean the same in every batch, and miss nothing that moves."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dpcheck.auditing.learning.observation import fit_batches, observe_pair
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.outputs.encode import encode_batch, encode_list
from dpcheck.auditing.outputs.reader import MOST_COLUMNS, PlainReader, TableReader, learn_reader
from dpcheck.core.errors import MechanismFailed
from dpcheck.execution.runner import Runner


def columns(first, second):
    one, two = encode_list(first), encode_list(second)
    reader = learn_reader([one], [two])
    return reader, dict(zip(reader.names, reader.rows(one).T, strict=True))


def test_a_row_does_not_depend_on_the_rest_of_its_batch():
    rng = np.random.default_rng(0)
    outputs = [
        {"mean": float(rng.normal()), "city": str(rng.choice(["Ulm", "Berlin"])), "new": None}
        if rng.random() < 0.7
        else [float("nan"), int(rng.integers(3))] * int(rng.integers(1, 4))
        for _ in range(60)
    ]
    reader = learn_reader([encode_list(outputs[:30])], [encode_list(outputs[30:])])
    whole = reader.rows(encode_list(outputs))
    single = np.vstack([reader.rows(encode_list([output])) for output in outputs])
    np.testing.assert_array_equal(whole, single)


def test_rows_of_wide_outputs_do_not_depend_on_their_batch_either():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 700))
    reader = learn_reader([encode_batch(rows[:20], 20)], [encode_batch(rows[20:], 20)])
    assert isinstance(reader, TableReader)
    assert reader.summaries
    whole = reader.rows(encode_batch(rows, 40))
    single = np.vstack([reader.rows(encode_batch(row[None, :], 1)) for row in rows])
    np.testing.assert_array_equal(whole, single)
    assert whole.shape[1] <= MOST_COLUMNS
    assert len(reader.names) == whole.shape[1]


@pytest.mark.parametrize("place", [0, 63, 64, 5_000, 9_999])
def test_whichever_of_10_000_numbers_moves_is_among_the_columns(place):
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 100, 10_000))
    second[:, place] += 3.0
    reader = learn_reader([encode_batch(first, 100)], [encode_batch(second, 100)])
    assert f"out[{place}]" in reader.names


def test_a_number_whose_spread_moves_is_found_too():
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(2, 200, 2000))
    second[:, 1234] *= 4.0
    reader = learn_reader([encode_batch(first, 200)], [encode_batch(second, 200)])
    assert "out[1234]" in reader.names


def test_constant_places_are_no_columns_but_a_change_of_them_is_seen():
    reader, found = columns([{"a": 1, "b": 2.5}] * 3, [{"a": 1, "b": 3.5}] * 3)
    assert set(found) == {'out["b"]', "things not seen in learning runs"}
    rows = reader.rows(encode_list([{"a": 1, "b": 2.5}, {"a": 2, "b": 2.5}, {"b": 2.5}, "text"]))
    assert rows[0, -1] == 0
    assert (rows[1:, -1] > 0).all()


def test_absence_nan_and_infinity_are_states_beside_a_finite_value():
    values = [1.0, float("nan"), float("inf"), float("-inf")]
    _, found = columns([{"a": v} for v in values] + [{}], [{"a": 1.0}])
    assert found['state of out["a"]'].tolist() == [0, 1, 2, 3, 4]
    assert found['out["a"]'].tolist() == [1, 0, 0, 0, 0]


def test_categories_are_in_their_order_and_unknown_ones_come_last():
    reader, found = columns(["b", "a", "b", "a"], ["c", "c", "a"])
    place = reader.names.index("out")
    assert found["out"].tolist() == [1, 0, 1, 0]
    assert reader.label(place, 1.0) == '"b"'
    assert reader.rows(encode_list(["zz"]))[0, place] == 3


def test_a_reader_travels_to_workers():
    reader, _ = columns([{"a": 1.0}, None], [{"a": 2.0}])
    again = pickle.loads(pickle.dumps(reader))
    outputs = encode_list([{"a": 1.5}, None, "x"])
    np.testing.assert_array_equal(again.rows(outputs), reader.rows(outputs))


def test_plain_outputs_are_their_own_rows_and_strange_ones_lie_far_away():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    encoded = encode_batch(rows, 50)
    reader = learn_reader([encoded], [encoded])
    assert isinstance(reader, PlainReader)
    assert reader.rows(encoded) is encoded.rows
    strange = reader.rows(encode_list([rows[0], np.full(3, np.nan), None, np.zeros(2)]))
    np.testing.assert_array_equal(strange[0], rows[0])
    assert (strange[1:] > rows.max(axis=0)).all()


def observe(function, runs=1024, batched=False):
    mechanism = fit_batches(Mechanism(function, batched), [Pair(0.0, 1.0)], Runner())
    return mechanism, observe_pair(mechanism, Pair(0.0, 1.0), "learn", runs, Runner())


def test_a_kind_that_first_appears_late_is_learned_too():
    calls = []

    def late(data, rng):
        calls.append(1)
        return float(rng.normal()) if len(calls) < 1500 else float("nan")

    _, seen = observe(late)
    assert seen.first.shape == (1024, 3)
    assert seen.reader.names == ("out", "state of out", "things not seen in learning runs")


def test_wide_batched_outputs_are_made_in_small_batches():
    sizes = []

    def wide(data, size, rng):
        sizes.append(size)
        x = rng.normal(size=(size, 20_000))
        x[:, 15_000] += 5 * data
        return x

    mechanism, seen = observe(wide, runs=500, batched=True)
    assert mechanism.width == 20_000
    assert max(sizes) * 20_000 <= 1 << 22
    assert "out[15000]" in seen.reader.names
    assert seen.first.shape[1] <= MOST_COLUMNS


def test_narrow_batched_outputs_keep_their_large_batches():
    mechanism, _ = observe(lambda data, size, rng: rng.normal(size=(size, 64)), batched=True)
    assert mechanism.batch == 1 << 16


def test_one_that_always_raises_the_same_is_a_failure_and_else_an_output():
    def broken(data, rng):
        raise KeyError("age")

    with pytest.raises(MechanismFailed, match=r"KeyError.*age"):
        observe(broken)

    def on_one_side(data, rng):
        if data > 0:
            raise KeyError("age")
        return 1.0

    _, seen = observe(on_one_side)
    assert not seen.unread
    assert (seen.first != seen.second[0]).any(axis=1).all()


def test_what_was_not_looked_at_is_named():
    _, seen = observe(lambda data, rng: {"answer": rng.normal(), "f": print})
    assert list(seen.unread) == ['out["f"]']
    _, seen = observe(lambda data, rng: None)
    assert "forget to return" in seen.unread["out"]
