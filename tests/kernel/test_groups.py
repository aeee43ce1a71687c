"""Releases of which a record is behind one at most: what they cost together, against brute force."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from dpcheck.verify.program import check
from dpcheck.verify.program.events import key_of
from dpcheck.verify.result import Refused

ROWS, EDGE = 10, 1.5


class Parts:
    """Sums of `b` over the records with a < EDGE, and over the others, each with noise of its own."""

    def __init__(self, adjacency, low, high, law="laplace", scale=2.0, overlap=False):
        self.adjacency, self.ends, self.nodes = adjacency, (low, high), []
        a, b = (
            self.node("data", [], [{"rows": -1}], low=x, high=y, missing=False)
            for x, y in ((0, 3), (low, high))
        )
        edge, zero = self.constant(EDGE), self.constant(0.0)
        other = "less_equal" if overlap else "greater_equal"
        self.releases = []
        for name in ("less", other):
            mask = self.node(name, [a, edge], [{"rows": -1}], "bool")
            kept = self.node("select", [mask, b, zero], [{"rows": -1}])
            total = self.node("sum", [kept], axes=[0])
            noise = self.node("draw", [], law=law, scale=scale)
            self.releases.append(self.node("release", [total, noise], sign=1, flip=False))

    def node(self, primitive, args, shape=(), dtype="float64", **params):
        entry = {"id": len(self.nodes), "primitive": primitive, "args": args, "params": params}
        self.nodes.append(entry | {"shape": list(shape), "dtype": dtype})
        return entry["id"]

    def constant(self, value):
        return self.node("constant", [], value=value)

    def spent(self, event, times=1, **more):
        """What the kernel counts for the group; None if it refuses."""
        rows = None if self.adjacency == "add-remove" else ROWS
        program = {"adjacency": self.adjacency, "rows": rows, "rows_per_person": 1}
        program |= {"nodes": self.nodes, "outputs": self.releases}
        entry = {"event": event, "times": times, "group": 0, **more}
        try:
            steps = check.run(program, lambda node, fact: fact)
            check.check_outputs(steps, program)
            return check.releases(steps, [{"node": each, **entry} for each in self.releases])
        except Refused:
            return None

    def moved(self):
        """By how much neighbours differ at most: in one sum alone, and in both, one record on a grid."""
        low, high = self.ends
        values = [0.0] if self.adjacency == "zero-out" else np.linspace(low, high, 7)
        one = list(itertools.product((0.0, 1.0, EDGE, 3.0), np.linspace(low, high, 7)))
        other = [(0.0, 0.0)] if len(values) == 1 else one
        alone, both = 0.0, (0.0, 0.0)
        for (a, b), (c, d) in itertools.product(one, other):
            first = np.array([b * (a < EDGE) - d * (c < EDGE), b * (a >= EDGE) - d * (c >= EDGE)])
            if (a < EDGE) == (c < EDGE):
                alone = max(alone, float(np.abs(first).sum()))
            else:
                both = max(both, tuple(sorted(np.abs(first).tolist())))
        return alone, both


def laplace(multiplier):
    return {"kind": "Laplace", "noise_multiplier": multiplier}


def gaussian(multiplier):
    return {"kind": "Gaussian", "noise_multiplier": multiplier}


def pure(epsilon, adjacency="replace-one"):
    return {"kind": "PureDP", "epsilon": epsilon, "adjacency": adjacency}


def test_what_moves():
    assert Parts("replace-one", -1.0, 3.0).moved() == (4.0, (3.0, 3.0))
    assert Parts("replace-one", -2.0, 2.0).moved() == (4.0, (2.0, 2.0))


@pytest.mark.parametrize(("low", "high"), [(-2.0, 2.0), (-1.0, 3.0), (0.0, 1.0)])
def test_a_record_stays_in_one_part_or_crosses(low, high):
    """Noise of scale 2: staying costs `alone` / 2, crossing the sum of `both` / 2."""
    made = Parts("replace-one", low, high)
    alone, both = made.moved()
    cost = max(alone, sum(both)) / 2.0
    size = max(-low, high)
    given = {"entering": laplace(4.0 / size), "entering_times": 1}
    event = laplace(4.0 / (high - low))
    assert made.spent(event, covering=pure(cost), **given) == Counter({key_of(pure(cost)): 1})
    for less in (0.0, cost / 2, cost * (1 - 1e-9)):
        assert made.spent(event, covering=pure(less), **given) is None
    assert made.spent(event, covering=pure(cost, "add-remove"), **given) is None
    assert made.spent(event, covering=gaussian(1.0), **given) is None


def test_what_a_record_adds_has_to_be_enough():
    made = Parts("replace-one", -2.0, 2.0)
    for entering in (laplace(2.0001), laplace(1e6), pure(0.9999), gaussian(2.0)):
        given = {"entering": entering, "entering_times": 1}
        assert made.spent(laplace(1.0), covering=pure(2.0), **given) is None
        assert made.spent(laplace(1.0), **given) is None
    assert made.spent(laplace(1.0001), covering=pure(9.0)) is None


def test_without_what_a_record_adds_it_counts_twice():
    made, event = Parts("replace-one", -2.0, 2.0), laplace(1.0)
    assert made.spent(event) == Counter({key_of(event): 2})
    assert made.spent(event, covering=pure(2.0)) is None
    assert made.spent(event, covering=pure(4.0)) == Counter({key_of(pure(4.0)): 1})


def test_events_that_cannot_be_compared_both_count():
    made, event, entering = Parts("replace-one", -2.0, 2.0), laplace(1.0), laplace(2.0)
    found = made.spent(event, entering=entering, entering_times=1)
    assert found == Counter({key_of(event): 1, key_of(entering): 2})


def test_gaussian_noise_covers_both_cases():
    """Scale 2: staying moves by 4, crossing by 2 and 2, together by the root of 8."""
    made = Parts("replace-one", -2.0, 2.0, "normal")
    given = {"entering": gaussian(2.0), "entering_times": 1}
    alone, both = made.moved()
    multiplier = 2 * 2.0 / max(alone, float(np.hypot(*both)))
    assert made.spent(gaussian(1.0), covering=gaussian(multiplier), **given) is not None
    assert made.spent(gaussian(1.0), covering=gaussian(multiplier * (1 + 1e-9)), **given) is None
    assert made.spent(gaussian(1.0), covering=pure(100.0), **given) is None


@pytest.mark.parametrize("adjacency", ["add-remove", "zero-out"])
def test_other_relations(adjacency):
    """Zero-out: the record goes to where the null record is, which adds nothing to it."""
    made, event = Parts(adjacency, -2.0, 2.0), laplace(1.0)
    once = Counter({key_of(event): 1})
    if adjacency == "add-remove":
        assert made.spent(event) == once
    else:
        assert made.spent(event) == Counter({key_of(event): 2})
    assert made.spent(laplace(1.01)) is None


def test_parts_that_overlap_are_no_group():
    made = Parts("replace-one", -2.0, 2.0, overlap=True)
    assert made.spent(laplace(1.0)) is None
    assert made.spent(laplace(1.0), covering=pure(100.0)) is None


@pytest.mark.parametrize(
    "more",
    [
        {"entering": 3, "entering_times": 1},
        {"entering": laplace(2.0)},
        {"entering": laplace(2.0), "entering_times": 0},
        {"entering": laplace(2.0), "entering_times": -1},
        {"entering": laplace(2.0), "entering_times": True},
        {"covering": "PureDP"},
        {"covering": pure(-4.0)},
        {"covering": {"kind": "Nothing"}},
    ],
)
def test_what_is_not_written_as_events_is_refused(more):
    assert Parts("replace-one", -2.0, 2.0).spent(laplace(1.0), **more) is None
