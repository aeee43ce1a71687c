"""Reports as files: `--report sarif=a.sarif,junit=b.xml,html=c.html`, in any of the formats."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpcheck.core.audit_result import AuditReport
from dpcheck.core.errors import UsageError, reason
from dpcheck.report.formats import check_installed, named, render
from dpcheck.report.sealing import sign


@dataclass(frozen=True, slots=True)
class ReportFile:
    """One report to write."""

    kind: str
    path: Path


def parse(texts: Sequence[str]) -> tuple[ReportFile, ...]:
    """What `--report` asked for; a path may hold commas, as long as no `word=` follows them.

    >>> [(r.kind, str(r.path)) for r in parse(["sarif=a,b.sarif,junit=c.xml"])]
    [('sarif', 'a,b.sarif'), ('junit', 'c.xml')]
    """
    found = []
    for text in texts:
        for item in re.split(r",(?=\w+=)", text):
            kind, sign, path = item.partition("=")
            if not sign or not path:
                raise UsageError(
                    f"--report takes FORMAT=PATH, for example html=report.html, not {item!r}."
                )
            named(kind)
            found.append(ReportFile(kind, Path(path)))
    return tuple(found)


def check_writable(files: Sequence[ReportFile]) -> None:
    """Make the folders now: an audit of an hour must not fail at its last line."""
    for file in files:
        check_installed(file.kind)
        try:
            file.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write the report {file.path}: {reason(error)}.") from None
        if file.path.is_dir() or not os.access(file.path.parent, os.W_OK):
            raise UsageError(f"cannot write the report {file.path}: choose another path.")


def write(report: AuditReport, files: Sequence[ReportFile], key: Path | None = None) -> None:
    """Write every report, and its signature if there is a key; a file is whole or not there."""
    for file in files:
        write_whole(file.path, render(report, file.kind))
        if key is not None:
            sign(file.path, key)


def write_whole(path: Path, text: str) -> None:
    """Replace `path` by `text` in one step."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        # mkstemp makes private files; a report is as public as any file the user writes.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {reason(error)}.") from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
