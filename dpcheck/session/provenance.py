"""What a report says about itself: how to run it again, and with what it was run."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from dpcheck import __version__
from dpcheck.core.audit_result import AuditEntry
from dpcheck.core.verdict import Verdict
from dpcheck.session.catalogue import resolved
from dpcheck.session.claims import with_claimed_curve
from dpcheck.session.script import origin_of_target, render

if TYPE_CHECKING:
    from dpcheck.session.run import AuditRequest


def versions() -> dict[str, str]:
    """Whatever may change a figure."""
    found = {"dpcheck": __version__, "python": platform.python_version()}
    return found | {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}


def rerun_command(request: AuditRequest) -> str:
    """The command line that repeats a request; jobs and stores do not change its result.

    >>> from dpcheck.session.run import AuditRequest
    >>> rerun_command(AuditRequest("pptl_fs", epsilon=1.0, settings=("rows=100",), seed=3))
    'dpcheck audit pptl_fs --eps 1 --set rows=100 --seed 3'
    """
    words = ["dpcheck", "audit", *([request.target] if request.target else [])]
    values: Mapping[str, object] = {
        "--exec": request.outside.command,
        "--python": request.outside.python,
        "--neighbours": request.outside.neighbours,
        "--eps": request.epsilon,
        "--delta": request.delta,
        "--variant": request.variant,
        "--adjacency": request.adjacency,
    }
    for flag, value in values.items():
        if value is not None:
            words += [
                flag,
                f"{value!r}".removesuffix(".0") if isinstance(value, float) else str(value),
            ]
    for setting in request.settings:
        words += ["--set", setting]
    if request.confidence != 0.999:
        words += ["--confidence", repr(request.confidence)]
    if request.max_runs is not None:
        words += ["--max-runs", str(request.max_runs)]
    if request.tolerance != 0.25:
        words += ["--tolerance", repr(request.tolerance)]
    if request.timeout is not None:
        words += ["--timeout", repr(request.timeout)]
    if request.time_limit is not None:
        words += ["--time-limit", repr(request.time_limit)]
    if request.floating_point:
        words.append("--floating-point")
    words += ["--seed", str(request.seed)]
    return shlex.join(words)


# Change no figure, or cannot be said in one call.
_NOT_THE_RESULT = ("adjacency", "begun", "outside", "pictures", "resume", "store", "workers")


def rerun_python(request: AuditRequest, part: str) -> str:
    """Python that repeats an audit and prints its witness: the same counts, from the same seed."""
    if resolved(request).outside:
        command = shlex.split(rerun_command(request))
        return f"import subprocess\nimport sys\n\nsys.exit(subprocess.call({command!r}))\n"
    given = [
        repr(request.target),
        *(
            f"{each.name}={getattr(request, each.name)!r}"
            for each in fields(request)
            if each.name not in ("target", *_NOT_THE_RESULT)
            and getattr(request, each.name) != each.default
        ),
    ]
    return (
        "import dpcheck\n\n"
        f"report = dpcheck.audit({', '.join(given)})\n"
        f"entry = next(e for e in report.entries if e.part == {part!r})\n"
        "for name, figure in dict(entry.witness or {}).items():\n"
        '    if name != "python":\n        print(f"{name}: {figure}")\n'
        'raise SystemExit(entry.verdict == "violated")  # exit code 1: it is shown again\n'
    )


def finished(entry: AuditEntry, request: AuditRequest) -> AuditEntry:
    """The entry as reports show it: with the claimed curve, and a way to run its witness."""
    entry = with_claimed_curve(entry)
    if entry.witness is None or entry.verdict is not Verdict.VIOLATED or entry.witness.program:
        return entry
    program = ""
    in_here = not (request.is_registered or resolved(request).outside)
    if "rule" in entry.witness and in_here and not entry.floating_point:
        program = render(entry, origin_of_target(request.target), request.seed)
    program = program or rerun_python(request, entry.part)
    return replace(entry, witness=entry.witness.without("source").extended(python=program))
