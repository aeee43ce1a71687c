"""Reading a project's files as if somebody wrote them to do harm."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

from dpcheck.core.data import Plain
from dpcheck.core.errors import DpcheckError, InvalidProject

MOST_BYTES = 1 << 18
MOST_LINE = 1 << 13  # a dotted key costs the square of its length
MOST_DEPTH = 24


def read_text(path: Path, kind: type[DpcheckError] = InvalidProject) -> str:
    """The text of a small regular file.

    Guarantee: at most MOST_BYTES are read; devices, pipes and folders are not opened.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise kind(f"{path} is not a file.")
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise kind(f"{path} cannot be read: {error.strerror}.") from None
    if len(content) > MOST_BYTES:
        raise kind(f"{path} is larger than {MOST_BYTES // 1024} KiB. That must be a mistake.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise kind(f"{path} is not UTF-8 text.") from None


def read_toml(path: Path) -> dict[str, Plain]:
    """A TOML file as plain data; InvalidProject names the line for what is not TOML."""
    text = read_text(path)
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > MOST_LINE:
            raise InvalidProject(
                f"{path}, line {number} is longer than {MOST_LINE} characters; break it up."
            )
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InvalidProject(f"{path} is nested too deeply.") from None
    except ValueError as error:  # TOMLDecodeError, and what int() or datetime refuse
        raise InvalidProject(f"{path} is not valid TOML: {error}.") from None


def check_depth(path: Path, data: object) -> None:
    """Refuse what is nested deeper than any meaning; no recursion, whatever the depth."""
    layer, depth = [data], 0
    while layer:
        depth += 1
        if depth > MOST_DEPTH:
            raise InvalidProject(f"{path} is nested more than {MOST_DEPTH} deep.")
        below: list[object] = []
        for item in layer:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        layer = below


def inside(root: Path, text: str, what: str) -> Path:
    """The path `text` names, which must lie within the project, links followed."""
    if "\0" in text or not text:
        raise InvalidProject(f"{what} must be a path, got {text!r}.")
    base = root.resolve()
    try:
        path = (base / text).resolve()
    except (OSError, RuntimeError) as error:  # loops of links
        raise InvalidProject(f"{what} {text!r} cannot be resolved: {error}.") from None
    if not path.is_relative_to(base):
        raise InvalidProject(
            f"{what} {text!r} lies outside the project {base.name!r}; a project file may only "
            "name what is inside it."
        )
    return path
