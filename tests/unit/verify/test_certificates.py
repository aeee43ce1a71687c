"""Certificates of bounds of every kind are accepted, and refused with any number on the unsafe side."""

from __future__ import annotations

import copy
import json

import pytest
from click.testing import CliRunner

import dpcheck
from dpcheck import (
    GDP,
    ZCDP,
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    FixedBatchGaussian,
    Gaussian,
    Laplace,
    OutputPerturbation,
    PureDP,
    RandomizedResponse,
    SampledGaussian,
    SampledLaplace,
    Under,
)
from dpcheck.cli.main import main
from dpcheck.core.errors import CannotCertify, InvalidParameter
from dpcheck.core.events.serialize import to_dict
from dpcheck.verify.file import Unreadable, check_data
from dpcheck.verify.result import Refused

# (event, delta, adjacency, kinds of proof)
BOUNDS = {
    "pure": (PureDP(0.2) * 5 + Laplace(3.0), 0.0, "replace-one", ["pure"]),
    "output": (OutputPerturbation(5.0, 0.2) * 2, 0.0, "replace-one", ["pure"]),
    "exponential": (ExponentialMechanism(0.3) * 4, 0.0, "add-remove", ["pure"]),
    "gaussian": (Gaussian(3.0) * 7 + GDP(0.5), 1e-5, "add-remove", ["gaussian"]),
    "optimal": (PureDP(0.1) * 100, 1e-6, "replace-one", ["optimal"]),
    "leaks": (ApproxDP(0.3, 1e-8) * 10, 1e-6, "add-remove", ["optimal"]),
    "zcdp": (ZCDP(0.01) * 10 + Gaussian(5.0), 1e-5, "add-remove", ["renyi"]),
    "zcdp and others": (
        ZCDP(0.02, xi=0.01)
        + Laplace(4.0)
        + PureDP(0.1)
        + DiscreteGaussian(9.0)
        + DiscreteLaplace(8.0, 2),
        1e-6,
        "zero-out",
        ["renyi"],
    ),
    "variation": (SampledGaussian(0.6, 1e-9) * 3, 1e-5, "add-remove", ["variation"]),
    "one step": (SampledGaussian(0.8, 0.2), 1e-5, "add-remove", ["curve"]),
    "few outcomes": (PureDP(0.3) + PureDP(0.5), 1e-3, "replace-one", ["curve"]),
    "training": (SampledGaussian(2.0, 0.1) * 20, 1e-3, "add-remove", ["lattice"]),
    "replaced": (SampledGaussian(2.0, 0.1) * 20, 1e-3, "replace-one", ["lattice"]),
    "zeroed": (SampledGaussian(2.0, 0.1) * 20, 1e-3, "zero-out", ["lattice"]),
    "laplace": (Laplace(4.0) * 20, 1e-6, "add-remove", ["lattice"]),
    "sampled laplace": (SampledLaplace(2.0, 0.1) * 20, 1e-6, "add-remove", ["lattice"]),
    "response": (RandomizedResponse(0.5, 4) * 30, 1e-6, "replace-one", ["lattice"]),
    "discrete": (
        DiscreteGaussian(4.0) * 6 + DiscreteLaplace(3.0, 2) * 3,
        1e-6,
        "add-remove",
        ["lattice"],
    ),
    "fixed batch": (FixedBatchGaussian(2.0, 1000, 200) * 25, 1e-4, "replace-one", ["lattice"]),
    "three responses": (PureDP(0.3) + PureDP(0.5) + Laplace(3.0), 1e-6, "add-remove", ["lattice"]),
    "a choice": (SampledGaussian(1.0, 0.1) | PureDP(0.7), 1e-5, "add-remove", ["curve", "pure"]),
    "stated": (Under("add-remove", PureDP(0.2) * 3), 0.0, "replace-one", ["pure"]),
    "stated zcdp": (Under("add-remove", ZCDP(0.01, xi=0.001)), 1e-6, "replace-one", ["renyi"]),
    "stated leak": (ApproxDP(0.3, 1e-8, adjacency="zero-out"), 1e-7, "replace-one", ["optimal"]),
}


@pytest.fixture(scope="module")
def certificates():
    found = {}
    for name, (event, delta, adjacency, _) in BOUNDS.items():
        bound = dpcheck.epsilon(event, delta=delta, adjacency=adjacency)
        found[name] = json.dumps(bound.certificate(), allow_nan=False)
    return found


@pytest.mark.parametrize("name", BOUNDS)
def test_it_is_accepted_for_what_the_accountant_says(certificates, name):
    event, delta, adjacency, kinds = BOUNDS[name]
    data = json.loads(certificates[name])
    found = check_data(data)
    assert [proof["by"]["kind"] for proof in data["proofs"]] == kinds
    upper = dpcheck.epsilon(event, delta=delta, adjacency=adjacency).upper
    # A certificate adds up pure losses that are rounded one by one, the accountant rounds their sum.
    assert upper <= found.claim["epsilon"] <= upper * (1 + (1e-15 if kinds == ["pure"] else 0.0))
    assert found.claim["delta"] == delta
    assert found.claim["adjacency"] == adjacency
    assert found.steps > 0


