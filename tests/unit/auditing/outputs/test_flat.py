"""What is read of an output: every value under a name that is Python for it."""

from __future__ import annotations

import datetime as dt
import enum
import json
import math
import re
from collections import namedtuple
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpcheck.auditing.outputs.encode import encode_batch, encode_list, flatten
from dpcheck.auditing.outputs.tables import Plain, Runs, pack, unpack
from dpcheck.core.errors import BadOutput, UnreadableOutput

Point = namedtuple("Point", "x y")


def numbers(value):
    """Every number of an output by its name."""
    return {
        slot.name(index): number
        for slot, array in flatten(value).numbers.items()
        for index, number in enumerate(array.tolist())
    }


def tokens(value):
    return {slot.path: text for slot, text in flatten(value).tokens.items()}


NAMED = {
    "nested dict": {"a": {"b": [1.5, 2.5], 'q"uote': 3.0}},
    "tuple keys": {(1, "x"): 2.0, None: 3.0},
    "rows": [[1.0, 2.0], [3.0, 4.0]],
    "named tuple": Point(1.0, [2.0, "a"]),
    "matrix": np.arange(6.0).reshape(2, 3),
    "cube": np.arange(8.0).reshape(2, 2, 2),
    "structured": np.array([(1, 2.5)], dtype=[("n", "i4"), ("v", "f8")]),
    "large int": 3 * 2**80 + 12345,
    "Decimal": Decimal("0.1000000000000000000001"),
    "complex": 1 + 2j,
    "date": dt.date(2026, 11, 16),
    "JSON": '{"mean": [1, 2.5]}',
    "bytes of floats": np.array([1.0, 2.5]).tobytes(),
}
WORDS = re.compile(r"\b(?:letters|digest|seconds|numbers|days|time|sums|leading)\b")


@pytest.mark.parametrize("name", NAMED)
def test_names_are_python_for_what_they_name(name):
    out = NAMED[name]
    scope = {"out": out, "json": json, "np": np, "len": len, "float": float}
    read = numbers(out)
    checked = 0
    for expression, number in read.items():
        if WORDS.search(expression):
            continue
        if " - float(" in expression:  # Decimal and float do not mix: tested below
            continue
        assert float(eval(expression, scope)) == number, expression
        checked += 1
    assert checked >= 1


def test_no_digit_of_a_large_int_is_lost():
    for value in (2**53 + 1, -(2**60) - 3, 7**150):
        read = numbers(value)
        limbs = [v for name, v in read.items() if ">>" in name]
        rebuilt = sum(int(limb) << (48 * place) for place, limb in enumerate(limbs))
        if value.bit_length() <= 48 * 8:
            assert rebuilt == abs(value)
        assert read["out.bit_length()"] == value.bit_length()
    assert numbers(10**400) != numbers(10**400 + 1)
    assert numbers(10**400)["out"] == math.inf


def test_no_digit_of_a_decimal_or_fraction_is_lost():
    assert numbers(Decimal("1.00000000000000000001"))["out - float(out)"] == 1e-20
    third = numbers(Fraction(1, 3))
    rest = Fraction(1, 3) - Fraction(1 / 3)
    assert third["out - float(out)"] == float(rest)


def test_not_a_number_is_a_number_here():
    assert math.isnan(numbers({"a": float("nan")})['out["a"]'])
    assert numbers(Decimal("-Infinity"))["out"] == -math.inf
    assert math.isnan(numbers(Decimal("NaN"))["out"])


def test_types_lengths_keys_and_order_are_read():
    assert tokens(None) == {"type(out)": "NoneType"}
    assert tokens({"a": 1})["list(out)"] == '"a"'
    assert tokens({"a": 1, "b": 2})["list(out)"] != tokens({"b": 2, "a": 1})["list(out)"]
    assert numbers([])["len(out)"] == 0
    assert tokens([1, 2.0])["list(map(type, out))"] == "if"
    assert {slot.path for slot in flatten({"x", "y"}).flags} == {'"x" in out', '"y" in out'}
    assert tokens(1.0) != tokens(1)
    assert tokens(np.float64(1.0)) == tokens(1.0)


def test_text_is_read_in_pieces():
    read = flatten("mean 3.5, count = -2e3")
    block = next(a for s, a in read.numbers.items() if s.path == "numbers(out)")
    assert block.tolist() == [3.5, -2000.0]
    assert tokens("mean 3.5")["around(out)"] == "mean #"
    assert {slot.path for slot in read.flags} >= {'"mean" in out'}
    assert numbers('{"a": {"b": 2}}')['json.loads(out)["a"]["b"]'] == 2.0
    assert "json" not in str(numbers("{not json"))


def test_addresses_are_no_part_of_a_text():
    assert tokens("<A object at 0x7f12345678>") == tokens("<A object at 0x7fabcdef00>")


