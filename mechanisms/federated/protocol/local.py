"""Both parties in one process: their programs take turns, and a transcript records every message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from dpcheck.core.errors import WireError
from dpcheck.mechanisms.federated.protocol.autoencoder import Array
from dpcheck.mechanisms.federated.protocol.link import BytesLink, ObjectLink, PartyRunner
from dpcheck.mechanisms.federated.protocol.messages import Learned, Message, Party
from dpcheck.mechanisms.federated.protocol.party import Program

T = TypeVar("T")
LocalLink = ObjectLink | BytesLink


@dataclass(slots=True)
class Transcript:
    """Everything that reached each party, in order.

    `received` has the messages as they were delivered; `learned` what the receiver could then read
    in the clear (its gradient once the mask is off, the loss, scores, labels).
    """

    received: dict[Party, list[Message]] = field(default_factory=lambda: {"a": [], "b": []})
    learned: list[Learned] = field(default_factory=list)

    def view(self, party: Party, name: str, task: str | None = None) -> list[Array]:
        """The values of one name a party learned, iteration by iteration."""
        return [
            np.asarray(item.value)
            for item in self.learned
            if item.party == party and item.name == name and task in (None, item.task)
        ]


def converse(
    a: Program[T],
    b: Program[object],
    links: tuple[LocalLink, LocalLink],
    transcript: Transcript | None = None,
) -> T:
    """Run A's and B's programs against each other until both end; A's result."""
    record = Transcript() if transcript is None else transcript
    runner_a = PartyRunner(
        a, links[0], heard=record.received["a"].append, watch=record.learned.append
    )
    runner_b = PartyRunner(
        b, links[1], heard=record.received["b"].append, watch=record.learned.append
    )
    sides: list[tuple[PartyRunner[T] | PartyRunner[object], LocalLink]] = [
        (runner_a, links[0]),
        (runner_b, links[1]),
    ]
    while not (runner_a.result and runner_b.result):
        moved = False
        for runner, link in sides:
            while not runner.result and (runner.waits is None or link.waiting()):
                runner.step()
                moved = True
        if not moved:
            raise WireError("both parties wait for a message; the protocol cannot go on.")
    return runner_a.result[0]
