"""`dpcheck list`: what can be audited by name."""

from __future__ import annotations

import json

import click


@click.command("list")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text")
@click.option("--parameters", is_flag=True, help="Also list what --set can change.")
@click.option("--libraries", is_flag=True, help="List the catalogue of released libraries.")
def command(style: str, parameters: bool, libraries: bool) -> None:
    """List the registered audits with their parts, variants and papers."""
    if libraries:
        _libraries(style)
        return
    from dpcheck.report.text import table
    from dpcheck.session import registry

    audits = [registry.get(name) for name in registry.names()]
    if style == "json":
        rows = [
            {
                "name": a.name,
                "summary": a.summary,
                "paper": a.paper,
                "parts": list(a.parts),
                "variants": list(a.variants),
                "parameters": {p.name: p.default for p in a.parameters},
            }
            for a in audits
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    cells = [[a.name, _few(a.parts), ", ".join(a.variants), a.paper, a.summary] for a in audits]
    click.echo(table(["audit", "parts", "variants", "paper", "what it is"], cells))
    if parameters:
        for a in audits:
            click.echo(f"\n{a.name}")
            for p in a.parameters:
                click.echo(f"  --set {p.name}={p.default}  {p.help}")
    click.echo("\nYour own code: dpcheck audit file.py:object (see @dpcheck.audited).")


def _few(parts: tuple[str, ...]) -> str:
    """The parts by name where they fit a column, else their number (all are in --format json)."""
    return ", ".join(parts) if len(parts) <= 2 else f"{len(parts)} parts"


def _libraries(style: str) -> None:
    """Every mechanism of the catalogue: `dpcheck audit LIBRARY:MECHANISM`."""
    from dpcheck.session import catalogue

    if not catalogue.installed():
        click.echo("No catalogue of libraries is installed.")
        return
    from dpcheck.libraries.catalogue import libraries
    from dpcheck.report.text import table

    known = libraries()
    rows = [
        {
            "target": f"{library.name}:{target.name}",
            "version": library.tried,
            "claim": "its own" if callable(target.claim) else target.claim,
            "adjacency": target.adjacency,
            "says": target.says,
            "place": target.place,
            "note": target.note,
        }
        for library in known.values()
        for target in library.targets.values()
    ]
    if style == "json":
        click.echo(json.dumps(rows, indent=2))
        return
    columns = ("target", "version", "claim", "adjacency", "note")
    heads = ["target", "tried with", "claim", "adjacency", "note"]
    click.echo(table(heads, [[str(row[key]) for key in columns] for row in rows]))
    click.echo(
        f"\n{len(rows)} mechanisms of {len(known)} libraries; audit one with dpcheck audit TARGET. "
        "Libraries run in their own environment: --python PATH, or `make libraries`."
    )
