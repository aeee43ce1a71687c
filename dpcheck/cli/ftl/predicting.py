"""`dpcheck ftl predict`: both sides of labelling rows that were not there when the networks were trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import numpy as np

from dpcheck.cli.flags import Flags
from dpcheck.cli.ftl.data import read_table, scaled, write_rows
from dpcheck.cli.ftl.party import connection, read_network, say
from dpcheck.core.errors import UsageError

if TYPE_CHECKING:
    from dpcheck.mechanisms.federated.crypto.cipher import PaillierCipher
    from dpcheck.mechanisms.federated.protocol.autoencoder import Network
    from dpcheck.mechanisms.federated.protocol.messages import Party
    from dpcheck.mechanisms.federated.protocol.state import Settings

# Nobody is aligned in a prediction; both parties name one row as common, so that they agree.
NOBODY = [0]


def _prepared(party: Party, network: Network, options: Flags) -> tuple[Settings, PaillierCipher]:
    from dpcheck.mechanisms.federated.crypto.cipher import PaillierCipher
    from dpcheck.mechanisms.federated.crypto.paillier import generate_key
    from dpcheck.mechanisms.federated.protocol.state import Settings

    say("making a key pair")
    cipher = PaillierCipher(party, generate_key(int(options["key_bits"])), jobs=options["jobs"])
    return Settings(hidden=(network[-1].weights.shape[1],), run=options["run"]), cipher


def predict_as_a(options: Flags) -> None:
    """Lead: score all rows B brings, and tell it the labels."""
    from dpcheck.mechanisms.federated.protocol.party_a import PartyA
    from dpcheck.mechanisms.federated.service import run as service

    if options["data"] is not None or options["labels"] is not None:
        raise UsageError("--data and --labels belong to party B, whose rows are labelled.")
    network, saved = read_network(options["network"], "translator")
    settings, cipher = _prepared("a", network, options)
    nobody = np.zeros((1, network[0].weights.shape[0]))
    a = PartyA(nobody, [1], NOBODY, network, settings=settings, cipher=cipher)
    phi = saved["translator"]
    found = service.lead(
        a,
        lambda leader: leader.predict_new(phi),
        connection(options["connect"], options, options["retries"]),
    )
    scores, labels = found
    if options["scores"] is not None:
        rows = [[row, float(score)] for row, score in enumerate(scores)]
        write_rows(options["scores"], ["row", "score"], rows)
    click.echo(
        f"told party B the labels of its {len(labels)} rows: {int((labels > 0).sum())} of them 1, "
        f"{int((labels < 0).sum())} of them -1"
    )


def predict_as_b(options: Flags) -> None:
    """Serve: have the new rows labelled."""
    from dpcheck.mechanisms.federated.protocol.party_b import PartyB
    from dpcheck.mechanisms.federated.service import run as service

    if options["data"] is None:
        raise UsageError("party B needs --data FILE, its new rows.")
    if options["scores"] is not None:
        raise UsageError("--scores belongs to party A, which learns them.")
    network, saved = read_network(options["network"], "center")
    table = read_table(options["data"], labelled=False)
    if table.X.shape[1] != len(saved["center"]):
        raise UsageError(
            f"{options['data']} has {table.X.shape[1]} features, the network was trained on "
            f"{len(saved['center'])}; give the same columns in the same order."
        )
    settings, cipher = _prepared("b", network, options)
    b = PartyB(scaled(table.X, saved), NOBODY, network, settings=settings, cipher=cipher)
    b.networks["train"] = network
    service.serve(b, connection(options["listen"], options))
    if options["labels"] is not None and b.predicted is not None:
        rows, labels = b.predicted
        named = [[table.ids[row], int(label)] for row, label in zip(rows, labels, strict=True)]
        write_rows(options["labels"], ["id", "label"], named)
    say("party A has finished")
