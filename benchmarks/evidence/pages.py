"""An evidence page per paper: everything it states or runs, its status, and checks of its arithmetic.

    python benchmarks/evidence/pages.py

Items are in items.toml beside this file, printed figures in figures.py; the pages in docs/evidence are
made from them and never edited.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from figures import (  # noqa: E402
    DPHTL_AND_TARGET,
    GUO_RANKS,
    GUO_TABLE_3,
    GUO_TABLE_4,
    LARGEST_DELTA,
    NOT_ADAPTED,
    PARTICIPANTS,
    SAME_METHOD,
    TARGET_ROWS,
    WANG_TABLE_1,
    WANG_TABLE_2,
    WANG_TABLE_3,
    WANG_TABLE_4,
    YAO_TABLE_2,
    YAO_TABLE_4,
)

PAGES = HERE.parents[1] / "docs/evidence"
STATUSES = {
    "proved": "true, under the conditions that are named; the proof or the accountant behind it is ours",
    "refuted": "false as printed; what mends it is named",
    "used": "taken as it stands, with what we supplied",
    "reproduced": "run anew on the same data; figures beside the paper's",
    "stand-in": "run on other data of the same kind",
    "not reproduced": "and why",
}


def ranks(table: dict[str, tuple[float, ...]]) -> dict[str, float]:
    """The mean rank of every method, the best of a column first; ties share."""
    names = list(table)
    found = dict.fromkeys(names, 0.0)
    columns = list(zip(*table.values(), strict=True))
    for column in columns:
        for name, value in zip(names, column, strict=True):
            above = sum(other > value for other in column)
            equal = sum(other == value for other in column)
            found[name] += above + (equal + 1) / 2
    return {name: total / len(columns) for name, total in found.items()}


def largest_difference() -> tuple[int, float]:
    """Cells of [Yao2019] Table 2 and how far the farthest is from its cell of [Guo2018] Table 4."""
    gaps = [
        abs(a - b)
        for mine, theirs in SAME_METHOD.items()
        for a, b in zip(YAO_TABLE_2[mine], GUO_TABLE_4[theirs], strict=True)
    ]
    return len(gaps), max(gaps)


def wrong_averages() -> int:
    """Printed averages that are not those of their rows, to the last printed digit."""
    rows = [*WANG_TABLE_1.values(), *WANG_TABLE_4.values()]
    return sum(abs(sum(row[:3]) / 3 - row[3]) > 0.0005 + 1e-12 for row in rows)


def better_than_not_adapted() -> dict[int, int]:
    """By epsilon, the tasks of Table II where DPDA is better than the network that is not adapted."""
    return {
        epsilon: sum(ours > plain for ours, plain in zip(row, NOT_ADAPTED, strict=True))
        for epsilon, row in WANG_TABLE_2.items()
    }


def checks() -> dict[str, list[str]]:
    """Sentences whose figures are computed here."""
    found = ranks(GUO_TABLE_4)
    differ = [n for n in found if abs(found[n] - GUO_RANKS[n]) > 0.01]
    told = ", ".join(
        f"{name} {GUO_RANKS[name]:g} (its means give {found[name]:.2f})" for name in differ
    )
    cells, gap = largest_difference()
    trend = all(list(row) == sorted(row) for row in WANG_TABLE_3.values())
    return {
        "Guo2018": [
            f"Table 4, averaged ranking: printed {told}; the others agree.",
            f"Table 3: the 18 centres have {sum(GUO_TABLE_3):,} samples; the {PARTICIPANTS:,} participants "
            "of the text are those of all 22 centres.",
        ],
        "Yao2019": [
            f"Table 2: all {cells} cells are those of [Guo2018] Table 4 under other names of the methods, "
            f'rounded; the largest difference is {gap:.4f}. "PPHTL [Wang2018]" has SimComb\'s numbers.',
            f'Table 4: "a total of {PARTICIPANTS:,} participants", but its sizes add up to '
            f"{sum(YAO_TABLE_4):,}.",
        ],
        "Wang2018": [
            'Section 4.3: TARGET "can be considered as the best possible performer"; without privacy '
            f"DPHTL is above it for {sum(ours > best for ours, best in DPHTL_AND_TARGET)} of "
            f"{len(DPHTL_AND_TARGET)} mixtures of Table 2.",
        ],
        "Wang2020": [
            f"Tables I and IV: {wrong_averages()} of {len(WANG_TABLE_1) + len(WANG_TABLE_4)} averages are "
            "wrong. The deviations of Table I are in per cent beside accuracies that are not.",
            "Table II: DPDA is above the network that is not adapted on "
            + ", ".join(
                f"{above} of 3 tasks at epsilon {epsilon}"
                for epsilon, above in better_than_not_adapted().items()
            )
            + ". The text compares them at epsilon 4.",
            'Section III-B: delta had better be "smaller than 1/|d|". Table III goes up to '
            f"{LARGEST_DELTA:g}, and 1/{TARGET_ROWS} is {1 / TARGET_ROWS:.2g}: at such a delta a "
            "mechanism may publish whole records.",
            'Section V-A.5: "the test accuracy becomes higher when epsilon drops from 4 to 1"; in Table III '
            "it " + ("never rises as epsilon drops." if trend else "does both."),
        ],
        "Liu2018": [
            "Equation 13: d = 64 and 256 bytes a ciphertext are (d^2 + d) 256 = "
            f"{(64**2 + 64) * 256 / 1e6:.2f} MB a sample; the text says about 1 MB.",
        ],
    }


def render() -> dict[str, str]:
    """File name -> page."""
    papers = tomllib.loads((HERE / "items.toml").read_text(encoding="utf-8"))
    pages = {}
    for key, paper in papers.items():
        lines = [
            f"# Evidence: [{key}]",
            "",
            f"*{paper['title']}*. Made by `python benchmarks/evidence/pages.py`; do not edit. Verdicts and "
            f"the commands behind them are on [the board](../verdicts.md), trainings on [their "
            f"page](../reproductions/{paper['reproduction']}.md).",
            "",
            "| what the paper has | status | |",
            "|---|---|---|",
        ]
        for name, status, words in paper["items"]:
            if status not in STATUSES:
                raise SystemExit(f"{key}, {name}: no status is called {status!r}")
            lines.append(f"| {name} | {status} | {words} |")
        lines += ["", *(f"- *{status}*: {meaning}." for status, meaning in STATUSES.items())]
        found = checks()[key]
        if found:
            lines += ["", "## Arithmetic", "", *(f"- {sentence}" for sentence in found)]
        pages[f"{key.lower()}.md"] = "\n".join(lines) + "\n"
    return pages


def main() -> None:
    PAGES.mkdir(exist_ok=True)
    for name, text in render().items():
        (PAGES / name).write_text(text, encoding="utf-8")
    print(f"{len(render())} pages in docs/evidence")


if __name__ == "__main__":
    main()
