"""Results of long benchmarks, kept row by row with where and when they were made."""

from __future__ import annotations

import json
import platform
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from records import commit

RESULTS = Path(__file__).parent / "results"


def provenance() -> dict[str, str]:
    """The day, the machine and the code."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    for line in cpus.read_text().splitlines() if cpus.exists() else ():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    machine = f"{model}, one process, Python {platform.python_version()}, numpy {np.__version__}"
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": machine,
        "commit": commit(),
    }


def load(path: Path) -> list[dict]:
    """The rows so far."""
    return json.loads(path.read_text()) if path.exists() else []


def save(path: Path, rows: list[dict]) -> None:
    """One row a line, so that differences read well; replaced in one step."""
    path.parent.mkdir(exist_ok=True)
    whole = path.with_suffix(".part")
    whole.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    whole.replace(path)
