"""A ledger's statement by the name of its format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dpcheck.core.errors import InvalidParameter, UnknownName
from dpcheck.ledger.report import Report, statement
from dpcheck.ledger.statements.nist import summary
from dpcheck.ledger.statements.registry import Record, Verdicts, read_answers, record

Units = dict[str, tuple[str, int]]
Said = Sequence[tuple[str, str]]  # (what was audited, its verdict)
Answers = Mapping[str, object] | str | Path | None
FOR_OTHERS = ("registry", "registry-yaml", "nist")


def written(name: str, report: Report, units: Units, answers: Answers, audits: Said) -> str:
    """The statement. A registry record that lacks what the registry requires is refused.

    Guarantee: holds nothing but what the ledger proves, what `answers` say and what audits concluded.
    """
    if not isinstance(name, str) or name not in ("text", *FOR_OTHERS):
        raise UnknownName(
            f"unknown format {name!r}; use one of text, {', '.join(FOR_OTHERS)}.", value=name
        )
    if name == "text":
        return statement(report, units)
    given, said = answered(answers), Verdicts(tuple(audits))
    if name == "nist":
        return summary(report, units, given, said)
    found = record(report, units, given, said)
    if not found.complete:
        raise InvalidParameter(
            f"the registry requires what only you know: {names_of_missing(found)}; give them as "
            "answers={'basic.name': ...}, or as a file that `dpcheck ledger export --questions` "
            "writes for you to fill in.",
            name="answers",
        )
    return found.to_json() if name == "registry" else found.to_yaml()


def answered(answers: Answers) -> dict[str, object]:
    """Answers given as a dictionary, or in a file."""
    if answers is None:
        return {}
    return read_answers(answers) if isinstance(answers, str | Path) else dict(answers)


def names_of_missing(found: Record) -> str:
    """The required fields nobody answered."""
    return ", ".join(each.place for each in found.missing)
