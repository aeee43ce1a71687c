"""The ledger in a file: crashes count too many, never too few; broken files are never reset."""

import errno
import fcntl
import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from dpcheck import ApproxDP, Budget, BudgetExceeded, Gaussian, Ledger, PureDP, SampledGaussian
from dpcheck.core.errors import LedgerBroken, LedgerMisuse, LedgerOutdated

BUDGET = Budget(3.0, 1e-5)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "privacy.ledger"


def test_what_was_spent_is_there_when_it_is_opened_again(path):
    with Ledger.open(path, BUDGET, "replace-one") as ledger:
        patients = ledger.dataset("patients", rows=100, budget=Budget(2.0, 1e-6))
        low, _ = patients.split_rows(2, name="halves")
        for block in low.split_columns(2, name="blocks"):
            ledger.spend(block, PureDP(0.25), times=3)
        north, _ = patients.split_by("city", ["north", "south"])
        ledger.spend(north, ApproxDP(0.125, 1e-8))
        ledger.overlaps(ledger.dataset("staff"), ledger.dataset("nurses"))
        ledger.spend(ledger.dataset("staff"), SampledGaussian(2.0, 0.01), times=7)
        plan = ledger.plan(ledger.dataset("nurses"), PureDP(0.1) * 5, delta=0.0, name="weekly")
        plan.step(2)
        before = ledger.report(), ledger.statement(), ledger.remaining()
    with Ledger.open(path) as ledger:
        assert (ledger.report(), ledger.statement(), ledger.remaining()) == before
        patients = ledger.dataset("patients", rows=100, budget=Budget(2.0, 1e-6))
        assert ledger.epsilon(dataset=patients, delta=1e-6).upper == 1.625
        plan = ledger.plan(ledger.dataset("nurses"), PureDP(0.1) * 5, name="weekly")
        assert plan.left == {PureDP(0.1): 3}
        with pytest.raises(BudgetExceeded):
            plan.step(4)
        with pytest.raises(LedgerMisuse, match="another schedule"):
            ledger.plan(ledger.dataset("nurses"), PureDP(0.1) * 6, name="weekly")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"budget": Budget(4.0, 1e-5), "adjacency": "replace-one"}, "budget"),
        ({"budget": BUDGET, "adjacency": "add-remove"}, "adjacency"),
        ({"budget": Budget(3.0)}, "budget"),
        ({"adjacency": "zero-out"}, "adjacency"),
        ({"filter": "zcdp"}, "filter"),
        ({"order": 9.0}, "order"),
    ],
)
def test_opening_on_other_terms_is_refused(path, arguments, words):
    Ledger.open(path, BUDGET, "replace-one").close()
    with pytest.raises(LedgerMisuse, match=f"was opened with {words}"):
        Ledger.open(path, **arguments)
    Ledger.open(path, BUDGET, "replace-one").close()
    Ledger.open(path).close()


def test_a_new_ledger_needs_terms(path):
    with pytest.raises(LedgerMisuse, match="there is no ledger"):
        Ledger.open(path)
    with pytest.raises(LedgerMisuse, match="there is no ledger"):
        Ledger.open(path, BUDGET)
    with pytest.raises(LedgerMisuse, match="cannot create"):
        Ledger.open(path / "deeper", BUDGET, "replace-one")
    assert not path.exists()


def test_parts_and_plans_of_a_shared_ledger_have_names(path):
    with Ledger.open(path, BUDGET, "replace-one") as ledger:
        data = ledger.dataset("d", rows=10)
        for call in (
            lambda: data.split_rows(2),
            lambda: data.split_columns(2),
            lambda: ledger.plan(data, PureDP(0.1)),
        ):
            with pytest.raises(LedgerMisuse, match="name="):
                call()
        data.split_rows(2, name="halves")
        with pytest.raises(LedgerMisuse, match="before, otherwise"):
            data.split_rows([4, 6], name="halves")


def entries(path):
    """What the file itself says, read without dpcheck."""
    return [json.loads(line[:-66]) for line in path.read_bytes().splitlines(keepends=True)[1:]]


def counted(path):
    return sum(entry["times"] for entry in entries(path) if entry.get("kind") == "release")


def test_block_one_is_exact_at_every_moment(path):
    with Ledger.open(path, BUDGET, "replace-one", block=1) as ledger:
        data = ledger.dataset("d")
        for step in range(1, 30):
            ledger.spend(data, PureDP(0.01))
            assert counted(path) == step


def test_blocks_run_ahead_by_no_more_than_was_spent_and_are_given_back(path):
    ledger = Ledger.open(path, BUDGET, "replace-one", block=16)
    data = ledger.dataset("d")
    writes, last = 0, 0
    for step in range(1, 101):
        ledger.spend(data, PureDP(0.001))
        now = counted(path)
        writes, last = writes + (now != last), now
        assert step <= now <= min(2 * step, step + 16)
        assert ledger.epsilon().upper == pytest.approx(step * 0.001)  # reading is exact
    assert writes < 15
    ledger.close()
    assert counted(path) == 100


