"""Checkpoints: what is kept, what is refused, and trainings that were cut anywhere."""

import numpy as np
import pytest

from dpcheck.core.errors import (
    CheckpointBroken,
    ConnectionLost,
)
from dpcheck.mechanisms.federated.protocol import messages
from dpcheck.mechanisms.federated.protocol.autoencoder import flatten
from dpcheck.mechanisms.federated.protocol.link import ObjectLink
from dpcheck.mechanisms.federated.protocol.local import Transcript, converse
from dpcheck.mechanisms.federated.protocol.state import InMemory, State
from dpcheck.mechanisms.federated.service.checkpoint import CheckpointDirectory
from dpcheck.mechanisms.ftl import FederatedTransfer

OPTIONS = {"hidden": (3,), "rate": 0.5, "iterations": 3}


def network_of(model, party):
    return flatten(model.parties_["ab".index(party)].networks["train"])


def state(iteration, value=0.0):
    return State("train", iteration, np.full(3, float(value)), np.arange(float(iteration)))


@pytest.fixture
def party(federation):
    data = federation()
    return FederatedTransfer(**OPTIONS).parties(data, np.random.default_rng(0))[0]


@pytest.fixture(params=["memory", "directory"])
def checkpoints(request, tmp_path, party):
    return InMemory() if request.param == "memory" else CheckpointDirectory(tmp_path / "c", party)


def test_checkpoints_keep_the_last_two_states_of_the_course_taken(checkpoints):
    assert checkpoints.available("train") == ()
    for iteration in (1, 2, 3):
        checkpoints.save(state(iteration, iteration))
    assert checkpoints.available("train") == (2, 3)
    assert checkpoints.available("other") == ()
    again = checkpoints.load("train", 3)
    np.testing.assert_array_equal(again.parameters, [3.0] * 3)
    np.testing.assert_array_equal(again.losses, [0.0, 1.0, 2.0])
    assert (again.iteration, again.stopped) == (3, False)
    checkpoints.save(state(1, 9.0))  # rolled back further than usual: the future is forgotten
    assert checkpoints.available("train") == (1,)


def test_a_damaged_or_foreign_checkpoint_is_not_used(tmp_path, party, federation):
    kept = CheckpointDirectory(tmp_path, party)
    kept.save(state(1))
    (path,) = tmp_path.glob("*.ckpt")
    good = path.read_bytes()
    for place in (0, 30, len(good) // 2, len(good) - 1):
        changed = bytearray(good)
        changed[place] ^= 1
        path.write_bytes(bytes(changed))
        with pytest.raises(CheckpointBroken, match="damaged"):
            kept.load("train", 1)
    path.write_bytes(good[:-7])
    with pytest.raises(CheckpointBroken, match="damaged"):
        kept.load("train", 1)
    path.write_bytes(good)
    assert kept.load("train", 1).iteration == 1
    other = FederatedTransfer(**OPTIONS).parties(federation(seed=1), np.random.default_rng(0))[0]
    with pytest.raises(CheckpointBroken, match="other data or settings"):
        CheckpointDirectory(tmp_path, other).load("train", 1)
    assert path.stat().st_mode & 0o077 == 0


MESSAGES = 2 + 3 * 7 + 1  # request and answer, three iterations, the last decision


@pytest.mark.parametrize("cut", range(1, MESSAGES))
def test_a_training_cut_at_any_message_ends_where_an_unbroken_one_does(federation, tmp_path, cut):
    data = federation()
    whole = FederatedTransfer(**OPTIONS).fit(data, rng=np.random.default_rng(1))

    def life(stop_after=None):
        """One life of both parties: fresh objects, the same checkpoints."""
        a, b = FederatedTransfer(**OPTIONS).parties(data, np.random.default_rng(1))
        for one in (a, b):
            one.checkpoints = CheckpointDirectory(tmp_path, one)
        transcript, delivered = Transcript(), 0

        class Fragile(ObjectLink):
            def send(self, message):
                nonlocal delivered
                delivered += 1
                if delivered == stop_after:
                    raise ConnectionLost("cut")
                super().send(message)

        def of_b():
            request = yield messages.Receive((messages.TrainRequest,))
            yield from b._train(request)

        task = a.whole_task("train", data.common_b, 5)
        converse(a.train(task, data.common_b), of_b(), Fragile.pair(), transcript)
        return a, b, transcript, delivered

    with pytest.raises(ConnectionLost, match="cut"):
        life(cut)
    a, b, transcript, delivered = life()
    # Both start after the last iteration both have finished. A goes on until it has to wait, so B
    # has not yet read the last message of an iteration when A sends the first two of the next.
    finished = max(0, cut - 5) // 7
    assert delivered == MESSAGES - 7 * finished
    first = [item.iteration for item in transcript.learned if item.name == "gradient"][:1]
    assert first == ([finished] if finished < 3 else [])
    np.testing.assert_array_equal(flatten(a.networks["train"]), network_of(whole, "a"))
    np.testing.assert_array_equal(flatten(b.networks["train"]), network_of(whole, "b"))
