"""The file of a ledger: on the disk, on one machine, refused when it is not as it was left."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from click.testing import CliRunner

from dpcheck import Budget, Gaussian, Ledger, PureDP
from dpcheck.cli.ledger import command
from dpcheck.core.errors import InvalidParameter, LedgerBroken, LedgerMisuse
from dpcheck.ledger.storage.sql import places, sqlite

BUDGET = Budget(3.0, 1e-5)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "privacy.ledger"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A ledger of several pages."""
    path = tmp_path_factory.mktemp("whole") / "privacy.ledger"
    with Ledger.open(path, BUDGET, "replace-one") as ledger:
        data = ledger.dataset("d")
        for i in range(60):
            ledger.spend(data, Gaussian(1000.0 + i))
        ledger.spend(data, PureDP(0.001), request_id="q").release()
    return path


@pytest.fixture
def kept(whole, path):
    shutil.copy(whole, path)
    return path


def test_the_whole_file_is_fine(kept):
    with Ledger.open(kept, BUDGET, "replace-one") as ledger:
        assert len(ledger.report().lines) == 61
    assert sorted(p.name for p in kept.parent.iterdir()) == [kept.name]  # no draft, no journal


def test_it_is_written_so_that_power_may_fail(path):
    """EXTRA (3): the folder is synchronised after each commit of the rollback journal."""
    with Ledger.open(path, BUDGET, "replace-one") as ledger:
        storage = ledger._spending.storage
        assert storage.execute("PRAGMA synchronous") == [(3,)]
        assert storage.execute("PRAGMA journal_mode") == [("delete",)]


def test_a_new_file_is_in_its_folder_for_good(path, monkeypatch):
    synchronised = []
    monkeypatch.setattr(os, "fsync", lambda file: synchronised.append(os.fstat(file).st_ino))
    Ledger.open(path, BUDGET, "replace-one").close()
    assert path.parent.stat().st_ino in synchronised


def changed(sql, *values):
    """A row changed by somebody who knows SQLite; entries are guarded by triggers besides."""

    def change(path):
        with sqlite3.connect(path) as db:
            db.execute("DROP TRIGGER ledger_entries_stay")
            db.execute("DROP TRIGGER ledger_entries_last")
            assert db.execute(sql, values).rowcount > 0
        db.close()

    return change


