"""A total leak is found in whatever type it is returned; the same answer with its noise is not."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.auditing.outputs.encode import encode_runs, take, take_error
from dpcheck.auditing.outputs.reader import learn_reader
from dpcheck.core.verdict import Verdict
from dpcheck.session.assertion import audit_function

from .output_types import with_optional_packages

TYPES = with_optional_packages()
PAIR = [(np.zeros(3), np.array([5.0, 0.0, 0.0]))]
# Whole audits of all types are in benchmarks/output_types.py; here of one of each family.
AUDITED = (
    "int beyond 2^53",
    "NaN sometimes",
    "JSON",
    "bytes of a float",
    "datetime",
    "set",
    "dict",
    "dataclass",
    "generator",
    "exception sometimes",
    "message of an exception",
    "array of objects",
    "array of varying length",
    "Series by name",
)
TWINS = ("JSON", "dict", "NaN sometimes", "exception sometimes")


def verdict(shape, scale, seed=1, runs=1024):
    def release(data, rng):
        return shape(float(data.sum() + rng.laplace(scale=scale)))

    return audit_function(
        release, claim=1.0, neighbours=PAIR, adjacency="replace-one", seed=seed, max_runs=runs
    )


@pytest.mark.parametrize("name", TYPES)
def test_a_column_tells_the_sides_apart_in_every_type(name):
    rng = np.random.default_rng(0)

    def outputs(total):
        taken = []
        for noise in rng.laplace(scale=0.01, size=24):
            try:
                taken.append(take(TYPES[name](float(total + noise))))
            except Exception as error:
                taken.append(take_error(error))
        return encode_runs(taken)

    first, second = outputs(0.0), outputs(5.0)
    reader = learn_reader([first], [second])
    one, two = reader.rows(first), reader.rows(second)
    apart = (one.max(axis=0) < two.min(axis=0)) | (two.max(axis=0) < one.min(axis=0))
    assert apart.any()
    assert np.isfinite(one).all()
    assert np.isfinite(two).all()


@pytest.mark.parametrize("name", AUDITED)
def test_a_total_leak_is_found(name):
    entry = verdict(TYPES[name], 0.01)
    assert entry.verdict is Verdict.VIOLATED, entry.notes
    assert entry.witness is not None


@pytest.mark.parametrize("name", TWINS)
def test_the_same_answer_with_enough_noise_is_not_accused(name):
    assert verdict(TYPES[name], 5.0).verdict is not Verdict.VIOLATED


def test_there_are_as_many_types_as_were_asked_for():
    assert len(TYPES) >= 45
