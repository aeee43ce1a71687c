"""Seeds, workers and the store: the same answer whoever computes it and however often it is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest

from dpcheck.core.errors import RunTimedOut, StoreBroken, UnknownName
from dpcheck.execution.parallel import Workers, run
from dpcheck.execution.seeds import generator, stream
from dpcheck.execution.store import MemoryStore, SqliteStore, audit_key
from dpcheck.execution.tasks import Stage
from dpcheck.session.run import AuditRequest, run_request

MECHANISM = """
import numpy as np
import dpcheck

D, D2 = np.zeros(4), np.array([1.0, 0, 0, 0])


@dpcheck.audited(claim=dpcheck.PureDP(1.0), adjacency="replace-one", neighbours=[(D, D2)])
def laplace(data, rng):
    return data.sum() + rng.laplace(scale=1.0)
"""


def draw(size, seed):
    return {"x": generator(seed).normal(size=size)}


STAGE = Stage(draw, (5,))


def batches(number):
    return [(f"batch/{i}", stream(3, "part", i)) for i in range(number)]


def test_streams_depend_on_the_path_only():
    a = generator(stream(1, "test", 0)).random(4)
    assert (a == generator(stream(1, "test", 0)).random(4)).all()
    others = [stream(1, "test", 1), stream(1, "learn", 0), stream(2, "test", 0)]
    assert all((a != generator(other).random(4)).all() for other in others)


def test_two_processes_give_what_one_gives():
    one = [r["x"] for r in run(STAGE, batches(6), Workers(1), MemoryStore())]
    two = [r["x"] for r in run(STAGE, batches(6), Workers(2), MemoryStore())]
    assert np.array_equal(one, two)


def test_unknown_backend_is_refused():
    with pytest.raises(UnknownName, match="loky or dask"):
        Workers(1, "threads")


def never(seconds, seed):
    time.sleep(seconds)
    return {}


def test_a_batch_that_never_ends_is_a_hang():
    with pytest.raises(RunTimedOut, match="no run finished"):
        list(run(Stage(never, (60,)), batches(2), Workers(2, timeout=1.0), MemoryStore()))


def test_store_gives_back_what_was_put_and_forgets_without_resume(tmp_path):
    key = audit_key({"a": 1})
    store = SqliteStore(tmp_path, key, resume=False)
    store.put("b", {"x": np.arange(3.0)})
    store.close()
    again = SqliteStore(tmp_path, key, resume=True)
    found = again.get("b")
    assert found is not None
    assert found["x"].tolist() == [0.0, 1.0, 2.0]
    assert SqliteStore(tmp_path, audit_key({"a": 2}), resume=True).get("b") is None
    again.close()
    assert SqliteStore(tmp_path, key, resume=False).get("b") is None


def test_a_damaged_store_is_named(tmp_path):
    key = audit_key({})
    store = SqliteStore(tmp_path, key, resume=False)
    store.put("b", {"x": np.arange(3.0)})
    store.close()
    with sqlite3.connect(tmp_path / "batches.sqlite") as connection:
        connection.execute("UPDATE batches SET payload = X'00112233'")
    with pytest.raises(StoreBroken, match="damaged"):
        SqliteStore(tmp_path, key, resume=True).get("b")
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(StoreBroken, match="another directory"):
        SqliteStore(tmp_path / "file", key, resume=True)


def request(folder: Path, store: Path | None, **changes) -> AuditRequest:
    values = {"target": f"{folder / 'mech.py'}:laplace", "seed": 4, "max_runs": 12_000}
    return AuditRequest(
        **values, store=None if store is None else str(store), resume=store is not None, **changes
    )


def report_of(folder: Path, store: Path | None, **changes) -> str:
    found = run_request(request(folder, store, **changes)).to_dict()
    del found["made"]  # who and when: the one thing that may differ
    return json.dumps(found, sort_keys=True)


def in_child(folder: Path, store: Path | None, out: Path) -> int:
    """Run the audit in a forked child that writes its report to `out`; its process id."""
    child = os.fork()
    if child == 0:
        try:
            text = report_of(folder, store)
            out.with_suffix(".part").write_text(text)
            out.with_suffix(".part").rename(out)
        finally:
            os._exit(0)
    return child


def test_an_audit_killed_at_random_points_ends_with_the_same_report(tmp_path):
    (tmp_path / "mech.py").write_text(MECHANISM)
    plain = tmp_path / "plain.json"
    began = time.monotonic()
    os.waitpid(in_child(tmp_path, None, plain), 0)
    length = time.monotonic() - began
    rng = random.Random(0)
    for round_ in range(4):  # five kills a store: later ones find most of the work already done
        kills, attempt = 0, 0
        out, store = tmp_path / f"resumed{round_}.json", tmp_path / f"store{round_}"
        while kills < 5:
            attempt += 1
            assert attempt <= 60, "the audit keeps ending before it can be killed"
            child = in_child(tmp_path, store, out)
            time.sleep(rng.uniform(0.02, 0.6) * length)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            if out.exists():  # too late, it had ended: kill earlier, in a fresh store
                length *= 0.8
                out, store = tmp_path / f"r{round_}.{attempt}", tmp_path / f"s{round_}.{attempt}"
                kills = 0
            else:
                kills += 1
        os.waitpid(in_child(tmp_path, store, out), 0)
        assert out.read_text() == plain.read_text()


def test_workers_do_not_change_a_report(tmp_path):
    (tmp_path / "mech.py").write_text(MECHANISM)
    serial = report_of(tmp_path, None)
    assert report_of(tmp_path, None, workers=Workers(2)) == serial