def another(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t(a)")


BREAKS = {
    "empty": lambda p: p.write_bytes(b""),
    "garbage": lambda p: p.write_bytes(b"not a ledger at all" * 100),
    "cut": lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size // 2]),
    "another database": another,
    "budget raised": changed(
        "UPDATE ledger_terms SET terms = replace(terms, '\"epsilon\":3.0', '\"epsilon\":9.0')"
    ),
    "a dataset lost": changed("DELETE FROM ledger_datasets"),
    "a declaration lost": changed("DELETE FROM ledger_entries WHERE kind = 'dataset'"),
    "a declaration changed": changed(
        'UPDATE ledger_entries SET body = replace(body, \'"unit":"row"\', \'"unit":"cow"\') '
        "WHERE kind = 'dataset'"
    ),
    "a balance lost": changed("DELETE FROM ledger_balances"),
    "a balance changed": changed("UPDATE ledger_balances SET body = replace(body, '0', '1')"),
    "a count lowered": changed("UPDATE ledger_counts SET times = '0' WHERE number = 7"),
    "a count lost": changed("DELETE FROM ledger_counts WHERE number = 7"),
    "a head moved back": changed("UPDATE ledger_datasets SET entries = entries - 1"),
    "an entry changed": changed(
        "UPDATE ledger_entries SET body = replace(body, '1', '2') WHERE number = 30"
    ),
    "an entry lost": changed("DELETE FROM ledger_entries WHERE number = 30"),
    "the last entry lost": changed(
        "DELETE FROM ledger_entries WHERE number = (SELECT max(number) FROM ledger_entries)"
    ),
    "a receipt unreleased": changed("UPDATE ledger_receipts SET released = 0"),
}


def read_all(path):
    with Ledger.open(path) as ledger:
        ledger.report()
        ledger.history()
        ledger.spend(ledger.dataset("d"), PureDP(0.001), request_id="q")


@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_file_is_refused_and_left_alone(kept, how):
    BREAKS[how](kept)
    before = kept.read_bytes()
    with pytest.raises(LedgerBroken) as caught:
        read_all(kept)
    assert caught.value.code == "DPC302"
    assert "\n" not in str(caught.value)
    assert kept.read_bytes() == before


def test_entries_are_only_ever_added(kept):
    with sqlite3.connect(kept) as db:
        for sql in ("UPDATE ledger_entries SET body = ''", "DELETE FROM ledger_entries"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                db.execute(sql)
    db.close()


def test_a_file_replaced_under_an_open_ledger_is_noticed(kept, tmp_path):
    shutil.copy(kept, tmp_path / "backup")
    ledger = Ledger.open(kept, block=1)
    data = ledger.dataset("d")
    os.replace(tmp_path / "backup", kept)
    with pytest.raises(LedgerBroken, match="replaced"):
        ledger.spend(data, PureDP(0.001))


def test_a_backup_restored_into_an_open_ledger_is_noticed(kept):
    before = kept.read_bytes()
    with Ledger.open(kept, block=1) as ledger:
        data = ledger.dataset("d")
        ledger.spend(data, PureDP(0.001))
        kept.write_bytes(before)  # the same file, older contents
        with pytest.raises(LedgerBroken, match="less than before"):
            ledger.spend(data, PureDP(0.001))


def test_a_locked_file_is_waited_for_and_then_reported(kept, monkeypatch):
    monkeypatch.setattr(sqlite, "WAIT_SECONDS", 0.1)
    ledger = Ledger.open(kept, block=1)
    data = ledger.dataset("d")
    other = sqlite3.connect(kept, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerMisuse, match="locked by another process"):
        ledger.spend(data, PureDP(0.25))
    other.execute("ROLLBACK")
    other.close()
    ledger.spend(data, PureDP(0.25))
    assert {line.event: line.times for line in ledger.report().lines}[PureDP(0.25)] == 1
    ledger.close()


def test_a_full_disk_is_not_counted_and_nothing_of_others_is_missed(kept):
    ledger, other = Ledger.open(kept, block=1), Ledger.open(kept, block=1)
    data, theirs = ledger.dataset("d"), other.dataset("d")
    storage = ledger._spending.storage
    ((pages,),) = storage.execute("PRAGMA page_count")
    storage.execute(f"PRAGMA max_page_count = {pages}")

    def until_a_page_is_needed():
        for i in range(100):
            ledger.spend(data, Gaussian(5000.0 + i))

    with pytest.raises(LedgerMisuse, match="full"):
        until_a_page_is_needed()
    other.spend(theirs, PureDP(0.25))
    storage.execute("PRAGMA max_page_count = 100000")
    ledger.spend(data, PureDP(0.125))
    assert ledger.report() == other.report()
    found = {line.event: line.times for line in ledger.report().lines}
    assert found[PureDP(0.25)] == 1
    ledger.close()
    other.close()


@pytest.mark.parametrize(
    ("kind", "refused"),
    [("nfs4", True), ("cifs", True), ("fuse.sshfs", True), ("9p", True), ("ext4", False)],
)
def test_a_network_file_system_is_refused(tmp_path, monkeypatch, kind, refused):
    device = tmp_path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "21 1 0:21 / /proc rw - proc proc rw\n"
        f"36 35 {number} / / rw,noatime shared:1 master:2 - {kind} server:/export rw\n"
    )
    monkeypatch.setattr(places, "_MOUNTS", mounts)
    path = tmp_path / "privacy.ledger"
    if not refused:
        Ledger.open(path, BUDGET, "add-remove").close()
        return
    with pytest.raises(LedgerMisuse, match=rf"network file system \({kind}\).*postgresql://"):
        Ledger.open(path, BUDGET, "add-remove")
    assert not path.exists()
    monkeypatch.setattr(places, "_MOUNTS", tmp_path / "nowhere")
    Ledger.open(path, BUDGET, "add-remove").close()
    monkeypatch.setattr(places, "_MOUNTS", mounts)  # made on a local disk, then mounted elsewhere
    with pytest.raises(LedgerMisuse, match="network file system"):
        Ledger.open(path)


def test_a_process_killed_in_the_middle_of_a_commit_leaves_the_ledger_as_it_was(kept):
    """The hot journal it leaves is rolled back by whoever opens the ledger next."""
    code = f"""
import os
from dpcheck import Ledger, PureDP
ledger = Ledger.open({str(kept)!r}, block=1)
data = ledger.dataset("d")
storage = ledger._spending.storage
storage._db.execute("PRAGMA cache_size = 1")  # so that pages are written before the commit
storage._db.execute("PRAGMA cache_spill = 1")
ordinary = storage.execute_all
def dying(statements):
    ordinary(statements)
    os._exit(9)
storage.execute_all = dying
ledger.spend(data, PureDP(0.5))
"""
    before = len(Ledger.open(kept).report().lines)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 9, run.stderr
    with Ledger.open(kept) as ledger:
        assert len(ledger.report().lines) == before
        ledger.spend(ledger.dataset("d"), PureDP(0.25))


def test_a_file_of_somebody_else_is_no_broken_ledger(path, monkeypatch):
    """Nobody should restore a backup because of a missing right."""
    Ledger.open(path, BUDGET, "add-remove").close()

    opened = type(path).open

    def denied(self, *arguments, **named):
        if self == path:
            raise PermissionError(13, "Permission denied")
        return opened(self, *arguments, **named)

    monkeypatch.setattr(type(path), "open", denied)
    with pytest.raises(LedgerMisuse, match="you may not read the ledger"):
        Ledger.open(path)


def test_a_disk_that_is_full_or_read_only_says_what_to_do(tmp_path):
    """A small file system of our own, which only root may make."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a small file system needs root")
    made = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(tmp_path)]
    if subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no mounts")
    try:
        path, times = tmp_path / "privacy.ledger", 0
        with Ledger.open(path, Budget(1000.0), "add-remove", block=1) as ledger:
            data = ledger.dataset("d")

            def until_full():
                nonlocal times
                while True:
                    ledger.spend(data, PureDP(0.01))
                    times += 1

            with pytest.raises(LedgerMisuse, match="Make room"):
                until_full()
        with pytest.raises(LedgerMisuse, match="Make room"):
            Ledger.open(tmp_path / "another.ledger", BUDGET, "add-remove")
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path)], check=True)
        with Ledger.open(path) as ledger:
            assert [line.times for line in ledger.report().lines] == [times]
            data = ledger.dataset("d")
            with pytest.raises(LedgerMisuse, match="you may write"):
                ledger.spend(data, PureDP(0.01))
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=False)


def test_a_clock_that_goes_wrong_costs_no_release_and_no_report(path, monkeypatch):
    """Times are for people to read: entries keep their order whatever they say."""
    from dpcheck.ledger.statements.page import page

    with Ledger.open(path, BUDGET, "add-remove", block=1) as ledger:
        data = ledger.dataset("d")
        for moment in (2e9, 1e9, -5.0, 1e12):
            monkeypatch.setattr("time.time", lambda moment=moment: moment)
            ledger.spend(data, PureDP(0.05))
        monkeypatch.undo()
        assert [e.time for e in ledger.history() if e.kind == "release"] == [2e9, 1e9, -5.0, 1e12]
        drawn = page(ledger.overview())
    assert "1e+12 s after 1970" in drawn
    assert "H-" not in drawn  # nothing is drawn to the left of the picture
    said = CliRunner().invoke(command, ["history", str(path)], catch_exceptions=False)
    assert "1e+12 s after 1970  release" in said.output


@pytest.mark.parametrize("place", [":memory:", "file:x?mode=memory", "sqlite:///x", "mysql://h/x"])
def test_addresses_of_other_databases_are_no_names_of_files(place, tmp_path, monkeypatch):
    """Nobody should find a file called ':memory:' next week."""
    monkeypatch.chdir(tmp_path)
    for terms in ((), (BUDGET, "add-remove")):
        with pytest.raises(InvalidParameter, match="not the path of a file"):
            Ledger.open(place, *terms)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_file_is_said_to_be_none(tmp_path):
    """A folder is not a broken ledger, and no backup would mend it."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("missing")
    for name, why in (("", "folder"), ("pipe", "pipe"), ("link", "missing, which does not exist")):
        for terms in ((), (BUDGET, "add-remove")):
            with pytest.raises(LedgerMisuse, match=f"there can be no ledger at .*{why}"):
                Ledger.open(tmp_path / name, *terms)
    with pytest.raises(LedgerMisuse, match=f"there is no folder {tmp_path / 'new'}"):
        Ledger.open(tmp_path / "new" / "x.ledger", BUDGET, "add-remove")
