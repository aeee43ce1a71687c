"""The strategies draw what they say, and all of it."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import dpcheck
from dpcheck.core.events.event import children, leaves
from dpcheck.core.events.serialize import from_json, to_json
from dpcheck.testing import strategies as dp

QUICK = settings(max_examples=100, database=None, phases=[Phase.generate, Phase.shrink])
RELATIONS = ["replace-one", "add-remove", "zero-out"]


def rows_of(data):
    """Records as a list of tuples, labels included."""
    if isinstance(data, tuple):
        return [
            (*row, label) for row, label in zip(data[0].tolist(), data[1].tolist(), strict=True)
        ]
    return [tuple(row) for row in data.tolist()]


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("adjacency", RELATIONS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_pairs_are_neighbours_and_differ(adjacency, labels, data):
    pair = data.draw(
        dp.neighbouring_pairs(adjacency, columns=3, norm_bound=0.5, labels=labels, rows=(1, 6))
    )
    first, second = rows_of(pair.first), rows_of(pair.second)
    for rows in (pair.first, pair.second):
        table = rows[0] if labels else rows
        assert table.shape[1] == 3
        assert (np.linalg.norm(table, axis=1) <= 0.5).all()
    if adjacency == "add-remove":
        small, large = sorted((first, second), key=len)
        assert len(large) == len(small) + 1
        assert any(large[:i] + large[i + 1 :] == small for i in range(len(large)))
        return
    different = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    assert len(different) == 1
    if adjacency == "zero-out":
        zeros = [side[different[0]][:3] for side in (first, second)]
        assert (0.0, 0.0, 0.0) in zeros


@pytest.mark.parametrize("adjacency", RELATIONS)
def test_pairs_shrink_to_one_record(adjacency):
    pair = find(dp.neighbouring_pairs(adjacency), lambda p: True, settings=QUICK)
    assert max(len(pair.first), len(pair.second)) == 1


@settings(max_examples=100, deadline=None)
@given(dp.events(adjacency="replace-one"))
def test_events_are_trees_that_survive_json(event):
    assert isinstance(event, dpcheck.Event)
    assert from_json(to_json(event)) == event


def test_every_kind_of_event_and_nesting_is_reached():
    for kind in (dpcheck.Gaussian, dpcheck.SampledGaussian, dpcheck.RandomizedResponse):
        strategy = dp.events(adjacency="replace-one")
        found = find(
            strategy,
            lambda e, k=kind: any(isinstance(leaf, k) for leaf in leaves(e)),
            settings=QUICK,
        )
        assert isinstance(found, kind)  # and it shrinks to the leaf itself
    find(dp.events(), lambda e: any(children(i) for i in children(e)), settings=QUICK)
    with pytest.raises(dpcheck.DpcheckError, match="adjacency"):
        dp.leaves("replace-two")


@settings(max_examples=50, deadline=None)
@given(dp.training_runs(max_steps=1000, max_mu=1.5))
def test_training_runs_are_of_usual_size(event):
    step, times = event.event, event.times
    assert step.sampling_rate * times**0.5 / step.noise_multiplier <= 1.5 * (1 + 1e-12)


@settings(max_examples=50, deadline=None)
@given(dp.datasets(rows=4, columns=2, norm_bound=2.0, labels=True))
def test_datasets_have_their_shape(data):
    rows, labels = data
    assert rows.shape == (4, 2)
    assert set(labels.tolist()) <= {-1.0, 1.0}
    assert (np.linalg.norm(rows, axis=1) <= 2.0).all()


def test_without_hypothesis_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['hypothesis'] = None; sys.modules['hypothesis.strategies'] = None\n"
        "import dpcheck\n"
        "try:\n    from dpcheck.testing import strategies\n"
        "except dpcheck.DpcheckError as error:\n    print(error)\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'dpcheck[testing]'" in shown.stdout
