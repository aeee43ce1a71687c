"""`dpcheck ftl`: secure federated transfer learning between two processes [Liu2018]."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from dpcheck.cli.ftl_data import read_common, read_table, scaled, write_example, write_rows
from dpcheck.core.errors import DpcheckError, UsageError

HERE = "127.0.0.1:7071"
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


class NewFile(click.Path):
    """A file to write when all is done: that its folder is there is checked before."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """A Path in a folder that exists."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"there is no folder {path.parent} to write {path.name} in.", param, ctx)
        return path


OUT = NewFile(dir_okay=False, writable=True, path_type=Path)


@click.group(name="ftl", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Train one model on two parties' data, encrypted [Liu2018].

    Party A has features and labels, party B other features of some of the same people. What they
    exchange is encrypted; the model's gradients are not private: see 'dpcheck audit ftl'.

    \b
    Try it on made-up data, in two terminals:
      dpcheck ftl example demo
      dpcheck ftl certificates demo/keys
      dpcheck ftl serve --party b --listen 127.0.0.1:7071 --data demo/b.csv \\
          --common demo/common.txt --certificates demo/keys/b --labels demo/labels.csv
      dpcheck ftl train --party a --connect 127.0.0.1:7071 --data demo/a.csv \\
          --common demo/common.txt --certificates demo/keys/a
    """


@command.command()
@click.argument("directory", type=FOLDER)
@click.option("--days", default=365, show_default=True, help="How long they are valid.")
def certificates(directory: Path, days: int) -> None:
    """Make DIRECTORY/a and DIRECTORY/b, each with a certificate and key for one party.

    Hand each party its folder. The authority that signed both is forgotten, so there is never a
    third.
    """
    from dpcheck.mechanisms.federated.service.certificates import make_certificates

    for folder in make_certificates(directory, days):
        click.echo(f"party {folder.name}: {folder}")


@command.command()
@click.argument("directory", type=FOLDER)
@click.option("--rows", default=60, show_default=True, help="Rows of each party.")
@click.option("--common", default=30, show_default=True, help="People both have.")
@click.option("--seed", default=0, show_default=True)
def example(directory: Path, rows: int, common: int, seed: int) -> None:
    """Write made-up data of two parties to DIRECTORY: a.csv, b.csv, common.txt."""
    for path in write_example(directory, rows, common, seed):
        click.echo(str(path))


def shared_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of both parties; those under "agreed" must be the same on both sides."""
    for option in reversed(
        (
            click.option("--data", type=FILE, required=True, help="CSV: id, (A: label,) features."),
            click.option(
                "--common",
                type=FILE,
                required=True,
                help="Ids both parties have, one per line: the same file on both sides.",
            ),
            click.option(
                "--certificates",
                type=FOLDER,
                required=True,
                help="This party's folder from 'dpcheck ftl certificates'.",
            ),
            click.option(
                "--hidden",
                default="8",
                show_default=True,
                help="Layer widths, for example 32,16. Agreed.",
            ),
            click.option("--iterations", default=10, show_default=True, help="Agreed."),
            click.option("--rate", default=0.5, show_default=True, help="Learning rate. Agreed."),
            click.option(
                "--tolerance",
                type=float,
                default=None,
                help="Stop once the loss falls by no more. Agreed.",
            ),
            click.option("--alignment-weight", default=0.05, show_default=True, help="Agreed."),
            click.option("--regularization", default=0.005, show_default=True, help="Agreed."),
            click.option(
                "--alignment",
                type=click.Choice(["inner", "distance"]),
                default="inner",
                show_default=True,
                help="Agreed.",
            ),
            click.option(
                "--variant",
                type=click.Choice(["corrected", "printed"]),
                default="corrected",
                show_default=True,
                help="Signs of the loss, as they should be or as printed. Agreed.",
            ),
            click.option(
                "--key-bits",
                type=click.Choice(["1024", "2048", "3072"]),
                default="1024",
                show_default=True,
                help="Agreed.",
            ),
            click.option(
                "--run", default="run", show_default=True, help="Name of the run. Agreed."
            ),
            click.option(
                "--pretrain",
                default=0,
                show_default=True,
                help="Epochs of auto-encoder training on the own rows first.",
            ),
            click.option(
                "--scale/--no-scale",
                default=True,
                show_default=True,
                help="Bring every feature to mean 0 and deviation 1.",
            ),
            click.option(
                "--seed",
                type=int,
                default=None,
                help="Of the first network; random, and kept with the checkpoints.",
            ),
            click.option(
                "--checkpoints",
                type=FOLDER,
                default=None,
                help="Keep every iteration here; a restart goes on from the last.",
            ),
            click.option("--jobs", default=1, show_default=True, help="Processes for encryption."),
            click.option(
                "--timeout",
                default=600.0,
                show_default=True,
                help="Seconds of silence before giving up.",
            ),
            click.option(
                "--max-message-mb",
                default=256,
                show_default=True,
                help="Largest message to send or accept.",
            ),
            click.option(
                "--out",
                type=OUT,
                default=None,
                help="Write the own network (with --folds, all of them) here (.npz).",
            ),
        )
    ):
        function = option(function)
    return function


@command.command()
@click.option("--party", type=click.Choice(["b"]), required=True, help="Party B serves.")
@click.option("--listen", default=HERE, show_default=True, help="HOST:PORT to listen on.")
@click.option("--labels", type=OUT, default=None, help="Write predicted labels here (CSV).")
@shared_options
def serve(party: str, listen: str, labels: Path | None, **options: Any) -> None:  # noqa: ARG001
    """Wait for party A and answer it until it has finished.

    \b
    dpcheck ftl serve --party b --listen 127.0.0.1:7071 --data demo/b.csv \\
        --common demo/common.txt --certificates demo/keys/b --labels demo/labels.csv
    """
    from dpcheck.mechanisms.federated.protocol.party_b import PartyB
    from dpcheck.mechanisms.federated.service import run as service

    table = read_table(options["data"], labelled=False)
    common = read_common(options["common"], table)
    # The other party counts B's rows from the common ones on, since it knows no others.
    order = np.concatenate([common, np.setdiff1d(np.arange(len(table.ids)), common)])
    X = (scaled(table.X) if options["scale"] else table.X)[order]
    b = _party(PartyB, (X, np.arange(len(common))), X, options)
    service.serve(b, _connection(listen, options))
    _write_networks(options["out"], b.networks)
    if labels is not None and b.predicted is not None:
        rows, predicted = b.predicted
        named = [
            [table.ids[order[row]], int(label)] for row, label in zip(rows, predicted, strict=True)
        ]
        write_rows(labels, ["id", "label"], named)
    _say("party A has finished")


@command.command()
@click.option("--party", type=click.Choice(["a"]), required=True, help="Party A leads.")
@click.option("--connect", default=HERE, show_default=True, help="HOST:PORT of party B.")
@click.option(
    "--labelled",
    type=int,
    default=None,
    help="Use the labels of the first so many common rows only.",
)
@click.option(
    "--folds",
    type=int,
    default=None,
    help="Cross-validate (Algorithm 3) in so many folds instead of training.",
)
@click.option(
    "--scores",
    type=OUT,
    default=None,
    help="Write the scores of B's rows here (CSV); B numbers its rows, common ones first.",
)
@click.option("--retries", default=5, show_default=True, help="Calls after a lost connection.")
@shared_options
def train(
    party: str,  # noqa: ARG001 - stands on the command line to say which side this is
    connect: str,
    labelled: int | None,
    folds: int | None,
    scores: Path | None,
    retries: int,
    **options: Any,
) -> None:
    """Train with party B, predict its rows, and tell it their labels.

    \b
    dpcheck ftl train --party a --connect 127.0.0.1:7071 --data demo/a.csv \\
        --common demo/common.txt --certificates demo/keys/a
    """
    from dpcheck.mechanisms.federated.protocol.party_a import PartyA
    from dpcheck.mechanisms.federated.protocol.validation import Validation, cross_validate
    from dpcheck.mechanisms.federated.service import run as service

    if folds is not None and scores is not None:
        raise UsageError("--scores belongs to a training; --folds only validates one.")
    table = read_table(options["data"], labelled=True)
    common = read_common(options["common"], table)
    if labelled is not None and not 1 <= labelled <= len(common):
        raise UsageError(f"--labelled must be between 1 and the {len(common)} common rows.")
    X = scaled(table.X) if options["scale"] else table.X
    a = _party(PartyA, (X, table.labels, common), X, options)
    partners = np.arange(len(common))
    fold_seed = _seed(options, "a") + 1

    def program(leader: PartyA) -> Any:
        if folds is not None:
            rng = np.random.default_rng(fold_seed)
            return (
                yield from cross_validate(leader, partners, folds=folds, rng=rng, labelled=labelled)
            )
        yield from leader.train(leader.whole_task("train", partners, labelled), partners)
        return (yield from leader.predict("train"))

    result = service.lead(a, program, _connection(connect, options, retries))
    _write_networks(options["out"], a.networks)
    if isinstance(result, Validation):
        _echo_validation(result)
        return
    losses, (scored, predicted) = a.losses["train"], result
    if scores is not None:
        rows = [[row, float(score)] for row, score in enumerate(scored)]
        write_rows(scores, ["row", "score"], rows)
    click.echo(f"trained for {len(losses)} iterations; loss {losses[0]:.6g} -> {losses[-1]:.6g}")
    click.echo(
        f"told party B the labels of its {len(predicted)} rows: {int((predicted > 0).sum())} of "
        f"them 1, {int((predicted < 0).sum())} of them -1"
    )


def _echo_validation(result: Any) -> None:
    click.echo("weighted F1 per fold")
    for name, values, mean in (
        ("transfer", result.transfer, result.transfer_score),
        ("B alone", result.alone, result.alone_score),
    ):
        click.echo(f"  {name:<10}" + "".join(f"{v:8.4f}" for v in values) + f"   mean {mean:.4f}")
    click.echo(
        "transfer is no worse than B's features alone: transfer"
        if result.transfers
        else "B's features alone do better: do not transfer (the safeguard of Algorithm 3)"
    )


# --- from options to objects ---------------------------------------------------------------------


def _party(kind: Any, data: tuple[Any, ...], X: Any, options: dict[str, Any]) -> Any:
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
    rng = np.random.default_rng(_seed(options, kind.party))
    network = (
        pretrained_network(X, hidden, rng, Pretraining(epochs=options["pretrain"]))
        if options["pretrain"]
        else initial_network([X.shape[1], *hidden], rng)
    )
    _say("making a key pair")
    key = generate_key(int(options["key_bits"]))
    cipher = PaillierCipher(kind.party, key, jobs=options["jobs"])
    party = kind(*data, network, settings=settings, cipher=cipher)
    if options["checkpoints"] is not None:
        party.checkpoints = CheckpointDirectory(options["checkpoints"], party)
    return party


def _widths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(width) for width in text.split(","))
    except ValueError:
        raise UsageError(f"--hidden takes widths like 32,16, not {text!r}.") from None