# What costs more the larger it is, and what costs more the smaller it is.
DEARER = (
    "sampling_rate",
    "epsilon",
    "delta",
    "rho",
    "xi",
    "mu",
    "norm_bound",
    "sensitivity",
    "rate",
    "batch",
)
CHEAPER = ("noise_multiplier", "scale", "noise")


def with_change(data, path, value):
    """A copy with the entry at `path` replaced."""
    other = copy.deepcopy(data)
    place = other
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return other


def numbers(data, path=()):
    """Every number with the path that leads to it."""
    if isinstance(data, bool) or not isinstance(data, dict | list | int | float):
        return
    if isinstance(data, int | float):
        yield path, data
        return
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield from numbers(value, (*path, key))


def unsafe_claims(data):
    """The claim, and the event it is about, made stronger."""
    claim, kinds = data["claim"], {proof["by"]["kind"] for proof in data["proofs"]}
    if claim["epsilon"] > 0:
        yield with_change(data, ("claim", "epsilon"), claim["epsilon"] * 0.99)
    if claim["delta"] > 0 and not kinds & {"pure", "variation"}:
        yield with_change(data, ("claim", "delta"), claim["delta"] * 0.9)
    for path, value in numbers(claim["event"], ("claim", "event")):
        dearer = path[-1] in DEARER
        if value and (dearer or path[-1] in CHEAPER):
            moved = value + 1 if isinstance(value, int) else value * (1.001 if dearer else 0.999)
            yield with_change(data, path, moved)


def unsafe_proofs(data):
    """The pairs and the measures of the proofs made smaller."""
    for i, proof in enumerate(data["proofs"]):
        start = ("proofs", i)
        for path, value in numbers(proof["parts"], (*start, "parts")):
            if value and path[-1] in ("times", "shift", "rate", "epsilon", "rho", "scale"):
                factor = 1.01 if path[-1] == "scale" else 0.99
                smaller = value - 1 if isinstance(value, int) else value * factor
                yield with_change(data, path, smaller)
        by = proof["by"]
        if by["kind"] == "gaussian":
            yield with_change(data, (*start, "by", "shift"), by["shift"] * 0.999)
        for way in ("forward", "backward"):
            for k, measure in enumerate(by.get(way, {}).get("measures", [])):
                at = (*start, "by", way, "measures", k)
                masses = [mass for _, mass in measure["points"]]
                largest = masses.index(max(masses))
                yield with_change(data, (*at, "points", largest, 1), masses[largest] * (1 - 1e-6))
                yield with_change(data, (*at, "offset"), measure["offset"] - by[way]["step"] / 10)
                if measure["infinite"] > 1e-30:
                    yield with_change(data, (*at, "infinite"), 0.0)


@pytest.mark.parametrize("name", BOUNDS)
def test_with_a_number_on_the_unsafe_side_it_is_refused(certificates, name):
    data = json.loads(certificates[name])
    tried = 0
    for other in (*unsafe_claims(data), *unsafe_proofs(data)):
        with pytest.raises(Refused):
            print(check_data(other), other)
        tried += 1
    assert tried >= 2


def test_the_certificate_of_a_delta_is_that_of_its_epsilon():
    event = SampledGaussian(2.0, 0.1) * 20
    for bound in dpcheck.delta(event, epsilon=[0.2, 0.5], adjacency="add-remove"):
        found = check_data(bound.certificate())
        assert found.claim["delta"] == bound.upper
    exact = dpcheck.delta(Gaussian(2.0), epsilon=1.0, adjacency="add-remove")
    assert check_data(exact.certificate()).claim["epsilon"] == 1.0


def test_an_epsilon_to_an_accuracy_has_a_certificate():
    event = SampledGaussian(2.0, 0.1) * 20
    bound = dpcheck.epsilon(event, delta=1e-3, adjacency="replace-one", accuracy=1e-4)
    assert check_data(bound.certificate()).claim["epsilon"] == bound.upper


def test_what_has_no_certificate_says_so():
    unchecked = dpcheck.epsilon(dpcheck.RandomAllocationGaussian(1.0, 10), delta=1e-5)
    with pytest.raises(CannotCertify, match="RandomAllocationGaussian"):
        unchecked.certificate()
    sampled = dpcheck.epsilon(ZCDP(0.1) + SampledGaussian(1.0, 0.1), delta=1e-5)
    with pytest.raises(CannotCertify, match="not checked"):
        sampled.certificate()
    with pytest.raises(CannotCertify, match="infinite"):
        dpcheck.epsilon(dpcheck.NotPrivate("raw"), delta=1e-5).certificate()
    with pytest.raises(InvalidParameter, match=r"dpcheck\.epsilon"):
        dpcheck.Bound(1.0, 2.0, "pure").certificate()


def pure():
    return dpcheck.epsilon(PureDP(0.5) * 2, adjacency="replace-one").certificate()


