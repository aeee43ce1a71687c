"""Look for the words that the catalogue quotes in the installed packages; exits 1 if some are not there.

    python benchmarks/board/quotes.py .venv-libraries [LIBRARY ...]

Reads the library's Python files, its README as the package's metadata holds it, and compiled modules;
runs nothing of it. Words may be broken into lines otherwise; "…" stands for words left out in one file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from dpcheck.libraries.catalogue import libraries
from dpcheck.libraries.entry import Library


def texts(library: Library, packages: Path) -> Iterator[str]:
    """What the package says, one file after the other, compiled modules last; blanks made one."""
    named = library.name.replace("-", "_").lower()
    readmes = [p for p in packages.glob("*.dist-info/METADATA") if named in str(p.parent).lower()]
    for path in [*(packages / library.module).rglob("*.py"), *readmes]:
        yield " ".join(path.read_text(encoding="utf-8", errors="replace").split())
    for path in (packages / library.module).glob("*.so"):
        yield " ".join(path.read_bytes().decode("utf-8", errors="replace").split())


def holds(text: str, quoted: str) -> bool:
    """Whether the parts of a quotation follow each other in the text."""
    at = 0
    for part in quoted.split(" … "):
        at = text.find(" ".join(part.split()), at)
        if at < 0:
            return False
    return True


def missing(library: Library, packages: Path) -> set[str]:
    """The quotations that are in no file."""
    wanted = {target.says for target in library.targets.values() if target.says}
    for text in texts(library, packages):
        wanted = {quoted for quoted in wanted if not holds(text, quoted)}
        if not wanted:
            break
    return wanted


def main(folder: str, *names: str) -> None:
    known, failed = libraries(), False
    for name in names or known:
        found = sorted((Path(folder) / name).glob("lib/python3*/site-packages"))
        if not found:
            print(f"{name}: no environment, not looked at")
            continue
        for quoted in missing(known[name], found[0]):
            failed = True
            print(f"{name}: not found: {quoted}")
        looked = {target.says for target in known[name].targets.values()}
        print(f"{name}: {len(looked)} quotations looked for")
    sys.exit(int(failed))


if __name__ == "__main__":
    main(*sys.argv[1:])
