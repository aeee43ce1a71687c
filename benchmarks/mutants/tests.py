"""Which tests reach which lines, and how long they take: measured once for a state of the sources."""

from __future__ import annotations

import json
import time
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).parents[2]
TESTS = (
    "tests/program/test_primitives.py",
    "tests/program/test_prices.py",
    "tests/program/test_compositions.py",
    "tests/program/test_tightness.py",
    "tests/program/test_reading.py",
    "tests/prove/test_corpus.py",
    "tests/prove/test_hostile.py",
    "tests/prove/test_choices.py",
)
QUIET = ("-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")


class _Watch:
    """Tells coverage which test runs."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self.measured, self.seconds = measured, dict[str, float]()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        del nextitem
        self.measured.switch_context(item.nodeid)
        began = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - began
            self.measured.switch_context("")


def measure(path: Path) -> None:
    """Run the tests once, and keep for each line the tests that reach it."""
    folders = [str(ROOT / "dpcheck/program" / name) for name in ("rules", "facts")]
    measured = coverage.Coverage(data_file=None, source=folders)
    watch = _Watch(measured)
    measured.start()
    chosen = [name for name in TESTS if (ROOT / name).exists()]
    pytest.main([*QUIET, "-k", "not test_truth and not audit", *chosen], plugins=[watch])
    measured.stop()
    data = measured.get_data()
    lines = {
        str(Path(file).relative_to(ROOT)): {
            str(line): sorted(name for name in names if name)
            for line, names in data.contexts_by_lineno(file).items()
        }
        for file in data.measured_files()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"seconds": watch.seconds, "lines": lines}))


def covering(known: dict, file: str, first: int, last: int) -> list[str]:
    """The tests that reach some of these lines, the quickest first."""
    lines = known["lines"].get(file, {})
    found = {name for line in range(first, last + 1) for name in lines.get(str(line), [])}
    return sorted(found, key=lambda name: known["seconds"].get(name, 0.0))
