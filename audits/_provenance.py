"""What a report says about itself: how to run it again, and with what it was run."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING

from dpcheck import __version__

if TYPE_CHECKING:
    from dpcheck.audits.session import AuditRequest


def versions() -> dict[str, str]:
    """Whatever may change a figure."""
    found = {"dpcheck": __version__, "python": platform.python_version()}
    return found | {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}


def rerun_command(request: AuditRequest) -> str:
    """The command line that repeats a request; jobs and stores do not change its result.

    >>> from dpcheck.audits.session import AuditRequest
    >>> rerun_command(AuditRequest("pptl_fs", epsilon=1.0, settings=("rows=100",), seed=3))
    'dpcheck audit pptl_fs --eps 1 --set rows=100 --seed 3'
    """
    words = ["dpcheck", "audit", request.target]
    values: Mapping[str, object] = {
        "--eps": request.epsilon, "--delta": request.delta, "--variant": request.variant,
        "--adjacency": request.adjacency,
    }  # fmt: skip
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
    if request.floating_point:
        words.append("--floating-point")
    words += ["--seed", str(request.seed)]
    return shlex.join(words)
