"""How fast the front door opens: imports, a bare install, and cold commands beside numpy and scipy.

    python benchmarks/front_door.py                  # this checkout; a bare install into a folder of its own
    python benchmarks/front_door.py --before COMMIT  # and the same of an earlier commit
    python benchmarks/front_door.py --before COMMIT --imports  # only what -X importtime says

Times are CPU seconds (user and system) of whole processes, in turn; the median of several rounds. Ratios
are to `python -c "import numpy, scipy.stats"` of the same round, and again the
median. Results go to benchmarks/results/front_door.json and docs/benchmarks/front-door.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
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


def imported(source: Path) -> tuple[int, float]:
    """What `-X importtime -c "import dpcheck"` says: how many modules, and milliseconds for dpcheck."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import dpcheck"],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    cumulative = {line.split("|")[2].strip(): line.split("|")[1] for line in lines}
    return len(lines) - 1, int(cumulative["dpcheck"]) / 1000


def cold(python: str, rounds: int = 9) -> dict[str, object]:
    """Imports and cold commands: medians of rounds in which everything runs in turn."""
    commands = {"base": BASE, **COLD}
    for arguments in commands.values():
        seconds(python, arguments)  # compiles what is imported; nobody starts with that twice
    times = [{name: seconds(python, commands[name]) for name in commands} for _ in range(rounds)]
    median = statistics.median
    return {
        "seconds": {name: round(median(t[name] for t in times), 3) for name in commands},
        "ratios": {name: round(median(t[name] / t["base"] for t in times), 2) for name in COLD},
    }


def imports(sources: dict[str, Path]) -> dict[str, dict[str, object]]:
    """Modules and milliseconds of `import dpcheck`: wall time in turn, so the smallest counts."""
    rounds = [{name: imported(source) for name, source in sources.items()} for _ in range(40)]
    return {
        name: {
            "modules": rounds[0][name][0],
            "milliseconds": round(min(each[name][1] for each in rounds), 1),
        }
        for name in sources
    }


def here(source: Path) -> dict[str, object]:
    """The same of a source tree with the packages at hand: nothing is installed."""
    os.environ["PYTHONPATH"] = str(source)
    return {"megabytes": None, "packages": None, **cold(sys.executable)}


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
        "do not edit. CPU seconds of whole processes, measured in turn after one start that compiles "
        "what is imported; the median of nine rounds, on a two-core x86_64 machine that was busy with "
        'other work. Read the ratios, which are to `python -c "import numpy, scipy.stats"` in the '
        "same round.",
        "",
        f"| | {' | '.join(columns)} |",
        f"|---|{'---|' * len(columns)}",
    ]
    rows = {
        "bare `pip install`, MB": lambda r: r["megabytes"] or "not measured in this run",
        "packages": lambda r: r["packages"] or "not measured in this run",
        '`python -X importtime -c "import dpcheck"`: modules loaded': lambda r: r["modules"],
        "the same: milliseconds, the smallest of 40": lambda r: r["milliseconds"],
        "`import numpy, scipy.stats`, s": lambda r: r["seconds"]["base"],
    }
    for name in COLD:
        rows[f"`{name}`, s (ratio)"] = lambda r, n=name: f"{r['seconds'][n]} ({r['ratios'][n]})"
    lines += [
        f"| {name} | {' | '.join(str(read(results[c])) for c in columns)} |"
        for name, read in rows.items()
    ]
    stamped = results["stamp"]
    versions = ", ".join(f"{name} {version}" for name, version in stamped["versions"].items())
    lines += ["", f"Date {stamped['date']}, commit {stamped['commit']}, {versions}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="an earlier commit to measure too")
    parser.add_argument(
        "--no-install", action="store_true", help="measure with the packages at hand, no sizes"
    )
    parser.add_argument("--imports", action="store_true", help="measure imports only")
    options = parser.parse_args()
    file = RESULTS / "front_door.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        sources = {"now": ROOT}
        if options.before:
            archive = subprocess.run(
                ["git", "-C", str(ROOT), "archive", options.before], capture_output=True, check=True
            )
            sources["before"] = folder / "source"
            sources["before"].mkdir()
            unpack = ["tar", "-x", "-C", str(sources["before"])]
            subprocess.run(unpack, input=archive.stdout, check=True)
        for name, source in sources.items():
            measured = results.setdefault(name, {})
            if not options.imports:
                measured |= here(source) if options.no_install else measure(source, folder / name)
        for name, found in imports(sources).items():
            results[name] |= found
    results["stamp"] = stamp()
    file.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))
    print(re.sub(r"`", "", PAGE.read_text()))


if __name__ == "__main__":
    main()
