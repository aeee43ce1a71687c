"""The bytes between two parties, and the sockets they go through."""

import contextlib
import socket
import ssl
import threading

import numpy as np
import pytest
from two_parties import free_port, plain_parties, spellings

from dpcheck.core.errors import ConnectionLost, InvalidParameter, WireError
from dpcheck.mechanisms.federated.protocol.autoencoder import forward
from dpcheck.mechanisms.federated.protocol.link import BytesLink
from dpcheck.mechanisms.federated.protocol.local import converse
from dpcheck.mechanisms.federated.protocol.messages import Labels
from dpcheck.mechanisms.federated.service.certificates import make_certificates
from dpcheck.mechanisms.federated.service.run import Connection, lead, serve
from dpcheck.mechanisms.federated.service.tls import TlsLink, accept, connect, listen, tls_context
from dpcheck.mechanisms.ftl import FederatedTransfer


def assert_absent(patterns, captured):
    assert len(captured) > 1000
    assert len(patterns) > 50
    assert not [pattern for pattern in patterns if pattern in captured]


# --- the bytes of messages, before TLS -----------------------------------------------------------


class Tapped(BytesLink):
    """A link that keeps all frames handed to it."""

    def __init__(self, limit=2**28):
        super().__init__(limit)
        self.frames = bytearray()

    def send(self, message):
        super().send(message)
        self.frames += self._peer._inbox[-1]


def tapped_run(model, data):
    a, b = model.parties(data, np.random.default_rng(0))
    links = Tapped.pair()

    def of_a():
        yield from a.meet()
        yield from a.train(a.whole_task("train", data.common_b, data.labelled), data.common_b)
        yield from a.predict("train")
        yield from a.finish()

    def of_b():
        yield from b.meet()
        yield from b.serve()

    converse(of_a(), of_b(), links)
    hidden = [forward(p.initial, p.X).hidden for p in (a, b)]
    return links, [a.X, b.X, *hidden]


def test_message_bytes_hold_no_feature_and_no_representation(federation, weak_transfer):
    data = federation(rows_a=16, rows_b=16)
    options = {"hidden": (4,), "iterations": 2}
    links, secret = tapped_run(weak_transfer(**options), data)
    for values in secret:
        for link in links:
            assert_absent(spellings(values), link.frames)
    # The check can fail: a plain run has B's representations among its bytes.
    plain_links, plain_secret = tapped_run(FederatedTransfer(**options), data)
    hidden = plain_secret[3][data.common_b[: data.labelled]]
    patterns = [np.float64(value).tobytes() for value in hidden.ravel()]
    assert all(pattern in plain_links[1].frames for pattern in patterns)


# --- sockets -------------------------------------------------------------------------------------


def test_a_certificate_of_another_authority_is_refused(place, tmp_path):
    make_certificates(tmp_path / "other")
    said, accepted = [], []
    with listen(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        context = tls_context(place / "keys" / "b", "b")
        server = threading.Thread(
            target=lambda: accepted.append(accept(listener, context, 2000, 60, said.append))
        )
        server.start()
        # Another authority's A, and B's own certificate: neither is party A.
        for folder in (tmp_path / "other" / "a", place / "keys" / "b"):
            stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
            stranger.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
            # Refused in the handshake, or right after it.
            with (
                socket.create_connection(address, timeout=20) as raw,
                contextlib.suppress(OSError),
                stranger.wrap_socket(raw) as connection,
            ):
                assert connection.recv(1) == b""
        # A refuses a server that is not B; and something that does not speak TLS is refused too.
        with pytest.raises(ConnectionLost, match="CERTIFICATE_VERIFY_FAILED"):
            connect(address, tls_context(tmp_path / "other" / "a", "a"), 1000, 5)
        with socket.create_connection(address, timeout=20) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                raw.recv(100)
        assert not accepted
        link = connect(address, tls_context(place / "keys" / "a", "a"), 1000, 20)
        server.join()
    assert len(said) == 4
    assert all(line.startswith("refused a caller") for line in said)
    closing = threading.Thread(target=accepted[0].close)
    closing.start()
    link.close()
    closing.join()


@pytest.fixture
def linked(place):
    """Both ends of a TLS connection."""
    with listen(("127.0.0.1", 0)) as listener:
        ends = {}

        def answer():
            raw, _ = listener.accept()
            context = tls_context(place / "keys" / "b", "b")
            ends["b"] = TlsLink(context.wrap_socket(raw, server_side=True), limit=2000, timeout=1)

        thread = threading.Thread(target=answer)
        thread.start()
        context = tls_context(place / "keys" / "a", "a")
        ends["a"] = connect(listener.getsockname(), context, 10**6, 1)
        thread.join()
    yield ends["a"], ends["b"]
    threads = [threading.Thread(target=end.close) for end in ends.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_link_reports_silence_size_and_loss(linked):
    a, b = linked
    a.send(Labels(np.array([1, -1])))
    np.testing.assert_array_equal(b.receive().labels, [1, -1])
    with pytest.raises(ConnectionLost, match="did not answer in time"):
        b.receive()
    a.send(Labels(np.arange(1000)))
    with pytest.raises(WireError, match="announces a message of 8,0"):
        b.receive()
    with pytest.raises(WireError, match="above the limit of 2,000"):
        b.send(Labels(np.arange(1000)))
    b._socket.close()
    with pytest.raises(ConnectionLost, match=r"closed the connection|was lost"):
        a.receive()


def test_plain_numbers_never_leave_the_process(place):
    a, b, _ = plain_parties(place)
    connection = Connection(("127.0.0.1", free_port()), place / "keys" / "b")
    with pytest.raises(InvalidParameter, match="only encrypted"):
        serve(b, connection)
    with pytest.raises(InvalidParameter, match="only encrypted"):
        lead(a, lambda one: one.finish(), connection)
