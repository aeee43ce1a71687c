"""Makes every table and figure in docs/benchmarks/ from the data files in benchmarks/results/.

    python benchmarks/make_tables.py            # writes
    python benchmarks/make_tables.py --check    # says what is out of date, exit 1 if anything is

A page whose data file is not there yet is left alone. Nothing is measured here.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from tables import audits, corpus, everyday, fuzz, printed, scale, suite

PAGES = Path(__file__).parents[1] / "docs" / "benchmarks"


def render(made: Path | None = None) -> dict[str, str]:
    """Every page that has data, by file name; see `suite.render` for `made`."""
    pages = corpus.render() | suite.render(made) | printed.render() | scale.render()
    return pages | everyday.render() | fuzz.render() | audits.render()


def stale() -> list[str]:
    """Pages whose text is not what the records they were made from say."""
    return [
        name
        for name, text in render(PAGES).items()
        if not (PAGES / name).exists() or (PAGES / name).read_text(encoding="utf-8") != text
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--to", type=Path, default=PAGES, help="another folder than the docs")
    options = parser.parse_args()
    if options.check:
        old = stale()
        print("\n".join(old) or "all tables match their data files")
        raise SystemExit(bool(old))
    options.to.mkdir(parents=True, exist_ok=True)
    for name, text in render().items():
        (options.to / name).write_text(text, encoding="utf-8")
        print(options.to / name)
    scale.draw(options.to)


if __name__ == "__main__":
    main()
