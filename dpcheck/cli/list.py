"""`dpcheck list`: what can be audited by name."""

from __future__ import annotations

import json

import click


@click.command("list")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text")
@click.option("--parameters", is_flag=True, help="Also list what --set can change.")
def command(style: str, parameters: bool) -> None:
    """List the registered audits with their parts, variants and papers."""
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
