"""Accepted findings: who may stay, and what makes an entry fail the gate."""

import json
import math
from datetime import date, timedelta

import pytest

from dpcheck.core.errors import InvalidBaseline
from dpcheck.gate import baseline
from dpcheck.gate.baseline import Accepted, GateFinding

TODAY = date(2030, 5, 17)
FOUND = GateFinding("mech.py:f/data", 1.2)


def accepted(**changes):
    values = {
        "finding": "mech.py:f/data",
        "up_to": 1.5,
        "reason": "mended in release 4",
        "expires": TODAY,
    } | changes
    return Accepted(**values)


def test_a_finding_is_accepted_up_to_and_including_its_last_day():
    ok, complaints = baseline.judge([accepted()], [FOUND], TODAY)
    assert set(ok) == {"mech.py:f/data"}
    assert not complaints
    ok, (complaint,) = baseline.judge([accepted()], [FOUND], TODAY + timedelta(days=1))
    assert not ok
    assert "expired on 2030-05-17" in complaint


def test_what_is_no_longer_found_is_stale():
    mended = GateFinding("mech.py:f/data", 0.9, found=False)
    for findings in ([mended], []):
        ok, (complaint,) = baseline.judge([accepted()], findings, TODAY)
        assert not ok
        assert "no longer found" in complaint


def test_what_could_not_be_decided_is_neither_accepted_nor_stale():
    unknown = GateFinding("mech.py:f/data", 0.0, found=False, decided=False)
    assert baseline.judge([accepted()], [unknown], TODAY) == ({}, [])


def test_what_got_worse_is_not_what_was_accepted():
    ok, (complaint,) = baseline.judge([accepted()], [GateFinding("mech.py:f/data", 1.6)], TODAY)
    assert not ok
    assert "up to epsilon 1.5 and now leaks at least 1.6" in complaint


def test_other_findings_are_not_accepted():
    ok, _ = baseline.judge([accepted()], [FOUND, GateFinding("g/data", 9.0)], TODAY)
    assert set(ok) == {"mech.py:f/data"}


def test_added_entries_have_ten_percent_of_room_and_replace_older_ones():
    later = TODAY + timedelta(days=30)
    (entry,) = baseline.add([accepted()], FOUND, "waiting for a review", later, TODAY)
    assert entry.up_to == pytest.approx(1.32)
    assert entry.expires == later
    (entry,) = baseline.add(
        [], GateFinding("x/data", math.inf), "no noise at all yet", later, TODAY
    )
    assert entry.up_to == math.inf


def test_an_end_is_a_date_or_a_number_of_days():
    assert baseline.read_end("90d", TODAY) == date(2030, 8, 15)
    assert baseline.read_end("2030-08-15", TODAY) == date(2030, 8, 15)
    for text in ("", "d", "-1d", "90", "99999d", "2030-8-15", "2030-02-30"):
        with pytest.raises(InvalidBaseline, match="YYYY-MM-DD"):
            baseline.read_end(text, TODAY)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"expires": TODAY - timedelta(days=1)}, "in the past"),
        ({"expires": TODAY + timedelta(days=367)}, "more than a year"),
        ({"reason": "meh"}, "a reason that others can understand"),
        ({"reason": "         "}, "a reason that others can understand"),
        ({"up_to": 1.1}, "would not accept it"),
    ],
)
def test_what_cannot_be_added(changes, words):
    values = {"reason": "waiting for a review", "expires": TODAY, "up_to": None} | changes
    with pytest.raises(InvalidBaseline, match=words):
        baseline.add([], FOUND, today=TODAY, **values)


def test_files_round_trip(tmp_path):
    path = tmp_path / "b.json"
    assert baseline.load(path, TODAY) == []
    entries = [accepted(), accepted(finding="budgets/people", up_to=math.inf)]
    baseline.save(path, entries)
    assert sorted(baseline.load(path, TODAY), key=lambda e: e.up_to) == entries


GOOD = {"finding": "f", "up_to": 1, "reason": "long enough", "expires": "2030-01-01"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        (" " * 300_000, "larger than"),
        ([], "is not a baseline"),
        ({"schema": "other"}, "is not a baseline"),
        ({"accepted": {}}, "a list"),
        ({"accepted": [], "extra": 1}, "nothing else"),
        ({"accepted": [3]}, "must have exactly"),
        ({"accepted": [{"finding": "f"}]}, "must have exactly"),
        ({"accepted": [GOOD | {"why": "x"}]}, "must have exactly"),
        ({"accepted": [GOOD | {"expires": "soon"}]}, "YYYY-MM-DD"),
        ({"accepted": [GOOD | {"expires": 20300101.5}]}, "YYYY-MM-DD"),
        ({"accepted": [GOOD | {"reason": ""}]}, "a reason"),
        ({"accepted": [GOOD | {"reason": 5}]}, "must be text"),
        ({"accepted": [GOOD | {"up_to": "1"}]}, "a number"),
        ({"accepted": [GOOD | {"up_to": -1}]}, "above 0"),
        ({"accepted": [GOOD | {"up_to": math.nan}]}, "above 0"),
        ({"accepted": [GOOD, GOOD]}, "twice"),
        ({"accepted": [GOOD | {"expires": "9999-12-31"}]}, "more than a year"),
    ],
)
def test_files_that_are_refused(tmp_path, data, words):
    path = tmp_path / "b.json"
    if isinstance(data, dict):
        data = {"schema": "dpcheck.baseline/1"} | data
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    with pytest.raises(InvalidBaseline, match=words):
        baseline.load(path, TODAY)
