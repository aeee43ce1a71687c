"""A link over a socket with mutual TLS: both parties show a certificate of one authority."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

from dpcheck.core.errors import ConnectionLost, InvalidParameter
from dpcheck.mechanisms.federated.protocol.messages import Message, Party
from dpcheck.mechanisms.federated.protocol.wire import DEFAULT_LIMIT, DIGEST, HEADER, Framer
from dpcheck.mechanisms.federated.service.certificates import AUTHORITY, CERTIFICATE, KEY, host_name

HANDSHAKE_SECONDS = 10.0
Address = tuple[str, int]


def read_address(text: str) -> Address:
    """HOST:PORT."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise InvalidParameter(
            f"an address is HOST:PORT, for example 127.0.0.1:7071, not {text!r}.", name="address"
        )
    return host.strip("[]"), int(port)


def tls_context(folder: Path, party: Party) -> ssl.SSLContext:
    """TLS 1.3 with this party's certificate, demanding one of the other party."""
    server = party == "b"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    if server:
        context.num_tickets = 0  # connections are never resumed, so each proves its certificate
    try:
        context.load_verify_locations(folder / AUTHORITY)
        context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    except (OSError, ssl.SSLError) as error:
        raise InvalidParameter(
            f"{folder} holds no usable certificate ({error}); make a pair of them with "
            f"'dpcheck ftl certificates DIR' and use DIR/{party}.",
            name="certificates",
        ) from None
    return context


class TlsLink:
    """Frames over a TLS socket. Sizes are checked before anything is read into memory."""

    def __init__(
        self, connection: ssl.SSLSocket, *, limit: int = DEFAULT_LIMIT, timeout: float = 600.0
    ) -> None:
        connection.settimeout(timeout)
        self._socket, self._limit = connection, limit
        self._out, self._in = Framer(limit=limit), Framer(limit=limit)

    def send(self, message: Message) -> None:
        """Write one frame."""
        frame = self._out.encode(message)
        try:
            self._socket.sendall(frame)
        except OSError as error:
            raise _lost(error) from None

    def receive(self) -> Message:
        """Read one frame."""
        head = self._read(HEADER.size)
        size = self._in.payload_size(head)
        return self._in.decode(head + self._read(size + DIGEST))

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = self._socket.recv(min(size - len(data), 2**20))
            except OSError as error:
                raise _lost(error) from None
            if not part:
                raise ConnectionLost("the other party closed the connection.")
            data += part
        return bytes(data)

    def start_session(self, name: bytes) -> None:
        """New counters under a new name."""
        self._out, self._in = Framer(name, self._limit), Framer(name, self._limit)

    def close(self) -> None:
        """Say goodbye properly, if there is still somebody to say it to."""
        with contextlib.suppress(OSError, ValueError):
            self._socket.settimeout(1.0)
            self._socket.unwrap()
        self._socket.close()


def _lost(error: OSError) -> ConnectionLost:
    if isinstance(error, TimeoutError):
        return ConnectionLost("the other party did not answer in time.")
    return ConnectionLost(f"the connection to the other party was lost: {_reason(error)}.")


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLEOFError | ConnectionResetError):
        return "it ended without closing the connection"
    return error.reason if isinstance(error, ssl.SSLError) and error.reason else str(error)


def connect(address: Address, context: ssl.SSLContext, limit: int, timeout: float) -> TlsLink:
    """A's end: connect and check that B is who answers."""
    raw = None
    try:
        raw = socket.create_connection(address, timeout=HANDSHAKE_SECONDS)
        return TlsLink(
            context.wrap_socket(raw, server_hostname=host_name("b")), limit=limit, timeout=timeout
        )
    except OSError as error:
        if raw is not None:
            raw.close()
        where = f"{address[0]}:{address[1]}"
        raise ConnectionLost(f"no connection to {where}: {_reason(error)}.") from None


def listen(address: Address) -> socket.socket:
    """A listening socket."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        return socket.create_server(address, family=family, backlog=8)
    except OSError as error:
        raise InvalidParameter(
            f"cannot listen on {address[0]}:{address[1]}: {error}.", name="listen"
        ) from None


def accept(
    listener: socket.socket,
    context: ssl.SSLContext,
    limit: int,
    timeout: float,
    say: Callable[[str], None],
) -> TlsLink:
    """B's end: the next caller that shows A's certificate; others are refused and reported."""
    listener.settimeout(timeout)
    while True:
        try:
            raw, _ = listener.accept()
        except TimeoutError:
            raise ConnectionLost(f"party A did not connect within {timeout:g} s.") from None
        raw.settimeout(HANDSHAKE_SECONDS)
        try:
            connection = context.wrap_socket(raw, server_side=True)
        except OSError as error:  # also no certificate, a wrong one, or no TLS at all
            say(f"refused a caller: {_reason(error)}")
            raw.close()
            continue
        names = (connection.getpeercert() or {}).get("subjectAltName", ())
        if ("DNS", host_name("a")) in names:
            return TlsLink(connection, limit=limit, timeout=timeout)
        say("refused a caller whose certificate is not party A's")
        connection.close()
