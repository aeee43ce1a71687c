"""What all tables share: markdown, and the line that says where the numbers come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from statsmodels.stats.proportion import proportion_confint

Record = dict[str, Any]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def number(value: float | str | None, digits: int = 3) -> str:
    """For a cell; nothing known is a dash."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return "∞" if value == "inf" else value
    return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}"


def rate(hits: int, total: int) -> str:
    """A share with its exact 95% interval."""
    if not total:
        return "–"
    low, high = proportion_confint(hits, total, 0.05, method="beta")
    return f"{hits}/{total} = {hits / total:.3f} [{low:.3f}, {high:.3f}]"


def made_with(records: Sequence[Record], command: str) -> str:
    """Machine, versions, seeds, dates and the command, from the records themselves."""
    machines = sorted({record["machine"] for record in records})
    versions: dict[str, set[str]] = {}
    for record in records:
        for name, version in {**record.get("versions", {}), **_peers(record)}.items():
            versions.setdefault(name, set()).add(version)
    seeds = sorted({record["seed"] for record in records if "seed" in record})
    dates = sorted({record["date"] for record in records})
    parts = ["; ".join(machines)]
    if versions:
        parts.append(", ".join(f"{n} {'/'.join(sorted(v))}" for n, v in sorted(versions.items())))
    if seeds:
        parts.append(f"seeds {seeds[0]} to {seeds[-1]}")
    parts.append(dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}")
    return f"Made by `{command}` and `make bench`. " + ". ".join(parts) + "."


def _peers(record: Record) -> dict[str, str]:
    """Versions of peers, by package rather than by bound."""
    return {name.split()[0].removesuffix(","): v for name, v in record.get("peers", {}).items()}
