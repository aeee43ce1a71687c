"""DPHTL's tables with any number of repetitions.

    python benchmarks/mechanisms/reproduce_dphtl.py DATA_DIR 20

The same as `dpcheck reproduce dphtl-20news` and `dphtl-amazon`, which take the paper's 20.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dpcheck.reproduce.dphtl.table import news, reviews


def main(folder: str, repetitions: str = "20") -> None:
    for table in (news, reviews):
        table(Path(folder), lambda line: print(line, flush=True), int(repetitions))


if __name__ == "__main__":
    main(*sys.argv[1:])
