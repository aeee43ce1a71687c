"""What a check says, line by line, and whether a source is the one that a proof is about."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpcheck.verify.file import Unreadable, check_data, read_file
from dpcheck.verify.result import Accepted, Refused

_USAGE = (
    "usage: verify.py CERTIFICATE [--source FILE]...  (a certificate, and the files it is about)"
)


def lines(found: Accepted) -> list[str]:
    """An accepted certificate in words."""
    return [f"accepted: {found.statement}. {found.steps:,} steps checked.", *found.words]


def check_source(data: Mapping[str, Any], source: Path) -> str:
    """That a file is one of those the proof was read from; `Refused` if not."""
    try:
        found = hashlib.sha256(source.read_text(encoding="utf-8").encode()).hexdigest()
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"cannot read {source}: {error}") from None
    listed = data.get("source")
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, Mapping) and each.get("sha256") == found:
            return f"source: {source.name} is the file that was read"
    raise Refused(f"{source.name} is not the source that this proof is about")


def main(arguments: Sequence[str]) -> int:
    """Check one certificate: 0 if every step holds, 1 if one does not, 2 if it is no certificate."""
    files = [each for each in arguments if each != "--source"]
    named = [i for i, each in enumerate(arguments) if each == "--source"]
    if len(files) != 1 + len(named) or arguments[0] == "--source" or arguments[0].startswith("-"):
        print(_USAGE, file=sys.stderr)
        return 2
    try:
        data = read_file(Path(files[0]))
        said = lines(check_data(data))
        said += [check_source(data, Path(each)) for each in files[1:]]
    except Unreadable as reason:
        print(f"{reason}.", file=sys.stderr)
        return 2
    except Refused as reason:
        print(f"refused: {reason}.")
        return 1
    print("\n".join(said))
    return 0
