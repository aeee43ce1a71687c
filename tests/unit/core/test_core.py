import copy
import json
import math
import pickle

import pytest

import dpcheck
from dpcheck.core import errors
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.events.event import (
    Moved,
    Parallel,
    Repeated,
    Sequential,
    leaves,
    natural_adjacency,
)
from dpcheck.core.events.serialize import event_names, from_dict, from_json, to_dict, to_json

EXAMPLES = {
    "Gaussian": dpcheck.Gaussian(1.5),
    "Laplace": dpcheck.Laplace(2.0),
    "DiscreteGaussian": dpcheck.DiscreteGaussian(3.0, 2),
    "DiscreteLaplace": dpcheck.DiscreteLaplace(3.0),
    "RandomizedResponse": dpcheck.RandomizedResponse(0.5, 4),
    "ExponentialMechanism": dpcheck.ExponentialMechanism(0.3, "add-remove"),
    "FinitePair": dpcheck.FinitePair((0.25, 0.75), (0.5, 0.5)),
    "ReportNoisyMax": dpcheck.ReportNoisyMax(2.0, "gumbel", monotone=True),
    "PermuteAndFlip": dpcheck.PermuteAndFlip(0.5),
    "AboveThreshold": dpcheck.AboveThreshold(2.0, 8.0, 3, adjacency="add-remove"),
    "ShuffledReports": dpcheck.ShuffledReports(2.0, 1000),
    "PureDP": dpcheck.PureDP(0.5),
    "ApproxDP": dpcheck.ApproxDP(0.5, 1e-6, "replace-one"),
    "ZCDP": dpcheck.ZCDP(0.1),
    "GDP": dpcheck.GDP(1.0),
    "LossDistribution": dpcheck.LossDistribution(0.5, -1, (0.25, 0.25, 0.5), 0.0, (0, (1.0,), 0.0)),
    "NotPrivate": dpcheck.NotPrivate("prints the data"),
    "SampledGaussian": dpcheck.SampledGaussian(1.1, 0.01),
    "SampledLaplace": dpcheck.SampledLaplace(1.1, 0.01),
    "FixedBatchGaussian": dpcheck.FixedBatchGaussian(1.1, 1000, 10),
    "TruncatedPoissonGaussian": dpcheck.TruncatedPoissonGaussian(1.1, 0.01, 1000, 30),
    "RandomAllocationGaussian": dpcheck.RandomAllocationGaussian(1.1, 100),
    "WithReplacementGaussian": dpcheck.WithReplacementGaussian(1.1, 1000, 10),
    "MixtureGaussian": dpcheck.MixtureGaussian(1.1, (1.0, 2.0), (0.1, 0.05)),
    "RealisedBatchGaussian": dpcheck.RealisedBatchGaussian(1.1, 0.01, 1000),
    "TreeAggregation": dpcheck.TreeAggregation(4.0, 100, 2, 10),
    "BandedMatrix": dpcheck.BandedMatrix(4.0, 100, 5, sampling_rate=0.1),
    "MatrixMechanism": dpcheck.MatrixMechanism(4.0, ((1.0, 0.0), (0.5, 1.0)), 2),
    "ObjectivePerturbation": dpcheck.ObjectivePerturbation(0.9, 100, 0.1),
    "GaussianObjectivePerturbation": dpcheck.GaussianObjectivePerturbation(2.0, 100, 0.1),
    "OutputPerturbation": dpcheck.OutputPerturbation(5.0, 0.2),
    "Sequential": dpcheck.PureDP(1.0) + dpcheck.Gaussian(1.0),
    "Repeated": dpcheck.PureDP(1.0) * 3,
    "Parallel": dpcheck.PureDP(1.0) | dpcheck.PureDP(2.0),
    "Under": dpcheck.Under("add-remove", dpcheck.Gaussian(1.0)),
    "Moved": Moved(dpcheck.Gaussian(1.0)),
    "Grouped": dpcheck.Grouped(dpcheck.Gaussian(1.0), 3),
    "Sampled": dpcheck.Sampled(dpcheck.PureDP(0.5) * 2, 0.1),
    "RandomStopping": dpcheck.RandomStopping(dpcheck.PureDP(0.1), 1.0, 0.1),
    "PoissonStopping": dpcheck.PoissonStopping(dpcheck.PureDP(0.1), 10.0),
}


def test_every_kind_of_event_has_an_example():
    assert set(EXAMPLES) == set(event_names())


@pytest.mark.parametrize("event", EXAMPLES.values(), ids=EXAMPLES)
def test_json_round_trip(event):
    nested = (event * 2 + dpcheck.PureDP(0.1)) | event
    assert from_json(to_json(nested)) == nested
    assert from_dict(json.loads(json.dumps(to_dict(event)))) == event
    assert pickle.loads(pickle.dumps(event)) == event
    assert hash(copy.deepcopy(event)) == hash(event)


