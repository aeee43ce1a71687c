"""Every block of the README and of docs/ runs, in order: Python as it stands, commands from a shell.

A command says its exit code where that is not 0 (`# exit 1`). What needs datasets, makes, installs or
serves is run by other tests or by CI; only the programs named below may be left out.

README.md and the tutorials take longer than 20 s each: their commands are whole audits, at full size,
because the figures printed beside them are of that size.
"""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRIBUTE = ROOT / "docs" / "howto" / "contribute"  # tests/contribute runs these in a copy
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent != CONTRIBUTE),
]
BLOCK = re.compile(
    r"^```(python|console|\{code-block\} \w+\n:caption: \S+)\n(.*?)^```", re.DOTALL | re.MULTILINE
)
# What differs from run to run and from machine to machine; the rest of a shown output must be real.
VARIES = re.compile(
    r"^(made at|made by|commit|code|data description|with|dpcheck): .*\n|about [\d.]+ (s|min|h)"
    r"|^\S+/site-packages/\S+:\d+: \w*Warning: .*\n(  .*\n)?",  # other libraries' own
    re.MULTILINE,
)
LONG = ("dpcheck audit", "dpcheck reproduce")
ELSEWHERE = {"make", "pip", "git", "uvx"}
TORCH = importlib.util.find_spec("torch") is not None


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(text: str) -> list[tuple[str, int]]:
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            command, _, comment = line[2:].partition("  #")
            said = re.search(r"exit (\d)", comment)
            found.append((command.strip(), int(said[1]) if said else 0))
    return found


def plain(text: str) -> str:
    return VARIES.sub("", text).strip()


def begins(real: str, told: str) -> bool:
    """Whether this is what was told; a page may end it with a line of three dots."""
    if told.endswith("\n..."):
        return real.startswith(told.removesuffix("..."))
    return real == told


def block(folder, text):
    """A file of its own: a function that is proved is read from one."""
    path = folder / "block.py"
    path.write_text(text)
    return path


def shown_outputs(text: str) -> dict[str, str]:
    """What a page says each command prints, where it says so."""
    found: dict[str, str] = {}
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, output = part.replace("\\\n", " ").partition("\n")
        found[line.partition("  #")[0].strip()] = output
    return found


def left_out(command: str, page: Path, folder: Path) -> bool:
    program, *arguments = shlex.split(command)
    if program == "python":  # scripts of the page and examples run; benchmarks are run by hand
        script = folder / next(each for each in arguments if not each.startswith("-"))
        return not script.is_file() or ("import torch" in script.read_text() and not TORCH)
    return program in ELSEWHERE or "--data-dir" in command or FIRST_PAGE.get(command, page) != page


def _first_pages() -> dict[str, Path]:
    """An audit of a registered algorithm or a table is the same on every page: it runs on its first."""
    found: dict[str, Path] = {}
    for page in PAGES:
        for kind, text in blocks(page):
            for command, _ in commands(text) if kind == "console" else ():
                if command.startswith(LONG) and ".py" not in command:
                    found.setdefault(command, page)
    return found


FIRST_PAGE = _first_pages()


def test_the_readme_opens_with_an_install_and_an_audit():
    first = blocks(PAGES[0])[0][1]
    assert PAGES[0].read_text().index("```") < 400
    assert [command for command, _ in commands(first)][:2] == [
        "pip install .",
        "dpcheck audit pptl_fs --eps 1",
    ]


def test_nothing_tells_to_install_from_an_index_that_does_not_have_it():
    """Until a release is on PyPI. `pip install 'dpcheck[extra]'` adds an extra to what is installed."""
    told = re.compile(r"pip install (-\S+ )*['\"]?dpcheck\b(?!\[| @)|uvx dpcheck|dpcheck/dpcheck@")
    files = [*PAGES, *CONTRIBUTE.glob("*.md"), ROOT / "action.yml", *ROOT.glob("*.md")]
    files += [*(ROOT / "examples").rglob("*.yml"), *(ROOT / "dpcheck").rglob("*.py")]
    assert not [path.name for path in files if told.search(path.read_text())]


RUNNABLE = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_blocks_run(page, tmp_path):
    scripts = Path(sys.executable).parent
    environment = {
        **os.environ,
        "DPCHECK_JOBS": "1",  # the same figures as with many: two processes more cost more than they save
        "DPCHECK_WHO": "you",
        "NO_COLOR": "1",
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
    }
    if (ROOT / "examples").exists():  # pages may use what the repository ships
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for kind, text in blocks(page):
        if kind.startswith("{"):  # a file with its name for a caption
            path = tmp_path / kind.rpartition(" ")[2]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            continue
        shows = page == PAGES[0] or page.parent.name == "tutorials"
        outputs = shown_outputs(text) if shows else {}
        runs = (
            [([sys.executable, str(block(tmp_path, text))], 0, text)]
            if kind == "python"
            else [
                (shlex.split(command), expected, command)
                for command, expected in commands(text)
                if not left_out(command, page, tmp_path)
            ]
        )
        for arguments, expected, shown in runs:
            done = subprocess.run(
                arguments,
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env=environment,
                timeout=900,
            )
            assert done.returncode == expected, f"{shown}\n{done.stdout}{done.stderr}"
            if outputs.get(shown):
                real = done.stdout + done.stderr
                told = "python benchmarks/tutorials.py writes what is printed now"
                assert begins(plain(real), plain(outputs[shown])), told
