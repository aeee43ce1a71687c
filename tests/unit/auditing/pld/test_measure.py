"""What is shown of the loss of somebody's code, against the closed form of Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

import dpcheck
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.plan import CodeProof, PartPlan
from dpcheck.auditing.pld.measure import measure
from dpcheck.core.errors import NothingToAudit
from dpcheck.core.evidence import Source
from dpcheck.execution.parallel import Workers
from dpcheck.execution.runner import Runner
from dpcheck.session.claims import read_claim

PAIRS = (Pair(0.0, 1.0, "one"), Pair(0.0, 0.5, "half"))


def true_delta(epsilon, shift=1.0):
    """Laplace noise of scale 1 that is moved by `shift`."""
    return max(0.0, 1 - math.exp((epsilon - shift) / 2))


def noisy(data, size, rng):
    return data + rng.laplace(size=size)


def density(data, outputs):
    return -np.abs(np.asarray(outputs)[:, 0] - data) - math.log(2)


def hidden(data, size, rng):
    """The same law in a way that replay does not follow."""
    return data + rng.standard_gamma(1.0, size) - rng.standard_gamma(1.0, size)


def curves(mechanism, pairs=PAIRS[:1], runs=3000, **more):
    claim = read_claim(1.0, "replace-one", "a test")
    plan = PartPlan("noisy", "as given", claim, mechanism, pairs, **more)
    return measure(plan, runs, 1e-3, Runner(0, Workers(jobs=1)))


def covers(curve, shift=1.0):
    assert len(curve.curve) > 10
    for point in curve.curve:
        low, high = point.observed
        assert low - 1e-9 <= true_delta(point.epsilon, shift) <= high + 1e-9


def test_exact_losses_of_runs_enclose_the_curve_of_both_directions():
    found = curves(Mechanism(noisy, True, None, density))
    assert [each.direction for each in found] == ["D to D'", "D' to D"]
    for curve in found:
        assert curve.source is Source.DENSITY
        covers(curve)
        assert 1.0 in [point.epsilon for point in curve.curve]  # the claim is among them
        assert max(curve.losses) <= 1 + 1e-9
    several = curves(Mechanism(noisy, True, None, density), PAIRS)
    assert {each.pair for each in several} <= {"one", "half"}
    for curve in several:
        covers(curve, 1.0 if curve.pair == "one" else 0.5)


def test_noise_that_is_followed_gives_the_exact_law():
    found = curves(Mechanism(lambda d, rng: d + rng.laplace()), PAIRS)
    assert [(each.pair, each.source) for each in found] == [
        (name, Source.LAW) for name in ("one", "one", "half", "half")
    ]
    for curve in found:
        covers(curve, 1.0 if curve.pair == "one" else 0.5)
        assert all(high - low < 1e-6 for low, high in (p.observed for p in curve.curve))


def test_a_learned_score_is_only_a_lower_bound():
    (curve,) = curves(Mechanism(hidden, True))
    assert curve.source is Source.SCORE
    covers(curve)
    assert all(point.observed[1] == 1.0 for point in curve.curve)
    assert curve.curve[0].observed[0] > 0.2  # 0.39 is true


@dataclass
class Law:
    """A law of losses that is known without runs."""

    losses: np.ndarray
    label: str = "known"
    source: Source = Source.LAW

    def draw(self, backwards, size, rng):
        return rng.choice(self.losses, size)


def test_a_known_law_is_drawn_and_losses_without_end_are_certain():
    one = curves(None, law=Law(np.array([-1.0, 1.0])), runs=20_000)[0]
    for point in one.curve:
        low, high = point.observed
        assert low <= 0.5 * max(0.0, 1 - math.exp(point.epsilon - 1)) <= high
    endless = curves(None, law=Law(np.array([math.inf])))[1]
    assert {point.observed for point in endless.curve} == {(1.0, 1.0)}


def test_the_proved_curve_lies_beside_it():
    proof = CodeProof(dpcheck.Laplace(2.0), lambda delta: 1.0, "read")
    curve = curves(Mechanism(lambda d, rng: d + rng.laplace()), code_proof=proof)[0]
    for point in curve.curve:
        low, high = point.proved
        assert low - 1e-9 <= true_delta(point.epsilon) <= high + 1e-9
        assert point.observed[0] <= high * (1 + 1e-6) + 1e-12


def test_without_anything_to_show_it_says_so():
    with pytest.raises(NothingToAudit, match="no runs and no known law"):
        curves(None)
