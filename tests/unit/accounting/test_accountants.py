"""The accountants behind one interface: names, coverage of methods, and the doors of the PLD package."""

import ast
import math
from pathlib import Path

import pytest

import dpcheck
from dpcheck.accounting.accountants import best
from dpcheck.accounting.accountants.best import ACCOUNTANTS, METHODS, accountants
from dpcheck.accounting.accountants.interface import AccountingMethod
from dpcheck.accounting.calibrate import calibrate, calibrate_epochs, calibrate_noise
from dpcheck.accounting.certify.bound import Plan
from dpcheck.core.errors import InvalidParameter, UnknownName

ROOT = Path(dpcheck.__file__).parent
DOORS = {"dpcheck.accounting.pld.distribution", "dpcheck.accounting.pld.verify.proof"}


def test_every_method_has_its_accountant():
    assert list(ACCOUNTANTS) == list(AccountingMethod)
    assert all(accountant.method is method for method, accountant in ACCOUNTANTS.items())
    assert METHODS == (
        "pure",
        "variation",
        "gdp",
        "optimal-composition",
        "rdp-classic",
        "rdp-improved",
        "rdp-optimal",
        "pld",
        "selection",
    )


def test_methods_by_name():
    assert [a.method for a in accountants("rdp")] == [AccountingMethod.RENYI_OPTIMAL]
    assert AccountingMethod.RENYI_CLASSIC not in [a.method for a in accountants()]
    with pytest.raises(UnknownName, match="optimal-composition"):
        accountants("moments")


def test_what_is_not_supported_is_not_answered():
    event = dpcheck.Gaussian(1.0)
    for method in ("pure", "optimal-composition"):
        assert dpcheck.epsilon(event, delta=1e-5, method=method).upper == float("inf")


def test_other_packages_use_the_two_doors_of_the_pld():
    strangers = []
    for path in ROOT.rglob("*.py"):
        # Pairs say what lattices are built from, and rules prove by them.
        if not {"pld", "pairs", "certify"}.isdisjoint(path.relative_to(ROOT).parts):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                if name.startswith("dpcheck.accounting.pld") and name not in DOORS:
                    strangers.append(f"{path.relative_to(ROOT)}: {name}")
    assert not strangers


def test_one_entry_for_calibration():
    budget = dpcheck.Budget(2.0, 1e-5)
    assert calibrate(dpcheck.Gaussian, budget) == calibrate_noise(dpcheck.Gaussian, budget)
    step = dpcheck.SampledGaussian(1.0, 0.01)
    assert calibrate(step, budget).value >= 1000
    found = calibrate(step, budget, steps_per_epoch=100)
    assert found == calibrate_epochs(step, 100, budget)
    for wrong in ({"target": 3.0}, {"target": dpcheck.Gaussian, "steps_per_epoch": 10}):
        with pytest.raises(InvalidParameter, match="function of the noise"):
            calibrate(budget=budget, **wrong)


def test_a_distribution_that_says_nothing_does_not_end_the_search(monkeypatch):
    """Found by the fuzz: an infinite answer was taken for one close to the lower bound."""
    from dpcheck.accounting.accountants.distribution import DistributionAccountant

    monkeypatch.setattr(DistributionAccountant, "plan_above", lambda *_: Plan())
    monkeypatch.setattr(DistributionAccountant, "plan_below", lambda *_: Plan())
    bound = dpcheck.epsilon(dpcheck.SampledGaussian(1.0, 0.1) * 10, delta=1e-5)
    assert math.isfinite(bound.upper)
    assert bound.method.startswith("rdp")


def test_answers_by_the_lattice_say_what_their_arithmetic_assumes():
    def told(bound):
        return any("IEEE 754" in text and "certified.md" in text for text in bound.assumes)

    sampled, exact = dpcheck.SampledGaussian(1.0, 0.01) * 100, dpcheck.Gaussian(1.0) * 3
    assert told(dpcheck.epsilon(sampled, delta=1e-5))
    assert told(dpcheck.delta(sampled, epsilon=0.5))
    assert told(dpcheck.tradeoff(sampled, 0.1))
    assert told(dpcheck.epsilon(sampled | dpcheck.Gaussian(30.0), delta=1e-9))
    for bound in (
        dpcheck.epsilon(exact, delta=1e-5),
        dpcheck.epsilon(sampled | exact, delta=1e-9),  # decided without the lattice
        dpcheck.delta(exact, epsilon=0.5),
        dpcheck.tradeoff(exact, 0.1),
        dpcheck.epsilon(dpcheck.PureDP(0.5) * 3),
    ):
        assert not told(bound)


def test_an_alternative_that_cannot_be_the_worst_takes_no_lattice(monkeypatch):
    loud, quiet = dpcheck.SampledGaussian(0.8, 0.02) * 1500, dpcheck.SampledGaussian(4.0, 0.01) * 9
    near = dpcheck.SampledGaussian(1.0, 0.03) * 1500
    alone = [dpcheck.epsilon(event, delta=1e-6) for event in (loud, near)]
    asked, ask = [], best.best_epsilon

    def counted(*arguments):
        asked.append(arguments)
        return ask(*arguments)

    monkeypatch.setattr(best, "best_epsilon", counted)
    for event in (loud | quiet, quiet | loud):
        asked.clear()
        both = dpcheck.epsilon(event, delta=1e-6)
        assert (both.lower, both.upper, both.method) == (
            alone[0].lower,
            alone[0].upper,
            alone[0].method,
        )
        assert len(asked) == 1
    asked.clear()
    both = dpcheck.epsilon(near | loud, delta=1e-6)
    assert both.upper == max(bound.upper for bound in alone)
    assert both.lower == max(bound.lower for bound in alone)
    assert len(asked) == 2  # too close to be told without