def test_operators_build_the_tree_they_say():
    a, b = dpcheck.PureDP(1.0), dpcheck.Gaussian(1.0)
    assert a + b == Sequential((a, b))
    assert a * 3 == 3 * a == Repeated(a, 3)
    assert a | b == Parallel((a, b))
    with pytest.raises(TypeError):
        a + 1
    with pytest.raises(TypeError):
        a * 1.5
    assert leaves((a + b) * 2 | a) == {a, b}


@pytest.mark.parametrize(
    "make",
    [
        lambda: dpcheck.Gaussian(-1.0),
        lambda: dpcheck.Gaussian(1e-310),
        lambda: dpcheck.Gaussian(math.nan),
        lambda: dpcheck.Gaussian(math.inf),
        lambda: dpcheck.Gaussian("1"),
        lambda: dpcheck.Gaussian(True),
        lambda: dpcheck.SampledGaussian(1.0, -0.1),
        lambda: dpcheck.SampledGaussian(1.0, 1.5),
        lambda: dpcheck.PureDP(-0.1),
        lambda: dpcheck.ApproxDP(1.0, 1.1),
        lambda: dpcheck.Budget(1.0, 1.0),
        lambda: dpcheck.Budget(10**400),
        lambda: dpcheck.DiscreteGaussian(1.0, 0),
        lambda: dpcheck.DiscreteGaussian(1.0, 1.5),
        lambda: dpcheck.FixedBatchGaussian(1.0, 10, 11),
        lambda: dpcheck.RandomizedResponse(-0.1, 2),
        lambda: dpcheck.RandomizedResponse(0.5, 1),
        lambda: dpcheck.FinitePair((0.5, 0.4), (0.5, 0.5)),
        lambda: dpcheck.FinitePair((1.0,), (0.5, 0.5)),
        lambda: dpcheck.NotPrivate(" "),
        lambda: dpcheck.ObjectivePerturbation(1.0, 100, 0.1, -0.1),
        lambda: dpcheck.RandomStopping(dpcheck.PureDP(1.0), -1.0, 0.5),
        lambda: dpcheck.RandomStopping(dpcheck.PureDP(1.0), 1.0, 0.0),
        lambda: dpcheck.PureDP(1.0) * -1,
        lambda: dpcheck.Grouped(3, 2),
    ],
)
def test_bad_parameters_are_refused_with_a_code(make):
    with pytest.raises(errors.InvalidParameter) as caught:
        make()
    assert str(caught.value).startswith("DPC101 ")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"kind": "Gauss", "noise_multiplier": 1}',
        '{"kind": "Gaussian"}',
        '{"kind": "Gaussian", "noise_multiplier": 1, "sigma": 2}',
        '{"kind": "Repeated", "event": 3, "times": 1}',
        '{"kind": ["Gaussian"]}',
        "[" * 100_000,
        '{"kind": "Repeated", "times": 1, "event": ' * 300 + "1" + "}" * 300,
    ],
)
def test_broken_json_is_an_invalid_event(text):
    with pytest.raises((errors.InvalidEvent, errors.InvalidParameter)) as caught:
        from_json(text)
    assert caught.value.code in ("DPC101", "DPC103")
    assert "\n" not in str(caught.value)


def test_adjacency_is_read_by_name_or_refused_with_a_hint():
    assert as_adjacency("replace-one") is Adjacency.REPLACE_ONE
    assert [a.moves for a in Adjacency] == [2, 1, 1]
    with pytest.raises(errors.UnknownName, match="did you mean 'add-remove'"):
        as_adjacency("add_remove")


def test_natural_adjacency_is_never_guessed_between_two():
    assert natural_adjacency(dpcheck.SampledGaussian(1.0, 0.1) * 3) is Adjacency.ADD_REMOVE
    assert natural_adjacency(EXAMPLES["ObjectivePerturbation"]) is Adjacency.REPLACE_ONE
    with pytest.raises(errors.InvalidParameter, match="pass adjacency"):
        natural_adjacency(dpcheck.Gaussian(1.0) + EXAMPLES["ObjectivePerturbation"])


def test_a_crossed_bound_cannot_be_made():
    with pytest.raises(errors.DpcheckError, match="internal error"):
        dpcheck.Bound(2.0, 1.0, "x")
    with pytest.raises(errors.DpcheckError):
        dpcheck.Bound(math.nan, 1.0, "x")


def test_errors_keep_code_and_data_through_pickle():
    error = errors.BudgetExceeded("spent too much.", spent=1.0, allowed=0.5)
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.data, str(again)) == (error.code, error.data, str(error))
