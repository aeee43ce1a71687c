"""Ledgers of the second format (a file of lines): converted whole, or refused with a reason."""

import hashlib
import json

import pytest
from click.testing import CliRunner

from dpcheck import Budget, BudgetExceeded, Gaussian, Ledger, PureDP
from dpcheck.cli.ledger import command
from dpcheck.core.errors import InvalidParameter, LedgerBroken, LedgerMisuse, LedgerOutdated
from dpcheck.ledger.storage.conversion import convert
from dpcheck.ledger.storage.entries import to_fields

START = hashlib.sha256(b"dpcheck ledger 2").hexdigest()
TERMS = {
    "epsilon": 3.0,
    "delta": 1e-5,
    "adjacency": "add-remove",
    "filter": "loop",
    "order": None,
    "reserve": None,
}


def plain(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def old_ledger(path, bodies):
    """A file as the second format wrote it, with right digests whatever the bodies are."""
    digest, lines = START, b""
    for text in (plain(TERMS), *bodies):
        digest = hashlib.sha256(digest.encode() + text.encode()).hexdigest()
        lines += text.encode() + b" " + digest.encode() + b"\n"
    head = plain(
        {
            "format": "dpcheck ledger 2",
            "digest": digest,
            "entries": len(bodies) + 1,
            "size": 256 + len(lines),
        }
    ).encode()
    sealed = hashlib.sha256(START.encode() + head).hexdigest()[:16].encode()
    path.write_bytes((head + b" " + sealed).ljust(255) + b"\n" + lines)


def entries():
    """What a ledger in memory has, as the second format wrote it."""
    ledger = Ledger(Budget(3.0, 1e-5), "add-remove", block=4)
    data = ledger.dataset("d", rows=10)
    parts = data.split_rows(2, name="halves")
    for _ in range(7):
        ledger.spend(parts[0], Gaussian(30.0))  # some ahead, so that some are given back
    ledger.overlaps(ledger.dataset("e"), ledger.dataset("f"))
    plan = ledger.plan(ledger.dataset("f"), PureDP(0.1) * 3, delta=0.0, name="weekly")
    plan.step(2)
    ledger._spending.give_back()
    return ledger, [plain(to_fields(entry)) for entry in ledger.history()]


@pytest.fixture
def old(tmp_path):
    return tmp_path / "old.ledger"


def test_a_ledger_of_the_second_format_is_carried_over(old, place):
    before, bodies = entries()
    old_ledger(old, bodies)
    contents = old.read_bytes()
    for given in ((), (Budget(3.0, 1e-5), "add-remove")):
        with pytest.raises(LedgerOutdated, match=r"nothing in it is lost.*dpcheck ledger convert"):
            Ledger.open(old, *given)
    shown = CliRunner().invoke(command, ["convert", str(old), place], catch_exceptions=False)
    assert "d/halves[0]: 7 x Gaussian" in shown.output
    assert old.read_bytes() == contents
    with Ledger.open(place) as ledger:
        assert [plain(to_fields(entry)) for entry in ledger.history()] == bodies
        assert ledger.report().lines == before.report().lines
        assert ledger.report().accounts == before.report().accounts
        part = ledger.dataset("d", rows=10).split_rows(2, name="halves")[0]
        own = before.dataset("d", rows=10).split_rows(2, name="halves")[0]
        assert ledger.how_many(part, Gaussian(30.0)) == before.how_many(own, Gaussian(30.0))
        plan = ledger.plan(ledger.dataset("f"), PureDP(0.1) * 3, name="weekly")
        assert plan.left == {PureDP(0.1): 1}
        with pytest.raises(BudgetExceeded):
            plan.step(2)
    with pytest.raises(LedgerMisuse, match="already"):
        convert(old, place)


DATASET = plain(
    {
        "kind": "dataset",
        "time": 1.0,
        "name": "d",
        "rows": 10,
        "budget": None,
        "unit": "row",
        "max_rows_per_unit": 1,
    }
)


def release(times, path="d"):
    event = {"kind": "PureDP", "epsilon": 0.1, "adjacency": None}
    return plain({"kind": "release", "time": 2.0, "path": path, "event": event, "times": times})


FORGED = {
    "a negative release": [DATASET, release(2), release(-3)],
    "a negative release of nothing": [DATASET, release(-1)],
    "no release": [DATASET, release(0)],
    "a release of half": [DATASET, release(0.5)],
    "a release of very many": [DATASET, release(10**4000)],
    "a release from nowhere": [DATASET, release(1, "e")],
    "a repeated dataset": [DATASET, release(5), DATASET],
    "an unknown kind": [DATASET, plain({"kind": "refund", "time": 1.0})],
    "deep": [DATASET, '{"kind":' * 50_000 + "1" + "}" * 50_000],
    "deep event": [
        DATASET,
        release(1).replace("0.1", '{"kind":"Moved","event":' * 500 + "1" + "}" * 500),
    ],
    "5,000 digits": [DATASET, release(1).replace('"times":1', f'"times":{"9" * 5000}')],
    "a list": [DATASET, "[1, 2]"],
    "null": [DATASET, "null"],
    "no json": [DATASET, "not json"],
    "a list for a name": [DATASET.replace('"name":"d"', '"name":[1, 2]')],
    "a dataset of minus one row": [DATASET.replace('"rows":10', '"rows":-1')],
    "an overlap with nobody": [
        DATASET,
        plain({"kind": "overlap", "time": 1.0, "names": ["d", "x"]}),
    ],
    "a step of no plan": [release(1).replace('"kind":"release"', '"kind":"step","plan":"p"')],
}


@pytest.mark.parametrize("how", FORGED)
def test_forged_lines_are_refused_with_a_reason(old, tmp_path, how):
    old_ledger(old, FORGED[how])
    with pytest.raises(LedgerBroken) as caught:
        convert(old, str(tmp_path / "new.ledger"))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert [p.name for p in tmp_path.iterdir()] == [old.name]


def test_a_changed_file_of_the_second_format_is_not_carried_over(old, tmp_path):
    _, bodies = entries()
    old_ledger(old, bodies)
    whole = old.read_bytes()
    for at in range(0, len(whole), 7):
        old.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises((LedgerBroken, LedgerMisuse)):
            convert(old, str(tmp_path / "new.ledger"))
    for length in range(0, len(whole), 101):
        old.write_bytes(whole[:length])
        with pytest.raises((LedgerBroken, LedgerMisuse)):
            convert(old, str(tmp_path / "new.ledger"))
    assert [p.name for p in tmp_path.iterdir()] == [old.name]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (b"hello\n", "not a ledger of an earlier dpcheck"),
        (b"", "not a ledger of an earlier dpcheck"),
        (None, "no such file"),
    ],
)
def test_what_is_no_old_ledger_is_said_to_be_none(old, tmp_path, what, words):
    if what is not None:
        old.write_bytes(what)
    with pytest.raises(LedgerMisuse, match=words):
        convert(old, str(tmp_path / "new.ledger"))
    with pytest.raises(LedgerMisuse, match="is a directory"):
        convert(tmp_path, str(tmp_path / "new.ledger"))


def test_a_ledger_of_today_needs_no_conversion(old, tmp_path):
    """It is not broken either."""
    Ledger.open(old, Budget(1.0), "add-remove").close()
    with pytest.raises(LedgerMisuse, match="present format already"):
        convert(old, str(tmp_path / "new.ledger"))


def test_names_that_no_file_can_have_are_refused(old):
    _, bodies = entries()
    old_ledger(old, bodies)
    for name in ("x" * 5000, "a\x00b"):
        with pytest.raises(LedgerMisuse, match="there can be no ledger at"):
            convert(old, name)
    with pytest.raises(InvalidParameter, match="not the path of a file"):
        convert(old, ":memory:")
