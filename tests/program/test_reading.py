"""What is read is the code that runs, and nothing is left behind."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

import dpcheck

UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=10)
LARGE = np.zeros(100)


def refused(function, match, **options):
    with pytest.raises(dpcheck.NotProvable, match=match):
        dpcheck.prove(function, data=UNIT, adjacency="replace-one", **options)


def module(path, text):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    spec.loader.exec_module(made)
    return made


SOURCE = "def total(x, rng):\n    return x.sum() + rng.laplace(scale={scale})\n"


def test_an_edited_file_is_noticed(tmp_path):
    path = tmp_path / "edited_after_import.py"
    found = module(path, SOURCE.format(scale="1.0"))
    path.write_text(SOURCE.format(scale="9.0"))
    refused(found.total, "not the source of the code that runs")


def test_a_replaced_code_is_noticed(tmp_path):
    found = module(tmp_path / "replaced_code.py", SOURCE.format(scale="1.0"))

    def other(x, rng):
        return x.sum() + rng.laplace(scale=0.001)

    found.total.__code__ = other.__code__.replace(
        co_filename=found.total.__code__.co_filename, co_name="total", co_firstlineno=1
    )
    refused(found.total, "not the source of the code that runs")


def test_a_large_constant_is_declared_public_by_name():
    def weighted(x, rng):
        return x.sum() * LARGE[0] + x.sum() + rng.laplace()

    refused(weighted, "LARGE holds 100 numbers")
    proof = dpcheck.prove(weighted, data=UNIT, adjacency="replace-one", public=["LARGE"])
    assert proof.epsilon().upper == 1.0
    assert "LARGE is public" in proof.assumes


def test_a_loop_over_the_records_sees_only_sums():
    def last(x, rng):
        for v in x:
            kept = v
        return kept + rng.laplace()

    def running(x, rng):
        total = 0.0
        for v in x:
            total += v * total
        return total + rng.laplace()

    def early(x, rng):
        total = 0.0
        for v in x:
            if v > 0.5:
                break
            total += v
        return total + rng.laplace()

    refused(last, "kept has no value here")
    refused(running, "is read in the loop")
    refused(early, "a loop over records ends early")


def test_an_error_that_would_tell_is_refused():
    def quotient(x, rng):
        return sum(1 / float(v) for v in x) * 0.0 + rng.laplace()

    def place(x, rng):
        counts = np.zeros(3)
        for v in x:
            counts[int(v * 10)] += 1
        return counts + rng.laplace(size=3)

    refused(quotient, "Python raises an error for some values")
    refused(place, "this entry may not exist")


def test_what_a_seeded_generator_draws_is_public():
    """As a start it may be used; as noise it protects nothing."""

    def start(x, rng):
        first = np.random.default_rng(0).normal(size=2)
        return first.sum() + x.sum() + rng.laplace()

    def known(x, rng):
        return x.sum() + np.random.default_rng(0).laplace()

    proof = dpcheck.prove(start, data=UNIT, adjacency="replace-one")
    assert proof.epsilon().upper == 1.0
    refused(known, "without noise")


def test_the_worse_of_two_paths_is_charged():
    def unequal(x, rng):
        count = (x > 0.5).sum() + rng.laplace(scale=2)
        if count > 5:
            return x.sum() + rng.laplace(scale=1)
        return (x > 0.1).sum() + rng.laplace(scale=4)

    proof = dpcheck.prove(unequal, data=UNIT, adjacency="replace-one")
    assert proof.epsilon().upper >= 1.5  # 1/2 for the count, then 1 or 1/4
    assert proof.epsilon().upper <= 1.75  # at most as if both were released


def test_a_list_of_records_that_is_summed_says_which_form_would_do():
    """The first mistake of somebody whose function takes an array."""

    def total(x, rng):
        return float(np.sum(x) + rng.laplace())

    refused(total, r'list of records is used as an array; .*form="array"', form="dicts")
    with pytest.raises(dpcheck.DpcheckError, match=r"Give form= to @dpcheck\.audited"):
        dpcheck.records(x=dpcheck.number(0, 1), form="array")
