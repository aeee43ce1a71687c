"""The formats of a report, for `--format NAME` and `--report NAME=PATH` alike.

A format is a module of this folder with `render(report) -> str`. To add one, name it here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module

from dpcheck.core.audit_result import AuditReport
from dpcheck.core.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Format:
    """Where a format is rendered, and whether audits have to keep what its pictures need."""

    module: str
    pictures: bool = False


FORMATS = {
    "text": Format("dpcheck.report.terminal"),
    "json": Format("dpcheck.report.json_report"),
    "markdown": Format("dpcheck.report.markdown"),
    "github": Format("dpcheck.report.github"),
    "sarif": Format("dpcheck.report.sarif"),
    "junit": Format("dpcheck.report.junit"),
    "html": Format("dpcheck.report.html", pictures=True),
}


def named(name: str) -> Format:
    """The format of this name.

    >>> named("sarif").module
    'dpcheck.report.sarif'
    """
    if name not in FORMATS:
        close = get_close_matches(name, FORMATS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownName(f"unknown format {name!r}; use one of {', '.join(FORMATS)}.{hint}")
    return FORMATS[name]


def need_pictures(names: Iterable[str]) -> bool:
    """Whether any of these formats draws what the audits saw."""
    return any(named(name).pictures for name in names)


def render(report: AuditReport, name: str) -> str:
    """The report in a format."""
    text = import_module(named(name).module).render(report)
    assert isinstance(text, str)
    return text
