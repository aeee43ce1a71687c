"""`dpcheck init`: the files a project starts with, written once, never over another's."""

from __future__ import annotations

import sys

import click

from dpcheck.core.errors import UsageError

ADJACENCIES = ["add-remove", "replace-one", "zero-out"]


@click.command(name="init")
@click.argument("target", required=False)
@click.option("--eps", type=float, help="Epsilon the function claims.")
@click.option("--delta", type=float, default=0.0, show_default=True, help="Delta it claims.")
@click.option("--adjacency", type=click.Choice(ADJACENCIES), help="What a neighbour is.")
@click.option("--data", help="A .csv file, or file.py:table, to guess the records from.")
@click.option("--dataset", default="people", show_default=True, help="What to call the data.")
@click.option("--no-ci", is_flag=True, help="Write no workflow.")
def command(
    target: str | None,
    eps: float | None,
    delta: float,
    adjacency: str | None,
    data: str | None,
    dataset: str,
    no_ci: bool,
) -> None:
    """Write the first claim, project file and CI workflow for TARGET, file.py:function.

    What no flag says is asked for. Files that exist are kept as they are.

    Example: dpcheck init mean.py:mean_age --eps 1 --adjacency replace-one --data people.csv
    """
    from dpcheck.core.adjacency import as_adjacency
    from dpcheck.core.budget import Budget
    from dpcheck.gate import starting

    given = {"TARGET": target, "--eps": eps, "--adjacency": adjacency, "--data": data}
    left = starting.missing(given)
    if left and not sys.stdin.isatty():
        raise UsageError(
            f"tell me {', '.join(left)}; for example: dpcheck init mean.py:mean_age --eps 1 "
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
            f"--dataset is a name of letters, digits and underscores, not {dataset!r}."
        )
    assert target is not None
    assert adjacency is not None
    start = starting.Start(target, Budget(eps, delta), as_adjacency(adjacency), data or "", dataset)
    found = starting.files(start)
    if no_ci:
        found.pop(starting.WORKFLOW)
    written, kept = starting.write(found)
    notes = {
        start.file: f"what {start.function} claims, and a guess of its records: correct it",
        starting.PROJECT: "what `dpcheck check` audits",
        starting.WORKFLOW: "runs it for every push",
    }
    for path in written:
        click.echo(f"wrote {path}: {notes[path]}")
    for path in kept:
        click.echo(f"kept {path}, which exists already")
    if starting.PROJECT in kept:
        click.echo(f"add this to {starting.PROJECT} yourself:\n{_audit(found[starting.PROJECT])}")
    click.echo(f"next: dpcheck audit {start.file.as_posix()}:{start.function}")


def _audit(text: str) -> str:
    return text[text.index("[[audits]]") :].rstrip()
