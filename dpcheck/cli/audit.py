"""`dpcheck audit TARGET`: run the real code on neighbouring data and compare it with its claim."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpcheck.cli.flags import Flag, Flags
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
from dpcheck.cli.terminal.completion import targets
from dpcheck.cli.terminal.exit_codes import ExitCode, exit_code
from dpcheck.core.audit_result import AuditReport
from dpcheck.core.errors import CannotReplay, reason
from dpcheck.core.verdict import Verdict
from dpcheck.core.witness import Witness, WitnessKind

if TYPE_CHECKING:
    from dpcheck.session.run import AuditRequest

# What witnesses that can be checked again in an instant prove.
PROVES = {
    WitnessKind.EXACT_WITNESS: "exact loss",
    WitnessKind.CANARY_TRANSCRIPT: "certified epsilon",
}


@click.command("audit")
@project_option
@click.argument("target", required=False, shell_complete=targets)
@click.option(
    "--eps",
    type=float,
    envvar="DPCHECK_EPS",
    help="Epsilon for the algorithm; 1 by default.",
)
@click.option(
    "--delta", type=float, envvar="DPCHECK_DELTA", help="Delta for the algorithm; 0 by default."
)
@click.option("--variant", help="A variant that `dpcheck list` shows; the first by default.")
@click.option(
    "--adjacency",
    type=click.Choice(["replace-one", "add-remove", "zero-out"]),
    help="What makes two datasets neighbours; by default what the claim says.",
)
@audit_options
@backend_options
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the audit; repeat as needed.",
)
@click.option(
    "--store",
    type=click.Path(file_okay=False),
    envvar="DPCHECK_STORE",
    help="A directory to keep finished runs in.",
)
@click.option("--resume", is_flag=True, help="Continue with the runs in --store.")
@click.option(
    "--replay",
    type=click.Path(dir_okay=False),
    help="Check a saved witness again: a JSON file, or a program from --witness.",
)
@click.option(
    "--witness",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Save a program that shows the violation.",
)
@click.option(
    "--exec",
    "command",
    metavar="COMMAND",
    help="Audit a program that reads and writes JSON lines (docs: any language).",
)
@click.option("--python", metavar="PATH", help="Run TARGET with this Python interpreter instead.")
@click.option(
    "--neighbours",
    type=click.Path(dir_okay=False),
    help="JSON file with a list of pairs of datasets, for --exec and --python.",
)
@click.option(
    "--claim", metavar="EPS[,DELTA]", help="What a program claims; the same as --eps and --delta."
)
@click.option(
    "--region",
    is_flag=True,
    help="Audit the printed claim for all its parameters, not one instance.",
)
@click.option("--dry-run", is_flag=True, help="Print the plan and stop.")
@format_option
@report_option
@sign_option
@click.option(
    "--floating-point", is_flag=True, help="Also audit the last bits of floating-point outputs."
)
def command(**options: Flag) -> None:
    """Audit TARGET: a registered name, path/file.py:object, or package.module:object.

    Exit codes: 0 holds or consistent, 1 violated, 2 failed, 3 undecided.

    Example: dpcheck audit mean.py:mean_age --report html=report.html
    """
    if options["replay"] is not None:
        sys.exit(_replay(Path(options["replay"])))
    if options["target"] is None and options["command"] is None:
        raise click.UsageError("audit needs a TARGET. 'dpcheck list' shows those you can name.")
    if options["region"]:
        sys.exit(_region(str(options["target"]), options["style"], options["seed"]))
    from dpcheck.execution.progress import Progress
    from dpcheck.report.files import write
    from dpcheck.report.formats import render
    from dpcheck.session import run as session

    request = _request(options)
    with own_stdout():
        plans, identity = session.plan(request)
    if options["dry_run"]:
        click.echo(session.describe(plans, request))
        return
    with own_stdout():
        report = session.run_plans(plans, request, identity, progress=Progress())
    if options["no_data"]:
        report = report.without_data()
    text = render(report, options["style"])
    click.echo(verdicts(text) if options["style"] == "text" else text)
    write(report, options["reports"], options["key"])
    if not options["no_data"]:
        _save_witnesses(report, options["store"])
        if options["witness"] is not None:
            _save_program(report, options["witness"])
    sys.exit(exit_code(report, options["allow_undecided"], options["require_proof"]))


def _region(target: str, style: str, seed: int) -> int:
    """The whole claim: 1 where it fails somewhere, 3 where some of it is open, else 0."""
    from dpcheck.session import region, registry

    regions = region.explore_all(registry.get(target), seed=seed)
    click.echo(region.as_json(regions) if style == "json" else region.as_text(regions))
    found = {piece.status for each in regions for piece in each.pieces}
    if region.Status.FAILS in found or any(each.witnesses for each in regions):
        return ExitCode.VIOLATED
    return ExitCode.UNDECIDED if region.Status.OPEN in found else ExitCode.OK


def _request(options: Flags) -> AuditRequest:
    from dpcheck.core.adjacency import as_adjacency
    from dpcheck.report.formats import need_pictures
    from dpcheck.session.external.plan import Outside
    from dpcheck.session.run import AuditRequest

    if options["resume"] and options["store"] is None:
        raise click.UsageError("--resume needs --store DIR, where the finished batches are.")
    adjacency = options["adjacency"]
    epsilon, delta = _claimed(options)
    return AuditRequest(
        target=options["target"] or "",
        epsilon=epsilon,
        delta=delta,
        outside=Outside(options["command"], options["python"], options["neighbours"]),
        variant=options["variant"],
        adjacency=None if adjacency is None else as_adjacency(adjacency),
        settings=tuple(options["settings"]),
        confidence=options["confidence"],
        max_runs=options["max_runs"],
        seed=options["seed"],
        tolerance=options["tolerance"],
        timeout=options["timeout"],
        time_limit=options["time_limit"],
        floating_point=options["floating_point"],
        store=options["store"],
        resume=options["resume"],
        pictures=need_pictures([options["style"], *(file.kind for file in options["reports"])]),
        workers=chosen_workers(options, options["timeout"]),
    )


def _claimed(options: Flags) -> tuple[float | None, float | None]:
    """The claim from --claim EPS[,DELTA], or from --eps and --delta."""
    if options["command"] is not None and options["python"] is not None:
        raise click.UsageError("Give --exec or --python, not both.")
    if options["claim"] is None:
        return options["eps"], options["delta"]
    if options["eps"] is not None or options["delta"] is not None:
        raise click.UsageError("Give --claim EPS[,DELTA], or --eps and --delta, not both.")
    words = str(options["claim"]).split(",")
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2):
        raise click.UsageError(f"--claim takes EPS or EPS,DELTA, not {options['claim']!r}.")
    return numbers[0], numbers[1] if len(numbers) == 2 else None


def _save_witnesses(report: AuditReport, store: str | None) -> None:
    for entry in report.entries:
        witness = entry.witness
        if witness is None or not witness.is_replayable or entry.verdict is not Verdict.VIOLATED:
            continue
        folder = Path(store) if store is not None else Path(".dpcheck")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"witness-{entry.name}-{entry.variant}-{entry.part}.json"
        path.write_text(json.dumps(witness.to_json(), indent=1), encoding="utf-8")
        click.echo(f"witness saved; re-check it with: dpcheck audit --replay {path}", err=True)


def _save_program(report: AuditReport, path: Path) -> None:
    """The first violation's program; nothing is written where there is none."""
    programs = [
        entry.witness.program
        for entry in report.entries
        if entry.witness is not None and entry.verdict is Verdict.VIOLATED
    ]
    found = next(filter(None, programs), "")
    if not found:
        click.echo("no violation, so no witness was saved.", err=True)
        return
    try:
        path.write_text(found, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {path}: {reason(error)}.") from None
    click.echo(f"witness saved; run it with: dpcheck audit --replay {path}", err=True)


# A program that ends with an error ends with 1, as one that shows a violation does; so it is run by this.
_APART = """
import os, runpy, sys, traceback
path = sys.argv.pop(1)
sys.path[0] = os.path.dirname(os.path.abspath(path))
try:
    runpy.run_path(path, run_name="__main__")
except Exception:
    traceback.print_exc()
    sys.exit(2)
"""


def _run_program(path: Path) -> ExitCode:
    """Run a saved program; its exit code says whether it shows the violation again."""
    import subprocess

    code = subprocess.run([sys.executable, "-c", _APART, str(path)], check=False).returncode
    if code not in (0, 1):
        raise CannotReplay(f"{path} ended with an error and no result.")
    return ExitCode.VIOLATED if code == 1 else ExitCode.OK


def _replay(path: Path) -> ExitCode:
    if path.suffix == ".py":
        if not path.is_file():
            raise CannotReplay(f"there is no file {path}.")
        return _run_program(path)
    from dpcheck.session import registry  # noqa: F401 - it knows how to replay

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CannotReplay(f"cannot read the witness {path}: {reason(error)}.") from None
    witness = Witness.from_json(content)
    loss = witness.replay()
    claimed = float(witness["claim"])
    above = loss > claimed
    at = f" at delta {witness['claim_delta']:g}" if "claim_delta" in witness else ""
    word = "violated" if above else "not violated by this witness"
    click.echo(
        f"{witness['audit']} ({witness['variant']}), part {witness['part']}: "
        f"{PROVES[witness.kind]} at least {loss:.9f}{at}, claim {claimed:g}: {word}"
    )
    return ExitCode.VIOLATED if above else ExitCode.OK
