"""Interrupts and failures while the file of a ledger is locked: it is unlocked, and nothing is forgotten."""

import errno
import fcntl

import pytest

from dpcheck import Budget, Ledger, PureDP
from dpcheck.core.errors import LedgerMisuse
from dpcheck.ledger.storage.file import FileJournal


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "privacy.ledger"
    Ledger.open(found, Budget(3.0, 1e-5), "replace-one").close()
    return found


class Interrupting:
    """fcntl.flock after which an interrupt is delivered: the earliest moment the lock is held."""

    def __init__(self, monkeypatch):
        self.times, self.flock = 0, fcntl.flock
        monkeypatch.setattr("dpcheck.ledger.storage.file.fcntl.flock", self)

    def __call__(self, file, operation):
        self.flock(file, operation)
        if self.times and operation & fcntl.LOCK_EX:
            self.times -= 1
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    "action",
    [
        lambda ledger, path: ledger.spend(ledger.dataset("d"), PureDP(0.001)),
        lambda ledger, path: ledger.close(),
        lambda ledger, path: Ledger.open(path),
    ],
    ids=["spend", "close", "open"],
)
def test_an_interrupt_when_the_lock_was_just_taken_leaves_nothing_locked(path, monkeypatch, action):
    monkeypatch.setattr("dpcheck.ledger.storage.file.WAIT_SECONDS", 0.1)
    ledger = Ledger.open(path, block=8)
    for _ in range(9):  # some of them ahead, so that closing has something to give back
        ledger.spend(ledger.dataset("d"), PureDP(0.001))
    interrupts = Interrupting(monkeypatch)
    interrupts.times = 1
    with pytest.raises(KeyboardInterrupt):
        action(ledger, path)
    with Ledger.open(path, block=1) as other:  # another file description, as another process has
        other.spend(other.dataset("d"), PureDP(0.5))
    assert interrupts.times == 0


def test_a_close_that_fails_lets_go_of_the_file_and_forgets_nothing(path, monkeypatch):
    ledger = Ledger.open(path, block=8)
    data = ledger.dataset("d")
    for _ in range(9):
        ledger.spend(data, PureDP(0.001))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dpcheck.ledger.storage.file._write", full)
        with pytest.raises(LedgerMisuse, match="No space left"):
            ledger.close()
    with pytest.raises(LedgerMisuse, match="closed"):
        ledger.spend(data, PureDP(0.001))
    with Ledger.open(path) as again:
        assert again.report().lines[0].times >= 9


def test_an_interrupted_turn_that_ends_late_does_not_unlock_a_later_one(path, monkeypatch):
    monkeypatch.setattr("dpcheck.ledger.storage.file.WAIT_SECONDS", 0.1)
    journal = FileJournal(path, None)
    interrupted = journal.exclusive()
    interrupted.__enter__()  # kept by a traceback, say
    with journal.exclusive():
        del interrupted
        with pytest.raises(LedgerMisuse, match="locked by another process"):
            FileJournal(path, None)
    FileJournal(path, None).close()
