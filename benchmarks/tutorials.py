"""Runs every command of the tutorials and writes what it prints below it.

    python benchmarks/tutorials.py                 # all pages of docs/tutorials that show output
    python benchmarks/tutorials.py newcomer-pandas

A page is markdown: code blocks with a caption are files, `$ command` lines of console blocks are run in
their order in one folder, and what stood below them is replaced. tests/cli/test_documents.py runs the
same and fails where a page shows something else.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PAGES = Path(__file__).parents[1] / "docs" / "tutorials"
BLOCK = re.compile(
    r"^```(console|\{code-block\} \w+\n:caption: \S+)\n(.*?)^```", re.DOTALL | re.MULTILINE
)
SHOWN = ("newcomer-pandas", "newcomer-opacus", "newcomer-reviewer")


def run(command: str, folder: Path) -> str:
    """What a command prints, standard output first."""
    scripts = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "DPCHECK_WHO": "you",
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        shlex.split(command), cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stderr}")
    progress = re.compile(r"^dpcheck: .*\n", re.MULTILINE)
    return progress.sub("", done.stdout + done.stderr)


def written(text: str, folder: Path) -> str:
    """The page with the output of every command."""

    def replaced(match: re.Match[str]) -> str:
        kind, body = match[1], match[2]
        if kind.startswith("{"):
            path = folder / kind.rpartition(" ")[2]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body)
            return match[0]
        lines = []
        for line in body.splitlines():
            if line.startswith("$ "):
                print(line, flush=True)
                command = line[2:].partition("  #")[0].strip()
                if shlex.split(command)[0] in ("pip", "python"):
                    lines += [line]
                    continue
                lines += [line, run(command, folder).rstrip()]
        return "```console\n" + "\n".join(lines).rstrip() + "\n```"

    return BLOCK.sub(replaced, text)


def main() -> None:
    for name in sys.argv[1:] or SHOWN:
        page = PAGES / f"{name}.md"
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(written(page.read_text(), Path(folder)))


if __name__ == "__main__":
    main()
