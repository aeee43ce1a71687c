"""From the options of `dpcheck ftl` to a party, a connection, and files of what was learned."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
import numpy as np

from dpcheck.cli.flags import Flags
from dpcheck.core.errors import DpcheckError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcheck.mechanisms.federated.crypto.cipher import PaillierCipher
    from dpcheck.mechanisms.federated.protocol.autoencoder import Array, Network
    from dpcheck.mechanisms.federated.protocol.messages import Learned, Party
    from dpcheck.mechanisms.federated.protocol.party import PartyBase
    from dpcheck.mechanisms.federated.protocol.state import Settings
    from dpcheck.mechanisms.federated.service.run import Connection

P = TypeVar("P", bound="PartyBase")


def make_party(
    name: Party,
    make: Callable[[Network, Settings, PaillierCipher], P],
    X: Array,
    options: Flags,
) -> P:
    """The party of this side, with a fresh key, its first network and its checkpoints."""
    from dpcheck.mechanisms.federated.crypto.cipher import PaillierCipher
    from dpcheck.mechanisms.federated.crypto.paillier import generate_key
    from dpcheck.mechanisms.federated.protocol.autoencoder import (
        Pretraining,
        initial_network,
        pretrained_network,
    )
    from dpcheck.mechanisms.federated.protocol.model import Objective
    from dpcheck.mechanisms.federated.protocol.state import Settings
    from dpcheck.mechanisms.federated.service.checkpoint import CheckpointDirectory

    hidden = _widths(options["hidden"])
    objective = Objective(
        options["alignment_weight"],
        options["regularization"],
        options["alignment"],
        options["variant"],
    )
    settings = Settings(
        objective,
        hidden,
        options["rate"],
        options["iterations"],
        options["tolerance"],
        options["run"],
    )
    rng = np.random.default_rng(seed_of(options, name))
    network = (
        pretrained_network(X, hidden, rng, Pretraining(epochs=options["pretrain"]))
        if options["pretrain"]
        else initial_network([X.shape[1], *hidden], rng)
    )
    say("making a key pair")
    key = generate_key(int(options["key_bits"]))
    cipher = PaillierCipher(name, key, jobs=options["jobs"])
    party = make(network, settings, cipher)
    if options["checkpoints"] is not None:
        party.checkpoints = CheckpointDirectory(options["checkpoints"], party)
    return party


def _widths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(width) for width in text.split(","))
    except ValueError:
        raise UsageError(f"--hidden takes widths like 32,16, not {text!r}.") from None


def seed_of(options: Flags, party: str) -> int:
    """The seed given, the one kept with the checkpoints, or a new one kept there."""
    if options["seed"] is None:
        folder = options["checkpoints"]
        path = None if folder is None else folder / f"{party}-seed"
        if path is not None and path.exists():
            options["seed"] = int(path.read_text())
        else:
            options["seed"] = secrets.randbits(63)
            if path is not None:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                path.touch(mode=0o600)
                path.write_text(str(options["seed"]))
    return int(options["seed"])


def connection(address: str, options: Flags, retries: int = 0) -> Connection:
    """Where to meet the other party, and what to put up with."""
    from dpcheck.mechanisms.federated.service.run import Connection
    from dpcheck.mechanisms.federated.service.tls import read_address

    return Connection(
        read_address(address),
        options["certificates"],
        timeout=options["timeout"],
        limit=options["max_message_mb"] * 2**20,
        retries=retries,
        say=say,
        watch=_report,
    )


def _report(item: Learned) -> None:
    if item.name == "loss":
        say(f"{item.task}: iteration {item.iteration + 1}, loss {float(item.value):.6g}")


def say(text: str) -> None:
    """Tell the person at the terminal, beside the results on standard output."""
    click.echo(text, err=True)


def write_networks(
    path: Path | None, networks: Mapping[str, Network], more: Mapping[str, Array] | None = None
) -> None:
    """`weights0`, `bias0` and so on; those of a fold after the name of its task and a slash.

    `more` is what predicting needs besides: how features were scaled, and A's translator.
    """
    if path is None or not networks:
        return
    arrays = {
        f"{'' if task == 'train' else task + '/'}{name}{number}": array
        for task, network in networks.items()
        for number, layer in enumerate(network)
        for name, array in zip(("weights", "bias"), layer, strict=True)
    }
    try:
        np.savez(path, **arrays, **(more or {}))  # type: ignore[arg-type]  # arrays by name
    except OSError as error:
        raise DpcheckError(f"{path} cannot be written: {reason(error)}.") from None


def read_network(path: Path, needed: str) -> tuple[Network, dict[str, Array]]:
    """The network of a training and what was saved with it; `needed` must be among that."""
    from dpcheck.mechanisms.federated.protocol.autoencoder import Layer

    try:
        with np.load(path, allow_pickle=False) as saved:
            arrays = {name: np.asarray(saved[name], dtype=float) for name in saved.files}
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} was not written by --out: {error}.") from None
    layers: list[Layer] = []
    while f"weights{len(layers)}" in arrays and f"bias{len(layers)}" in arrays:
        number = len(layers)
        layers.append(Layer(arrays[f"weights{number}"], arrays[f"bias{number}"]))
    if not layers or needed not in arrays:
        raise UsageError(
            f"{path} has no network with its {needed}; write one with 'dpcheck ftl train --out' (party A) or "
            "'dpcheck ftl serve --out' (party B)."
        )
    return tuple(layers), arrays