def _seed(options: dict[str, Any], party: str) -> int:
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


def _connection(address: str, options: dict[str, Any], retries: int = 0) -> Any:
    from dpcheck.mechanisms.federated.service.run import Connection
    from dpcheck.mechanisms.federated.service.tls import read_address

    return Connection(
        read_address(address),
        options["certificates"],
        timeout=options["timeout"],
        limit=options["max_message_mb"] * 2**20,
        retries=retries,
        say=_say,
        watch=_report,
    )


def _report(item: Any) -> None:
    if item.name == "loss":
        _say(f"{item.task}: iteration {item.iteration + 1}, loss {float(item.value):.6g}")


def _say(text: str) -> None:
    click.echo(text, err=True)


def _write_networks(path: Path | None, networks: dict[str, Any]) -> None:
    """`weights0`, `bias0` and so on; those of a fold after the name of its task and a slash."""
    if path is None or not networks:
        return
    arrays = {
        f"{'' if task == 'train' else task + '/'}{name}{number}": array
        for task, network in networks.items()
        for number, layer in enumerate(network)
        for name, array in zip(("weights", "bias"), layer, strict=True)
    }
    try:
        np.savez(path, **arrays)
    except OSError as error:
        raise DpcheckError(f"{path} cannot be written: {error}.") from None
