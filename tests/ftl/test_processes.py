"""Two real processes over TLS on loopback: the same model, strangers refused, kills survived."""

import json
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from two_parties import SEEDS, free_port, plain_parties, spellings

from dpcheck.cli.ftl.data import read_table
from dpcheck.mechanisms.federated.protocol.autoencoder import flatten, forward
from dpcheck.mechanisms.federated.protocol.link import ObjectLink
from dpcheck.mechanisms.federated.protocol.local import converse
from dpcheck.mechanisms.federated.protocol.validation import cross_validate
from dpcheck.mechanisms.federated.service.tls import listen

AGREED = ["--hidden", "2", "--iterations", "2", "--rate", "0.5"]


def command(place, party, port, *more):
    verb, side = ("train", "--connect") if party == "a" else ("serve", "--listen")
    return [
        sys.executable,
        "-c",
        "from dpcheck.cli.main import run; run()",
        "ftl",
        verb,
        "--party",
        party,
        side,
        f"127.0.0.1:{port}",
        "--data",
        str(place / f"{party}.csv"),
        "--common",
        str(place / "common.txt"),
        "--certificates",
        str(place / "keys" / party),
        "--seed",
        str(SEEDS[party]),
        "--timeout",
        "120",
        *AGREED,
        *more,
    ]


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


def assert_same_networks(path, party):
    """What a process wrote with --out: every network of the plain party, to 1e-6."""
    with np.load(path) as saved:
        names = {name for name in saved.files if "weights" in name or "bias" in name}
        assert len(names) == sum(2 * len(network) for network in party.networks.values())
        assert set(saved.files) - names <= {"center", "spread", "translator"}
        for task, network in party.networks.items():
            prefix = "" if task == "train" else f"{task}/"
            for number, layer in enumerate(network):
                for name in ("weights", "bias"):
                    ours, plain = saved[f"{prefix}{name}{number}"], getattr(layer, name)
                    np.testing.assert_allclose(ours, plain, rtol=0, atol=1e-6)
            if len(network) == len(party.initial):  # of transfer; it is not where it began
                assert np.abs(flatten(network) - flatten(party.initial)).max() > 1e-3


def wait_for(process, words):
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"{words!r} never came")


def test_two_processes_train_the_plain_model_and_nothing_is_readable_on_the_way(place, tmp_path):
    port = free_port()
    labels, nets = tmp_path / "labels.csv", {p: tmp_path / f"{p}.npz" for p in "ab"}
    scores = tmp_path / "scores.csv"
    with subprocess.Popen(
        command(place, "b", port, "--labels", str(labels), "--out", str(nets["b"])),
        stderr=subprocess.PIPE,
        text=True,
    ) as b:
        try:
            wait_for(b, "listening")
            # A third process without a certificate is refused, in TLS, and B goes on.
            refused = subprocess.run(
                [sys.executable, "-c", STRANGER, str(port)],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            assert refused.returncode == 7, refused.stderr
            wait_for(b, "refused a caller: PEER_DID_NOT_RETURN_A_CERTIFICATE")
            proxy = Recorder(port)
            proxy.start()
            a = subprocess.run(
                command(place, "a", proxy.port, "--out", str(nets["a"]), "--scores", str(scores)),
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
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

    scored, predicted = plain_run(plain_a, plain_b, program())
    for party, one in (("a", plain_a), ("b", plain_b)):
        assert_same_networks(nets[party], one)
    table = np.loadtxt(scores, delimiter=",", skiprows=1)
    np.testing.assert_allclose(table, np.column_stack([np.arange(12), scored]), rtol=0, atol=1e-6)
    told = labels.read_text().split()[1:]
    assert told == [f"{name},{label}" for name, label in zip(ids, predicted, strict=True)]

    secret = [
        plain_a.X,
        plain_b.X,
        forward(plain_a.initial, plain_a.X).hidden,
        forward(plain_b.initial, plain_b.X).hidden,
    ]
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


def test_two_processes_cross_validate_as_the_plain_run_does(place, tmp_path):
    port, nets = free_port(), {p: tmp_path / f"{p}.npz" for p in "ab"}
    with subprocess.Popen(
        command(place, "b", port, "--out", str(nets["b"])), stderr=subprocess.PIPE, text=True
    ) as b:
        try:
            wait_for(b, "listening")
            a = subprocess.run(
                command(place, "a", port, "--folds", "2", "--out", str(nets["a"])),
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
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
    # Two trainings a fold for transfer, one for self-learning: every model is the plain one's.
    assert len(plain_b.networks) == 6
    for party, one in (("a", plain_a), ("b", plain_b)):
        assert_same_networks(nets[party], one)


# --- kills ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("victim", ["a", "b"])
def test_a_party_killed_at_any_message_of_an_iteration_resumes(victim):
    script = Path(__file__).with_name("kill_parties.py")
    done = subprocess.run(
        [sys.executable, str(script), victim],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    plain, *cases = [json.loads(line) for line in done.stdout.splitlines()]
    assert [case[:2] for case in cases] == [[victim, number] for number in range(1, 8)]
    for _, number, killed, codes, reports in cases:
        assert killed == 9, number  # the first life ended by the kill, not by an error
        assert codes == {"a": 0, "b": 0}, (number, done.stderr)
        for party, expected in zip("ab", plain, strict=True):
            np.testing.assert_allclose(reports[party]["network"], expected, rtol=0, atol=1e-6)
        # The second life went on from the first iteration, not from the start.
        assert min(reports[victim]["iterations"]) >= 1
