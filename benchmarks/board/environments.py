"""Make the environment of each library of the catalogue, one after the other; a stopped run goes on.

    python benchmarks/board/environments.py .venv-libraries [LIBRARY ...]

What the catalogue's file requires is installed in order; `--no-deps` holds for what comes after it. A
library that cannot be installed is named and left out.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dpcheck.libraries.catalogue import libraries
from dpcheck.libraries.entry import Library


def steps(requires: tuple[str, ...]) -> list[list[str]]:
    """Words for pip: torch first and pinned (a plain one pulls CUDA), then the rest."""
    pinned = [word for word in requires if word.startswith("torch==")]
    rest = [word for word in requires if word not in pinned]
    if "--no-deps" in rest:
        cut = rest.index("--no-deps")
        rest, alone = rest[:cut], [rest[cut:]]
    else:
        alone = []
    return [words for words in (pinned, [*pinned, *rest] if rest else [], *alone) if words]


def make(library: Library, folder: Path) -> bool:
    """Whether the environment is there."""
    ready = folder / library.name / ".ready"
    if ready.exists():
        return True
    print(f"{library.name}: making {ready.parent}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(ready.parent)], check=True)
    install = [str(ready.parent / "bin/python"), "-m", "pip", "install", "--quiet", "--no-compile"]
    for words in steps(library.requires):
        if subprocess.run([*install, *words]).returncode:
            print(f"{library.name}: cannot be installed here, left out", flush=True)
            return False
    if library.without:
        remove = [*install[:3], "uninstall", "--quiet", "--yes", *library.without]
        subprocess.run(remove, check=True)
    ready.touch()
    return True


def main(folder: str, *names: str) -> None:
    known = libraries()
    unknown = set(names) - set(known)
    if unknown:
        sys.exit(f"not in the catalogue: {', '.join(sorted(unknown))}")
    made = [name for name in names or known if make(known[name], Path(folder))]
    print(f"environments: {', '.join(made)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