def test_two_ledgers_on_one_file_see_each_other(path):
    first = Ledger.open(path, Budget(1.0), "replace-one", block=1)
    second = Ledger.open(path, block=1)
    mine, yours = first.dataset("d", rows=10), second.dataset("d", rows=10)
    first.spend(mine, PureDP(0.75))
    with pytest.raises(BudgetExceeded) as caught:
        second.spend(yours, PureDP(0.5))
    assert caught.value.data["spent"] == 0.75
    part, _ = mine.split_rows(2, name="halves")
    first.spend(part, PureDP(0.125))
    assert second.epsilon().upper == 0.875
    other = second.dataset("d", rows=10).split_rows(2, name="halves")[1]
    second.spend(other, PureDP(0.25))
    assert first.epsilon().upper == 1.0
    with pytest.raises(LedgerMisuse, match="declared before"):
        second.dataset("d", rows=11)
    first.close()
    second.close()


def test_two_ledgers_never_overspend_together(path):
    ledgers = [Ledger.open(path, Budget(1.0), "replace-one", block=7) for _ in range(3)]
    data = [ledger.dataset("d") for ledger in ledgers]
    spent, working = 0, {0, 1, 2}
    while working:
        for i in tuple(working):
            try:
                ledgers[i].spend(data[i], PureDP(1 / 128))
                spent += 1
            except BudgetExceeded:
                working.discard(i)
    for ledger in ledgers:
        ledger.close()
    assert counted(path) == spent
    assert 128 - 3 * 7 <= spent <= 128  # what the others hold ahead can refuse the last few


def test_a_plan_is_stepped_by_two_processes_and_never_beyond_its_end(path):
    first = Ledger.open(path, Budget(9.0), "replace-one", block=8)
    second = Ledger.open(path, block=8)
    plans = [one.plan(one.dataset("d"), PureDP(0.125) * 64, name="p") for one in (first, second)]
    steps, working = 0, set(plans)
    while working:
        for plan in tuple(working):
            try:
                plan.step()
                steps += 1
            except BudgetExceeded:
                working.discard(plan)
    assert 64 - 8 <= steps <= 64
    first.close()
    second.close()
    with Ledger.open(path) as again:
        plan = again.plan(again.dataset("d"), PureDP(0.125) * 64, name="p")
        assert sum(plan.left.values()) == 64 - steps
        assert again.epsilon().upper == 8.0


def test_a_fork_shares_the_file_and_not_what_was_counted_ahead(path):
    # In a process of its own: forking the test runner is not its business.
    code = f"""
import os
from dpcheck import Budget, Ledger, LedgerMisuse, PureDP
shared = Ledger.open({str(path)!r}, Budget(10.0), "replace-one")
alone = Ledger(Budget(10.0), "replace-one")
data, mine = shared.dataset("d"), alone.dataset("d")
for _ in range(10):
    shared.spend(data, PureDP(0.01))
    alone.spend(mine, PureDP(0.01))
child = os.fork()
for _ in range(10):
    shared.spend(data, PureDP(0.01))
if child == 0:
    try:
        alone.spend(mine, PureDP(0.01))
    except LedgerMisuse as error:
        assert "copied by a fork" in str(error)
        os._exit(0)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
alone.spend(mine, PureDP(0.01))
shared.close()
""".replace("LedgerMisuse, PureDP\n", "PureDP\nfrom dpcheck.core.errors import LedgerMisuse\n")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert 30 <= counted(path) <= 40  # the child died without giving back its last block


# Broken files -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A ledger of several pages."""
    path = tmp_path_factory.mktemp("whole") / "privacy.ledger"
    with Ledger.open(path, BUDGET, "replace-one") as ledger:
        data = ledger.dataset("d")
        for i in range(200):
            ledger.spend(data, Gaussian(1000.0 + i))
    return path


@pytest.fixture
def written(whole, path):
    shutil.copy(whole, path)
    return path


def test_the_whole_file_is_fine(written):
    with Ledger.open(written, BUDGET, "replace-one") as ledger:
        assert len(ledger.report().lines) == 200


def edit(path, change):
    """Change one line and leave the digests alone."""
    lines = path.read_bytes().splitlines(keepends=True)
    change(lines)
    path.write_bytes(b"".join(lines))


def rewrite(path, change):
    """Change the entries and make every digest right again, but not the first line."""
    lines = path.read_bytes().splitlines(keepends=True)
    bodies = [line[:-66] for line in lines[1:]]
    change(bodies)
    digest = hashlib.sha256(b"dpcheck ledger 2").hexdigest()
    for number, body in enumerate(bodies):
        digest = hashlib.sha256(digest.encode() + body).hexdigest()
        bodies[number] = body + b" " + digest.encode() + b"\n"
    path.write_bytes(b"".join([lines[0], *bodies]))


