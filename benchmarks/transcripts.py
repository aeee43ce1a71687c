"""Runs the benchmarks and findings whose output is their table, and keeps what they printed.

    python benchmarks/transcripts.py                    # those without a transcript yet
    python benchmarks/transcripts.py --only findings/jax_privacy_gdp --fresh

A finding ends in exit code 1 when the peer errs, so the code is kept too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from records import RESULTS, stamp

HERE = Path(__file__).parent
COMMANDS = {
    # accounting_pld also runs opacus, riskcal and prv-accountant where they are installed.
    "accounting_rdp": (),
    "accounting_pld": ("--timeout", "10"),
    "findings/dp_accounting_randomized_response": (),
    "findings/dp_accounting_pld_small_delta": (),
    "findings/jax_privacy_gdp": (),
    "peers/features": (),
}
EXPECTED = {0, 1}


def path_of(name: str) -> Path:
    """Where the transcript of a command is kept."""
    return RESULTS / f"{name.replace('/', '-')}.json"


def runs(name: str) -> list[dict[str, Any]]:
    """The runs of a command that are kept, the latest first."""
    if not path_of(name).exists():
        return []
    kept = json.loads(path_of(name).read_text(encoding="utf-8"))
    return kept if isinstance(kept, list) else [kept]


def started() -> str:
    """A few digits that tell two machines of one kind apart: of the system's start, where it tells."""
    identity = Path("/proc/sys/kernel/random/boot_id")
    return identity.read_text().strip()[:6] if identity.exists() else ""


def _where(run: dict[str, Any]) -> tuple[str, ...]:
    return run["machine"], run.get("started", ""), run["date"]


def record(name: str, arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-W", "ignore", str(HERE / f"{name}.py"), *arguments]
    began = time.perf_counter()
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    if shown.returncode not in EXPECTED:
        raise SystemExit(f"{name} ended with {shown.returncode}:\n{shown.stdout}{shown.stderr}")
    RESULTS.mkdir(exist_ok=True)
    run = {
        "command": " ".join(["python", f"benchmarks/{name}.py", *arguments]),
        "exit": shown.returncode,
        "seconds": round(time.perf_counter() - began, 1),
        "output": shown.stdout.splitlines(),
        **stamp("dp-accounting"),
        "started": started(),
    }
    # The last run of each machine on each day is kept.
    others = [old for old in runs(name) if _where(old) != _where(run)]
    path_of(name).write_text(json.dumps([run, *others], indent=1) + "\n", encoding="utf-8")
    print(f"{name}: exit {shown.returncode}, {run['seconds']} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=list(COMMANDS))
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    for name, arguments in COMMANDS.items():
        if options.only and name not in options.only:
            continue
        if options.fresh or not path_of(name).exists():
            record(name, arguments)


if __name__ == "__main__":
    main()
