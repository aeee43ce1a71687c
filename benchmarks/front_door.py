"""How fast the front door opens: imports, a bare install, and cold commands beside numpy and scipy.

    python benchmarks/front_door.py                  # this checkout; a bare install into a folder of its own
    python benchmarks/front_door.py --before COMMIT  # and the same of an earlier commit

Times are CPU seconds (user and system) of whole processes, the smallest of five, measured in turn. Ratios
are to `python -c "import numpy, scipy.stats"`. Results go to benchmarks/results/front_door.json and
docs/benchmarks/front-door.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from records import RESULTS, stamp

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks" / "front-door.md"
BASE = ("-c", "import numpy, scipy.stats")
COLD = {
    "import dpcheck": ("-c", "import dpcheck"),
    "dpcheck --help": ("-c", "from dpcheck.cli.main import run; run()", "--help"),
    "dpcheck list": ("-c", "from dpcheck.cli.main import run; run()", "list"),
    "dpcheck account": (
        *("-c", "from dpcheck.cli.main import run; run()", "account", "gaussian"),
        *("--noise", "4", "--delta", "1e-5"),
    ),
}


def seconds(python: str, arguments: tuple[str, ...]) -> float:
    """CPU seconds of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([python, *arguments], check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def modules(python: str) -> int:
    """How many modules `import dpcheck` loads, by -X importtime."""
    done = subprocess.run(
        [python, "-X", "importtime", "-c", "import dpcheck"],
        capture_output=True,
        text=True,
        check=True,
    )
    return sum(line.startswith("import time:") for line in done.stderr.splitlines()) - 1


def cold(python: str, repeats: int = 5) -> dict[str, object]:
    """Imports and cold commands, the smallest of some repeats in turn."""
    best = {name: float("inf") for name in ("base", *COLD)}
    for _ in range(repeats):
        for name, arguments in (("base", BASE), *COLD.items()):
            best[name] = min(best[name], seconds(python, arguments))
    return {
        "modules": modules(python),
        "seconds": {name: round(value, 3) for name, value in best.items()},
        "ratios": {name: round(best[name] / best["base"], 2) for name in COLD},
    }


def here(source: Path) -> dict[str, object]:
    """The same of a source tree with the packages at hand: nothing is installed."""
    os.environ["PYTHONPATH"] = str(source)
    return {"megabytes": None, "packages": None, **cold(sys.executable, 3)}


def measure(source: Path, folder: Path) -> dict[str, object]:
    """A bare install of a source tree, and everything measured in it."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    before = size(folder)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(source)]
    subprocess.run(pip, check=True, capture_output=True)
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {item["name"] for item in json.loads(listed.stdout)} - {"pip", "setuptools"}
    return {
        "megabytes": round((size(folder) - before) / 1e6),
        "packages": len(names),
        **cold(python),
    }


def size(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and not f.is_symlink())


def page(results: dict[str, dict]) -> str:
    """The table."""
    columns = [name for name in ("before", "now") if name in results]
    lines = [
        "# The front door: imports, install, cold commands",
        "",
        "Made by `python benchmarks/front_door.py --before 7003d74` (or with `--no-install`); "
        "do not edit. CPU seconds of whole "
        "processes, the smallest of five measured in turn, on a two-core x86_64 machine that was busy "
        'with other work: read the ratios, which are to `python -c "import numpy, scipy.stats"`.',
        "",
        f"| | {' | '.join(columns)} |",
        f"|---|{'---|' * len(columns)}",
    ]
    rows = {
        "bare `pip install`, MB": lambda r: r["megabytes"] or "not measured in this run",
        "packages": lambda r: r["packages"] or "not measured in this run",
        "modules loaded by `import dpcheck`": lambda r: r["modules"],
        "`import numpy, scipy.stats`, s": lambda r: r["seconds"]["base"],
    }
    for name in COLD:
        rows[f"`{name}`, s (ratio)"] = lambda r, n=name: f"{r['seconds'][n]} ({r['ratios'][n]})"
    lines += [
        f"| {name} | {' | '.join(str(read(results[c])) for c in columns)} |"
        for name, read in rows.items()
    ]
    stamped = results["stamp"]
    lines += ["", f"Date {stamped['date']}, commit {stamped['commit']}, {stamped['versions']}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="an earlier commit to measure too")
    parser.add_argument(
        "--no-install", action="store_true", help="measure with the packages at hand, no sizes"
    )
    options = parser.parse_args()
    file = RESULTS / "front_door.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        if options.before:
            archive = subprocess.run(
                ["git", "-C", str(ROOT), "archive", options.before], capture_output=True, check=True
            )
            source = folder / "source"
            source.mkdir()
            subprocess.run(["tar", "-x", "-C", str(source)], input=archive.stdout, check=True)
            results["before"] = (
                here(source) if options.no_install else measure(source, folder / "before")
            )
        results["now"] = here(ROOT) if options.no_install else measure(ROOT, folder / "now")
    results["stamp"] = stamp()
    file.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))
    print(re.sub(r"`", "", PAGE.read_text()))


if __name__ == "__main__":
    main()