def test_an_enum_is_its_name_and_value():
    class Color(enum.IntEnum):
        RED = 3

    assert tokens(Color.RED)["out.name"] == "RED"
    assert numbers(Color.RED)["out.value"] == 3.0


class Hostile:
    """Everything one can do to an output raises."""

    def __init__(self):
        self.value = 1.5

    def __repr__(self):
        raise RuntimeError("no repr")

    __str__ = __eq__ = __len__ = __iter__ = __hash__ = __bool__ = __repr__


class Sealed:
    def __getattribute__(self, name):
        raise RuntimeError("no attributes")


class LyingList(list):
    def __iter__(self):
        raise RuntimeError("no items")


def test_hostile_objects_are_read_or_named():
    assert numbers(Hostile())["out.value"] == 1.5
    assert numbers({"a": Hostile()})['out["a"].value'] == 1.5
    assert 'out["a"]' in flatten({"a": Sealed(), "b": 1}).unread
    assert "out[0]" in flatten([LyingList([1]), 2]).unread
    assert "out[0]" in flatten([lambda: 0, 1.0]).unread


def test_what_nobody_can_read_is_refused_with_a_code():
    for value in (lambda: 0, Sealed(), json, object()):
        with pytest.raises(UnreadableOutput, match=r"DPC420 .*Return numbers"):
            flatten(value)


def test_cycles_and_depth_end():
    loop: list = [1.0]
    loop.append(loop)
    assert numbers(loop)["out[0]"] == 1.0
    deep: list = []
    for _ in range(500):
        deep = [deep]
    assert any("deeply" in why for why in flatten(deep).unread.values())


def test_a_huge_array_is_summed_up_and_says_so():
    one = np.zeros(200_000)
    two = one.copy()
    two[123_456] = 1.0
    first, second = flatten(one), flatten(two)
    assert "200,000 numbers" in first.unread["out"]
    (slot,) = [s for s in first.numbers if s.path == "sums of out"]
    assert (first.numbers[slot] != second.numbers[slot]).sum() == 2  # the digest and one sum


def test_a_generator_is_used_up_and_an_endless_one_is_cut():
    def endless():
        while True:
            yield 1

    assert numbers(x for x in (1, 2))["list(out)[1]"] == 2.0
    assert "finite" in flatten(endless()).unread["out"]


def test_plain_numbers_stay_what_they_are():
    assert encode_list([1, 2, 5]).rows.tolist() == [[1.0], [2.0], [5.0]]
    found = encode_list([np.zeros((2, 3)), np.ones((2, 3))])
    assert isinstance(found, Plain)
    assert found.rows.shape == (2, 6)
    assert encode_batch(np.zeros((5, 2, 3)), 5).rows.shape == (5, 6)
    assert encode_batch(np.full(5, 1 + 2j), 5).rows.tolist()[0] == [1.0, 2.0]
    for values in ([1, 2.5], [2**60, 1], [1.0, float("nan")], [1.0, None], [np.zeros(2), 1.0]):
        assert isinstance(encode_list(values), Runs)


def test_an_array_that_is_used_again_is_copied():
    buffer = np.zeros(2)

    def outputs():
        for value in (1.0, 2.0):
            buffer[:] = value
            yield buffer

    from dpcheck.auditing.outputs.encode import encode_runs, take

    assert encode_runs([take(v) for v in outputs()]).rows.tolist() == [[1.0, 1.0], [2.0, 2.0]]


def test_a_batch_may_be_a_list_of_anything():
    assert encode_batch(["a", "b"], 2).size == 2
    assert encode_batch([{"a": 1}, None], 2).size == 2
    with pytest.raises(BadOutput, match="asked for 3"):
        encode_batch(["a", "b"], 3)
    with pytest.raises(BadOutput, match="asked for 3"):
        encode_batch(1.0, 3)


def test_a_packed_table_comes_back_as_it_was():
    outputs = [{"a": 1.5}, None, {"a": float("nan"), "b": "täxt"}, {"a": [1, 2, 3]}, {"x", "y"}]
    table = encode_list(outputs).as_table()
    packed = pack(table, "first")
    assert all(array.dtype == np.float64 for array in packed.values())
    again = unpack(packed, "first")
    assert again.tokens == table.tokens
    assert set(again.numbers) == set(table.numbers)
    for slot, (values, counts) in table.numbers.items():
        np.testing.assert_array_equal(again.numbers[slot][0], values)
        np.testing.assert_array_equal(again.numbers[slot][1], counts)
    assert {s: f.tolist() for s, f in again.flags.items()} == {
        s: f.tolist() for s, f in table.flags.items()
    }
    plain = unpack(pack(encode_list([1.0, 2.0]), "x"), "x")
    assert isinstance(plain, Plain)
    assert plain.type == "float"
