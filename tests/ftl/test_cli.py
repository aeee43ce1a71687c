"""`dpcheck ftl` as a newcomer uses it: files, certificates, and what it says when something is wrong."""

import os
import stat

import pytest

from dpcheck.cli.ftl.data import read_common, read_table, scaled
from dpcheck.cli.main import main, run
from dpcheck.core.errors import UsageError


def call(capsys, monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["dpcheck", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        run()
    out = capsys.readouterr()
    return ended.value.code, out.out, out.err


@pytest.fixture
def demo(tmp_path, capsys, monkeypatch):
    assert call(capsys, monkeypatch, "ftl", "example", tmp_path)[0] == 0
    assert call(capsys, monkeypatch, "ftl", "certificates", tmp_path / "keys")[0] == 0
    return tmp_path


def test_help_shows_how_to_start(capsys, monkeypatch):
    code, out, _ = call(capsys, monkeypatch, "ftl", "--help")
    assert code == 0
    for words in ("dpcheck ftl certificates", "dpcheck ftl serve --party b", "dpcheck audit ftl"):
        assert words in out
    for verb in ("serve", "train"):
        assert "--checkpoints" in call(capsys, monkeypatch, "ftl", verb, "--help")[1]
    assert "ftl" in main.list_commands(None)


def test_the_example_is_what_the_commands_read(demo):
    a, b = read_table(demo / "a.csv", labelled=True), read_table(demo / "b.csv", labelled=False)
    assert a.X.shape == (60, 6)
    assert b.X.shape == (60, 5)
    assert set(a.labels) == {1.0, -1.0}
    rows_a, rows_b = read_common(demo / "common.txt", a), read_common(demo / "common.txt", b)
    assert [a.ids[i] for i in rows_a] == [b.ids[i] for i in rows_b]
    assert len(rows_a) == 30
    X = scaled(a.X)
    assert abs(X.mean(axis=0)).max() < 1e-12
    assert abs(X.std(axis=0) - 1).max() < 1e-12


def test_certificates_are_made_once_and_keys_are_private(demo, capsys, monkeypatch):
    for party in "ab":
        key = demo / "keys" / party / "key.pem"
        assert stat.S_IMODE(os.stat(key).st_mode) == 0o600
        assert "PRIVATE KEY" in key.read_text()
        names = {path.name for path in (demo / "keys" / party).iterdir()}
        assert names == {"authority.pem", "certificate.pem", "key.pem"}
    code, _, err = call(capsys, monkeypatch, "ftl", "certificates", demo / "keys")
    assert code == 2
    assert "exists; choose another directory" in err


def train(demo, **changes):
    options = {
        "--party": "a",
        "--connect": "127.0.0.1:9",
        "--data": demo / "a.csv",
        "--common": demo / "common.txt",
        "--certificates": demo / "keys" / "a",
        "--retries": 0,
        **changes,
    }
    return ["ftl", "train", *(str(word) for pair in options.items() for word in pair)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "no connection to 127.0.0.1:9"),
        ({"--connect": "here"}, "an address is HOST:PORT, for example 127.0.0.1:7071"),
        ({"--connect": "h:99999"}, "an address is HOST:PORT"),
        ({"--party": "b"}, "'b' is not 'a'"),
        ({"--hidden": "two"}, "--hidden takes widths like 32,16"),
        ({"--rate": "-1"}, "rate must be above 0"),
        ({"--labelled": "31"}, "between 1 and the 30 common rows"),
        ({"--key-bits": "512"}, "512"),
        ({"--out": "nowhere/net.npz"}, "there is no folder nowhere to write net.npz in"),
        ({"--folds": 2, "--scores": "s.csv"}, "--scores belongs to a training"),
        ({"--certificates": "nowhere"}, "dpcheck ftl certificates DIR"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(demo, capsys, monkeypatch, changes, words):
    code, out, err = call(capsys, monkeypatch, *train(demo, **changes))
    assert code == 2
    assert out == ""
    assert words in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,label,x\n", "no rows"),
        ("id,x\np,1\n", "must have the columns id, label and features"),
        ("name,label,x\np,1,2\n", "must have the columns"),
        ("id,label\np,1\n", "has no features"),
        ("id,label,x\np,1\n", "line 2: 2 cells instead of 3 are due"),
        ("id,label,x\np,2,1\n", "label '2' is none of 1, 0, -1"),
        ("id,label,x\np,1,one\n", "line 2: 'one' is not a finite number"),
        ("id,label,x\np,1,inf\n", "'inf' is not a finite number"),
        ("id,label,x\np,1,1\np,0,2\n", "an id twice"),
    ],
)
def test_tables_that_are_none_are_named(tmp_path, text, words):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        read_table(path, labelled=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p1\nq\n", "1 ids are not in the data, first 'q'"),
        ("", "at least one"),
        ("p1\np1\n", "once"),
    ],
)
def test_common_ids_must_be_in_the_data(tmp_path, text, words):
    table = tmp_path / "b.csv"
    table.write_text("id,x\np1,1\np2,2\n")
    common = tmp_path / "common.txt"
    common.write_text(text)
    with pytest.raises(UsageError, match=words):
        read_common(common, read_table(table, labelled=False))
