"""The benchmark of distributions has a row for every event of dp-accounting, and dpcheck accounts each."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("dp_accounting")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from peers.coverage import CONSTRUCTORS, EVENTS, REASONS, uncovered
from peers.events import WORDS
from peers.pld_answers import EPSILON
from peers.pld_workloads import WORKLOADS

# dp-accounting takes many seconds for a mixture of Gaussians.
QUICK = [work for work in WORKLOADS if work.kind in WORDS and "mixture" not in work.kind]


def test_every_event_has_a_row_or_a_reason():
    assert uncovered() == []
    assert len(WORKLOADS) >= 40
    assert not REASONS.keys() & (EVENTS.keys() | CONSTRUCTORS.keys())
    assert {work.kind for work in WORKLOADS} >= WORDS.keys()


@pytest.mark.parametrize("work", QUICK, ids=str)
def test_the_upper_bound_is_no_looser_and_the_lower_one_below_the_peer(work):
    lower, upper = EPSILON["dpcheck"]([work], work.delta)
    peer = EPSILON["google"]([work], work.delta)[1]
    assert lower is not None
    assert lower <= upper <= peer * (1 + 1e-4)
    assert lower <= peer * (1 + 1e-6)
