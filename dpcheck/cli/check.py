"""`dpcheck check`: the gate of a project."""

from __future__ import annotations

import os
import re
import sys
from contextlib import chdir
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from dpcheck.cli.flags import Flag
from dpcheck.cli.project import (
    audit_options,
    backend_options,
    chosen_workers,
    format_option,
    own_stdout,
    project_option,
    report_option,
    sign_option,
)
from dpcheck.cli.terminal.colour import verdicts
from dpcheck.cli.terminal.exit_codes import exit_code
from dpcheck.core.audit_result import AuditReport
from dpcheck.core.errors import reason

if TYPE_CHECKING:
    from dpcheck.gate.project import Project


_PATH = click.Path(path_type=Path)
PATIENCE = 120.0  # seconds for one call or import, unless --timeout says otherwise: a gate must end


def _shard(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """I of N, both counted from 1."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", value, re.ASCII)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise click.BadParameter("give I/N with I from 1 to N, as in --shard 2/5.")
    return int(found[1]), int(found[2])


@click.command("check")
@project_option
@audit_options
@click.option(
    "--store",
    type=_PATH,
    envvar="DPCHECK_STORE",
    help="Folder of the cache; by default .dpcheck next to the project file.",
)
@click.option(
    "--baseline",
    type=_PATH,
    envvar="DPCHECK_BASELINE",
    help="File of accepted findings; dpcheck-baseline.json by default.",
)
@click.option("--no-cache", is_flag=True, help="Audit everything, even what has not changed.")
@click.option(
    "--nightly",
    "--continue",
    "nightly",
    is_flag=True,
    help="Add fresh runs to those of earlier nights, within the same error rate.",
)
@click.option(
    "--shard", callback=_shard, metavar="I/N", help="Only the I-th of N parts of the audits."
)
@click.option(
    "--merge",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    help="Take over the results of a shard from its --store folder. Trust it as you trust the code.",
)
@backend_options
@format_option
@report_option
@sign_option
@click.pass_context
def command(context: click.Context, /, **options: Flag) -> None:
    """Run every audit and budget in the project file, with one error rate for all.

    Every call and every import gets two minutes; --timeout changes that.

    Exit codes: 0 holds or consistent, 1 violated or overspent, 2 failed or the
    baseline is out of date, 3 undecided.
    """
    from dpcheck.execution.progress import Progress
    from dpcheck.gate.check import TIME_LIMIT, CheckRequest, check
    from dpcheck.report.files import write
    from dpcheck.report.formats import need_pictures, render

    project = options["project"]
    timeout = PATIENCE if options["timeout"] is None else options["timeout"]
    request = CheckRequest(
        confidence=options["confidence"],
        max_runs=options["max_runs"],
        seed=options["seed"],
        tolerance=options["tolerance"],
        timeout=timeout,
        time_limit=TIME_LIMIT if options["time_limit"] is None else options["time_limit"],
        folder=folder_of(project, options["store"]),
        baseline=baseline_of(project, options["baseline"]),
        cache=not options["no_cache"],
        nightly=options["nightly"],
        pictures=need_pictures([options["style"], *(file.kind for file in options["reports"])]),
        workers=chosen_workers(options, timeout),
        shard=options["shard"],
        merge=tuple(folder.absolute() for folder in options["merge"]),
        overrides=frozenset(
            n for n in ("max_runs", "timeout", "time_limit") if _was_given(context, n)
        ),
    )
    reports = [type(file)(file.kind, file.path.absolute()) for file in options["reports"]]
    with own_stdout(), chdir(project.root):
        report = check(project, request, datetime.now(UTC).date(), Progress())
    if options["no_data"]:
        report = report.without_data()
    text = render(report, options["style"])
    click.echo(verdicts(text) if options["style"] == "text" else text)
    write(report, reports, None if options["key"] is None else options["key"].absolute())
    _summarise(report)
    sys.exit(exit_code(report, options["allow_undecided"], options["require_proof"]))


def folder_of(project: Project, given: Path | None) -> Path:
    """Where results are kept."""
    return given.absolute() if given is not None else project.root.absolute() / ".dpcheck"


def baseline_of(project: Project, given: Path | None) -> Path:
    """Where accepted findings are kept."""
    from dpcheck.gate.baseline import DEFAULT

    return given.absolute() if given is not None else project.root.absolute() / DEFAULT


def _was_given(context: click.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def _summarise(report: AuditReport) -> None:
    """Append to the summary of a GitHub job, where there is one."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    from dpcheck.report.markdown import render

    try:
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(f"## dpcheck\n\n{render(report)}\n")
    except OSError as error:
        raise click.ClickException(f"cannot write GITHUB_STEP_SUMMARY: {reason(error)}.") from None
