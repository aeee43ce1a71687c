"""Accepted findings: each with a reason and an end, and none that is no longer found."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date, timedelta
from pathlib import Path

from dpcheck.core.data import Plain
from dpcheck.core.errors import InvalidBaseline
from dpcheck.gate.files import read_text
from dpcheck.report.files import write_whole

SCHEMA = "dpcheck.baseline/1"
DEFAULT = "dpcheck-baseline.json"
LONGEST = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class GateFinding:
    """A violated part ("NAME/PART") or an overspent budget ("budgets/DATASET"), and how bad it is.

    `decided` is false for a part that could not be judged: it is no finding, and not its absence.
    """

    name: str
    epsilon: float
    found: bool = True
    decided: bool = True
    verdict: str = ""  # as reports print it, to say what changed


@dataclass(frozen=True, slots=True)
class Accepted:
    """One entry of a baseline: a finding, up to which epsilon, why, and until when (inclusive)."""

    finding: str
    up_to: float
    reason: str
    expires: date

    def __post_init__(self) -> None:
        if not self.finding.strip():
            raise InvalidBaseline("an entry needs the name of its finding.")
        if len(self.reason.strip()) < 8:
            raise InvalidBaseline(
                f"{self.finding}: give a reason that others can understand, not {self.reason!r}."
            )
        if not self.up_to > 0:
            raise InvalidBaseline(f"{self.finding}: up_to must be above 0, got {self.up_to}.")

    def describe(self) -> str:
        """For a report."""
        return f"{self.reason} (until {self.expires}, up to epsilon {self.up_to:g})"


def load(path: Path, today: date) -> list[Accepted]:
    """The entries of a baseline file; none where there is no file.

    Whoever writes it by hand is bound by what `dpcheck baseline add` allows: a year at most.
    """
    if not path.exists():
        return []
    try:
        data = json.loads(read_text(path, InvalidBaseline))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidBaseline):
            raise
        raise InvalidBaseline(f"{path} is not JSON: {error}.") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InvalidBaseline(f'{path} is not a baseline: "schema" must be "{SCHEMA}".')
    listed = data.get("accepted")
    if set(data) != {"schema", "accepted"} or not isinstance(listed, list):
        raise InvalidBaseline(f'{path} must hold "schema" and a list "accepted", nothing else.')
    entries = [_entry(path, index, item) for index, item in enumerate(listed)]
    names = [entry.finding for entry in entries]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidBaseline(f"{path} accepts {twice[0]!r} twice.")
    for entry in entries:
        _check_end(f"{path}: {entry.finding}: ", entry.expires, today)
    return entries


def _entry(path: Path, index: int, data: object) -> Accepted:
    where = f"{path}, accepted[{index}]"
    names = {field.name for field in fields(Accepted)}
    if not isinstance(data, dict) or set(data) != names:
        raise InvalidBaseline(f"{where} must have exactly {', '.join(sorted(names))}.")
    finding, up_to, reason = data["finding"], data["up_to"], data["reason"]
    if not isinstance(finding, str) or not isinstance(reason, str):
        raise InvalidBaseline(f"{where}: finding and reason must be text.")
    if up_to == "inf":
        up_to = math.inf
    if isinstance(up_to, bool) or not isinstance(up_to, int | float):
        raise InvalidBaseline(f"{where}: up_to must be a number.")
    return Accepted(finding, float(up_to), reason, read_date(data["expires"]))


def read_date(value: object) -> date:
    """A date as YYYY-MM-DD."""
    try:
        # fromisoformat reads more than that, and not always as one would think.
        if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            raise ValueError
        return date.fromisoformat(value)
    except ValueError:
        raise InvalidBaseline(f"expires must be a date as YYYY-MM-DD, got {value!r}.") from None


def _check_end(where: str, expires: date, today: date) -> None:
    if expires > today + LONGEST:
        raise InvalidBaseline(
            f"{where}expires {expires} is more than a year away. Choose an earlier day."
        )


def read_end(text: str, today: date) -> date:
    """A date, or a number of days from now as `90d`."""
    days = re.fullmatch(r"(\d{1,4})d", text, re.ASCII)
    return read_date(text) if days is None else today + timedelta(days=int(days[1]))


def save(path: Path, entries: Sequence[Accepted]) -> None:
    """Write the entries, sorted, so that changes are easy to review."""
    listed: list[dict[str, Plain]] = [
        asdict(entry)
        | {
            "expires": entry.expires.isoformat(),
            "up_to": "inf" if math.isinf(entry.up_to) else entry.up_to,
        }
        for entry in sorted(entries, key=lambda e: e.finding)
    ]
    text = json.dumps({"schema": SCHEMA, "accepted": listed}, indent=2, allow_nan=False)
    write_whole(path, text + "\n")


def add(
    entries: Sequence[Accepted],
    found: GateFinding,
    reason: str,
    expires: date,
    today: date,
    up_to: float | None = None,
) -> list[Accepted]:
    """The entries with one more; it must end within a year."""
    if expires < today:
        raise InvalidBaseline(f"expires {expires} is in the past.")
    _check_end("", expires, today)
    limit = found.epsilon if up_to is None else up_to
    if limit < found.epsilon:
        raise InvalidBaseline(
            f"{found.name} was observed at epsilon {found.epsilon:g}; up_to {limit:g} would not "
            "accept it."
        )
    if up_to is None and math.isfinite(limit):
        limit = float(f"{1.1 * limit:.3g}")  # a lower bound moves a little with every change
    new = Accepted(found.name, max(limit, found.epsilon), reason, expires)
    return [*(e for e in entries if e.finding != found.name), new]


def judge(
    entries: Sequence[Accepted], findings: Sequence[GateFinding], today: date
) -> tuple[dict[str, Accepted], list[str]]:
    """Which findings are accepted, and which entries are expired, exceeded or stale.

    A part that could not be decided makes no entry stale.
    """
    seen = {finding.name: finding for finding in findings}
    accepted: dict[str, Accepted] = {}
    complaints: list[str] = []
    for entry in entries:
        finding = seen.get(entry.finding)
        if finding is None or (finding.decided and not finding.found):
            complaints.append(
                f"{entry.finding} is accepted but no longer found; remove it with 'dpcheck "
                "baseline prune'."
            )
        elif entry.expires < today:
            complaints.append(
                f"the acceptance of {entry.finding} expired on {entry.expires}. Fix the code, or "
                "accept it again with 'dpcheck baseline add'."
            )
        elif finding.epsilon > entry.up_to:
            complaints.append(
                f"{entry.finding} is accepted up to epsilon {entry.up_to:g} and now leaks at "
                f"least {finding.epsilon:g}."
            )
        elif finding.found:
            accepted[entry.finding] = entry
    return accepted, complaints
