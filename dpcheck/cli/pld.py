"""`dpcheck pld TARGET`: the privacy loss of the real code, over the accountant's curve."""

from __future__ import annotations

from pathlib import Path

import click

from dpcheck.cli.project import own_stdout
from dpcheck.core.extras import require

FORMATS = ("text", "json", "csv")


@click.command("pld")
@click.argument("target")
@click.option("--eps", type=float, help="Epsilon for the algorithm; 1 by default.")
@click.option("--delta", type=float, help="Delta for the algorithm; 0 by default.")
@click.option("--variant", help="A variant that `dpcheck list` shows; the first by default.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the audit."
)
@click.option(
    "--runs", type=int, default=10_000, show_default=True, help="Runs for each pair and direction."
)
@click.option("--confidence", type=float, default=0.999, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--format", "style", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw the curves into this file: .html, .svg, .png or .pdf.",
)
def command(
    target: str,
    eps: float | None,
    delta: float | None,
    variant: str | None,
    settings: tuple[str, ...],
    runs: int,
    confidence: float,
    seed: int,
    style: str,
    plot: Path | None,
) -> None:
    """Show the privacy-loss distribution of TARGET on its worst pairs of datasets.

    TARGET is a registered name, path/file.py:object, or package.module:object. There is no verdict:
    `dpcheck audit` does that.
    """
    from dpcheck.execution.progress import Progress
    from dpcheck.report import pld as report
    from dpcheck.report import pld_page
    from dpcheck.session.pld import measure_request
    from dpcheck.session.run import AuditRequest

    if plot is not None:
        require(("matplotlib",), "report")
    request = AuditRequest(
        target,
        epsilon=eps,
        delta=delta,
        variant=variant,
        settings=settings,
        confidence=confidence,
        seed=seed,
    )
    with own_stdout():
        found = measure_request(request, runs, Progress())
    shown = {"text": report.as_text, "json": report.as_json, "csv": report.as_csv}[style]
    click.echo(shown(found))
    if plot is not None:
        pld_page.write(found, plot)
        click.echo(f"curves written to {plot}", err=True)
