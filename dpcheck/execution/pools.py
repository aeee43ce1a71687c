"""Worker processes: loky's on this machine, or those of a dask cluster, behind one interface."""

from __future__ import annotations

import atexit
import os
import re
import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Protocol

from dpcheck.core.errors import UnknownName, WorkerDied
from dpcheck.core.extras import need
from dpcheck.execution.tasks import Done, Parcel

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_LARGE = 1 << 20  # bytes; a larger parcel goes through a file, once
_IDLE = 300  # seconds until an idle worker leaves


class Pool(Protocol):
    """Runs functions elsewhere."""

    @property
    def width(self) -> int:
        """Workers."""

    @property
    def is_local(self) -> bool:
        """On this machine, with its files and its working folder."""

    def ship(self, parcel: Parcel) -> Any:
        """The parcel, or something that becomes it in a worker."""

    def submit(self, function: Callable[..., Done], *arguments: Any) -> Any:
        """A future."""

    def diagnose(self, error: BaseException) -> BaseException:
        """What really happened, for an exception of a future."""

    def stop(self) -> None:
        """End the workers, whatever they are doing."""


class LokyPool:
    """Processes on this machine; kept for the next stage."""

    is_local = True

    def __init__(self, jobs: int) -> None:
        from joblib.externals.loky import ProcessPoolExecutor

        _start_tracker()
        self._jobs = jobs
        share = str(max(1, (os.cpu_count() or 1) // jobs))
        threads = {name: share for name in _THREADS if name not in os.environ}
        self._executor: Any = ProcessPoolExecutor(jobs, timeout=_IDLE, env=threads)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._killed = _memory_kills()

    @property
    def width(self) -> int:
        """Processes."""
        return self._jobs

    def ship(self, parcel: Parcel) -> Parcel:
        """Large ones as a file, which each worker reads once."""
        if not isinstance(parcel.content, bytes) or len(parcel.content) < _LARGE:
            return parcel
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="dpcheck-")
        path = Path(self._folder.name) / parcel.digest
        if not path.exists():
            path.write_bytes(parcel.content)
        return Parcel(parcel.digest, str(path))

    def submit(self, function: Callable[..., Done], *arguments: Any) -> Future[Done]:
        """A future of loky's."""
        future: Future[Done] = self._executor.submit(function, *arguments)
        return future

    def diagnose(self, error: BaseException) -> BaseException:
        """A dead process by its signal or exit code, and whether memory was short."""
        if not isinstance(error, BrokenProcessPool):
            return error
        return died(str(error), _memory_kills() > self._killed)

    def stop(self) -> None:
        """Kill the processes; the next stage starts new ones."""
        _LOKY.pop(self.width, None)
        self._executor.shutdown(wait=True, kill_workers=True)
        if self._folder is not None:
            self._folder.cleanup()


def _start_tracker() -> None:
    """loky's keeper of semaphores; it clears up after a worker that died, and need not tell the user so."""
    from joblib.externals.loky.backend import resource_tracker

    before = os.environ.get("PYTHONWARNINGS")
    silent = f"ignore::UserWarning:{resource_tracker.__name__}"
    os.environ["PYTHONWARNINGS"] = silent if before is None else f"{before},{silent}"
    try:
        resource_tracker.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def died(text: str, memory: bool) -> WorkerDied:
    """The diagnosis of a worker that ended, from loky's words about exit codes.

    >>> died("The exit codes of the workers are {SIGSEGV(-11)}", False).data["how"]
    'killed by SIGSEGV'
    """
    codes = dict(
        re.findall(r"(\w+)\((-?\d+)\)", text.partition("exit codes of the workers are")[2])
    )
    ends = [
        f"killed by {name}" if int(code) < 0 else f"exit code {code}"
        for name, code in codes.items()
        if name != "SIGTERM"  # those loky ended itself, since one of them was gone
    ]
    how = ", ".join(dict.fromkeys(ends)) or "no exit code known"
    if memory or "SIGKILL" in codes:
        cause = (
            "the machine ran out of memory and ended it"
            if memory
            else "somebody or a memory limit ended it"
        )
    elif any(int(code) < 0 for code in codes.values()):
        cause = "a crash in compiled code"
    else:
        cause = "the code ended its process itself, as os._exit does"
    return WorkerDied(
        f"a worker process died while it ran the mechanism ({how}): {cause}. There is no verdict. "
        "Fix the code, or run it in one process (jobs=1) to see where.",
        how=how,
    )


def _memory_kills() -> int:
    """How many processes the kernel ended for want of memory since it was started."""
    try:
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


class DaskPool:
    """Workers of a dask cluster, through one client for all stages."""

    is_local = False

    def __init__(self, scheduler: str | None) -> None:
        self._lib: Any = need("distributed", "dask")  # untyped
        try:
            # Submitted directly rather than through joblib's dask backend: the scheduler runs a
            # task that was lost with its worker again, and being pure it gives the same result.
            self.client = self._lib.Client(scheduler, timeout=30, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise UnknownName(
                f"no dask scheduler answers at {scheduler}: {error}.", value=scheduler
            ) from None
        self._shipped: dict[str, Any] = {}

    @property
    def width(self) -> int:
        """Worker processes there are now; the threads of one take turns."""
        return max(1, len(self.client.scheduler_info(n_workers=-1)["workers"]))

    @property
    def is_usable(self) -> bool:
        """Whether the scheduler is still there."""
        return bool(self.client.status == "running")

    def ship(self, parcel: Parcel) -> Any:
        """Large ones to every worker, once."""
        if len(parcel.content) < _LARGE:
            return parcel
        if parcel.digest not in self._shipped:
            self._shipped = {parcel.digest: self.client.scatter(parcel, broadcast=True)}
        return self._shipped[parcel.digest]

    def submit(self, function: Callable[..., Done], *arguments: Any) -> Any:
        """A future of dask's."""
        return self.client.submit(_unsampled, function, *arguments, pure=False)

    def diagnose(self, error: BaseException) -> BaseException:
        """A task that took several workers with it."""
        if not isinstance(error, self._lib.KilledWorker):
            return error
        return WorkerDied(
            f"the mechanism ended every dask worker that ran it ({error.last_worker.address} was "
            "the last): out of memory, a crash in compiled code, or an exit of its own. Run it in "
            "one process (jobs=1) to see where.",
            how="dask gave up",
        )

    def stop(self) -> None:
        """Leave the cluster; its workers belong to somebody else."""
        _close(self)


def _unsampled(function: Callable[..., Done], *arguments: Any) -> Done:
    """Call it in a dask worker whose own profiler waits meanwhile.

    The profiler stops a task a hundred times a second to look at its stack, which takes a quarter of
    the time of Python code.
    """
    from distributed import get_worker  # type: ignore[import-untyped,unused-ignore]

    worker: Any = get_worker()
    profiler = worker.periodic_callbacks.get("profile")
    if profiler is None:
        return function(*arguments)

    def switch(on: bool) -> None:  # a callback that is started twice would ring twice as often
        if profiler.is_running() != on:
            (profiler.start if on else profiler.stop)()

    worker.loop.add_callback(switch, False)
    try:
        return function(*arguments)
    finally:
        worker.loop.add_callback(switch, True)


_LOKY: dict[int, LokyPool] = {}
_DASK: dict[str, DaskPool] = {}


def loky_pool(jobs: int) -> LokyPool:
    """The processes of this machine."""
    if jobs not in _LOKY:
        for other in list(_LOKY.values()):  # never two sets at a time
            other.stop()
        _LOKY[jobs] = LokyPool(jobs)
    return _LOKY[jobs]


def dask_pool(scheduler: str | None) -> DaskPool:
    """A cluster; connecting takes as long as a batch, so it is done once."""
    name = scheduler or ""
    if name not in _DASK or not _DASK[name].is_usable:
        _DASK[name] = DaskPool(scheduler)
    return _DASK[name]


def _close(pool: DaskPool) -> None:
    for name, each in list(_DASK.items()):
        if each is pool:
            del _DASK[name]
    pool.client.close(timeout=5)


@atexit.register
def close_clients() -> None:
    """Leave no connection to a cluster open."""
    for pool in list(_DASK.values()):
        _close(pool)
