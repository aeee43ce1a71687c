"""`dpcheck audit TARGET`: run the real code on neighbouring data and compare it with its claim."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from dpcheck.cli.exit_codes import ExitCode
from dpcheck.core.audit_result import AuditReport
from dpcheck.core.errors import CannotReplay
from dpcheck.core.verdict import Verdict

_FROM_PROJECT = ("confidence", "max_runs", "seed", "jobs", "tolerance", "timeout", "store")


class _ProjectDefaults(click.Command):
    """Defaults from [tool.dpcheck] of ./pyproject.toml, below flags and DPCHECK_* variables."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:  # fmt: skip
        """Read the project's defaults first."""
        import tomllib

        try:
            table = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
        except FileNotFoundError:
            table = {}
        except (OSError, ValueError) as error:
            raise click.UsageError(f"pyproject.toml cannot be read: {error}") from None
        settings = table.get("tool", {}).get("dpcheck", {})
        known = {name: settings.get(name.replace("_", "-"), settings.get(name))
                 for name in _FROM_PROJECT}  # fmt: skip
        extra["default_map"] = {name: value for name, value in known.items() if value is not None}
        return super().make_context(info_name, args, parent, **extra)


@click.command("audit", cls=_ProjectDefaults)
@click.argument("target", required=False)
@click.option("--eps", type=float, envvar="DPCHECK_EPS", help="Epsilon the algorithm gets (1).")
@click.option("--delta", type=float, envvar="DPCHECK_DELTA", help="Delta it gets (0).")
@click.option("--variant", help="As `dpcheck list` names them; the default comes first.")
@click.option("--adjacency", type=click.Choice(["replace-one", "add-remove", "zero-out"]))
@click.option(
    "--confidence",
    type=float,
    default=0.999,
    envvar="DPCHECK_CONFIDENCE",
    show_default=True,
    help="One minus the false-alarm rate of the whole command.",
)
@click.option(
    "--max-runs",
    type=click.IntRange(1),
    envvar="DPCHECK_MAX_RUNS",
    help="Test runs a side, at most.",
)
@click.option("--seed", type=click.IntRange(0), default=0, envvar="DPCHECK_SEED", show_default=True)
@click.option("--jobs", type=int, envvar="DPCHECK_JOBS", help="Processes; all cores by default.")
@click.option("--backend", type=click.Choice(["loky", "dask"]), default="loky", show_default=True)
@click.option("--scheduler", help="Address of a dask scheduler, tcp://host:port.")
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
    help="Directory that keeps finished batches.",
)
@click.option("--resume", is_flag=True, help="Continue from the batches in --store.")
@click.option("--replay", type=click.Path(dir_okay=False), help="Re-check a saved witness.")
@click.option("--dry-run", is_flag=True, help="Say what would be run, and stop.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "json", "markdown", "github"]),
    default="text",
    show_default=True,
)
@click.option("--timeout", type=float, envvar="DPCHECK_TIMEOUT", help="Seconds one run may take.")
@click.option(
    "--tolerance",
    type=float,
    default=0.25,
    envvar="DPCHECK_TOLERANCE",
    show_default=True,
    help="How far above the claim the detectable epsilon may be.",
)
@click.option("--floating-point", is_flag=True, help="Also read the bits of floats, as a part.")
@click.option("--allow-undecided", is_flag=True, help="Exit 0 where the runs could not tell.")
@click.option("--require-proof", is_flag=True, help="Exit 3 unless every part holds.")
def command(**options: Any) -> None:
    """Audit TARGET: a registered name, path/file.py:object, or package.module:object.

    Exit codes: 0 holds or consistent, 1 violated, 2 cannot be carried out, 3 undecided.
    """  # fmt: skip
    if options["replay"] is not None:
        sys.exit(_replay(Path(options["replay"])))
    if options["target"] is None:
        raise click.UsageError("Name a TARGET; 'dpcheck list' shows what is registered.")
    from dpcheck.audits import session
    from dpcheck.execution.progress import Progress
    from dpcheck.report.formats import render

    request = _request(options)
    plans, identity = session.plan(request)
    if options["dry_run"]:
        click.echo(session.describe(plans, request))
        return
    report = session.run_plans(plans, request, identity, progress=Progress())
    click.echo(render(report, options["style"]))
    _save_witnesses(report, options["store"])
    sys.exit(exit_code(report, options["allow_undecided"], options["require_proof"]))


def _request(options: dict[str, Any]) -> Any:
    from dpcheck.audits.session import AuditRequest
    from dpcheck.core.adjacency import as_adjacency
    from dpcheck.execution.parallel import Workers

    if options["resume"] and options["store"] is None:
        raise click.UsageError("--resume needs --store DIR, where the finished batches are.")
    if options["backend"] == "dask" and options["scheduler"] is None:
        raise click.UsageError("--backend dask needs --scheduler tcp://host:port.")
    jobs = options["jobs"] or os.cpu_count() or 1
    adjacency = options["adjacency"]
    return AuditRequest(
        target=options["target"], epsilon=options["eps"], delta=options["delta"],
        variant=options["variant"],
        adjacency=None if adjacency is None else as_adjacency(adjacency),
        settings=tuple(options["settings"]), confidence=options["confidence"],
        max_runs=options["max_runs"], seed=options["seed"], tolerance=options["tolerance"],
        timeout=options["timeout"], floating_point=options["floating_point"],
        store=options["store"], resume=options["resume"],
workers=Workers(jobs, options["backend"], options["scheduler"], _patience(options["timeout"])),
    )  # fmt: skip


def _patience(timeout: float | None) -> float | None:
    """Seconds to wait for a whole batch: a backstop for hangs that no signal can end."""
    return None if timeout is None else 600 * timeout + 30


def exit_code(report: AuditReport, allow_undecided: bool, require_proof: bool) -> ExitCode:
    """The worst verdict decides."""
    verdicts = {entry.verdict for entry in report.entries}
    if Verdict.VIOLATED in verdicts:
        return ExitCode.VIOLATED
    if Verdict.UNDECIDED in verdicts and not allow_undecided:
        return ExitCode.UNDECIDED
    if require_proof and verdicts != {Verdict.HOLDS}:
        return ExitCode.UNDECIDED
    return ExitCode.OK


def _save_witnesses(report: AuditReport, store: str | None) -> None:
    for entry in report.entries:
        exact = entry.witness is not None and entry.witness.get("kind") == "exact witness"
        if not exact or entry.verdict is not Verdict.VIOLATED:
            continue
        folder = Path(store) if store is not None else Path(".dpcheck")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"witness-{entry.name}-{entry.variant}-{entry.part}.json"
        path.write_text(json.dumps(entry.witness, indent=1), encoding="utf-8")
        click.echo(f"witness saved; re-check it with: dpcheck audit --replay {path}", err=True)


def _replay(path: Path) -> ExitCode:
    from dpcheck.audits import registry

    try:
        witness = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CannotReplay(f"cannot read the witness {path}: {error}.") from None
    if not isinstance(witness, dict) or witness.get("kind") != "exact witness":
        raise CannotReplay(f"{path} is not an exact witness; run the audit again to make one.")
    loss = registry.replay(witness)
    claimed = float(witness["claim"])
    above = loss > claimed
    word = "violated" if above else "not violated by this witness"
    click.echo(
        f"{witness['audit']} ({witness['variant']}), part {witness['part']}: exact loss at least "
        f"{loss:.9f}, claim {claimed:g}: {word}"
    )
    return ExitCode.VIOLATED if above else ExitCode.OK
