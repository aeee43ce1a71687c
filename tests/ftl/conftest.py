"""Small federations, and parties with 512-bit keys: weak on purpose, for speed, in tests only."""

import sys
from pathlib import Path

import numpy as np
import pytest

from dpcheck.cli.ftl.data import write_example
from dpcheck.mechanisms.federated.crypto.cipher import PaillierCipher
from dpcheck.mechanisms.federated.crypto.paillier import generate_key
from dpcheck.mechanisms.federated.service.certificates import make_certificates
from dpcheck.mechanisms.ftl import FederatedTransfer, Federation

sys.path.insert(0, str(Path(__file__).parent))  # two_parties.py


@pytest.fixture(scope="session")
def weak_keys():
    return {party: generate_key(512, allow_weak=True) for party in "ab"}


@pytest.fixture(scope="session")
def weak_transfer(weak_keys):
    """FederatedTransfer(transport="in-process") with 512-bit keys."""

    class WeakTransfer(FederatedTransfer):
        def _cipher(self, party):
            return PaillierCipher(party, weak_keys[party])

    def build(**options):
        return WeakTransfer(transport="in-process", **options)

    return build


@pytest.fixture(scope="session")
def federation():
    """Two parties that see linear images of the same three traits; the first decides the label."""

    def build(rows_a=14, rows_b=12, common=7, labelled=5, features=(4, 3), seed=0):
        rng = np.random.default_rng(seed)
        traits = rng.normal(size=(rows_a + rows_b - common, 3))
        X_a = traits[:rows_a] @ rng.normal(size=(3, features[0]))
        X_b = traits[rows_a - common :] @ rng.normal(size=(3, features[1]))
        y = np.where(traits[:rows_a, 0] > 0, 1.0, -1.0)
        return Federation(
            X_a, y, X_b, np.arange(rows_a - common, rows_a), np.arange(common), labelled
        )

    return build


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """Data and certificates, as `dpcheck ftl example` and `dpcheck ftl certificates` make them."""
    folder = tmp_path_factory.mktemp("ftl")
    write_example(folder, 12, 8, 0)
    make_certificates(folder / "keys")
    return folder
