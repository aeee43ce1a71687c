"""Files that are not what a command takes: one line that says so, never a traceback or their contents."""

import sys

import pytest

from dpcheck import Budget, Ledger
from dpcheck.cli import main

WRONG = {
    "bytes": bytes(range(256)) * 40,
    "deep": b"[" * 100_000,
    "half": b'{"audits": [1, 2',
    "list": b"[]",
    "null": b"null",
    "empty": b"",
}
COMMANDS = [
    ("ledger", "export", "p.ledger", "--format", "nist", "--audits"),
    ("audit", "--replay"),
    ("audit", "--exec", "cat", "--claim", "1", "--adjacency", "add-remove", "--neighbours"),
    ("verify",),
    ("ledger", "show"),
    ("ledger", "convert", "WRONG", "new.ledger"),
]


def said(arguments, monkeypatch, capfd):
    """What the command line prints about it: exit code 2 and one line of an error."""
    monkeypatch.setattr(sys, "argv", ["dpcheck", *arguments])
    with pytest.raises(SystemExit) as end:
        main.run()
    told = capfd.readouterr()
    assert end.value.code == 2
    assert told.out == ""
    return told.err


@pytest.mark.parametrize("what", [*WRONG, "missing", "folder"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_file_of_another_kind_is_refused_in_one_line(command, what, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Ledger.open("p.ledger", Budget(1.0, 1e-6), "add-remove").close()
    (tmp_path / "folder").mkdir()
    if what in WRONG:
        (tmp_path / what).write_bytes(WRONG[what])
    arguments = [what if word == "WRONG" else word for word in command]
    error = said(arguments if "WRONG" in command else [*arguments, what], monkeypatch, capfd)
    assert error.startswith("error: DPC")
    assert "internal error" not in error
    assert len(error) < 400
    assert error.count("\n") == 1


def test_answers_in_another_encoding_are_named(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Ledger.open("p.ledger", Budget(1.0, 1e-6), "add-remove").close()
    (tmp_path / "answers.toml").write_bytes(b'[basic]\nname = "caf\xe9"\n')
    arguments = ["ledger", "export", "p.ledger", "--format", "nist", "--answers", "answers.toml"]
    assert "answers.toml cannot be read: it is not UTF-8 text" in said(
        arguments, monkeypatch, capfd
    )


@pytest.mark.parametrize("where", ["/dev/full", "x" * 5000])
def test_a_folder_that_cannot_be_made_is_no_fault_of_ours(where, monkeypatch, capfd):
    error = said(["ftl", "example", where], monkeypatch, capfd)
    assert error.startswith("error: DPC501 cannot use '")
    assert len(error) < 400
