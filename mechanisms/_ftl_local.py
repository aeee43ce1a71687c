"""Both parties in one process: their programs take turns, and a transcript records every message."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from dpcheck.core.errors import WireError
from dpcheck.mechanisms._ftl_messages import Learned, Message, Party, Receive
from dpcheck.mechanisms._ftl_party import Program

T = TypeVar("T")


@dataclass(slots=True)
class Transcript:
    """Everything that reached each party, in order.

    `received` has the messages as they were delivered; `learned` what the receiver could then read
    in the clear (its gradient once the mask is off, the loss, scores, labels).
    """

    received: dict[Party, list[Message]] = field(default_factory=lambda: {"a": [], "b": []})
    learned: list[Learned] = field(default_factory=list)

    def view(self, party: Party, name: str, task: str | None = None) -> list[Any]:
        """The values of one name a party learned, iteration by iteration."""
        return [
            np.asarray(item.value)
            for item in self.learned
            if item.party == party and item.name == name and task in (None, item.task)
        ]


Deliver = Callable[[Party, Message], Message]  # receiver, message -> what arrives


def converse(
    a: Program[T], b: Program[Any], transcript: Transcript | None = None,
    deliver: Deliver | None = None,
) -> T:  # fmt: skip
    """Run A's and B's programs against each other until both end; A's result.

    `deliver` stands between them: it may encode and decode (the in-process transport), record, or
    fail (tests).
    """
    programs: dict[Party, Program[Any]] = {"a": a, "b": b}
    inbox: dict[Party, deque[Message]] = {"a": deque(), "b": deque()}
    waiting: dict[Party, Receive | None] = {"a": None, "b": None}
    results: dict[Party, Any] = {}
    turn: Party = "a"
    while len(results) < 2:
        other: Party = "b" if turn == "a" else "a"
        if turn in results or (waiting[turn] and not inbox[turn]):
            stuck = other in results or (waiting[other] and not inbox[other])
            if stuck:
                raise WireError("both parties wait for a message; the protocol cannot go on.")
            turn = other
            continue
        message: Message | None = None
        wanted = waiting[turn]
        if wanted is not None:
            message = expected(wanted, inbox[turn].popleft())
            if transcript is not None:
                transcript.received[turn].append(message)
            waiting[turn] = None
        try:
            item = programs[turn].send(message)
        except StopIteration as finished:
            results[turn] = finished.value
            continue
        if isinstance(item, Receive):
            waiting[turn] = item
        elif isinstance(item, Learned):
            if transcript is not None:
                transcript.learned.append(item)
        else:
            inbox[other].append(item if deliver is None else deliver(other, item))
    result: T = results["a"]
    return result


def expected(wanted: Receive, message: Message) -> Message:
    """The message, if it is one the receiver waits for."""
    if not isinstance(message, wanted.kinds):
        names = " or ".join(kind.__name__ for kind in wanted.kinds)
        raise WireError(f"{type(message).__name__} came where {names} is due.")
    return message
