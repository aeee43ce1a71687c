"""The glossary of the code, in ARCHITECTURE.md: twenty words and more, each defined once."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^\| \*\*(.+?)\*\* \| (.+) \|$", re.MULTILINE)
# What the rooms of the code are named with.
NEEDED = (
    *("record", "neighbours", "adjacency", "event", "release", "claim", "pair", "loss", "bound"),
    *("program", "primitive", "lowering", "fact", "rule", "proof", "draw", "attack", "replay"),
    *("evidence", "hint", "witness", "verdict", "budget", "ledger", "certificate", "kernel"),
)


def words() -> dict[str, str]:
    section = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("\n## Words\n")[1]
    found = LINE.findall(section.split("\n## ")[0])
    assert len({word for word, _ in found}) == len(found), "a word has two lines"
    return dict(found)


def test_every_word_has_one_meaning_of_its_own():
    found = words()
    assert len(found) >= 20
    assert sorted(set(NEEDED) - set(found)) == []
    assert len(set(found.values())) == len(found)
    assert [word for word, meaning in found.items() if len(meaning.split()) < 5] == []
