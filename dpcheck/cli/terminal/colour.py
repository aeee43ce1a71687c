"""Colour for people at a terminal: verdicts and errors, nothing else; NO_COLOR turns it off."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

import click

COLOURS = {"holds": "green", "consistent": "cyan", "undecided": "yellow", "violated": "red"}
_WORDS = "|".join(COLOURS)
# The last cell of a table's row, and the word a part's details begin with.
_CELL = re.compile(rf"(?m)(?<=  )({_WORDS})(?=(?:  .*)?$)|^([^:\n]+: )({_WORDS})(?=,)")


def wanted(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose owner did not ask for none (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def verdicts(text: str) -> str:
    """A report in text with its verdicts coloured, where standard output is a terminal.

    >>> verdicts("a  violated") == "a  violated"  # a test's output is no terminal
    True
    """
    return _CELL.sub(_coloured, text) if wanted(sys.stdout) else text


def _coloured(match: re.Match[str]) -> str:
    word = match[1] or match[3]
    return (match[2] or "") + click.style(word, fg=COLOURS[word], bold=True)


def error(text: str) -> str:
    """The word an error begins with."""
    return click.style(text, fg="red", bold=True) if wanted(sys.stderr) else text
