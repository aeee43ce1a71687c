"""Makes the relative links and images of a README absolute: python absolute_links.py README.md REF."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#|mailto:)([^)\s]+)((?:\s+\"[^\"]*\")?)\)")


def absolute(text: str, repository: str, ref: str) -> str:
    """The text with links to the repository at `ref`, and images as files.

    >>> absolute("[a](docs/a.md) ![b](b.png) [c](#d)", "https://h/o/r", "v1")
    '[a](https://h/o/r/blob/v1/docs/a.md) ![b](https://h/o/r/raw/v1/b.png) [c](#d)'
    """

    def change(match: re.Match[str]) -> str:
        image, label, path, title = match.groups()
        kind = "raw" if image else "blob"
        return f"{image}[{label}]({repository}/{kind}/{ref}/{path}{title})"

    return LINK.sub(change, text)


def main() -> None:
    """Rewrite the file in place."""
    path, ref = Path(sys.argv[1]), sys.argv[2]
    project = tomllib.loads((path.parent / "pyproject.toml").read_text(encoding="utf-8"))
    repository = project["project"]["urls"]["Repository"]
    path.write_text(absolute(path.read_text(encoding="utf-8"), repository, ref), encoding="utf-8")


if __name__ == "__main__":
    main()
