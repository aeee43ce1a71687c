"""How much memory and time `dpcheck init` takes to describe a large generated table.

    python benchmarks/describing/memory.py --gigabytes 5

The rows are sorted, so that only whoever reads all of them sees the largest income.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = """
import sys
from dpcheck.gate.describing import described_by
print(described_by(sys.argv[1]).records.column("income"))
"""


def write(path: Path, gigabytes: float) -> int:
    """A table of about that size; the number of its rows."""
    rows, size = 0, 0
    with path.open("w", encoding="utf-8") as stream:
        size += stream.write("id,age,income,city,born,remark\n")
        while size < gigabytes * 1e9:
            block = "".join(
                f"{n},{n % 90},{n * 0.25},city {n % 50},19{n % 90 + 10}-0{n % 9 + 1}-11,text of row {n}\n"
                for n in range(rows, rows + 10_000)
            )
            size += stream.write(block)
            rows += 10_000
    return rows


def main() -> None:
    """Generate, describe, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=0.5)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        rows = write(path, wanted.gigabytes)
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(path)], check=True, capture_output=True, text=True
        )
        seconds = time.perf_counter() - start
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"{path.stat().st_size / 1e9:.2f} GB, {rows:,} rows: {seconds:.0f} s, {memory:.0f} MB"
        )
        print(f"the last income is {(rows - 1) * 0.25:,.2f}: {done.stdout.strip()}")


if __name__ == "__main__":
    main()
