"""Two real processes over TLS; one is killed at a message of the second iteration, then started again.

Run as a script by test_transport.py: prints one line of JSON per case. It forks, which needs a
process without threads. Keys have 512 bits, for speed, in tests only.
"""

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np

from dpcheck.mechanisms.federated.crypto.cipher import PaillierCipher
from dpcheck.mechanisms.federated.crypto.paillier import generate_key
from dpcheck.mechanisms.federated.protocol.autoencoder import flatten
from dpcheck.mechanisms.federated.service.certificates import make_certificates
from dpcheck.mechanisms.federated.service.checkpoint import CheckpointDirectory
from dpcheck.mechanisms.federated.service.run import Connection, lead, serve
from dpcheck.mechanisms.federated.service.tls import TlsLink, listen
from dpcheck.mechanisms.ftl import FederatedTransfer, Federation

BEFORE = 4 + 2 + 7  # greeting and keys, request and answer, the first iteration
KEYS = {party: generate_key(512, allow_weak=True) for party in "ab"}
OPTIONS = {"hidden": (2,), "rate": 0.5, "iterations": 3}


class WeakTransfer(FederatedTransfer):
    def _cipher(self, party):
        return PaillierCipher(party, KEYS[party])


def data():
    rng = np.random.default_rng(0)
    y = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    return Federation(
        rng.normal(size=(5, 2)), y, rng.normal(size=(4, 3)), np.arange(3), np.arange(3), 2
    )


def die_after(operations):
    """Let this process vanish, without a word, once so many messages were sent or received."""
    done = 0

    def counted(function):
        def call(self, *arguments):
            nonlocal done
            result = function(self, *arguments)
            done += 1
            if done == operations:
                os._exit(9)
            return result

        return call

    TlsLink.send, TlsLink.receive = counted(TlsLink.send), counted(TlsLink.receive)


def life(party, folder, port, kill):
    """What a process does: be one party, with checkpoints, and write down how it ended."""
    a, b = WeakTransfer(transport="in-process", **OPTIONS).parties(data(), np.random.default_rng(1))
    me = a if party == "a" else b
    me.checkpoints = CheckpointDirectory(folder / "checkpoints", me)
    iterations = []
    connection = Connection(
        ("127.0.0.1", port),
        folder.parent / "keys" / party,
        timeout=60,
        retries=2000,
        pause=0.05,
        watch=lambda item: iterations.append(item.iteration),
    )
    if kill:
        die_after(kill)
    if party == "a":
        partners = np.arange(3)
        lead(me, lambda one: one.train(one.whole_task("train", partners, 2), partners), connection)
    else:
        serve(me, connection)
    report = {"iterations": iterations, "network": flatten(me.networks["train"]).tolist()}
    (folder / f"{party}.json").write_text(json.dumps(report))


def start(*arguments):
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        life(*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def case(base, victim, message):
    folder = base / f"{victim}{message}"
    folder.mkdir()
    with listen(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    kill = BEFORE + message
    processes = {
        party: start(party, folder, port, kill if party == victim else 0) for party in "ba"
    }
    first = os.waitstatus_to_exitcode(os.waitpid(processes[victim], 0)[1])
    processes[victim] = start(victim, folder, port, 0)
    codes = {
        p: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for p, child in processes.items()
    }
    reports = {p: json.loads((folder / f"{p}.json").read_text()) for p in "ab" if not codes[p]}
    print(json.dumps([victim, message, first, codes, reports]), flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        make_certificates(Path(place) / "keys")
        plain = FederatedTransfer(**OPTIONS).fit(data(), rng=np.random.default_rng(1))
        print(json.dumps([flatten(p.networks["train"]).tolist() for p in plain.parties_]))
        for who in sys.argv[1]:
            for number in range(1, 8):
                case(Path(place), who, number)
