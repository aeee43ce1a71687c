"""One observed run of somebody's function."""

from __future__ import annotations

import copy
import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from dpcheck.core.data import Value, fingerprint
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.outputs import Flat, flatten
from dpcheck.replay.recorder import Recorder, recording
from dpcheck.replay.sources import installed
from dpcheck.replay.sources.ahead import import_ahead
from dpcheck.replay.sources.generators import FollowedGenerator, living_generators, state_of
from dpcheck.replay.sources.outside import Outside
from dpcheck.replay.userspace import following, users_modules

Function = Callable[[Value, Value], Value]


@dataclass(frozen=True, slots=True)
class Run:
    """What was drawn, and the output taken apart; `error` where the function raised."""

    recorder: Recorder
    flat: Flat
    error: str | None = None


_UNFIT = ("IndexError", "KeyError", "TypeError", "ValueError")  # of masks that are no plain arrays


@dataclass(slots=True)
class Observer:
    """Runs one function again and again, and counts."""

    function: Function
    calls: int = 0
    files: dict[str, str] = field(default_factory=dict)  # that were read, with a digest
    plain_masks: bool = (
        False  # since a run raised where a plain array was picked by a followed mask
    )
    modules: list[dict[str, Value]] = field(init=False)
    generators: list[Value] = field(init=False)

    def __post_init__(self) -> None:
        import_ahead(self.function)
        self.modules = users_modules(self.function)
        self.generators = living_generators()

    def run(self, data: Value, seed: int, forced: Sequence[int] = ()) -> Run:
        """One followed call on a copy of `data`, with every hook in place and removed again."""
        found = self._settled(lambda: self._run(data, self._recorder(seed, forced)))
        if found.error in _UNFIT and found.recorder.masks and not self.plain_masks:
            self.plain_masks = True
            return self._settled(lambda: self._run(data, self._recorder(seed, forced)))
        return found

    def _recorder(self, seed: int, forced: Sequence[int]) -> Recorder:
        return Recorder(seed, forced, plain_masks=self.plain_masks)

    def check(self, data: Value, seed: int, given: Sequence[float] = ()) -> Run:
        """One call with plain numbers, the first of them `given`."""
        return self._settled(lambda: self._run(data, Recorder(seed, plain=True, given=given)))

    def _settled(self, run: Callable[[], Run]) -> Run:
        """A run; made again where it imported modules, which do things once in a process."""
        modules = len(sys.modules)
        found = run()
        return run() if len(sys.modules) > modules and not found.recorder.clean else found

    def _run(self, data: Value, recorder: Recorder) -> Run:
        self.calls += 1
        own = copy.deepcopy(data)
        before = fingerprint(own)
        states = [state_of(g) for g in self.generators]
        error = None
        output: Value = None
        with recording(recorder):
            try:
                handed = FollowedGenerator(recorder)
                with (
                    _no_collection(),
                    following(self.modules, recorder),
                    installed(recorder),
                    Outside(recorder),
                ):
                    output = self.function(own, handed)
            except (Exception, SystemExit) as raised:
                error = type(raised).__name__
                recorder.mark(MarkKind.FAILED, f"{error}: {_message(raised)}")
            flat = flatten(output)
        if before is not None and fingerprint(own) != before:
            recorder.mark(MarkKind.MUTATED)
        unseen = any(generator.moved() for generator in recorder.generators)
        if unseen and not any(m.kind is MarkKind.UNFOLLOWED for m in recorder.marks):
            recorder.mark(MarkKind.GENERATOR, "draws past the methods of the generator")
        for generator, state in zip(self.generators, states, strict=True):
            if state_of(generator) != state:
                recorder.mark(MarkKind.GENERATOR, type(generator).__name__)
        for path, content in recorder.files.items():
            if self.files.setdefault(path, content) != content:
                recorder.mark(MarkKind.ENTROPY, "a file that changes between runs")
        return Run(recorder, flat, error)


@contextmanager
def _no_collection() -> Iterator[None]:
    """No cyclic garbage is collected in the block: finalizers and callbacks of others are not the run's."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _message(error: BaseException) -> str:
    try:
        return str(error)[:120]
    except Exception:
        return "no message"
