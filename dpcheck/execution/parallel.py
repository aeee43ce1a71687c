"""One way to run batches: here, on this machine's cores, or on a dask cluster.

A batch is a pure function of its stage and seed, and results come back in order, so the answer is
bit-identical whoever computes it. Short batches are grouped into tasks of a fraction of a second, so
that sending them costs little. At most a few tasks per worker are in flight, so memory does not grow
with the number of runs; they are asked for before they are needed, so that nobody waits.
"""

from __future__ import annotations

import multiprocessing
from collections import OrderedDict, deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from dpcheck.core.errors import RunTimedOut, UnknownName
from dpcheck.core.extras import need
from dpcheck.execution.facts import take
from dpcheck.execution.imports import surroundings
from dpcheck.execution.pools import Pool, dask_pool, loky_pool
from dpcheck.execution.randomness import preserved
from dpcheck.execution.store import Arrays, Store
from dpcheck.execution.tasks import Stage, pack, work

Named = tuple[str, np.random.SeedSequence]  # name in the store, seed
_TASK_SECONDS = 0.25  # a task costs a few milliseconds, with dask about ten
_LEAST_SECONDS = 0.05  # what all workers may differ by at the end is not worth shorter ones
_MOST_TASKS = (
    50  # a second, of all workers: client and scheduler take about ten milliseconds for each
)
_SLOW_BATCH = 1.0  # seconds; of such batches no worker is given a second one to wait
_PACES: OrderedDict[str, float] = OrderedDict()  # seconds a batch, by the digest of its stage
_MOST_PACES = 64


@dataclass(frozen=True, slots=True)
class Workers:
    """How many, of which kind; `timeout` seconds without any finished batch is a hang."""

    jobs: int = 1
    backend: str = "loky"
    scheduler: str | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.backend not in ("loky", "dask"):
            raise UnknownName(f"unknown backend {self.backend!r}; use loky or dask.")
        if self.backend == "dask":
            need("distributed", "dask")  # before anything runs, even what needs no workers

    def pool(self) -> Pool:
        """The processes."""
        return dask_pool(self.scheduler) if self.backend == "dask" else loky_pool(self.jobs)

    @property
    def is_serial(self) -> bool:
        """Whether everything runs in this process."""
        return self.backend == "loky" and self.jobs == 1


def run(
    stage: Stage, batches: Sequence[Named], workers: Workers, store: Store
) -> Generator[Arrays, None, None]:
    """The results of `batches`, in order; finished ones come from the store.

    Guarantee: every result is in the store before it is yielded. Whoever stops reading wastes at
    most the few tasks that are under way.
    """
    known = {name: found for name, _ in batches if (found := store.get(name)) is not None}
    missing = [batch for batch in batches if batch[0] not in known]
    if workers.is_serial or len(missing) <= 1:
        fresh = _here(stage, missing, store)
    else:
        fresh = _spread(stage, missing, workers, store)
    try:
        for name, _ in batches:
            result = known.pop(name, None)
            if result is None:
                result = next(fresh)
                store.put(name, result)
            yield result
    finally:
        fresh.close()


def _here(stage: Stage, batches: Sequence[Named], store: Store) -> Generator[Arrays, None, None]:
    for _, seed in batches:
        with preserved():
            result = stage.run(seed)
        store.observe(take())
        yield result


def _spread(
    stage: Stage, batches: Sequence[Named], workers: Workers, store: Store
) -> Generator[Arrays, None, None]:
    parcel, pool = pack(stage), workers.pool()
    assert isinstance(parcel.content, bytes)
    around, shipped = surroundings(parcel.content, folder=pool.is_local), pool.ship(parcel)
    waiting, left = iter(batches), len(batches)
    width = pool.width
    flying: deque[Any] = deque()
    store.observe(take())
    try:
        while left or flying:
            while left and len(flying) < _in_flight(parcel.digest, width):
                seeds = [seed for _, seed in islice(waiting, _group(parcel.digest, left, width))]
                left -= len(seeds)
                flying.append(pool.submit(work, shipped, around, seeds))
            done = _result(pool, flying[0], workers.timeout)
            flying.popleft()
            if done.results:
                _remember(parcel.digest, done.seconds / len(done.results))
            store.observe(done.facts)
            yield from done.results
            if done.error is not None:
                raise done.error
    finally:
        _abandon(pool, flying, parcel.digest)


def _remember(digest: str, seconds: float) -> None:
    """The last measured pace; the first one of a stage also has its imports in it."""
    _PACES[digest] = seconds
    while len(_PACES) > _MOST_PACES:
        _PACES.popitem(last=False)


def _group(digest: str, left: int, width: int) -> int:
    """Batches for the next task: enough for its time, few enough that all workers end together."""
    pace = _PACES.get(digest)
    if pace is None:
        return 1
    pace = max(pace, 1e-6)
    longest = max(_TASK_SECONDS, width / _MOST_TASKS)
    return max(
        1, min(int(longest / pace), max(-(-left // (2 * width)), int(_LEAST_SECONDS / pace)))
    )


def _in_flight(digest: str, width: int) -> int:
    return width + 1 if _PACES.get(digest, 0.0) > _SLOW_BATCH else 2 * width


def _result(pool: Pool, future: Any, timeout: float | None) -> Any:
    try:
        return future.result(timeout=timeout)
    except (TimeoutError, multiprocessing.TimeoutError):
        pool.stop()
        raise hang(timeout) from None
    except BaseException as error:
        told = pool.diagnose(error)
        if told is error:
            raise
        pool.stop()
        raise told from None


def _abandon(pool: Pool, flying: deque[Any], digest: str) -> None:
    """Take back what was not begun; wait for nothing that takes long."""
    running = [future for future in flying if not future.cancel() and not future.done()]
    if running and pool.is_local and _PACES.get(digest, _SLOW_BATCH) >= _SLOW_BATCH:
        pool.stop()


def hang(timeout: float | None) -> RunTimedOut:
    """The diagnosis of a batch that never came back."""
    return RunTimedOut(
        f"no run finished within the timeout of {timeout:g} s; the mechanism hangs, or needs a "
        "longer timeout. Finished batches are kept.",
        timeout=timeout,
    )