def replace_in(number, old, new):
    def change(lines):
        assert old in lines[number]
        lines[number] = lines[number].replace(old, new)

    return change


BREAKS = {
    "empty": lambda p: p.write_bytes(b""),
    "garbage": lambda p: p.write_bytes(b"not a ledger at all" * 100),
    "cut": lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size // 2]),
    "last line lost": lambda p: edit(p, lambda lines: lines.pop()),
    "a line in the middle lost": lambda p: edit(p, lambda lines: lines.pop(50)),
    "two lines exchanged": lambda p: edit(p, lambda lines: lines.insert(9, lines.pop(8))),
    "a count lowered": lambda p: edit(p, replace_in(-1, b'"times":1', b'"times":0')),
    "a count lowered, digests mended": lambda p: rewrite(
        p, replace_in(-1, b'"times":1', b'"times":0')
    ),
    "budget raised": lambda p: edit(p, replace_in(1, b'"epsilon":3.0', b'"epsilon":9.0')),
    "first line lost": lambda p: edit(p, lambda lines: lines.pop(0)),
    "fewer entries claimed": lambda p: edit(p, replace_in(0, b'"entries":20', b'"entries":10')),
    "other format": lambda p: edit(p, replace_in(0, b"ledger 2", b"ledger 3")),
    "directory": lambda p: (p.unlink(), p.mkdir()),
}


@pytest.mark.parametrize("how", BREAKS)
def test_a_broken_file_is_refused_and_left_alone(written, how):
    BREAKS[how](written)
    before = None if written.is_dir() else written.read_bytes()
    with pytest.raises(LedgerBroken) as caught:
        Ledger.open(written, BUDGET, "replace-one")
    assert caught.value.code == "DPC302"
    assert "\n" not in str(caught.value)
    assert before is None or written.read_bytes() == before


def test_a_file_replaced_under_an_open_ledger_is_noticed(written, tmp_path):
    shutil.copy(written, tmp_path / "backup")
    ledger = Ledger.open(written, block=1)
    data = ledger.dataset("d")
    os.replace(tmp_path / "backup", written)
    with pytest.raises(LedgerBroken, match="replaced"):
        ledger.spend(data, PureDP(0.001))


def test_a_locked_file_is_waited_for_and_then_reported(written, monkeypatch):
    monkeypatch.setattr("dpcheck.ledger.storage.file.WAIT_SECONDS", 0.1)
    ledger = Ledger.open(written, block=1)
    data = ledger.dataset("d")
    with written.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(LedgerMisuse, match="locked by another process"):
            ledger.spend(data, PureDP(0.001))
    ledger.spend(data, PureDP(0.001))
    ledger.close()
    assert counted(written) == 201


def test_a_failed_write_is_not_counted_and_nothing_of_others_is_missed(written, monkeypatch):
    ledger, other = Ledger.open(written, block=1), Ledger.open(written, block=1)
    data, theirs = ledger.dataset("d"), other.dataset("d")
    before = written.read_bytes()

    def full(file, content, offset):
        os.pwrite(file, content[: len(content) // 2], offset)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dpcheck.ledger.storage.file._write", full)
        with pytest.raises(LedgerMisuse, match=r"No space left on device.*nothing was spent"):
            ledger.spend(data, PureDP(0.5))
    assert written.read_bytes()[256 : len(before)] == before[256:]
    other.spend(theirs, PureDP(0.25))  # takes the place the failed write had
    ledger.spend(data, PureDP(0.125))
    assert ledger.report() == other.report()
    found = {line.event: line.times for line in ledger.report().lines}
    assert (found[PureDP(0.25)], PureDP(0.5) in found) == (1, False)
    ledger.close()
    other.close()


def test_what_an_interrupted_write_left_counts_if_it_is_whole(written):
    whole = written.read_bytes()
    with Ledger.open(written, block=1) as ledger:
        ledger.spend(ledger.dataset("d"), PureDP(0.5))
    longer = written.read_bytes()
    written.write_bytes(whole[:256] + longer[256:])  # the first line was not yet written
    with Ledger.open(written, block=1) as ledger:
        assert {line.event: line.times for line in ledger.report().lines}[PureDP(0.5)] == 1
    written.write_bytes(whole[:256] + longer[256:-30])  # nor the whole entry
    with Ledger.open(written, block=1) as ledger:
        assert len(ledger.report().lines) == 200
        ledger.spend(ledger.dataset("d"), PureDP(0.25))
    assert counted(written) == 201


def test_a_ledger_of_the_old_format_is_not_touched(path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE facts (kind TEXT)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(LedgerOutdated, match="dpcheck ledger convert"):
        Ledger.open(path)
    assert path.read_bytes() == before
