"""Options that `audit`, `check` and `baseline` share: the project file, the reports, the output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from dpcheck.cli.flags import Flag
from dpcheck.report.formats import FORMATS, check_installed

if TYPE_CHECKING:
    from dpcheck.execution.parallel import Workers
    from dpcheck.gate.project import Project
    from dpcheck.report.files import ReportFile


F = TypeVar("F", bound=Callable[..., object])


def _read(context: click.Context, _parameter: click.Parameter, value: str | None) -> Project:
    """The project, whose options become defaults below flags and DPCHECK_* variables."""
    from dpcheck.gate.project import find, load

    project = find(Path.cwd()) if value is None else load(Path(value).absolute())
    context.default_map = {**(context.default_map or {}), **project.options}
    # Last, so that no file of a project stands in for an installed package.
    sys.path.extend(str(p) for p in project.pythonpath if str(p) not in sys.path)
    return project


# Eager: it has to be read before the options whose defaults it sets.
project_option = click.option(
    "--config",
    "project",
    callback=_read,
    is_eager=True,
    metavar="FILE",
    envvar="DPCHECK_CONFIG",
    help="The project file; by default ./dpcheck.toml, or [tool.dpcheck] in ./pyproject.toml.",
)


def _read_reports(
    _context: click.Context, _parameter: click.Parameter, value: Flag
) -> tuple[ReportFile, ...]:
    from dpcheck.report.files import check_writable, parse

    files = parse(value)
    check_writable(files)
    return files


report_option = click.option(
    "--report",
    "reports",
    multiple=True,
    callback=_read_reports,
    metavar="FORMAT=PATH[,...]",
    help="Also write reports, for example html=report.html,sarif=report.sarif.",
)
sign_option = click.option(
    "--sign",
    "key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="KEY",
    help="Sign every report with this SSH key, as FILE.sig; `dpcheck verify FILE` checks it.",
)


def _check_format(_context: click.Context, _parameter: click.Parameter, value: Flag) -> str:
    check_installed(value)
    return str(value)


format_option = click.option(
    "--format",
    "style",
    type=click.Choice(list(FORMATS)),
    callback=_check_format,
    default="text",
    show_default=True,
)


def audit_options(function: F) -> F:
    """The limits of an audit; each also from DPCHECK_NAME and from the project file."""
    for option in reversed(_AUDIT_OPTIONS):
        function = option(function)
    return function


_AUDIT_OPTIONS = (
    click.option(
        "--confidence",
        type=float,
        default=0.999,
        envvar="DPCHECK_CONFIDENCE",
        show_default=True,
        help="How sure to be of a violation: one minus the rate of false alarms.",
    ),
    click.option(
        "--max-runs",
        type=click.IntRange(1),
        envvar="DPCHECK_MAX_RUNS",
        help="At most this many runs on each of two neighbouring datasets.",
    ),
    click.option(
        "--seed", type=click.IntRange(0), default=0, envvar="DPCHECK_SEED", show_default=True
    ),
    click.option(
        "--jobs",
        type=click.IntRange(1),
        envvar="DPCHECK_JOBS",
        help="Number of processes; all cores by default.",
    ),
    click.option(
        "--timeout", type=float, envvar="DPCHECK_TIMEOUT", help="Seconds that one run may take."
    ),
    click.option(
        "--time-limit",
        type=float,
        envvar="DPCHECK_TIME_LIMIT",
        help="Seconds for an audit; then you get the best verdict so far. 120 in `check`.",
    ),
    click.option(
        "--tolerance",
        type=float,
        default=0.25,
        envvar="DPCHECK_TOLERANCE",
        show_default=True,
        help="The largest leak that may go unnoticed: 0.25 is a quarter above the claim.",
    ),
    click.option(
        "--no-data",
        is_flag=True,
        envvar="DPCHECK_NO_DATA",
        help="Show no data, not even the counterexample.",
    ),
    click.option(
        "--allow-undecided",
        is_flag=True,
        envvar="DPCHECK_ALLOW_UNDECIDED",
        help="Exit with 0 if the evidence is not enough to decide.",
    ),
    click.option(
        "--require-proof",
        is_flag=True,
        envvar="DPCHECK_REQUIRE_PROOF",
        help="Exit with 3 unless every part is proved.",
    ),
)


def workers(
    jobs: int | None, timeout: float | None, backend: str = "loky", scheduler: str | None = None
) -> Workers:
    """Who runs; the patience is a backstop for hangs of a whole batch that no signal can end."""
    from dpcheck.execution.parallel import Workers

    patience = None if timeout is None else 600 * timeout + 30
    return Workers(jobs or os.cpu_count() or 1, backend, scheduler, patience)


def backend_options(function: F) -> F:
    """Where the runs are made: here, or on a dask cluster."""
    scheduler = click.option("--scheduler", help="Address of a dask scheduler, tcp://host:port.")
    backend = click.option(
        "--backend", type=click.Choice(["loky", "dask"]), default="loky", show_default=True
    )
    return backend(scheduler(function))


def chosen_workers(options: dict[str, Flag], timeout: float | None) -> Workers:
    """Who runs, by the options of a command."""
    if options["backend"] == "dask" and options["scheduler"] is None:
        raise click.UsageError("--backend dask needs --scheduler tcp://host:port.")
    return workers(options["jobs"], timeout, options["backend"], options["scheduler"])


@contextmanager
def own_stdout() -> Iterator[None]:
    """Send whatever audited code prints, here or in workers, to standard error: stdout is ours."""
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # closed
        saved = -1
    try:
        if saved >= 0:
            os.dup2(2, 1)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if saved >= 0:
            os.dup2(saved, 1)
            os.close(saved)
