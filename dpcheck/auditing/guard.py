"""One batch of runs of somebody else's code, with a clear word for everything that can go wrong."""

from __future__ import annotations

import copy
import math
import pickle
import sys
from collections.abc import Callable

import numpy as np

from dpcheck.auditing.outputs.encode import TRY_IT, encode_batch, encode_runs, take, take_error
from dpcheck.auditing.outputs.tables import Encoded
from dpcheck.core.data import Data, Output, fingerprint, keeps_results
from dpcheck.core.errors import DpcheckError, InputMutated, MechanismFailed
from dpcheck.execution.facts import forget_entropy, watched
from dpcheck.execution.interrupts import Interrupted, interruptible, standing_by, time_limited
from dpcheck.execution.randomness import Seeded, seeded

OUTSIDE = (
    "__dpcheck_runs__"  # of a program outside: many runs at once. A name nobody's own class has
)


def guarded(
    function: Callable[..., Output],
    data: Data,
    size: int,
    rng: np.random.Generator,
    *,
    batched: bool,
    timeout: float | None = None,
    deadline: float = math.inf,
) -> Encoded:
    """`size` outputs, read; a single run that raises has its error for an output.

    Guarantee: the caller's `data` and the global generators are as before; a batched mechanism that
    raises, and one that hangs or changes its input, is reported as such; what it draws from global
    generators depends on the seed of `rng` alone.
    """
    own = copy.deepcopy(data)
    before = fingerprint(own)
    try:
        with seeded(function, rng) as around, watched(), interruptible():
            if batched:
                with time_limited(timeout, deadline=deadline):
                    outputs = encode_batch(function(own, size, rng), size)
            elif (many := getattr(function, OUTSIDE, None)) is not None:
                outputs = encode_runs([_taken(one) for one in many(own, size, rng, timeout)])
            else:
                with standing_by():
                    made = _runs(function, own, size, rng, around, timeout, deadline)
                outputs = encode_runs(made)
    except (DpcheckError, Interrupted):
        raise
    # Also what is no Exception, such as sys.exit(0) or asyncio's CancelledError: it must neither
    # pass for an answer nor end the audit. An interrupt of the user comes as another type.
    except BaseException as error:
        raise MechanismFailed(
            f"the mechanism raised {type(error).__name__}: {error}. {TRY_IT}",
            kind=type(error).__name__,
        ) from error
    if before is not None and fingerprint(own) != before:
        raise InputMutated(
            "the mechanism changed the data it was given, so its runs are not comparable; let it "
            "work on a copy."
        )
    return outputs


def _taken(output: Output) -> Output:
    """An output of a run that was made elsewhere; an error that was raised there is one."""
    return take_error(output) if isinstance(output, BaseException) else take(output)


def _runs(
    function: Callable[..., Output],
    data: Data,
    size: int,
    rng: np.random.Generator,
    around: Seeded,
    timeout: float | None,
    deadline: float,
) -> list[Output]:
    """One output a run, as it is then; a run that raises has its error for an output.

    A first run that imports modules or makes generators is made again, so that what they do only
    once in a process (set a seed, draw a number) is no part of an outcome.
    """

    def run() -> Output:
        try:
            with time_limited(timeout, deadline=deadline):
                return take(function(fresh(), rng))
        except (DpcheckError, Interrupted):
            raise
        except BaseException as error:  # sys.exit(0) must not end an audit with "passed"
            return take_error(error)

    whole = pickle.dumps(data, protocol=5) if keeps_results(data) else None

    def fresh() -> Data:
        """The data as nobody has read them yet, so that no run finds what another has worked out."""
        return data if whole is None else pickle.loads(whole)

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
