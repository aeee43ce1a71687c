"""The fast accountant against `dpcheck.verify`: certificates of 200 random bounds, accepted and refused.

Takes minutes: every certificate is checked in exact arithmetic, as it is and with a number moved.
"""

from __future__ import annotations

import copy
import json
import math
import random

import pytest

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
    PureDP,
    RandomizedResponse,
    SampledGaussian,
    SampledLaplace,
)
from dpcheck.core.errors import CannotCertify
from dpcheck.verify.file import check_data
from dpcheck.verify.result import Refused

BATCHES, EACH = 20, 10


def leaf(draw: random.Random, adjacency: str) -> dpcheck.Event:
    sigma, rate = math.exp(draw.uniform(-0.5, 2.5)), math.exp(draw.uniform(-6, -0.05))
    epsilon, steps = math.exp(draw.uniform(-6, 1)), draw.randint(1, 3)
    options = [
        Gaussian(sigma),
        Laplace(sigma),
        SampledGaussian(sigma, rate),
        SampledGaussian(sigma, rate),
        DiscreteGaussian(sigma + 0.3, steps),
        DiscreteLaplace(sigma + 0.3, steps),
        PureDP(epsilon),
        ApproxDP(epsilon, 10 ** draw.uniform(-14, -9)),
        ZCDP(epsilon / 10, xi=draw.choice([0, 0.01])),
        GDP(epsilon),
        ExponentialMechanism(epsilon),
    ]
    if adjacency == "replace-one":
        options.append(RandomizedResponse(draw.uniform(0.05, 1), draw.randint(2, 6)))
    else:
        options.append(SampledLaplace(sigma, rate))
    if adjacency != "add-remove":
        options.append(FixedBatchGaussian(sigma, 1000, draw.randint(1, 900)))
    return draw.choice(options)


def question(draw: random.Random) -> tuple[dpcheck.Event, str, float]:
    adjacency = draw.choice(["add-remove", "zero-out", "replace-one"])
    event = leaf(draw, adjacency) * draw.choice([1, 1, 3, 17, 100, 500])
    for _ in range(draw.choice([0, 0, 1, 2])):
        other = leaf(draw, adjacency) * draw.choice([1, 2, 30])
        event = event | other if draw.random() < 0.2 else event + other
    return event, adjacency, draw.choice([0.0, *(10 ** draw.uniform(-12, -2) for _ in range(9))])


def certified(draw: random.Random) -> dict[str, object]:
    """The certificate of the next random bound that has one; most have."""
    while True:
        event, adjacency, delta = question(draw)
        bound = dpcheck.epsilon(event, delta=delta, adjacency=adjacency)
        try:
            return json.loads(json.dumps(bound.certificate()))
        except CannotCertify:
            continue


def nodes(event):
    yield event
    for inner in event.get("events") or ([event["event"]] if "event" in event else []):
        yield from nodes(inner)


def moved(data, draw: random.Random):
    """The certificate with epsilon or delta, one number of the event, and one of the proof moved."""
    kinds = {proof["by"]["kind"] for proof in data["proofs"]}
    other = copy.deepcopy(data)
    if data["claim"]["epsilon"] > 0:
        # An upper lattice may cost 6e-5 of epsilon and 2e-7.
        other["claim"]["epsilon"] = data["claim"]["epsilon"] * 0.995 - 1e-6
        yield other
    elif "variation" not in kinds and data["claim"]["delta"] > 0:
        other["claim"]["delta"] *= 0.5
        yield other
    if len(data["proofs"]) > 1:  # a branch that costs less may cost a little more
        return
    other = copy.deepcopy(data)
    dearer = {"sampling_rate", "epsilon", "rho", "mu", "times", "norm_bound", "batch"}
    cheaper = {"noise_multiplier", "scale", "noise"}
    places = [
        (node, name)
        for node in nodes(other["claim"]["event"])
        for name, value in node.items()
        if name in dearer | cheaper and value and not (name == "sampling_rate" and value == 1)
    ]
    node, name = draw.choice(places)
    value = node[name]
    node[name] = (
        value + 1 if isinstance(value, int) else value * (1.001 if name in dearer else 0.999)
    )
    yield other
    proof = draw.randrange(len(data["proofs"]))
    measures = data["proofs"][proof]["by"].get("forward", {}).get("measures")
    other = copy.deepcopy(data)
    if measures:
        k = draw.randrange(len(measures))
        points = other["proofs"][proof]["by"]["forward"]["measures"][k]["points"]
        max(points, key=lambda point: point[1])[1] *= 1 - 1e-6
        yield other
    elif other["proofs"][proof]["parts"]:
        draw.choice(other["proofs"][proof]["parts"])["times"] -= 1
        yield other


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_bounds_are_certified_and_nothing_less(batch):
    draw = random.Random(batch)
    for _ in range(EACH):
        data = certified(draw)
        check_data(data)
        for other in moved(data, draw):
            with pytest.raises(Refused):
                print(check_data(other), other["claim"], data["claim"])
