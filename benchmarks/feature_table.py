"""README's table of features, from docs/features.toml.

python benchmarks/feature_table.py            # writes it into README.md
"""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "docs" / "features.toml"
README = ROOT / "README.md"
BEGIN, END = "<!-- features: made by benchmarks/feature_table.py -->", "<!-- end of features -->"


def load() -> dict:
    """The checked file."""
    return tomllib.loads(SOURCE.read_text(encoding="utf-8"))


def _cell(cell: list[str]) -> str:
    if len(cell) == 1:
        return cell[0]
    path, _, function = cell[1].partition("::")
    return f'[{cell[0]}]({path} "{function}")'


def render() -> str:
    """The table, between its marks."""
    data = load()
    lines = [
        "| | " + " | ".join(data["columns"]) + " |",
        "|---" * (1 + len(data["columns"])) + "|",
    ]
    for feature in data["feature"]:
        cells = [_cell(cell) for cell in feature["cells"]]
        lines.append(f"| {feature['name']} | " + " | ".join(cells) + " |")
    return "\n".join([BEGIN, *lines, END])


def main() -> None:
    text = README.read_text(encoding="utf-8")
    before, found, rest = text.partition(BEGIN)
    if not found:
        raise SystemExit(f"README.md has no line {BEGIN!r}")
    _, _, after = rest.partition(END)
    README.write_text(before + render() + after, encoding="utf-8")


if __name__ == "__main__":
    main()
