"""`dpcheck ftl`: secure federated transfer learning between two processes [Liu2018]."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from dpcheck.cli.flags import Flag
from dpcheck.cli.ftl.data import read_common, read_table, scaled, scaling, write_example, write_rows
from dpcheck.cli.ftl.options import FILE, FOLDER, OUT, shared_options
from dpcheck.cli.ftl.party import connection, make_party, say, seed_of, write_networks
from dpcheck.core.errors import UsageError

if TYPE_CHECKING:
    from dpcheck.mechanisms.federated.protocol.autoencoder import Array
    from dpcheck.mechanisms.federated.protocol.party import Program
    from dpcheck.mechanisms.federated.protocol.party_a import PartyA
    from dpcheck.mechanisms.federated.protocol.validation import Validation

HERE = "127.0.0.1:7071"


@click.group(name="ftl", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Train one model on the encrypted data of two parties [Liu2018].

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
@click.option(
    "--days",
    type=click.IntRange(min=1, max=36_500),
    default=365,
    show_default=True,
    help="Days until the certificates expire.",
)
def certificates(directory: Path, days: int) -> None:
    """Make certificates and keys for both parties.

    Hand each party its folder. The authority that signed both is forgotten, so there is never a
    third.
    """
    from dpcheck.mechanisms.federated.service.certificates import make_certificates

    for folder in make_certificates(directory, days):
        click.echo(f"party {folder.name}: {folder}")


@command.command()
@click.argument("directory", type=FOLDER)
@click.option("--rows", default=60, show_default=True, help="Rows of each party.")
@click.option("--common", default=30, show_default=True, help="People that both parties have.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def example(directory: Path, rows: int, common: int, seed: int) -> None:
    """Write made-up data of two parties to DIRECTORY."""
    for path in write_example(directory, rows, common, seed):
        click.echo(str(path))


@command.command()
@click.option("--party", type=click.Choice(["b"]), required=True, help="Party B serves.")
@click.option("--listen", default=HERE, show_default=True, help="HOST:PORT to listen on.")
@click.option("--labels", type=OUT, default=None, help="Write predicted labels here (CSV).")
@shared_options
def serve(party: str, listen: str, labels: Path | None, **options: Flag) -> None:  # noqa: ARG001
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
    scales = scaling(table.X, options["scale"])
    X = scaled(table.X, scales)[order]
    b = make_party(
        "b",
        lambda network, settings, cipher: PartyB(
            X, np.arange(len(common)), network, settings=settings, cipher=cipher
        ),
        X,
        options,
    )
    service.serve(b, connection(listen, options))
    write_networks(options["out"], b.networks, scales)
    if labels is not None and b.predicted is not None:
        rows, predicted = b.predicted
        named = [
            [table.ids[order[row]], int(label)] for row, label in zip(rows, predicted, strict=True)
        ]
        write_rows(labels, ["id", "label"], named)
    say("party A has finished")


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
@click.option(
    "--retries",
    default=5,
    show_default=True,
    help="How often to call again after a lost connection.",
)
@shared_options
def train(
    party: str,  # noqa: ARG001 - stands on the command line to say which side this is
    connect: str,
    labelled: int | None,
    folds: int | None,
    scores: Path | None,
    retries: int,
    **options: Flag,
) -> None:
    """Train with party B and predict labels for its rows.

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
    assert table.labels is not None
    labels, common = table.labels, read_common(options["common"], table)
    if labelled is not None and not 1 <= labelled <= len(common):
        raise UsageError(f"--labelled must be between 1 and the {len(common)} common rows.")
    scales = scaling(table.X, options["scale"])
    X = scaled(table.X, scales)
    a = make_party(
        "a",
        lambda network, settings, cipher: PartyA(
            X, labels, common, network, settings=settings, cipher=cipher
        ),
        X,
        options,
    )
    partners = np.arange(len(common))
    fold_seed = seed_of(options, "a") + 1

    def program(leader: PartyA) -> Program[Validation | tuple[Array, Array]]:
        if folds is not None:
            rng = np.random.default_rng(fold_seed)
            return (
                yield from cross_validate(leader, partners, folds=folds, rng=rng, labelled=labelled)
            )
        yield from leader.train(leader.whole_task("train", partners, labelled), partners)
        return (yield from leader.predict("train"))

    result = service.lead(a, program, connection(connect, options, retries))
    trained = {} if folds is not None else {"translator": a.translator("train")}
    write_networks(options["out"], a.networks, {**scales, **trained})
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


@command.command()
@click.option("--party", type=click.Choice(["a", "b"]), required=True, help="Which side this is.")
@click.option("--connect", default=HERE, show_default=True, help="A: HOST:PORT of party B.")
@click.option("--listen", default=HERE, show_default=True, help="B: HOST:PORT to listen on.")
@click.option(
    "--network", type=FILE, required=True, help="This party's network, as --out wrote it."
)
@click.option("--data", type=FILE, default=None, help="B: CSV of the new rows: id, features.")
@click.option("--labels", type=OUT, default=None, help="B: write the labels here (CSV).")
@click.option("--scores", type=OUT, default=None, help="A: write the scores here (CSV).")
@click.option(
    "--certificates",
    type=FOLDER,
    required=True,
    help="This party's folder from 'dpcheck ftl certificates'.",
)
@click.option(
    "--key-bits",
    type=click.Choice(["1024", "2048", "3072"]),
    default="2048",
    show_default=True,
    help="Agreed.",
)
@click.option(
    "--run", default="predict", show_default=True, help="Name of the run. Both parties must agree."
)
@click.option("--jobs", default=1, show_default=True, help="Processes for encryption.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds of silence.")
@click.option("--max-message-mb", default=256, show_default=True, help="Largest message.")
@click.option(
    "--retries",
    default=5,
    show_default=True,
    help="A: how often to call again after a lost connection.",
)
def predict(party: str, **options: Flag) -> None:
    """Label new rows of party B with the networks of an earlier training (Algorithm 2).

    Party A learns a score for every row, and d scores tell it a hidden row: see 'dpcheck audit ftl'.

    \b
    dpcheck ftl predict --party b --network b.npz --data new.csv --certificates demo/keys/b \\
        --labels labels.csv
    dpcheck ftl predict --party a --network a.npz --certificates demo/keys/a
    """
    from dpcheck.cli.ftl.predicting import predict_as_a, predict_as_b

    (predict_as_a if party == "a" else predict_as_b)(options)


def _echo_validation(result: Validation) -> None:
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
