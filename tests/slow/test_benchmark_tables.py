"""Tables in docs/benchmarks/ say what their data files say, and the data files say what is claimed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(code: str) -> str:
    """In a process of its own: benchmarks/ is not on the path of the tests."""
    shown = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            f"import sys; sys.path.insert(0, 'benchmarks'); {code}",
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=600,
    )
    assert shown.returncode == 0, shown.stderr
    return shown.stdout


@pytest.fixture(scope="module")
def pages():
    return json.loads(run("import json, make_tables as m; print(json.dumps(m.render(m.PAGES)))"))


def test_every_table_is_what_its_data_file_gives(pages):
    assert {"corpus.md", "findings.md", "scale.md", "sizing.md"} <= set(pages)
    for name, text in pages.items():
        committed = (ROOT / "docs" / "benchmarks" / name).read_text(encoding="utf-8")
        assert committed == text, f"{name} is out of date: python benchmarks/make_tables.py"


def test_a_changed_number_is_noticed(tmp_path):
    code = (
        "import pathlib, records, make_tables\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "lines = (records.RESULTS / 'corpus.jsonl').read_text().splitlines()\n"
        "lines[0] = lines[0].replace('violated', 'consistent')\n"
        "(folder / 'corpus.jsonl').write_text('\\n'.join(lines))\n"
        "records.RESULTS = folder\n"
        "print(make_tables.stale())"
    )
    assert "corpus.md" in run(code)


def test_the_corpus_on_record_keeps_the_promise():
    lines = (ROOT / "benchmarks/results/corpus.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    names = {r["mechanism"] for r in records}
    caught = {
        name
        for name in names
        if all(
            r["verdict"] == "violated"
            for r in records
            if r["mechanism"] == name and r["side"] == "broken"
        )
    }
    assert len(names) >= 40
    assert len(names - caught) <= 2
    assert not [r for r in records if r["side"] == "corrected" and r["verdict"] == "violated"]
    for r in records:
        if r["side"] == "broken" and r["lower_delta"] == r["delta"] and r["exact"] is not None:
            assert r["exact"] == "inf" or r["lower"] <= r["exact"]


def test_the_sizing_guide_predicts_what_was_measured():
    code = (
        "from tables import scale; from records import read\n"
        "print([r['gap'] / scale.predicted_gap(r['test_runs'], 1.0, 0.5)"
        " for r in read('scale.jsonl') if r['kind'] == 'gap'])"
    )
    ratios = json.loads(run(code))
    assert len(ratios) >= 9
    assert all(0.6 < ratio < 1.5 for ratio in ratios)
