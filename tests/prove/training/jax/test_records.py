"""What is assumed of records: finite numbers, declared ranges, or nothing where the step guards itself."""

import pytest

pytest.importorskip("jax")
pytest.importorskip("optax")

import jax
import jax.numpy as jnp

from dpcheck import prove
from dpcheck.core.errors import InvalidParameter, NotProvable
from dpcheck.training.proof import FINITE

from .models import KEY, SIGMA, C, noisy, normal, per_example, squared
from .right import STEPS

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
BATCH = {"x": jax.nn.sigmoid(normal(6, 5)), "y": normal(6)}
START = {"w": normal(5)}


def by_their_range(params, batch, key):
    """Clipped by nothing: numbers in [0, 1] have norm sqrt(5) at most."""
    return noisy({"w": batch["x"].sum(0)}, key, SIGMA * 5**0.5)


def test_declared_range_bounds_what_a_record_adds():
    with pytest.raises(NotProvable):
        prove(by_their_range, params=START, batch=BATCH, key=KEY)
    proof = prove(by_their_range, params=START, batch=BATCH, key=KEY, records={"x": (0, 1)})
    assert proof.event.noise_multiplier == pytest.approx(SIGMA)
    assert "records lie in the declared ranges: x in [0, 1]" in proof.assumes
    wider = prove(by_their_range, params=START, batch=BATCH, key=KEY, records={"x": (0, 2)})
    assert wider.event.noise_multiplier == pytest.approx(SIGMA / 2)


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ({"z": (0, 1)}, "which is no leaf of the batch"),
        ({"x": (0, 0.1)}, "the example goes beyond that"),
        ({"x": 1}, "takes two numbers"),
        ({"x": (1, 0)}, "has no numbers between"),
        ([(0, 1)], "takes a range for each leaf"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(records, says):
    with pytest.raises(InvalidParameter, match=says):
        prove(by_their_range, params=START, batch=BATCH, key=KEY, records=records)


def test_a_step_that_guards_itself_is_proved_for_all_floats():
    def guarded(params, batch, key):
        grads = per_example(params, batch, squared)["w"]
        kept = jnp.isfinite(grads).all(axis=1, keepdims=True)
        grads = jnp.where(kept & jnp.isfinite(grads), grads, 0.0)
        norms = jnp.linalg.norm(grads, axis=1, keepdims=True)
        return noisy({"w": (grads / jnp.maximum(norms / C, 1.0)).sum(0)}, key)

    proof = prove(guarded, params=START, batch=BATCH, key=KEY)
    assert proof.event.noise_multiplier == pytest.approx(SIGMA)
    assert FINITE not in proof.assumes
    plain = STEPS["plain"]
    proof = prove(plain.step, params=plain.params, batch=plain.batch, key=plain.key)
    assert FINITE in proof.assumes


def test_half_precision_is_refused_by_its_name():
    def summed(params, batch, key):
        grads = per_example(params, batch, squared)["w"]
        norms = jnp.linalg.norm(grads, axis=1, keepdims=True)
        total = (grads / jnp.maximum(norms / C, 1.0)).sum(0).astype(jnp.float16)
        return noisy({"w": total.astype(jnp.float32)}, key)

    with pytest.raises(NotProvable) as refused:
        prove(summed, params=START, batch=BATCH, key=KEY)
    assert refused.value.kind == "half-precision"
    assert "half precision" in refused.value.message
