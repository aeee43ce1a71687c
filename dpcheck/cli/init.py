"""`dpcheck init`: the files a project starts with, written once, never over another's."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import click

from dpcheck.cli.flags import Flag
from dpcheck.cli.terminal.completion import targets
from dpcheck.core.errors import UsageError

ADJACENCIES = ["add-remove", "replace-one", "zero-out"]


@click.command(name="init")
@click.argument("target", required=False, shell_complete=targets)
@click.option("--eps", type=float, help="Epsilon the function claims.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="Delta it claims.")
@click.option(
    "--adjacency", type=click.Choice(ADJACENCIES), help="What makes two datasets neighbours."
)
@click.option("--data", help="A .csv, .tsv or .txt file, or file.py:table, to guess from.")
@click.option("--delimiter", help="What separates the cells of the file, if it is unclear.")
@click.option("--encoding", help="The encoding of the file, if it is not UTF-8.")
@click.option("--header", is_flag=True, help="The first line of the file holds column names.")
@click.option(
    "--category",
    "categories",
    multiple=True,
    metavar="COLUMN",
    help="The values of this column are public: list them in the description. Repeat as needed.",
)
@click.option(
    "--dataset",
    default="people",
    show_default=True,
    help="The name of the dataset in the project file.",
)
@click.option("--no-ci", is_flag=True, help="Do not write a CI workflow.")
def command(
    target: str | None,
    eps: float | None,
    delta: float,
    adjacency: str | None,
    data: str | None,
    dataset: str,
    no_ci: bool,
    **said: Flag,
) -> None:
    """Write the first claim, project file and CI workflow for TARGET, file.py:function.

    It asks for what you leave out, reads every row of --data, and keeps files that exist. The bounds it
    writes are guesses: correct them, then confirm them.

    Example: dpcheck init mean.py:mean_age --eps 1 --adjacency replace-one --data people.csv
    """
    from dpcheck.core.adjacency import as_adjacency
    from dpcheck.core.budget import Budget
    from dpcheck.gate import starting
    from dpcheck.gate.describing import Reading
    from dpcheck.gate.workflow import UNKNOWN

    given = {"TARGET": target, "--eps": eps, "--adjacency": adjacency, "--data": data}
    left = starting.missing(given)
    if left and not sys.stdin.isatty():
        raise UsageError(
            f"init needs {', '.join(left)}. For example: dpcheck init mean.py:mean_age --eps 1 "
            "--adjacency replace-one --data people.csv",
        )
    target = starting.checked_target(target or click.prompt("Function, as file.py:function"))
    eps = eps if eps is not None else click.prompt("Epsilon it claims", type=float)
    adjacency = adjacency or click.prompt(
        "Neighbours differ by (dpcheck explain add-remove)", type=click.Choice(ADJACENCIES)
    )
    data = data or click.prompt("A .csv file, or file.py:table, with rows like the real ones")
    if not dataset.isidentifier():
        raise UsageError(
            f"--dataset must be a name of letters, digits and underscores, not {dataset!r}."
        )
    assert target is not None
    assert adjacency is not None
    reading = Reading(
        said["delimiter"], said["encoding"], said["header"], tuple(said["categories"])
    )
    start = starting.Start(
        target, Budget(eps, delta), as_adjacency(adjacency), data or "", dataset, reading
    )
    found = starting.files(start)
    if no_ci:
        found.pop(starting.WORKFLOW)
    written, kept = starting.write(found)
    notes = {
        start.file: f"what {start.function} claims, and a guess at its records",
        starting.PROJECT: "what `dpcheck check` audits",
        starting.WORKFLOW: "runs `dpcheck check` on every push",
    }
    for path in written:
        click.echo(f"wrote {path}: {notes[path]}")
    for path in kept:
        click.echo(f"kept {path}: it already exists")
    if starting.PROJECT in kept:
        click.echo(f"add this to {starting.PROJECT} yourself:\n{_audit(found[starting.PROJECT])}")
    if starting.WORKFLOW in written and UNKNOWN in found[starting.WORKFLOW]:
        click.echo(
            f"next: say in {starting.WORKFLOW} where to install dpcheck from; it is not on PyPI yet"
        )
    if start.file in written:
        click.echo(
            f"next: correct the guesses in {start.file.as_posix()}, and confirm the columns you are sure of: "
            "confirmed=True"
        )
    if start.file in written and find_spec("pandas") is None:
        click.echo(
            f"next: pip install pandas, or change form= in {start.file.as_posix()}: audits hand over "
            "DataFrames"
        )
    click.echo(f"next: dpcheck audit {start.file.as_posix()}:{start.function}")


def _audit(text: str) -> str:
    return text[text.index("[[audits]]") :].rstrip()
