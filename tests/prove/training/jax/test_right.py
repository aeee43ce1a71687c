"""Right steps are proved at the multiplier of their noise, under every adjacency that makes sense for them."""

import pytest

pytest.importorskip("jax")
pytest.importorskip("optax")

from dpcheck import prove

from .right import STEPS

# The steps are written as people write them, with names that libraries are about to drop.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
CASES = [(name, adjacency) for name, each in STEPS.items() for adjacency in each.adjacencies]


@pytest.mark.parametrize(("name", "adjacency"), CASES)
def test_right_step_is_proved_at_its_multiplier(name, adjacency):
    case = STEPS[name]
    proof = prove(
        case.step, params=case.params, batch=case.batch, key=case.key, adjacency=adjacency
    )
    assert proof.event.noise_multiplier == pytest.approx(case.multiplier, rel=2e-6)
