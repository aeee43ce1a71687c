"""`dpcheck ledger`: what a file holds, its history, a statement, and files of the first format."""

import hashlib
import json
import math
import re
import sqlite3

import pytest
from click.testing import CliRunner

from dpcheck import Budget, Gaussian, Ledger, PureDP
from dpcheck.cli.ledger import command
from dpcheck.core.errors import LedgerBroken, LedgerMisuse


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "privacy.ledger"
    with Ledger.open(path, Budget(2.0, 1e-5), "add-remove") as ledger:
        data = ledger.dataset("patients", rows=100)
        ledger.spend(data, PureDP(0.25), times=3)
        ledger.spend(data, PureDP(0.5))
    return path


def run(*arguments):
    return CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)


def test_show_says_what_was_spent_and_what_is_left(path):
    shown = run("show", path).output
    assert "patients (per row): epsilon 1.25 of 2 at delta 1e-05" in shown
    assert "patients: 3 x PureDP(epsilon=0.25" in shown
    assert "one pure release of epsilon 0.75 fits" in shown
    found = json.loads(run("show", path, "--format", "json").output)
    assert found["accounts"][0]["spent"]["epsilon"] == 1.25
    assert [release["times"] for release in found["releases"]] == [3, 1]


def test_history_lists_every_entry_and_draws_it(path, tmp_path):
    lines = run("history", path).output.splitlines()
    assert [line.split()[2] for line in lines] == ["dataset", "shares", "release", "release"]
    picture = tmp_path / "spending.svg"
    result = run("history", path, "--format", "json", "--plot", picture)
    assert [entry["kind"] for entry in json.loads(result.stdout)][-1] == "release"
    assert "<svg" in picture.read_text()
    from dpcheck.ledger.timeline import timeline

    with Ledger.open(path) as ledger:
        readings = [point.epsilon for point in timeline(ledger.terms, ledger.history())]
    # Three times 0.25 is 0.75 at delta 0; at 1e-5 the optimal composition [Kairouz2017]
    # solves p^3 (1 - exp(eps - 0.75)) = 1e-5, where p = 1 / (1 + exp(-0.25)).
    least = 0.75 + math.log1p(-1e-5 * (1 + math.exp(-0.25)) ** 3)
    assert readings[:2] + readings[3:] == [0.0, 0.0, 1.25]
    assert least <= readings[2] <= 0.75


def test_export_writes_the_statement(path, tmp_path):
    text = run("export", path).output
    assert text.startswith("Privacy statement\n- patients: (2, 1e-05)-differential privacy per row")
    out = tmp_path / "statement.json"
    run("export", path, "--format", "json", "--output", out)
    assert json.loads(out.read_text())["statement"] == text.rstrip("\n")


def test_reading_leaves_the_file_alone(path):
    before = path.read_bytes()
    for what in ("show", "history", "export"):
        assert run(what, path).exit_code == 0
    assert path.read_bytes() == before
    with pytest.raises(LedgerMisuse, match="there is no ledger"):
        run("show", path.with_name("nowhere"))


