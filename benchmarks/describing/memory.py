"""How much memory and time `dpcheck init` takes to describe a large generated table.

    python benchmarks/describing/memory.py --gigabytes 5

Only whoever reads all of it sees the largest income. Time is that of the processor, import included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import sys
from dpcheck.gate.describing import described_by
print(described_by(sys.argv[1]).records.column("income"))
"""
LARGEST = 999_995.0


def write(path: Path, gigabytes: float) -> int:
    """A table of about that size; the number of its rows. Only the last row has the largest income."""
    block = "".join(
        f"{n},{n % 90},{n * 0.25},city {n % 50},19{n % 90 + 10}-0{n % 9 + 1}-11,text of row {n}\n"
        for n in range(200_000)
    )
    times = max(1, round(gigabytes * 1e9 / len(block)))
    with path.open("w", encoding="utf-8") as stream:
        stream.write("id,age,income,city,born,remark\n")
        for _ in range(times):
            stream.write(block)
        stream.write(f"1,1,{LARGEST},city 1,1950-01-11,the last\n")
    return times * 200_000 + 1


def main() -> None:
    """Generate, describe, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=0.5)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        rows = write(path, wanted.gigabytes)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(path)], check=True, capture_output=True, text=True
        )
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
        print(
            f"{path.stat().st_size / 1e9:.2f} GB, {rows:,} rows: {seconds:.0f} CPU s, {memory:.0f} MB"
        )
        print(f"the last income is {LARGEST:,.2f}: {done.stdout.strip()}")


if __name__ == "__main__":
    main()
