"""Whatever replay proves is true, and what leaves the protocol is never called exact."""

from __future__ import annotations

import pytest

from dpcheck.replay import FindingKind, examine

from . import adversarial, containers
from .tricky import PAIR, TRICKY

assert adversarial.tricky is containers.tricky  # both files put their functions into TRICKY


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("case", TRICKY, ids=lambda case: case.__name__)
def test_never_more_than_the_truth(case, swapped):
    finding = examine(case.function, PAIR[::-1] if swapped else PAIR, seed=int(swapped))
    assert finding.calls <= 10
    assert finding.epsilon(0.0).lower <= case.true, finding.sentence()
    if finding.proved:
        assert finding.epsilon(1e-3).lower <= case.true
    if case.never_exact:
        assert finding.kind is not FindingKind.EXACT, finding.sentence()
