"""Data files of benchmarks: one JSON object a line, appended as it is measured, so runs resume."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(os.environ.get("DPCHECK_RESULTS", Path(__file__).parent / "results"))


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def commit() -> str:
    """The code that is measured."""
    shown = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return shown.stdout.strip() or "unknown"


def stamp(*packages: str) -> dict[str, Any]:
    """Where and with what a record was made: machine, versions, date."""
    versions = {"python": platform.python_version()}
    for name in ("dpcheck", "numpy", "scipy", *packages):
        versions[name] = importlib.metadata.version(name)
    return {
        "commit": commit(),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "versions": versions,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def read(name: str) -> list[dict[str, Any]]:
    """The records of a file; none if there is no file."""
    path = RESULTS / name
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def append(name: str, record: dict[str, Any]) -> None:
    """One more record, on disk before this returns."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / name).open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, sort_keys=True) + "\n")
        file.flush()
        os.fsync(file.fileno())


def missing(name: str, wanted: list[tuple[Any, ...]], key: tuple[str, ...]) -> Iterator[tuple]:
    """What of `wanted` has no record yet, by the fields in `key`."""
    done = {tuple(record[field] for field in key) for record in read(name)}
    return (item for item in wanted if item not in done)


def forget(name: str, unwanted: Callable[[dict[str, Any]], bool]) -> None:
    """Drop the records that are to be measured again; the others stay."""
    kept = [record for record in read(name) if not unwanted(record)]
    if (RESULTS / name).exists():
        lines = [json.dumps(record, sort_keys=True) + "\n" for record in kept]
        (RESULTS / name).write_text("".join(lines), encoding="utf-8")
