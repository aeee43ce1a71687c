"""Running one party over TLS: B waits and serves, A calls and leads; both survive a lost connection."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dpcheck.core.errors import ConnectionLost, DpcheckError, InvalidParameter
from dpcheck.mechanisms.federated.protocol.link import Link, Watch, drive
from dpcheck.mechanisms.federated.protocol.messages import Abort
from dpcheck.mechanisms.federated.protocol.party import PartyBase, Program
from dpcheck.mechanisms.federated.protocol.party_a import PartyA
from dpcheck.mechanisms.federated.protocol.party_b import PartyB
from dpcheck.mechanisms.federated.protocol.wire import DEFAULT_LIMIT
from dpcheck.mechanisms.federated.service.tls import Address, accept, connect, listen, tls_context

T = TypeVar("T")


def _silent(_: object) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to meet, and what to put up with.

    `timeout` is the longest silence in seconds, `limit` the largest message in bytes, `retries` how
    often A calls again after losing the connection.
    """

    address: Address
    certificates: Path
    timeout: float = 600.0
    limit: int = DEFAULT_LIMIT
    retries: int = 5
    pause: float = 1.0
    say: Callable[[str], None] = _silent
    watch: Watch = _silent


def serve(party: PartyB, connection: Connection) -> None:
    """Answer A until it has finished; after a lost connection, wait for it to call again."""
    _require_encryption(party)
    context = tls_context(connection.certificates, "b")
    with listen(connection.address) as listener:
        connection.say(f"listening on {':'.join(map(str, listener.getsockname()[:2]))}")
        while True:
            link = accept(listener, context, connection.limit, connection.timeout, connection.say)
            connection.say("party A connected")
            try:
                _drive_to_end(_met(party, party.serve()), link, connection.watch)
            except ConnectionLost as error:
                if error.data.get("aborted"):
                    raise
                connection.say(f"{error.message} Waiting for party A to call again.")
            else:
                return
            finally:
                link.close()


def lead(party: PartyA, program: Callable[[PartyA], Program[T]], connection: Connection) -> T:
    """Run A's program; after a lost connection call again and go on from the last checkpoint."""
    _require_encryption(party)
    context = tls_context(connection.certificates, "a")

    def whole() -> Program[T]:
        result = yield from program(party)
        yield from party.finish()
        return result

    for attempt in range(connection.retries + 1):
        try:
            link = connect(connection.address, context, connection.limit, connection.timeout)
            connection.say("connected to party B")
            try:
                return _drive_to_end(_met(party, whole()), link, connection.watch)
            finally:
                link.close()
        except ConnectionLost as error:
            if attempt == connection.retries or error.data.get("aborted"):
                raise
            connection.say(f"{error.message} Calling again in {connection.pause:g} s.")
            time.sleep(connection.pause)
    raise AssertionError("unreachable")


def _met(party: PartyBase, program: Program[T]) -> Program[T]:
    yield from party.meet()
    return (yield from program)


def _drive_to_end(program: Program[T], link: Link, watch: Watch) -> T:
    """Drive; where this party cannot go on, tell the other why by the error's code."""
    try:
        return drive(program, link, watch)
    except ConnectionLost:
        raise
    except DpcheckError as error:
        _tell(link, error.code)
        raise


def _tell(link: Link, code: str) -> None:
    try:
        link.send(Abort(code))
    except DpcheckError:
        return  # there is nobody left to tell


def _require_encryption(party: PartyBase) -> None:
    if not party.cipher.scheme.startswith("paillier"):
        raise InvalidParameter("numbers leave this process only encrypted.", name="cipher")
