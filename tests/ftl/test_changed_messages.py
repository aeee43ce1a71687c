"""A party that changes a message, or a training that cannot go on, ends in words."""

from dataclasses import replace

import numpy as np
import pytest

from dpcheck.core.errors import (
    ConnectionLost,
    CorruptValue,
    InvalidParameter,
    WireError,
)
from dpcheck.mechanisms.federated.protocol import messages
from dpcheck.mechanisms.federated.protocol.link import BytesLink
from dpcheck.mechanisms.federated.protocol.local import converse
from dpcheck.mechanisms.federated.protocol.messages import BigIntegers

OPTIONS = {"hidden": (3,), "rate": 0.5, "iterations": 3}


class Changing(BytesLink):
    """A link on which one kind of message is changed before it is sent."""

    kind: type = messages.Finish
    change = staticmethod(lambda message: message)

    def send(self, message):
        super().send(self.change(message) if isinstance(message, self.kind) else message)


def flip(sealed, place=40):
    data = bytearray(sealed.data)
    data[place] ^= 4
    return BigIntegers(sealed.owner, sealed.shape, sealed.exponent, sealed.width, bytes(data))


def smaller(sealed):
    return BigIntegers(
        sealed.owner,
        (sealed.shape[0] - 1, *sealed.shape[1:]),
        sealed.exponent,
        sealed.width,
        sealed.data[: -(len(sealed.data) // sealed.shape[0])],
    )


CORRUPTIONS = {
    "A's ciphertext": (messages.ComponentsA, lambda m: replace(m, slope=flip(m.slope))),
    "A's curvature": (messages.ComponentsA, lambda m: replace(m, curvature=flip(m.curvature))),
    "B's ciphertext": (messages.ComponentsB, lambda m: replace(m, hidden=flip(m.hidden))),
    "B's loss": (messages.ComponentsB, lambda m: replace(m, local_loss=flip(m.local_loss))),
    "masked gradient of A": (
        messages.MaskedGradientA,
        lambda m: replace(m, gradient=flip(m.gradient)),
    ),
    "loss": (messages.MaskedGradientA, lambda m: replace(m, loss=flip(m.loss))),
    "masked gradient of B": (
        messages.MaskedGradientB,
        lambda m: replace(m, gradient=flip(m.gradient)),
    ),
    "opened gradient of A": (
        messages.OpenedGradientA,
        lambda m: replace(m, gradient=flip(m.gradient, 3)),
    ),
    "opened loss": (messages.OpenedGradientA, lambda m: replace(m, loss=flip(m.loss, 3))),
    "opened gradient of B": (
        messages.OpenedGradientB,
        lambda m: replace(m, gradient=flip(m.gradient, 3)),
    ),
    "scores": (messages.OpenedScores, lambda m: replace(m, scores=flip(m.scores, 3))),
    "iteration": (messages.MaskedGradientB, lambda m: replace(m, iteration=m.iteration + 1)),
    "shape": (messages.ComponentsB, lambda m: replace(m, aligned=smaller(m.aligned))),
    "scale": (messages.ComponentsA, lambda m: replace(m, slope=replace(m.slope, exponent=79))),
    "row numbers": (messages.TrainRequest, lambda m: replace(m, common=m.common + 100)),
    "rows not common": (messages.TrainRequest, lambda m: replace(m, common=m.common + 1)),
    "task": (messages.PredictRequest, lambda m: replace(m, task="other")),
    "labels": (messages.Labels, lambda m: replace(m, labels=m.labels * 2)),
    "start": (messages.Ready, lambda m: replace(m, start=2)),
    "stop": (messages.Decision, lambda m: replace(m, iteration=m.iteration + 1)),
    "key": (messages.PublicKey, lambda m: replace(m, modulus=m.modulus + 1)),
    "kind": (messages.MaskedGradientB, lambda m: messages.Finish()),
    "abort": (messages.MaskedGradientB, lambda m: messages.Abort("DPC605")),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_no_party_goes_on_from_a_changed_message(federation, weak_transfer, name):
    data = federation(rows_a=6, rows_b=6, common=4, labelled=2)
    model = weak_transfer(hidden=(2,), iterations=1)
    a, b = model.parties(data, np.random.default_rng(0))
    kind, change = CORRUPTIONS[name]
    links = Changing.pair()
    for link in links:
        link.kind, link.change = kind, change

    def of_a():
        yield from a.meet()
        yield from a.train(a.whole_task("train", data.common_b, 2), data.common_b)
        return (yield from a.predict("train"))

    def of_b():
        yield from b.meet()
        yield from b.serve()

    with pytest.raises((WireError, CorruptValue, ConnectionLost, InvalidParameter)):
        converse(of_a(), of_b(), links)


def test_a_learning_rate_too_large_ends_in_words(federation, weak_transfer):
    model = weak_transfer(hidden=(2,), iterations=5, rate=1e300)
    with pytest.raises(InvalidParameter, match=r"diverges.*lower the learning rate"):
        model.fit(federation(), rng=np.random.default_rng(0))
