"""`[Mironov2017] Proposition 3` in a page or a docstring becomes a citation of references.bib.

Pages and docstrings stay readable where no Sphinx is: on a code host, in `help()`.
"""

from __future__ import annotations

import re
from pathlib import Path

_BIB = (Path(__file__).parents[1] / "references.bib").read_text(encoding="utf-8")
_KEYS = "|".join(re.findall(r"^@\w+\{(\w+),", _BIB, re.MULTILINE))
_CITED = re.compile(rf"\[({_KEYS})(,[^\]]*)?\](?![(\w])")
_CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
# Docstrings are prose with formulas, not reStructuredText: keep its special characters from acting.
_SPECIAL = re.compile(r"([|*\\]|(?<=\w)_(?!\w))")


def _page(app: object, name: str, source: list[str]) -> None:
    pieces = _CODE.split(source[0])
    source[0] = "".join(
        piece if piece.startswith("`") else _CITED.sub(r"{cite:t}`\1`\2", piece) for piece in pieces
    )


def _docstring(
    app: object, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    for i, line in enumerate(lines):
        if line.lstrip().startswith((">>>", "...", "::", "|", "=")) or line.startswith("    "):
            continue
        pieces = re.split(r"(`[^`]*`)", line)
        lines[i] = "".join(
            f"`{piece}`"
            if piece.startswith("`")
            else _CITED.sub(r":cite:t:`\1`\2", _SPECIAL.sub(r"\\\1", piece))
            for piece in pieces
        )


def setup(app):
    """Register both."""
    app.connect("source-read", _page)
    app.connect("autodoc-process-docstring", _docstring)
    return {"parallel_read_safe": True}
