"""What the tests of two parties share: their data, the plain run, what a number looks like in bytes."""

import numpy as np

from dpcheck.cli.ftl.data import read_common, read_table, scaled
from dpcheck.mechanisms.federated.protocol.autoencoder import initial_network
from dpcheck.mechanisms.federated.protocol.cipher import PlainCipher
from dpcheck.mechanisms.federated.protocol.model import Objective
from dpcheck.mechanisms.federated.protocol.party_a import PartyA
from dpcheck.mechanisms.federated.protocol.party_b import PartyB
from dpcheck.mechanisms.federated.protocol.state import Settings
from dpcheck.mechanisms.federated.service.tls import listen

SEEDS = {"a": 11, "b": 12}


def free_port():
    with listen(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


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
