"""A ledger as a record of the public registry of DP deployments.

What the ledger knows is filled in; what only the publisher knows is asked for by name. Nothing is made
up: a field without an answer is left out and listed.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Plain
from dpcheck.core.errors import InvalidParameter, reason
from dpcheck.ledger.report import NOT_ACCOUNTED, AccountReport, Report
from dpcheck.ledger.statements.fields import ASKED, FILLED, Field

_KNOWN = {each.place: each for each in ASKED}
_NEIGHBOURS = {
    Adjacency.REPLACE_ONE: "Datasets are adjacent if the rows of one {unit} are replaced by any other "
    "rows; the number of rows is public.",
    Adjacency.ADD_REMOVE: "Datasets are adjacent if the rows of one {unit} are added or removed.",
    Adjacency.ZERO_OUT: "Datasets are adjacent if the rows of one {unit} are replaced by empty ones.",
}


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What audits said about the code behind the releases: (what, verdict) pairs, in words."""

    lines: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        if not self.lines:
            return "No audit of the code came with this ledger."
        said = "; ".join(f"{what}: {verdict}" for what, verdict in self.lines)
        return f"Audited with dpcheck: {said}."


@dataclass(frozen=True, slots=True)
class Record:
    """A registry record and what is missing from it."""

    content: Mapping[str, Plain]
    missing: tuple[Field, ...] = ()
    advised: tuple[Field, ...] = field(default=())  # of the tier that was reached for

    @property
    def complete(self) -> bool:
        """Whether every field the registry requires has an answer."""
        return not self.missing

    def to_json(self) -> str:
        """The record as JSON."""
        return json.dumps(self.content, indent=2, ensure_ascii=False)

    def to_yaml(self) -> str:
        """The record as YAML, which JSON strings and lists are a part of."""
        return "\n".join(_yaml(self.content, 0)) + "\n"


def read_answers(path: str | Path) -> dict[str, object]:
    """The publisher's own file: TOML tables named as in the registry, flattened to places.

    Guarantee: a name the registry does not have, and a value it does not allow, are errors.
    """
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidParameter(f"{path} cannot be read: {reason(error)}.", name="answers") from None
    found: dict[str, object] = {}
    for table, values in content.items():
        if not isinstance(values, dict):
            raise InvalidParameter(
                f"{path}: {table!r} stands outside a table; write [basic] above it.", name=table
            )
        for name, value in values.items():
            place = f"{table}.{name}"
            if place in FILLED:
                raise InvalidParameter(
                    f"{path}: {place} is filled in from the ledger; take it out.", name=place
                )
            if place not in _KNOWN:
                raise InvalidParameter(
                    f"{path}: the registry has no field {place}; it has "
                    f"{', '.join(p for p in _KNOWN if p.startswith(table + '.')) or 'no such table'}.",
                    name=place,
                )
            if isinstance(value, date):
                value = value.isoformat()
            found[place] = _KNOWN[place].read(value)
    return found


def questions() -> str:
    """A file to fill in: every field that is asked for, the required ones first in each table."""
    lines = [
        "# Answers for `dpcheck ledger export --answers FILE`. Lines left out are left out there."
    ]
    for table in dict.fromkeys(each.place.partition(".")[0] for each in ASKED):
        lines += ["", f"[{table}]"]
        for each in ASKED:
            if not each.place.startswith(table + "."):
                continue
            name = each.place.partition(".")[2]
            words = (
                f"{each.meaning}; one of: {', '.join(each.allowed)}"
                if each.allowed
                else each.meaning
            )
            need = "required" if each.required else f"tier {each.tier}"
            empty = "[]" if each.many else '""'
            lines.append(f"# {name} = {empty}  # {words} ({need})")
    return "\n".join(lines) + "\n"


