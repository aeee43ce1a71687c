"""What a report says of its making, found out when it is made."""

from __future__ import annotations

import getpass
import os
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from dpcheck.auditing.plan import PartPlan
from dpcheck.core.data import fingerprint
from dpcheck.core.errors import DpcheckError
from dpcheck.core.made import Made
from dpcheck.execution import code
from dpcheck.execution.references import parse
from dpcheck.session.catalogue import resolved
from dpcheck.session.targets import source_of

if TYPE_CHECKING:
    from dpcheck.session.run import AuditRequest

WHO = "DPCHECK_WHO"  # a name to print instead of git's; empty for none
_PACKAGE = Path(__file__).parents[1]


def made(folder: Path, *, code_digest: str = "", data_digest: str = "") -> Made:
    """Now, by whoever git or the system says, at the commit of `folder`."""
    # The commit of a project says nothing of packages that are installed inside it.
    installed = {"site-packages", "dist-packages"} & set(folder.parts)
    commit = "" if installed else _git(folder, "rev-parse", "HEAD")
    return Made(
        when=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        who=_who(folder),
        commit=commit,
        changed=bool(commit and _git(folder, "status", "--porcelain", "--untracked-files=no")),
        code=code_digest,
        data=data_digest,
    )


def made_for(request: AuditRequest, plans: Sequence[PartPlan]) -> Made:
    """Of one audit: its code is the target's, or that of the registered algorithm in dpcheck."""
    request = resolved(request)  # a mechanism of the catalogue is in another environment
    folder, files = Path.cwd(), {}
    if request.is_registered:
        folder, files = _PACKAGE, {"dpcheck": code.environment()}
    elif not request.outside:
        source = source_of(parse(request.target))
        if source is not None:
            folder, files = source.parent, code.sources(source, source.parent)
    return made(
        folder, code_digest=code.key(files) if files else "", data_digest=data_digest(plans)
    )


def data_digest(plans: Sequence[PartPlan]) -> str:
    """A digest of the described records, or of the given pairs; empty where one has none."""
    found: list[object] = []
    for plan in plans:
        search = plan.pair_search
        if search is not None:
            found.append(repr((search.description, search.adjacency, search.form)))
            continue
        try:
            prints = [fingerprint((pair.first, pair.second)) for pair in plan.pairs]
        except DpcheckError:
            return ""
        if None in prints:
            return ""
        found.append(prints)
    return code.key({"data": found}) if any(found) else ""


def _who(folder: Path) -> str:
    if WHO in os.environ:
        return os.environ[WHO]
    try:
        return (
            os.environ.get("GITHUB_ACTOR")
            or _git(folder, "config", "user.name")
            or getpass.getuser()
        )
    except (KeyError, OSError, ImportError):  # a container without a name for its user
        return ""


def _git(folder: Path, *words: str) -> str:
    """What git says; nothing where there is no git, no repository, or no answer in time."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
