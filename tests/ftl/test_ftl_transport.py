"""Two real processes over TLS on loopback: the same model, strangers refused, kills survived."""

import contextlib
import json
import re
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from dpcheck.cli.ftl_data import read_common, read_table, scaled, write_example
from dpcheck.core.errors import ConnectionLost, InvalidParameter, WireError
from dpcheck.mechanisms._ftl_autoencoder import flatten, forward, initial_network
from dpcheck.mechanisms._ftl_certificates import make_certificates
from dpcheck.mechanisms._ftl_cipher import PlainCipher
from dpcheck.mechanisms._ftl_link import BytesLink, ObjectLink
from dpcheck.mechanisms._ftl_local import converse
from dpcheck.mechanisms._ftl_messages import Labels
from dpcheck.mechanisms._ftl_model import Objective
from dpcheck.mechanisms._ftl_party_a import PartyA
from dpcheck.mechanisms._ftl_party_b import PartyB
from dpcheck.mechanisms._ftl_service import Connection, lead, serve
from dpcheck.mechanisms._ftl_state import Settings
from dpcheck.mechanisms._ftl_tls import TlsLink, accept, connect, listen, tls_context
from dpcheck.mechanisms._ftl_validation import cross_validate
from dpcheck.mechanisms.ftl import FederatedTransfer

AGREED = ["--hidden", "2", "--iterations", "2", "--rate", "0.5"]
SEEDS = {"a": 11, "b": 12}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Data and certificates, as `dpcheck ftl example` and `dpcheck ftl certificates` make them."""
    folder = tmp_path_factory.mktemp("ftl")
    write_example(folder, 12, 8, 0)
    make_certificates(folder / "keys")
    return folder


def free_port():
    with listen(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def command(place, party, port, *more):
    verb, side = ("train", "--connect") if party == "a" else ("serve", "--listen")
    return [
        sys.executable, "-c", "from dpcheck.cli.main import run; run()",
        "ftl", verb, "--party", party, side, f"127.0.0.1:{port}",
        "--data", str(place / f"{party}.csv"), "--common", str(place / "common.txt"),
        "--certificates", str(place / "keys" / party), "--seed", str(SEEDS[party]),
        "--timeout", "120", *AGREED, *more,
    ]  # fmt: skip


def plain_parties(place):
    """The same run without encryption, in this process."""
    settings = Settings(Objective(), (2,), 0.5, 2, None)
    tables = {p: read_table(place / f"{p}.csv", labelled=p == "a") for p in "ab"}
    common = {p: read_common(place / "common.txt", tables[p]) for p in "ab"}
    X_a = scaled(tables["a"].X)
    order = np.concatenate([common["b"], np.setdiff1d(np.arange(12), common["b"])])
    X_b = scaled(tables["b"].X)[order]
    nets = {
        p: initial_network([X.shape[1], 2], np.random.default_rng(SEEDS[p]))
        for p, X in (("a", X_a), ("b", X_b))
    }
    a = PartyA(
        X_a, tables["a"].labels, common["a"], nets["a"], settings=settings, cipher=PlainCipher("a")
    )
    b = PartyB(X_b, np.arange(8), nets["b"], settings=settings, cipher=PlainCipher("b"))
    return a, b, [tables["b"].ids[i] for i in order]


def plain_run(a, b, program):
    def of_a():
        yield from a.meet()
        result = yield from program
        yield from a.finish()
        return result

    def of_b():
        yield from b.meet()
        yield from b.serve()

    return converse(of_a(), of_b(), ObjectLink.pair())


class Recorder(threading.Thread):
    """A proxy on loopback that writes down every byte between A and B."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.listener = listen(("127.0.0.1", 0))
        self.port, self.target = self.listener.getsockname()[1], target
        self.bytes = {"a": bytearray(), "b": bytearray()}

    def run(self):
        near, _ = self.listener.accept()
        far = socket.create_connection(("127.0.0.1", self.target))
        back = threading.Thread(target=self.pump, args=(far, near, "b"), daemon=True)
        back.start()
        self.pump(near, far, "a")
        back.join()
        for one in (near, far, self.listener):
            one.close()

    def pump(self, source, sink, name):
        while data := source.recv(65536):
            self.bytes[name] += data
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


def spellings(values):
    """Every way a number could stand in a message: doubles, digits, fixed point.

    Patterns shorter than 6 bytes are left out: they turn up by chance in so many random bytes.
    """
    found = set()
    for value in np.ravel(values):
        number = float(value)
        if number in (0.0, 1.0, -1.0):
            continue
        found.add(np.float64(number).tobytes())
        found.add(np.float64(number).astype(">f8").tobytes())
        found.add(f"{number:.6g}".encode())
        for bits in (40, 80):
            whole = round(number * 2**bits)
            found.add(whole.to_bytes(12, "big", signed=True).lstrip(b"\0\xff"))
    return {pattern for pattern in found if len(pattern) >= 6}


def assert_absent(patterns, captured):
    assert len(captured) > 1000
    assert len(patterns) > 50
    assert not [pattern for pattern in patterns if pattern in captured]


