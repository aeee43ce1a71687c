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
from dpcheck.core.extras import require


@dataclass(frozen=True, slots=True)
class Format:
    """Where a format is rendered, what that needs, and whether audits keep what its pictures show."""

    module: str
    pictures: bool = False
    packages: tuple[str, ...] = ()  # which the extra `report` brings


FORMATS = {
    "text": Format("dpcheck.report.terminal"),
    "json": Format("dpcheck.report.json_report"),
    "markdown": Format("dpcheck.report.markdown"),
    "github": Format("dpcheck.report.github"),
    "sarif": Format("dpcheck.report.sarif"),
    "junit": Format("dpcheck.report.junit"),
    "html": Format("dpcheck.report.html", pictures=True, packages=("jinja2", "matplotlib")),
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


def check_installed(name: str) -> None:
    """Refuse a format whose packages are missing, before anything is audited for it."""
    require(named(name).packages, "report")


def need_pictures(names: Iterable[str]) -> bool:
    """Whether any of these formats draws what the audits saw."""
    return any(named(name).pictures for name in names)


def render(report: AuditReport, name: str) -> str:
    """The report in a format."""
    text = import_module(named(name).module).render(report)
    assert isinstance(text, str)
    return text
