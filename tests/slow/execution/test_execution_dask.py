"""A real dask cluster on loopback; one of its two workers is killed in the middle.

The target has a seed in its file, draws from numpy's global generator, and its data are of a class
that lies beside it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from dpcheck.execution.parallel import Workers
from dpcheck.execution.pools import dask_pool
from dpcheck.session.run import AuditRequest, run_request

MECHANISM = """
import time
import numpy as np
import dpcheck

from beside import Record

D, D2 = Record(0.0), Record(1.0)
np.random.seed(0)


@dpcheck.audited(claim=dpcheck.PureDP(1.0), adjacency="replace-one", neighbours=[(D, D2)])
def slow(data, rng):
    time.sleep(5e-5)
    return data.value + np.random.laplace(scale=1.0)
"""
BESIDE = """
class Record:
    def __init__(self, value):
        self.value = value
"""


@pytest.fixture
def cluster(tmp_path):
    """(address, worker processes) of a scheduler and two workers in processes of their own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    file = tmp_path / "scheduler.json"
    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(file),
        ],
        cwd=tmp_path,
        **quiet,
    )
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "distributed.cli.dask_worker",
                "--scheduler-file",
                str(file),
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
                "--host",
                "127.0.0.1",
                "--local-directory",
                str(tmp_path),
            ],
            cwd=tmp_path,
            **quiet,
        )
        for _ in range(2)
    ]
    import json

    yield json.loads(file.read_text())["address"], workers
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_killed_worker_does_not_change_the_report(cluster, tmp_path):
    from distributed import Client

    address, workers = cluster
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "mech.py").write_text(MECHANISM)
    (folder / "beside.py").write_text(BESIDE)
    target = f"{folder / 'mech.py'}:slow"
    with Client(address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    serial = run_request(AuditRequest(target, seed=9, max_runs=16_384)).to_dict()
    state = {}

    def kill_soon():
        time.sleep(1.0)
        state["alive"] = not state.get("done", False)
        os.kill(workers[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_soon)
    killer.start()
    spread = Workers(2, "dask", address)
    report = run_request(AuditRequest(target, seed=9, max_runs=16_384, workers=spread)).to_dict()
    state["done"] = True
    killer.join()
    del report["made"], serial["made"]  # who and when: the one thing that may differ
    assert report == serial
    assert state["alive"], "the audit ended before the worker was killed"
    assert workers[0].wait(timeout=10) == -signal.SIGKILL
    assert workers[1].poll() is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_workers_profiler_waits_while_a_task_runs_and_no_longer(cluster) -> None:
    address, _ = cluster
    pool = dask_pool(address)

    def is_running() -> bool:
        """In a worker, once its event loop has had time for what it was told."""
        from distributed import get_worker

        time.sleep(0.5)
        return get_worker().periodic_callbacks["profile"].is_running()

    try:
        assert pool.client.submit(is_running, pure=False).result(timeout=60)
        for _ in range(2):
            assert not pool.submit(is_running).result(timeout=60)
        assert pool.client.submit(is_running, pure=False).result(timeout=60)
    finally:
        pool.stop()
