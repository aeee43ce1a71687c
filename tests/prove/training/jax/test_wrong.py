"""Wrong steps are refused, at a line and with a remedy, or charged at least what they really cost."""

import pytest

pytest.importorskip("jax")
pytest.importorskip("optax")

from dpcheck import prove
from dpcheck.core.errors import NotProvable

from .wrong import STEPS

# The steps are written as people write them, with names that libraries are about to drop.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
CASES = [(name, adjacency) for name, each in STEPS.items() for adjacency in each.adjacencies]


@pytest.mark.parametrize(("name", "adjacency"), CASES)
def test_wrong_step_is_refused_or_charged(name, adjacency):
    case = STEPS[name]
    try:
        proof = prove(
            case.step, params=case.params, batch=case.batch, key=case.key, adjacency=adjacency
        )
    except NotProvable as refused:
        assert refused.remedy
        assert not case.kinds or refused.kind in case.kinds, refused.message
        return
    assert not case.kinds, f"proved: {proof.event}"
    assert getattr(proof.event, "noise_multiplier", 0.0) <= case.truth * (1 + 1e-6), proof.event
