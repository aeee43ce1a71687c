"""One way to run batches: here, on this machine's cores, or on a dask cluster.

A batch is a pure function of its arguments (its seed among them), results come back in order, so
the answer is bit-identical whoever computes it. At most a few batches per worker are in flight, so
memory does not grow with the number of runs.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dpcheck.core.errors import MechanismFailed, MissingExtra, RunTimedOut, UnknownName
from dpcheck.execution.store import Arrays, Store

Batch = tuple[str, Callable[..., Arrays], tuple[Any, ...]]  # name in the store, function, arguments


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


def run(batches: Iterable[Batch], workers: Workers, store: Store) -> Iterator[Arrays]:
    """The results of `batches`, in order; finished ones come from the store.

    Guarantee: every result is in the store before it is yielded.
    """
    waiting = list(batches)
    found = {name: store.get(name) for name, _, _ in waiting}
    missing = [batch for batch in waiting if found[batch[0]] is None]
    fresh = _compute(missing, workers)
    for name, _, _ in waiting:
        known = found.pop(name)
        if known is None:
            known = next(fresh)
            store.put(name, known)
        yield known


def _compute(batches: list[Batch], workers: Workers) -> Iterator[Arrays]:
    if workers.backend == "dask":
        yield from _on_dask(batches, workers)
    elif workers.jobs == 1 or len(batches) <= 1:
        for _, function, arguments in batches:
            yield function(*arguments)
    else:
        yield from _on_cores(batches, workers)


def _on_cores(batches: list[Batch], workers: Workers) -> Iterator[Arrays]:
    from joblib import Parallel, delayed

    pool = Parallel(
        n_jobs=workers.jobs,
        backend="loky",
        return_as="generator",
        timeout=workers.timeout,
        pre_dispatch="2*n_jobs",
        batch_size=1,
    )
    try:
        yield from pool(delayed(function)(*arguments) for _, function, arguments in batches)
    except (TimeoutError, multiprocessing.TimeoutError):
        raise hang(workers.timeout) from None
    except BrokenProcessPool as error:
        raise MechanismFailed(
            "a worker process died while it ran the mechanism: out of memory, a crash in compiled "
            "code, or an exit of its own. Run it with --jobs 1 to see where."
        ) from error


def _on_dask(batches: list[Batch], workers: Workers) -> Iterator[Arrays]:
    try:
        import distributed
    except ImportError:
        raise MissingExtra(
            "the dask backend needs the package distributed: pip install 'dpcheck[dask]'."
        ) from None
    # Submitted directly rather than through joblib's dask backend: the scheduler runs a batch that
    # was lost with its worker again, and being pure it gives the same result.
    lib: Any = distributed  # untyped
    try:
        client = lib.Client(workers.scheduler, timeout=30, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise UnknownName(
            f"no dask scheduler answers at {workers.scheduler}: {error}.", value=workers.scheduler
        ) from None
    with client:
        window = 2 * max(1, len(client.scheduler_info()["workers"]))
        waiting = iter(batches)
        flying: deque[Any] = deque()
        for name, function, arguments in islice(waiting, window):
            flying.append(client.submit(function, *arguments, pure=False, key=_key(name)))
        while flying:
            future = flying.popleft()
            try:
                result = future.result(timeout=workers.timeout)
            except (TimeoutError, lib.TimeoutError):
                raise hang(workers.timeout) from None
            for name, function, arguments in islice(waiting, 1):
                flying.append(client.submit(function, *arguments, pure=False, key=_key(name)))
            yield result


def _key(name: str) -> str:
    from uuid import uuid4

    return f"dpcheck-{name}-{uuid4().hex}"


def hang(timeout: float | None) -> RunTimedOut:
    """The diagnosis of a batch that never came back."""
    return RunTimedOut(
        f"no run finished within the timeout of {timeout:g} s; the mechanism hangs, or needs a "
        "larger --timeout. Finished batches are kept.",
        timeout=timeout,
    )
