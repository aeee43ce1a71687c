"""One batch of runs of somebody else's code, with a clear word for everything that can go wrong."""

from __future__ import annotations

import copy
import hashlib
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.learning.encodings import encode_array, encode_list
from dpcheck.core.errors import DpcheckError, InputMutated, MechanismFailed
from dpcheck.execution.facts import forget_entropy, watched
from dpcheck.execution.interrupts import Interrupted, interruptible, time_limited
from dpcheck.execution.randomness import Seeded, seeded

Outputs = NDArray[np.float64]


def fingerprint(data: object) -> str | None:
    """A digest of `data`; None where it cannot be taken."""
    try:
        return hashlib.blake2b(pickle.dumps(data, protocol=5), digest_size=16).hexdigest()
    except Exception:  # an object that cannot be pickled is compared no further
        return None


def guarded(
    function: Callable[..., Any],
    data: Any,
    size: int,
    rng: np.random.Generator,
    *,
    batched: bool,
    timeout: float | None = None,
) -> Outputs:
    """`size` outputs as rows of numbers.

    Guarantee: the caller's `data` and the global generators are as before; a mechanism that raises,
    hangs, changes its input, or returns NaN or another shape is reported as such; what it draws
    from global generators depends on the seed of `rng` alone.
    """
    own = copy.deepcopy(data)
    before = fingerprint(own)
    try:
        with seeded(function, rng) as around, watched(), interruptible():
            if batched:
                with time_limited(timeout):
                    produced = function(own, size, rng)
            else:
                produced = _runs(function, own, size, rng, around, timeout)
    except (DpcheckError, Interrupted):
        raise
    # Also what is no Exception, such as sys.exit(0) or asyncio's CancelledError: it must neither
    # pass for an answer nor end the audit. An interrupt of the user comes as another type.
    except BaseException as error:
        raise MechanismFailed(
            f"the mechanism raised {type(error).__name__}: {error}. Run it once by hand on the "
            "audited data and mend that first.",
            kind=type(error).__name__,
        ) from error
    outputs = encode_array(produced, size) if batched else encode_list(produced)
    if before is not None and fingerprint(own) != before:
        raise InputMutated(
            "the mechanism changed the data it was given, so its runs are not comparable; let it "
            "work on a copy."
        )
    return outputs


def _runs(
    function: Callable[..., Any],
    data: Any,
    size: int,
    rng: np.random.Generator,
    around: Seeded,
    timeout: float | None,
) -> list[Any]:
    """One output a run.

    A first run that imports modules or makes generators is made again, so that what they do only
    once in a process (set a seed, draw a number) is no part of an outcome.
    """

    def run() -> Any:
        # The one place where a run ends: whatever it raises could be an output as well.
        with time_limited(timeout):
            return function(data, rng)

    modules, start = len(sys.modules), rng.bit_generator.state
    values = [run()]
    if size > 1 and (len(sys.modules) > modules or around.look_again()):
        rng.bit_generator.state = start
        around.look_again()
        around.set()
        forget_entropy()
        values = [run()]
    around.set(1)  # should the first call have set a seed of its own, it is not the next one's
    values.extend(run() for _ in range(1, size))
    return values
