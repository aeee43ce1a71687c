"""Whatever replay proves is true, and what leaves the protocol is never called exact."""

from __future__ import annotations

import pytest

from dpcheck.replay import FindingKind, examine

from .adversarial import PAIR, TRICKY


@pytest.mark.parametrize("case", TRICKY, ids=lambda case: case.__name__)
def test_never_more_than_the_truth(case):
    for seed in (0, 1):
        for pair in (PAIR, PAIR[::-1]):
            finding = examine(case.function, pair, seed=seed)
            assert finding.calls <= 10
            assert finding.epsilon(0.0).lower <= case.true, finding.sentence()
            if finding.proved:
                assert finding.epsilon(1e-3).lower <= case.true


@pytest.mark.parametrize(
    "case",
    [case for case in TRICKY if case.never_exact],
    ids=lambda case: case.__name__,
)
def test_never_called_exact(case):
    finding = examine(case.function, PAIR)
    assert finding.kind is not FindingKind.EXACT, finding.sentence()
