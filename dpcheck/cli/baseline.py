"""`dpcheck baseline`: findings that are accepted for a while, and why."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from dpcheck.cli.check import baseline_of, folder_of
from dpcheck.cli.project import project_option
from dpcheck.core.errors import InvalidBaseline

if TYPE_CHECKING:
    from dpcheck.gate.baseline import Accepted, GateFinding
    from dpcheck.gate.project import Project


Opened: TypeAlias = (
    "tuple[Path, list[Accepted], Path]"  # the file, its entries, the last check's folder
)
_PATH = click.Path(path_type=Path)


def _today() -> date:
    return datetime.now(UTC).date()


@click.group("baseline")
@project_option
@click.option("--store", type=_PATH, envvar="DPCHECK_STORE", help="Directory of the last check.")
@click.option("--baseline", "file", type=_PATH, envvar="DPCHECK_BASELINE", help="The file.")
@click.pass_context
def command(
    context: click.Context, project: Project, store: Path | None, file: Path | None
) -> None:
    """Accept findings until a date; `dpcheck check` fails on entries that expired or no longer apply."""
    from dpcheck.gate import baseline

    options = project.options
    file = file or (Path(options["baseline"]) if "baseline" in options else None)
    path = baseline_of(project, file)
    context.obj = (path, baseline.load(path, _today()), folder_of(project, store))


def _last(folder: Path) -> list[GateFinding]:
    """The findings of the last check."""
    from dpcheck.gate.baseline import GateFinding
    from dpcheck.gate.codec import decode
    from dpcheck.gate.results import Results

    results = Results(folder)
    try:
        found = results.last()
    finally:
        results.close()
    if found is None:
        raise InvalidBaseline("no check has run yet. Run 'dpcheck check' first.")
    return [decode(GateFinding, item) for item in found]


@command.command("add")
@click.argument("finding")
@click.option("--reason", required=True, help="Why you accept it, for people who read this later.")
@click.option(
    "--expires",
    required=True,
    metavar="YYYY-MM-DD|90d",
    help="The last day on which you accept it.",
)
@click.option(
    "--up-to", type=float, help="The largest epsilon you accept; by default 10% above today's."
)
@click.pass_obj
def add(obj: Opened, finding: str, reason: str, expires: str, up_to: float | None) -> None:
    """Accept FINDING, as `dpcheck baseline list` names it."""
    from difflib import get_close_matches

    from dpcheck.gate import baseline

    path, entries, folder = obj
    found = {f.name: f for f in _last(folder) if f.found}
    if finding not in found:
        close = get_close_matches(finding, found, n=1)
        hint = (
            f"did you mean {close[0]!r}?" if close else f"found: {', '.join(found) or 'nothing'}."
        )
        raise InvalidBaseline(f"the last check found no {finding!r}; {hint}")
    end = baseline.read_end(expires, _today())
    changed = baseline.add(entries, found[finding], reason, end, _today(), up_to)
    baseline.save(path, changed)
    click.echo(f"accepted {changed[-1].finding}: {changed[-1].describe()}")


@command.command("list")
@click.pass_obj
def show(obj: Opened) -> None:
    """List what is accepted, and what would fail the next check."""
    from dpcheck.gate import baseline
    from dpcheck.report.text import table
    from dpcheck.report.words import figure

    _, entries, folder = obj
    last = _last(folder)
    accepted, complaints = baseline.judge(entries, last, _today())
    rows = [
        [
            e.finding,
            figure(e.up_to),
            str(e.expires),
            "accepted" if e.finding in accepted else "fails",
            e.reason,
        ]
        for e in entries
    ]
    listed = {e.finding for e in entries}
    rows += [
        [f.name, figure(f.epsilon), "", "not accepted", ""]
        for f in last
        if f.found and f.name not in listed
    ]
    if not rows:
        click.echo("the last check found nothing, and nothing is accepted.")
        return
    click.echo(table(["finding", "epsilon up to", "expires", "status", "reason"], rows))
    for text in complaints:
        click.echo(text)


@command.command("remove")
@click.argument("finding")
@click.pass_obj
def remove(obj: Opened, finding: str) -> None:
    """Stop accepting FINDING."""
    from dpcheck.gate import baseline

    path, entries, _ = obj
    kept = [e for e in entries if e.finding != finding]
    if len(kept) == len(entries):
        names = ", ".join(e.finding for e in entries) or "nothing"
        raise InvalidBaseline(f"{finding!r} is not accepted; accepted: {names}.")
    baseline.save(path, kept)
    click.echo(f"removed {finding}")


@command.command("prune")
@click.pass_obj
def prune(obj: Opened) -> None:
    """Remove entries that expired or that the last check did not find."""
    from dpcheck.gate import baseline

    path, entries, folder = obj
    last = {f.name: f for f in _last(folder)}
    kept = []
    for entry in entries:
        finding = last.get(entry.finding)
        stale = finding is None or (finding.decided and not finding.found)
        if stale or entry.expires < _today():
            click.echo(f"removed {entry.finding}: {'no longer found' if stale else 'expired'}")
        else:
            kept.append(entry)
    if len(kept) == len(entries):
        click.echo("nothing to remove")
    else:
        baseline.save(path, kept)