STRANGE = {
    "no proofs": lambda d: d.update(proofs=[]),
    "a proof of another kind": lambda d: d["proofs"][0]["by"].update(kind="trust-me"),
    "a pair of another kind": lambda d: d["proofs"][0]["parts"][0]["pair"].update(kind="nothing"),
    "an event of another kind": lambda d: d["claim"]["event"]["event"].update(kind="Nothing"),
    "a field that may mean anything": lambda d: d["claim"]["event"]["event"].update(half=True),
    "an unknown adjacency": lambda d: d["claim"].update(adjacency="none"),
    "a negative epsilon": lambda d: d["claim"].update(epsilon=-1.0),
    "nan": lambda d: d["claim"].update(epsilon=float("nan")),
    "infinity": lambda d: d["claim"].update(epsilon=float("inf")),
    "a number as a text": lambda d: d["claim"].update(epsilon="1.0"),
    "true is no number": lambda d: d["claim"].update(epsilon=True),
    "a negative number of uses": lambda d: d["claim"]["event"].update(times=-1),
    "half a use": lambda d: d["proofs"][0]["parts"][0].update(times=2.5),
    "an event that is a list": lambda d: d["claim"].update(event=[]),
    "a part without a pair": lambda d: d["proofs"][0]["parts"][0].pop("pair"),
    "a neutral answer that is there": lambda d: d["proofs"][0]["parts"][0]["pair"].update(
        neutral=0.5
    ),
}


@pytest.mark.parametrize("what", STRANGE)
def test_strange_certificates_are_refused(what):
    data = pure()
    check_data(data)
    STRANGE[what](data)
    with pytest.raises(Refused):
        check_data(data)


@pytest.mark.parametrize("data", [[], "text", {}, {"schema": 7}, {"schema": "dpcheck.bound/99"}])
def test_what_is_no_certificate_is_unreadable(data):
    with pytest.raises(Unreadable):
        check_data(data)


def deep(depth):
    data = pure()
    for _ in range(depth):
        data["claim"]["event"] = {"kind": "Repeated", "times": 1, "event": data["claim"]["event"]}
    return data


def test_trees_of_any_depth_are_checked_or_refused():
    check_data(deep(50))
    with pytest.raises(Refused):
        check_data(deep(5000))


def test_the_command_accepts_refuses_and_complains(tmp_path):
    run, file = CliRunner(), tmp_path / "bound.json"
    options = ["--noise", "2", "--rate", "0.1", "--steps", "3", "--delta", "1e-4"]
    made = run.invoke(main, ["account", "sampled-gaussian", *options, "--certificate", str(file)])
    assert made.exit_code == 0, made.output
    found = run.invoke(main, ["verify", str(file)], standalone_mode=False)
    assert found.return_value == 0
    assert found.stdout.startswith(
        "accepted: SampledGaussian(noise_multiplier=2.0, sampling_rate=0.1) x 3 is ("
    )
    data = json.loads(file.read_text())
    answer = run.invoke(main, ["verify", "--format", "json", str(file)], standalone_mode=False)
    assert json.loads(answer.stdout)["claim"] == data["claim"]
    data["claim"]["epsilon"] /= 2
    file.write_text(json.dumps(data))
    found = run.invoke(main, ["verify", str(file)], standalone_mode=False)
    assert found.return_value == 1
    assert found.stdout.startswith("refused: ")
    answer = run.invoke(main, ["verify", "--format", "json", str(file)], standalone_mode=False)
    assert json.loads(answer.stdout)["accepted"] is False
    file.write_text("no json")
    complaint = run.invoke(main, ["verify", str(file)], standalone_mode=False)
    assert "not JSON" in str(complaint.exception)
    complaint = run.invoke(main, ["verify", str(tmp_path / "nowhere.json")], standalone_mode=False)
    assert "cannot read" in str(complaint.exception)


def test_parts_that_no_measure_names_pay_their_largest_loss():
    event = Laplace(4.0) * 20 + PureDP(1e-13)
    bound = dpcheck.epsilon(event, delta=1e-6, adjacency="add-remove")
    data = json.loads(json.dumps(bound.certificate()))
    (proof,) = data["proofs"]
    named = {i for measure in proof["by"]["forward"]["measures"] for i in measure["parts"]}
    assert len(named) < len(proof["parts"])
    check_data(data)
    # The part that pays, made as large as the rest: its loss has to be paid, and there is no room for it.
    (small,) = set(range(len(proof["parts"]))) - named
    proof["parts"][small]["pair"]["epsilon"] = 0.5
    with pytest.raises(Refused):
        check_data(data)


def test_a_curve_is_that_of_all_uses():
    claim = {"adjacency": "replace-one", "epsilon": 0.35, "delta": 1e-4}
    claim["event"] = to_dict(PureDP(0.3) * 3)
    part = {"pair": {"kind": "response", "epsilon": 0.3, "neutral": 0.0}, "times": 3}
    data = {"schema": "dpcheck.bound/1", "claim": claim}
    data["proofs"] = [{"parts": [part], "by": {"kind": "curve"}}]
    with pytest.raises(Refused, match="needs delta"):
        check_data(data)
    claim["epsilon"] = 0.9
    check_data(data)
