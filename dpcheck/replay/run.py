"""One observed run of somebody's function."""

from __future__ import annotations

import copy
import hashlib
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpcheck.replay.marks import MarkKind
from dpcheck.replay.outputs import Flat, flatten
from dpcheck.replay.recorder import Recorder, recording
from dpcheck.replay.sources import installed
from dpcheck.replay.sources.generators import FollowedGenerator, living_generators, state_of
from dpcheck.replay.sources.outside import Outside
from dpcheck.replay.userspace import following, users_modules

Function = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Run:
    """What was drawn, and the output taken apart; `error` where the function raised."""

    recorder: Recorder
    flat: Flat
    error: str | None = None


@dataclass(slots=True)
class Observer:
    """Runs one function again and again, and counts."""

    function: Function
    calls: int = 0
    modules: list[dict[str, Any]] = field(init=False)
    generators: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.modules = users_modules(self.function)
        self.generators = living_generators()

    def run(self, data: Any, seed: int, forced: Sequence[int] = ()) -> Run:
        """One call on a copy of `data`, with every hook in place and removed again."""
        self.calls += 1
        own = copy.deepcopy(data)
        before = fingerprint(own)
        states = [state_of(g) for g in self.generators]
        recorder = Recorder(seed, forced)
        error = None
        output: Any = None
        with recording(recorder):
            try:
                handed = FollowedGenerator(recorder)
                with following(self.modules, recorder), installed(recorder), Outside(recorder):
                    output = self.function(own, handed)
            except (Exception, SystemExit) as raised:
                error = type(raised).__name__
                recorder.mark(MarkKind.FAILED, f"{error}: {_message(raised)}")
            flat = flatten(output)
        if before is not None and fingerprint(own) != before:
            recorder.mark(MarkKind.MUTATED)
        for generator, state in zip(self.generators, states, strict=True):
            if state_of(generator) != state:
                recorder.mark(MarkKind.GENERATOR, type(generator).__name__)
        return Run(recorder, flat, error)


def _message(error: BaseException) -> str:
    try:
        return str(error)[:120]
    except Exception:
        return "no message"


def fingerprint(data: object) -> str | None:
    """A digest of `data`; None where it cannot be taken."""
    try:
        return hashlib.blake2b(pickle.dumps(data, protocol=5), digest_size=16).hexdigest()
    except Exception:
        return None
