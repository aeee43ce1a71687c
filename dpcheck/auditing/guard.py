"""One batch of runs of somebody else's code, with a clear word for everything that can go wrong."""

from __future__ import annotations

import copy
import hashlib
import math
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.learning.encodings import encode_array, encode_list
from dpcheck.core.data import Data, Output
from dpcheck.core.errors import (
    DpcheckError,
    InputMutated,
    MechanismFailed,
    RunTimedOut,
    TimeLimitReached,
)

Outputs = NDArray[np.float64]


def fingerprint(data: object) -> str | None:
    """A digest of `data`; None where it cannot be taken."""
    try:
        return hashlib.blake2b(pickle.dumps(data, protocol=5), digest_size=16).hexdigest()
    except Exception:  # an object that cannot be pickled is compared no further
        return None


@contextmanager
def alarm(timeout: float | None, deadline: float) -> Iterator[None]:
    """Raise RunTimedOut after `timeout` seconds, or TimeLimitReached at `deadline`, by a signal.

    Only a process's main thread gets signals; elsewhere (dask's workers run tasks in threads) a run
    that took too long is reported once it returns.
    """
    left = deadline - time.time()
    if timeout is None and math.isinf(left):
        yield
        return
    if left <= 0:
        raise TimeLimitReached("the time limit of the audit passed.")
    seconds = left if timeout is None else min(timeout, left)
    late: DpcheckError = TimeLimitReached("the time limit of the audit passed during a run.")
    if seconds == timeout:
        late = RunTimedOut(
            f"a run did not finish within {seconds:g} s; the mechanism hangs, or needs a larger "
            "timeout. Finished batches are kept.",
            timeout=seconds,
            name="timeout",
        )
    if not hasattr(signal, "setitimer") or (
        threading.current_thread() is not threading.main_thread()
    ):
        began = time.monotonic()
        yield
        if time.monotonic() - began > seconds:
            raise late
        return

    def ring(signum: int, frame: object) -> None:  # noqa: ARG001 - signal's signature
        raise late

    before, began = signal.signal(signal.SIGALRM, ring), time.monotonic()
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer > 0:  # an alarm around this one goes on
            left = outer - (time.monotonic() - began)
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-3))


def guarded(
    function: Callable[..., Output],
    data: Data,
    size: int,
    rng: np.random.Generator,
    *,
    batched: bool,
    timeout: float | None = None,
    deadline: float = math.inf,
) -> Outputs:
    """`size` outputs as rows of numbers.

    Guarantee: the caller's `data` is never changed; a mechanism that raises, hangs, changes its
    input, or returns NaN or another shape is reported as such.
    """
    own = copy.deepcopy(data)
    before = fingerprint(own)
    try:
        if batched:
            with alarm(timeout, deadline):
                outputs = encode_array(function(own, size, rng), size)
        else:
            values = []
            for _ in range(size):
                with alarm(timeout, deadline):
                    values.append(function(own, rng))
            outputs = encode_list(values)
    except DpcheckError:
        raise
    except (Exception, SystemExit) as error:  # sys.exit(0) must not end an audit with "passed"
        raise MechanismFailed(
            f"the mechanism raised {type(error).__name__}: {error}. Run it once by hand on the "
            "audited data and mend that first.",
            kind=type(error).__name__,
        ) from error
    if before is not None and fingerprint(own) != before:
        raise InputMutated(
            "the mechanism changed the data it was given, so its runs are not comparable; let it "
            "work on a copy."
        )
    return outputs