def record(
    report: Report,
    units: Mapping[str, tuple[str, int]],
    answers: Mapping[str, object] | None = None,
    verdicts: Verdicts | None = None,
    *,
    tier: int = 2,
) -> Record:
    """The registry record of a ledger.

    Guarantee: holds nothing but what the ledger proves, what `answers` say and what audits concluded.
    """
    given = dict(answers or {})
    places: dict[str, object] = {**_facts(report, units, verdicts or Verdicts()), **given}
    deployment: dict[str, dict[str, object]] = {}
    for place, value in places.items():
        table, _, name = place.partition(".")
        deployment.setdefault(table, {})[name] = value
    missing = tuple(each for each in ASKED if each.required and each.place not in given)
    advised = tuple(
        each
        for each in ASKED
        if not each.required and each.tier <= tier and each.place not in given
    )
    if not deployment.get("administrative", {}).get("registry_authors"):
        # The registry wants authors wherever that table stands; without them it is left out.
        deployment.pop("administrative", None)
    content: dict[str, Plain] = {
        "url_slug": _slug(str(given.get("basic.name", "unnamed"))),
        "status": "Draft",
        "tier": tier,
        "deployment": {table: dict(values) for table, values in deployment.items()},
    }
    return Record(content, missing, advised)


def _facts(
    report: Report, units: Mapping[str, tuple[str, int]], verdicts: Verdicts
) -> dict[str, object]:
    accounts = report.accounts
    worst = max(accounts, key=lambda each: each.budget.epsilon, default=None)
    found: dict[str, object] = {
        "accounting.composition": _composition(report),
        "implementation.mechanisms": _mechanisms(report),
        "administrative.notes": f"{verdicts} Not accounted: {'; '.join(NOT_ACCOUNTED)}.",
    }
    if worst is None:
        return found
    parameters: dict[str, object] = {"epsilon": worst.budget.epsilon}
    if worst.budget.delta:
        parameters["delta"] = worst.budget.delta
    found |= {
        "dp_variant.variant_name": "Approximate DP" if worst.budget.delta else "Pure DP",
        "privacy_loss.privacy_unit": ", ".join(dict.fromkeys(each.unit for each in accounts)),
        "privacy_loss.privacy_unit_details": _unit_details(report, units),
        "privacy_loss.privacy_parameters": parameters,
        "privacy_loss.privacy_parameters_details": " ".join(_spent(each) for each in accounts),
    }
    return found


def _spent(account: AccountReport) -> str:
    spent = account.spent.upper
    said = f"{spent:.6g}" if math.isfinite(spent) else "not bounded"
    return (
        f"{account.name}: at most epsilon {account.budget.epsilon:g} at delta "
        f"{account.budget.delta:g} per {account.unit}, enforced before each release"
        + (f"; so far epsilon {said} is proved to be spent." if account.odometer else ".")
    )


def _unit_details(report: Report, units: Mapping[str, tuple[str, int]]) -> str:
    said = []
    for name, (unit, rows) in units.items():
        most = unit if rows == 1 else f"{unit} (up to {rows} rows)"
        said.append(f"{name}: {_NEIGHBOURS[report.adjacency].format(unit=most)}")
    return " ".join(said)


def _composition(report: Report) -> str:
    return (
        "Sequential over the same people, parallel over disjoint rows, as the splits declared in the "
        f"ledger say; releases may be chosen after seeing earlier ones ({report.theorem})."
    )


def _mechanisms(report: Report) -> str:
    lines: Sequence[str] = [
        f"{line.times} x {line.event} from {line.where}" for line in report.lines
    ]
    said = "; ".join(lines) if lines else "nothing has been released yet"
    assumed = f" Assumes: {'; '.join(report.assumes)}." if report.assumes else ""
    return f"As described by the code that released them: {said}.{assumed} Accounted by dpcheck."


def _slug(name: str) -> str:
    """A name as it can stand in an address.

    >>> _slug("Mobility of Berlin, 2026")
    'mobility-of-berlin-2026'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"


def _yaml(value: object, depth: int) -> list[str]:
    pad = "  " * depth
    lines: list[str] = []
    assert isinstance(value, Mapping)
    for name, inner in value.items():
        if isinstance(inner, Mapping):
            lines += [f"{pad}{name}:", *_yaml(inner, depth + 1)]
        else:
            lines.append(f"{pad}{name}: {_scalar(inner)}")
    return lines


def _scalar(value: object) -> str:
    """A value that is no table; YAML reads 1e-05 as text, and 1.0e-05 as a number."""
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text
