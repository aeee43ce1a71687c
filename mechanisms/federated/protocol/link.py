"""How messages travel: one interface, and the two links inside one process.

`ObjectLink` hands messages over as they are (the plain run), `BytesLink` as encoded frames with
digest, session and sequence (the encrypted run); `_ftl_tls.TlsLink` is a socket.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from dpcheck.core.errors import ConnectionLost, WireError
from dpcheck.mechanisms.federated.protocol.messages import (
    Abort,
    Learned,
    Message,
    Receive,
    StartSession,
)
from dpcheck.mechanisms.federated.protocol.party import Program
from dpcheck.mechanisms.federated.protocol.wire import DEFAULT_LIMIT, Framer

T = TypeVar("T")
Watch = Callable[[Learned], None]


class Link(Protocol):
    """One party's end of a connection."""

    def send(self, message: Message) -> None:
        """Hand a message over, or raise ConnectionLost."""

    def receive(self) -> Message:
        """The next message, or ConnectionLost or WireError."""

    def start_session(self, name: bytes) -> None:
        """Mark all further messages, in both directions."""


class ObjectLink:
    """Messages as Python objects; they are immutable, so nothing is shared but numbers."""

    def __init__(self) -> None:
        self._inbox: deque[Message] = deque()
        self._peer = self

    def send(self, message: Message) -> None:
        """Put it into the other's inbox."""
        self._peer._inbox.append(message)

    def receive(self) -> Message:
        """Take the next one."""
        return self._inbox.popleft()

    def waiting(self) -> bool:
        """Whether there is one."""
        return bool(self._inbox)

    def start_session(self, name: bytes) -> None:
        """There is only one."""

    @classmethod
    def pair(cls) -> tuple[ObjectLink, ObjectLink]:
        """The two ends."""
        a, b = cls(), cls()
        a._peer, b._peer = b, a
        return a, b


class BytesLink:
    """Messages as frames of bytes; `sent` counts them."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._inbox: deque[bytes] = deque()
        self._peer, self._limit, self.sent = self, limit, 0
        self._out, self._in = Framer(limit=limit), Framer(limit=limit)

    def send(self, message: Message) -> None:
        """Encode it into the other's inbox."""
        frame = self._out.encode(message)
        self.sent += len(frame)
        self._peer._inbox.append(frame)

    def receive(self) -> Message:
        """Decode the next one."""
        return self._in.decode(self._inbox.popleft())

    def waiting(self) -> bool:
        """Whether there is one."""
        return bool(self._inbox)

    def start_session(self, name: bytes) -> None:
        """New counters under a new name."""
        self._out, self._in = Framer(name, self._limit), Framer(name, self._limit)

    @classmethod
    def pair(cls, limit: int = DEFAULT_LIMIT) -> tuple[BytesLink, BytesLink]:
        """The two ends."""
        a, b = cls(limit), cls(limit)
        a._peer, b._peer = b, a
        return a, b


def expected(wanted: Receive, message: Message) -> Message:
    """The message, if it is one the receiver waits for."""
    if isinstance(message, Abort):
        raise ConnectionLost(
            f"the other party ended the run with error {message.reason[:40]}; see its own output.",
            aborted=True,
        )
    if not isinstance(message, wanted.kinds):
        names = " or ".join(kind.__name__ for kind in wanted.kinds)
        raise WireError(f"{type(message).__name__} came where {names} is due.")
    return message


class PartyRunner(Generic[T]):
    """Steps one party's program over its end of a connection."""

    def __init__(
        self,
        program: Program[T],
        link: Link,
        *,
        heard: Callable[[Message], None] | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._program, self._link, self._heard, self._watch = program, link, heard, watch
        self.waits: Receive | None = None
        self.result: list[T] = []  # one entry, once the program has ended

    def step(self) -> None:
        """Go on to the next thing the program does; where it waits, receive first."""
        message: Message | None = None
        if self.waits is not None:
            message, self.waits = expected(self.waits, self._link.receive()), None
            if self._heard is not None:
                self._heard(message)
        try:
            item = self._program.send(message)
        except StopIteration as finished:
            self.result.append(finished.value)
            return
        if isinstance(item, Receive):
            self.waits = item
        elif isinstance(item, StartSession):
            self._link.start_session(item.name)
        elif isinstance(item, Learned):
            if self._watch is not None:
                self._watch(item)
        else:
            self._link.send(item)


def drive(program: Program[T], link: Link, watch: Watch | None = None) -> T:
    """Run one party's program to its end."""
    runner = PartyRunner(program, link, watch=watch)
    while not runner.result:
        runner.step()
    return runner.result[0]
