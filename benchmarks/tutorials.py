"""Runs every command of the tutorials and writes what it prints below it.

    python benchmarks/tutorials.py                 # all pages of docs/tutorials
    python benchmarks/tutorials.py newcomer-pandas
    python benchmarks/tutorials.py newcomer-opacus --torch .venv-integrations/bin/python

A page is markdown: code blocks with a caption are files, `$ command` lines of console blocks are run in
their order in one folder, and what stood below them is replaced. Programs that import torch are run by
the interpreter given with --torch; without one, what a page shows of them stays. tests/cli/test_documents.py
runs the same and fails where a page shows something else.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "tutorials"
BLOCK = re.compile(
    r"^```(console|\{code-block\} \w+\n:caption: \S+)\n(.*?)^```", re.DOTALL | re.MULTILINE
)


def run(arguments: list[str], folder: Path) -> str:
    """What a command prints, standard output first."""
    scripts = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "DPCHECK_WHO": "you",
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{shlex.join(arguments)} ended with {done.returncode}:\n{done.stderr}")
    beside = re.compile(
        r"^dpcheck: .*\n|^\S+/site-packages/\S+:\d+: \w*Warning: .*\n(  .*\n)?", re.MULTILINE
    )
    return beside.sub("", done.stdout + done.stderr).rstrip()


def printed(command: str, folder: Path, torch: str | None) -> str | None:
    """What a command of a page prints; None where it cannot be run here."""
    arguments = shlex.split(command)
    if arguments[0] == "pip":
        return None
    if arguments[0] == "python" and "import torch" in (folder / arguments[1]).read_text():
        if torch is None:
            return None
        arguments[0] = str(Path(torch).absolute())
    return run(arguments, folder)


def written(text: str, folder: Path, torch: str | None) -> str:
    """The page with the output of every command."""

    def replaced(match: re.Match[str]) -> str:
        kind, body = match[1], match[2]
        if kind.startswith("{"):
            path = folder / kind.rpartition(" ")[2]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body)
            return match[0]
        lines = []
        for part in re.split(r"^(?=\$ )", body, flags=re.MULTILINE):
            if not part.startswith("$ "):
                continue
            line, _, shown = part.partition("\n")
            print(line, flush=True)
            output = printed(line[2:].partition("  #")[0].strip(), folder, torch)
            lines += [line, shown.rstrip() if output is None else output]
        return "```console\n" + "\n".join(line for line in lines if line) + "\n```"

    return BLOCK.sub(replaced, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="names without .md; all if none")
    parser.add_argument("--torch", help="an interpreter with torch and Opacus")
    options = parser.parse_args()
    for name in options.pages or sorted(page.stem for page in PAGES.glob("*.md")):
        page = PAGES / f"{name}.md"
        with tempfile.TemporaryDirectory() as text:
            folder = Path(text)
            shutil.copytree(ROOT / "examples", folder / "examples")
            page.write_text(written(page.read_text(), folder, options.torch))


if __name__ == "__main__":
    main()
