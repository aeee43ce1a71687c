"""The pictures of reports in docs/images, made anew from the commands that the pages show.

    python benchmarks/pictures.py            # all of them; a minute, and Chromium (tests/browser)
    python benchmarks/pictures.py curve

docs/explanation/gallery.md says which command each picture is of.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))

from screenshot import main as screenshot

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
CURVE = """import dpcheck

@dpcheck.audited(
    claim=dpcheck.Gaussian(2.0), adjacency="zero-out", neighbours=[([0.0, 0.0], [0.0, 1.0])]
)
def noisy_sum(data, rng):
    return sum(data) + rng.normal(scale=1.5)
"""


def dpcheck(folder: Path, words: str, code: int) -> Path:
    """Run a command there that ends with this exit code; the report it may write."""
    environment = {**os.environ, "DPCHECK_WHO": "A. Reviewer", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "dpcheck", *words.split()]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return folder / "report.html"


def report(folder: Path) -> None:
    """A paper's claim that is false; also on a telephone, in the dark."""
    page = dpcheck(folder, "audit pst_h --variant printed --eps 1 --report html=report.html", 1)
    screenshot(str(page), str(IMAGES / "report.png"), "2080")
    screenshot(str(page), str(IMAGES / "report-narrow.png"), "900", "dark", "390")


def gate(folder: Path) -> None:
    """The sample repository, after somebody took a fifth off the noise."""
    sample = folder / "sample"
    shutil.copytree(ROOT / "examples" / "guarded_repository", sample)
    dpcheck(sample, "check", 0)
    code = (sample / "ages.py").read_text()
    (sample / "ages.py").write_text(
        code.replace("scale = sensitivity", "scale = 0.8 * sensitivity")
    )
    page = dpcheck(sample, "check --report html=report.html", 1)
    screenshot(str(page), str(IMAGES / "gate.png"), "1560")


def curve(folder: Path) -> None:
    """A claim of a whole curve."""
    (folder / "curve.py").write_text(CURVE)
    page = dpcheck(folder, "audit curve.py:noisy_sum --report html=report.html", 1)
    screenshot(str(page), str(IMAGES / "curve.png"), "1240", "dark")


def account(folder: Path) -> None:
    """A privacy-loss distribution with its bounds."""
    words = "account sampled-gaussian --noise 1.1 --rate 256/60000 --epochs 60 --delta 1e-5"
    dpcheck(folder, f"{words} --explain --plot curve.png", 0)
    shutil.copy(folder / "curve.png", IMAGES / "account.png")


PICTURES: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (report, gate, curve, account)
}


def main() -> None:
    """Make those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *PICTURES], default=[])
    for name in parser.parse_args().names or PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            PICTURES[name](Path(folder))
        print(name, flush=True)


if __name__ == "__main__":
    main()