def old_ledger(path, facts):
    """A file as the first format wrote it."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA application_id = 0x44504C31")
        db.execute("PRAGMA user_version = 1")
        db.execute(
            "CREATE TABLE facts (kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, "
            "stamp INTEGER NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID"
        )
        db.execute("CREATE TABLE state (seal INTEGER NOT NULL, stamp INTEGER NOT NULL)")
        seal = 0
        for stamp, fact in enumerate(facts, 1):
            db.execute("INSERT INTO facts VALUES (?, ?, ?, ?)", (*fact, stamp))
            digest = hashlib.sha256(json.dumps(fact).encode()).digest()
            seal += int.from_bytes(digest[:8], "big") % 2**63
        db.execute("INSERT INTO state VALUES (?, ?)", (seal % 2**63, len(facts)))
    db.close()


HEADER = {
    "epsilon": 3.0,
    "delta": 1e-5,
    "adjacency": "add-remove",
    "filter": "rdp",
    "order": 8.0,
    "reserve": 0.1,
}
RELEASE = {"kind": "Gaussian", "noise_multiplier": 30.0}
STEP = {"kind": "PureDP", "epsilon": 0.1, "adjacency": None}
OLD = [
    ("header", "", json.dumps(HEADER)),
    ("dataset", "a", json.dumps([100, None, "row", 1])),
    ("dataset", "b", json.dumps([None, None, "row", 1])),
    ("overlap", json.dumps(("a", "b")), "true"),
    ("split", json.dumps(("a", "halves")), json.dumps(["rows", ["0", "1"], [50, 50]])),
    ("batch", json.dumps(("b", 0)), json.dumps(["0.3", "0", "pure"])),
    ("plan", "weekly", json.dumps(["b", {"kind": "Repeated", "event": STEP, "times": 3}, 0])),
    ("aside", "a", "1.00E-6"),
    ("aside", "a + b", "1.00E-6"),
    ("count", json.dumps(("a/halves[0]", RELEASE)), "7"),
    ("steps", json.dumps(("weekly", STEP)), "2"),
]


def test_a_ledger_of_the_first_format_is_carried_over(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old_ledger(old, OLD)
    before = old.read_bytes()
    assert "a/halves[0]: 7 x Gaussian" in run("convert", old, new).output
    assert old.read_bytes() == before
    with Ledger.open(new, Budget(3.0, 1e-5), "add-remove", order=8.0) as ledger:
        assert {line.times for line in ledger.report().lines} == {7, 3}
        plan = ledger.plan(ledger.dataset("b"), PureDP(0.1) * 3, name="weekly")
        assert plan.left == {PureDP(0.1): 1}
        # The same filter at the same share: the sum of divergences 8/(2 * 30^2) may reach the limit
        # of order 8 at 9e-6, less the plan's epsilon in the account of both.
        import math

        limit = 3.0 - 0.3 - math.log(7 / 8) + (math.log(9e-6) + math.log(8)) / 7
        more = math.floor(limit / (8 / (2 * 30**2))) - 7
        part = ledger.dataset("a", rows=100).split_rows(2, name="halves")[0]
        assert ledger.how_many(part, Gaussian(30.0)) == more
    with pytest.raises(LedgerMisuse, match="exists already"):
        run("convert", old, new)


def test_a_changed_ledger_of_the_first_format_is_not_carried_over(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old_ledger(old, OLD)
    with sqlite3.connect(old) as db:
        db.execute("UPDATE facts SET value = '6' WHERE kind = 'count'")
    db.close()
    with pytest.raises(LedgerBroken, match="checksum"):
        run("convert", old, new)
    assert not new.exists()


def test_show_prints_one_epsilon(tmp_path):
    """The odometer's, where the rule that accepts a release would say another number."""
    path = tmp_path / "privacy.ledger"
    with Ledger.open(path, Budget(2.0, 1e-5), "add-remove") as ledger:
        ledger.spend(ledger.dataset("patients"), Gaussian(20.0), times=30)
    shown = run("show", path).output
    said = re.findall(r"epsilon ([\d.]+) of 2", shown)
    assert len(said) == 2
    assert float(said[0]) == pytest.approx(float(said[1]), rel=1e-3)  # printed to other digits


def test_report_is_one_page_with_budgets_burn_down_spenders_and_what_fits(tmp_path):
    path, out = tmp_path / "<b>.ledger", tmp_path / "page.html"
    for by, epsilon in (("billing", 0.5), ("research & <dev>", 0.25)):
        with Ledger.open(path, Budget(2.0), "add-remove", by=by, block=1) as ledger:
            for _ in range(2):
                ledger.spend(ledger.dataset("patients <script>"), PureDP(epsilon))
            ledger.population("sites", size=5)
    run("report", path, "-o", out)
    text = out.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "http" not in text  # nothing is fetched
    assert "patients &lt;script&gt; (per row)" in text
    assert "1.5</td><td>2</td>" in text
    assert "one pure release of epsilon 0.5 fits" in text
    rows = re.findall(r"<tr><td>([^<]*)</td><td>patients &lt;script&gt;</td><td>(\d+)</td>", text)
    assert sorted(rows) == [("billing", "2"), ("research &amp; &lt;dev&gt;", "2")]
    # The curve ends where a quarter is left: 10 + 0.75 * 210 of the drawing's height.
    assert re.search(r"V167\.5H710", text)
    assert "each of 5 accounts" in text
    from html.parser import HTMLParser

    class Balanced(HTMLParser):
        """Every tag that is opened is closed."""

        def __init__(self):
            super().__init__()
            self.open = []

        def handle_starttag(self, tag, attrs):
            if tag != "meta":
                self.open.append(tag)

        def handle_startendtag(self, tag, attrs):
            """Closed at once."""

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

    reader = Balanced()
    reader.feed(text)
    assert reader.open == []


def test_report_of_a_ledger_with_nothing_in_it(tmp_path):
    path, out = tmp_path / "empty.ledger", tmp_path / "page.html"
    Ledger.open(path, Budget(2.0), "add-remove").close()
    run("report", path, "-o", out)
    assert "Nothing was spent yet" in out.read_text(encoding="utf-8")


def test_history_knows_the_heads_it_had_and_not_those_of_a_lost_future(path):
    before = path.read_bytes()
    heads = [re.search(r"head (\w+)", run("show", path).output)[1]]
    with Ledger.open(path, block=1) as ledger:
        ledger.spend(ledger.dataset("patients", rows=100), PureDP(0.5))
        ledger.dataset("visits")
    heads.append(re.search(r"Head of the ledger: (\w+)", run("export", path).output)[1])
    for head, at in zip(heads, (4, 6), strict=True):
        shown = run("history", path, "--head", head)
        assert shown.exit_code == 0
        assert f"was the head after {at} of 6 entries" in shown.stderr
    path.write_bytes(before)  # a backup is restored
    assert run("history", path, "--head", heads[0]).exit_code == 0
    shown = run("history", path, "--head", heads[1])
    assert shown.exit_code == 1
    assert "was a backup restored?" in shown.stderr
