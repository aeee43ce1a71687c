"""`dpcheck ledger`: what a ledger file holds, how it came to be, and its statement to hand on."""

from __future__ import annotations

import json
from pathlib import Path

import click

from dpcheck.core.errors import UsageError, reason
from dpcheck.ledger.ledger import Ledger
from dpcheck.ledger.statements.written import FOR_OTHERS
from dpcheck.ledger.storage.entries import to_fields
from dpcheck.ledger.storage.export import FORMATS, as_json
from dpcheck.ledger.timeline import moment, timeline

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("ledger")
def command() -> None:
    """Show what was spent of a budget: totals, history, a report, a statement."""


@command.command("show")
@click.argument("place", metavar="LEDGER")
@click.option("--format", "layout", type=click.Choice(["text", "json"]), default="text")
def show(place: str, layout: str) -> None:
    """Show what was spent from each dataset, and what is left."""
    with Ledger.open(place) as ledger:
        if layout == "json":
            click.echo(as_json(ledger))
            return
        report = ledger.report()
        click.echo(str(report))
        if report.accounts:
            click.echo(f"left: {ledger.remaining()}")


@command.command("history")
@click.argument("place", metavar="LEDGER")
@click.option("--format", "layout", type=click.Choice(["text", "json"]), default="text")
@click.option(
    "--plot", type=_FILE, help="Draw what was spent over time into this .svg, .png or .pdf file."
)
@click.option("--head", help="Check a head from a statement: exit 1 if this ledger never had it.")
def history(place: str, layout: str, plot: Path | None, head: str | None) -> None:
    """List all entries, oldest first."""
    with Ledger.open(place) as ledger:
        entries, terms = ledger.history(), ledger.terms
        at = None if head is None else ledger.stood_at(head)
    if head is not None and at is None:
        click.echo(
            f"{head} was never the head of this ledger: entries are missing (was a backup restored?), or "
            "the statement is another ledger's.",
            err=True,
        )
        raise SystemExit(1)
    if head is not None:
        click.echo(f"{head} was the head after {at} of {len(entries)} entries", err=True)
    lines = [to_fields(entry) for entry in entries]
    if layout == "json":
        click.echo(json.dumps(lines, indent=2))
    else:
        for entry, fields in zip(entries, lines, strict=True):
            when = moment(entry.time, "%Y-%m-%d %H:%M:%SZ")
            rest = {name: value for name, value in fields.items() if name not in ("kind", "time")}
            click.echo(f"{when}  {entry.kind:<9} {json.dumps(rest)}")
    if plot is not None:
        from dpcheck.cli.accounting.plot import draw_timeline

        draw_timeline(timeline(terms, entries), terms.budget, place, plot)
        click.echo(f"spending over time written to {plot}", err=True)


@command.command("report")
@click.argument("place", metavar="LEDGER")
@click.option("--output", "-o", type=_FILE, default=Path("ledger.html"), show_default=True)
def report(place: str, output: Path) -> None:
    """Write one HTML page: budgets over time, who spent, what still fits."""
    from dpcheck.ledger.statements.page import page

    with Ledger.open(place) as ledger:
        text = page(ledger.overview())
    _written(text.rstrip(), output)


@command.command("export")
@click.argument("place", metavar="LEDGER")
@click.option("--format", "layout", type=click.Choice([*FORMATS, *FOR_OTHERS]), default="text")
@click.option(
    "--answers",
    type=_FILE,
    help="TOML file with the answers only you know; --questions writes one to fill in.",
)
@click.option(
    "--audits", type=_FILE, help="JSON report of `dpcheck audit` whose verdicts to include."
)
@click.option("--questions", is_flag=True, help="Write the file to fill in for --answers.")
@click.option("--output", "-o", type=_FILE, help="Write to this file instead of standard output.")
def export(
    place: str,
    layout: str,
    answers: Path | None,
    audits: Path | None,
    questions: bool,
    output: Path | None,
) -> None:
    """Write the privacy statement of a ledger."""
    if questions:
        from dpcheck.ledger.statements import registry

        _written(registry.questions().rstrip(), output)
        return
    with Ledger.open(place) as ledger:
        text = (
            FORMATS[layout](ledger)
            if layout in FORMATS
            else ledger.statement(layout, answers=answers, audits=_verdicts(audits))
        )
    _written(text.rstrip(), output)


def _verdicts(path: Path | None) -> list[tuple[str, str]]:
    """What audits concluded, from their JSON report."""
    if path is None:
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["audits"]
        return [(f"{each['name']}/{each['part']}", str(each["verdict"])) for each in entries]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{path} was not written by --report json=FILE: {reason(error)}."
        ) from None


def _written(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text)
        return
    try:
        output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {output}: {reason(error)}.") from None
    click.echo(f"written to {output}", err=True)


@command.command("convert")
@click.argument("old", type=_FILE)
@click.argument("new", type=str)
def convert(old: Path, new: str) -> None:
    """Convert a ledger of an earlier format; OLD is only read."""
    from dpcheck.ledger.storage.conversion import convert as carry_over

    number = carry_over(old, new)
    with Ledger.open(new) as ledger:
        click.echo(str(ledger.report()))
    click.echo(f"{number} entries written to {new}; {old} is as it was", err=True)