def wait_for(process, words):
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"{words!r} never came")


def test_two_processes_train_the_plain_model_and_nothing_is_readable_on_the_way(place, tmp_path):
    port = free_port()
    labels, nets = tmp_path / "labels.csv", {p: tmp_path / f"{p}.npz" for p in "ab"}
    with subprocess.Popen(
        command(place, "b", port, "--labels", str(labels), "--out", str(nets["b"])),
        stderr=subprocess.PIPE, text=True,
    ) as b:  # fmt: skip
        try:
            wait_for(b, "listening")
            # A third process without a certificate is refused, in TLS, and B goes on.
            refused = subprocess.run(
                [sys.executable, "-c", STRANGER, str(port)], capture_output=True, text=True,
                check=False, timeout=60,
            )  # fmt: skip
            assert refused.returncode == 7, refused.stderr
            wait_for(b, "refused a caller: PEER_DID_NOT_RETURN_A_CERTIFICATE")
            proxy = Recorder(port)
            proxy.start()
            a = subprocess.run(
                command(place, "a", proxy.port, "--out", str(nets["a"])), capture_output=True,
                text=True, timeout=300, check=False,
            )  # fmt: skip
            assert a.returncode == 0, a.stderr
            assert b.wait(timeout=120) == 0
            proxy.join(timeout=20)
        finally:
            b.kill()
    assert "trained for 2 iterations" in a.stdout
    assert "train: iteration 2, loss" in a.stderr

    plain_a, plain_b, ids = plain_parties(place)
    partners = np.arange(8)

    def program():
        yield from plain_a.train(plain_a.whole_task("train", partners), partners)
        return (yield from plain_a.predict("train"))

    _, predicted = plain_run(plain_a, plain_b, program())
    for party, one in (("a", plain_a), ("b", plain_b)):
        saved = np.load(nets[party])
        ours = np.concatenate([saved["weights0"].ravel(), saved["bias0"]])
        np.testing.assert_allclose(ours, flatten(one.networks["train"]), rtol=0, atol=1e-6)
        assert np.abs(ours - flatten(one.initial)).max() > 1e-3
    told = labels.read_text().split()[1:]
    assert told == [f"{name},{label}" for name, label in zip(ids, predicted, strict=True)]

    secret = [plain_a.X, plain_b.X, forward(plain_a.initial, plain_a.X).hidden,
              forward(plain_b.initial, plain_b.X).hidden]  # fmt: skip
    raw = [read_table(place / f"{p}.csv", labelled=p == "a").X for p in "ab"]
    for values in (*secret, *raw):
        for captured in proxy.bytes.values():
            patterns = spellings(values)
            assert not [pattern for pattern in patterns if pattern in captured]
    assert min(len(captured) for captured in proxy.bytes.values()) > 10_000


STRANGER = """
import socket, ssl, sys
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
try:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20) as raw:
        with context.wrap_socket(raw) as connection:
            sys.exit(7 if connection.recv(1) == b"" else 0)
except OSError:  # an alert, or the closed connection, whichever comes first
    sys.exit(7)
"""


def test_two_processes_cross_validate_as_the_plain_run_does(place):
    port = free_port()
    with subprocess.Popen(command(place, "b", port), stderr=subprocess.PIPE, text=True) as b:
        try:
            wait_for(b, "listening")
            a = subprocess.run(
                command(place, "a", port, "--folds", "2"), capture_output=True, text=True,
                timeout=300, check=False,
            )  # fmt: skip
            assert a.returncode == 0, a.stderr
            assert b.wait(timeout=120) == 0
        finally:
            b.kill()
    plain_a, plain_b, _ = plain_parties(place)
    rng = np.random.default_rng(SEEDS["a"] + 1)
    expected = plain_run(plain_a, plain_b, cross_validate(plain_a, np.arange(8), folds=2, rng=rng))
    lines = a.stdout.splitlines()
    shown = [[float(x) for x in re.findall(r"\d\.\d{4}", line)[:2]] for line in lines[1:3]]
    np.testing.assert_allclose(shown, [expected.transfer, expected.alone], atol=5e-5)


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


# --- kills ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("victim", ["a", "b"])
def test_a_party_killed_at_any_message_of_an_iteration_resumes(victim):
    script = Path(__file__).with_name("kill_parties.py")
    done = subprocess.run(
        [sys.executable, str(script), victim], capture_output=True, text=True, timeout=300,
        check=True,
    )  # fmt: skip
    plain, *cases = [json.loads(line) for line in done.stdout.splitlines()]
    assert [case[:2] for case in cases] == [[victim, number] for number in range(1, 8)]
    for _, number, killed, codes, reports in cases:
        assert killed == 9, number  # the first life ended by the kill, not by an error
        assert codes == {"a": 0, "b": 0}, (number, done.stderr)
        for party, expected in zip("ab", plain, strict=True):
            np.testing.assert_allclose(reports[party]["network"], expected, rtol=0, atol=1e-6)
        # The second life went on from the first iteration, not from the start.
        assert min(reports[victim]["iterations"]) >= 1
