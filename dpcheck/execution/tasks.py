"""What a worker is sent and what it sends back: several batches of one stage at a time."""

from __future__ import annotations

import faulthandler
import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np

from dpcheck.core.errors import DpcheckError, NotTransferable
from dpcheck.execution.facts import Facts, take
from dpcheck.execution.imports import Surroundings
from dpcheck.execution.memory import memory_kept
from dpcheck.execution.randomness import preserved
from dpcheck.execution.store import Arrays


@dataclass(frozen=True, slots=True)
class Stage:
    """What all batches of a stage share: function(*arguments, seed) is one of them."""

    function: Callable[..., Arrays]
    arguments: tuple[Any, ...]

    def run(self, seed: np.random.SeedSequence) -> Arrays:
        """One batch."""
        return self.function(*self.arguments, seed)


@dataclass(frozen=True, slots=True)
class Parcel:
    """A stage, pickled once; by cloudpickle, for closures, lambdas and what a script defines."""

    digest: str
    content: bytes | str  # or the file it lies in


@dataclass(frozen=True, slots=True)
class Done:
    """Finished batches in order, how long they took, what was seen, and what ended them early."""

    results: list[Arrays]
    seconds: float
    facts: Facts
    error: DpcheckError | None = None


def pack(stage: Stage) -> Parcel:
    """The stage as bytes; NotTransferable says what of it cannot be sent."""
    try:
        content = cloudpickle.dumps((stage.function, stage.arguments))
    except Exception as error:  # pickling runs the objects' own code
        raise NotTransferable(
            f"the mechanism or its data cannot be sent to a worker process ({type(error).__name__}: "
            f"{error}); use one process (jobs=1), or keep open files, locks and connections out of them."
        ) from error
    return Parcel(hashlib.sha256(content).hexdigest(), content)


# Global generators belong to a process: the threads of a dask worker take turns.
_ONE_AT_A_TIME = threading.Lock()


@lru_cache(maxsize=4)
def _unpack(parcel: Parcel) -> Stage:
    content = parcel.content
    if isinstance(content, str):
        content = Path(content).read_bytes()
    try:
        return Stage(*cloudpickle.loads(content))
    except Exception as error:
        raise NotTransferable(
            f"a worker process cannot load what it was sent ({type(error).__name__}: {error}); "
            "name the folder of the missing module in the project file, pythonpath, or use "
            "one process (jobs=1)."
        ) from error


def work(parcel: Parcel, around: Surroundings, seeds: Sequence[np.random.SeedSequence]) -> Done:
    """Run some batches of a stage, in a worker."""
    began = time.perf_counter()
    faulthandler.disable()  # loky's; how a worker died is said once, by whoever waits for it
    results: list[Arrays] = []
    error: DpcheckError | None = None
    try:
        with _ONE_AT_A_TIME, memory_kept(), preserved(give_back=False):
            around.restore()
            stage = _unpack(parcel)
            for seed in seeds:
                results.append(stage.run(seed))
    except DpcheckError as raised:  # those before it are kept
        error = raised
    return Done(results, time.perf_counter() - began, take(), error)
