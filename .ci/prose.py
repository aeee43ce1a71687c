"""Lints the prose of the documentation: proselint's checks, and the words of our own that nobody understood.

    python .ci/prose.py [FILE ...]      # README.md, docs/ and the other pages by default

Code, tables and headings are left out. docs/style.md says how we write.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from proselint.checks import __register__ as theirs
from proselint.config import DEFAULT
from proselint.registry import CheckRegistry
from proselint.tools import LintFile

ROOT = Path(__file__).parents[1]
# Theirs that are about other kinds of text: quotation marks of typographers, units, dates of novels.
LEFT_OUT = (
    "typography",
    "dates_times",
    "misc.phrasal_adjectives",
    "misc.but",
    "spelling",
    "cliches",
    "hedging",
    "weasel_words.very",
)
# What readers stumbled over -> what to write instead.
OURS = {
    r"could not have told": "say what was not enough: runs, time, evidence",
    r"half of the time": "starts at even odds",
    r"coins? of (its|their) own": "independent coins",
    r"bears? more": "allows more",
    r"is not kept": "the budget is broken / the promise is broken",
    r"told of": "knows about",
    r"tell me": "add, give",
    r"true of this code": "holds",
    r"is wanted": "you need",
    r"wants? (a|an|the) ": "takes, needs",
    r"may hold": "can contain",
    r"somebody's code": "your code",
    r"so to speak": "leave it out",
    r"as one (writes|types|says) it": "as you write it",
    r"in such a way that": "so that",
    r"belongs? into": "belongs in",
    r"it is said": "say who says it",
    r"orders? of magnitude apart": "give the factor",
    r"the more so": "leave it out",
    r"goes on where it was": "resumes",
    r"ends? in exit code": "exits with",
    r"data sets?": "dataset",
    r"otherwise guess": "starts at even odds",
    r"at least infinite": "no finite epsilon holds",
    r"shrunk to": "reduced",
    r"mend the code": "fix the code",
    r"that is no answer": "there is no verdict",
    r"error would tell": "the error would reveal it",
    r"nobody has vouched": "nobody vouches for",
    r"one and the same": "the same",
    r"whoever publishes": "the publisher",
    r"needs \S+; it has": "needs --x. Its options: --y",
}
CODE = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"``.+?``|`[^`\n]+`")
LINK = re.compile(r"\]\([^)\s]+(\s+\"[^\"]*\")?\)|<[^>\s]+>")


def prose(text: str) -> str:
    """The text with everything else blanked, so that places stay what they are.

    >>> prose("Run `it`.\\n")
    'Run     .\\n'
    """

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])

    text = CODE.sub(blank, text)
    lines = [
        " " * len(line) if line.lstrip().startswith(("|", "#")) else line
        for line in text.split("\n")
    ]
    return LINK.sub(blank, INLINE.sub(blank, "\n".join(lines)))


def pages() -> list[Path]:
    """What people read; measurements and the papers' tables are made by programs."""
    made = {"benchmarks", "reproductions", "libraries"}
    docs = [page for page in (ROOT / "docs").rglob("*.md") if not made & set(page.parts)]
    own = [page for page in ROOT.glob("*.md") if page.name != "CHANGELOG.md"]
    return sorted([*own, *docs])


def findings(path: Path) -> Iterator[str]:
    """One line for everything found in a page."""
    text = prose(path.read_text(encoding="utf-8"))
    for result in LintFile(path, text).lint(DEFAULT):
        where = text.count("\n", 0, result.check_result.span[0]) + 1
        name = result.check_result.check_path
        if not name.startswith(LEFT_OUT):
            yield f"{path.relative_to(ROOT)}:{where}: {name}: {result.check_result.message}"
    if path.name == "style.md":  # it quotes them
        return
    for phrase, better in OURS.items():
        for match in re.finditer(rf"\b{phrase}", text, re.IGNORECASE):
            where = text.count("\n", 0, match.start()) + 1
            yield f"{path.relative_to(ROOT)}:{where}: ours: {match[0]!r}; better: {better}"


def main() -> int:
    """Print what was found; 1 if there is anything."""
    CheckRegistry().register_many(theirs)
    named = [Path(name).resolve() for name in sys.argv[1:]]
    found = [line for page in named or pages() for line in findings(page)]
    print("\n".join(found) if found else f"prose: {len(named or pages())} pages, nothing found")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
