"""A program as a mechanism: what the audit calls, in whichever worker."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.core.data import Data, Output
from dpcheck.core.errors import BadOutput
from dpcheck.session.external.process import Process
from dpcheck.session.external.values import decode, encode, raised, state_of

VERSION = 1
_LARGEST_PART = 128
_FIRST_PART = 8  # where the parts do not change the outputs: one request for a small batch

# The programs of this process: a worker keeps its own.
_RUNNING: dict[Program, Process] = {}


def end_programs() -> None:
    """End the programs this process started; the next question starts them anew."""
    while _RUNNING:
        _RUNNING.popitem()[1].end()


@dataclass(frozen=True, slots=True)
class Program:
    """Outputs of a program that speaks the protocol; with `batched`, whole arrays of them.

    A batch is asked for in parts of 1, 1, 2, 4, ... runs, so that a program that hangs is noticed
    early; of our own client in parts of 8, 8, 16, ..., since each question and answer takes longer than
    many a call. Parts do not depend on time: the same seed gives the same outputs.
    """

    command: tuple[str, ...]
    batched: bool = False
    typed: bool = (
        False  # whether it understands arrays and generator states, as our own client does
    )
    digest: str = ""  # of the files it is made of: a program that was changed is started anew

    def __call__(self, data: Data, size: int, rng: np.random.Generator) -> Output:
        """The outputs of a batched function."""
        return decode(self._outputs(self._ask(data, size, rng, 0, None), None))

    def __dpcheck_runs__(
        self, data: Data, size: int, rng: np.random.Generator, timeout: float | None
    ) -> list[Output]:
        """One output a run; an error the program reports is an output as well."""
        found: list[Output] = []
        least = _FIRST_PART if self.typed else 1
        while len(found) < size:
            part = min(size - len(found), _LARGEST_PART, max(least, len(found)))
            answer = self._ask(data, part, rng, len(found), timeout)
            if "error" not in answer:
                found += [decode(output) for output in self._outputs(answer, part)]
            elif part == 1:
                found.append(raised("Error", str(answer["error"])))
            else:  # which of them failed cannot be told: each is asked for on its own
                found += [self._alone(data, rng, len(found) + i, timeout) for i in range(part)]
        return found

    def _alone(
        self, data: Data, rng: np.random.Generator, offset: int, timeout: float | None
    ) -> Output:
        answer = self._ask(data, 1, rng, offset, timeout)
        if "error" in answer:
            return raised("Error", str(answer["error"]))
        return decode(self._outputs(answer, 1)[0])

    def _ask(
        self, data: Data, runs: int, rng: np.random.Generator, offset: int, timeout: float | None
    ) -> dict[str, Any]:
        """One answer; `rng` moves on, so that no two requests get the same randomness.

        Every program gets a seed. One that understands `state`, as our own client does, goes on
        where `rng` is and says where it ended: then its outputs are those of the function itself.
        """
        state = state_of(rng)
        text = json.dumps([state, offset], sort_keys=True).encode()
        request: dict[str, Any] = {
            "version": VERSION,
            "runs": runs,
            "seed": int.from_bytes(hashlib.blake2b(text, digest_size=6).digest(), "big"),
            "data": encode(data) if self.typed else data,
            "state": state,
            "offset": offset,
        }
        answer = self._process().ask(request, None if timeout is None else timeout * runs)
        moved = answer.get("state")
        if isinstance(moved, dict):
            self._move(rng, moved)
        else:
            rng.integers(1 << 48)
        return answer

    @staticmethod
    def _move(rng: np.random.Generator, state: dict[str, Any]) -> None:
        try:
            rng.bit_generator.state = state
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise BadOutput(
                f"the program answered a generator state that cannot be read: {error!r}."
            ) from None

    def _outputs(self, answer: dict[str, Any], wanted: int | None) -> Any:
        if "error" in answer:
            raise BadOutput(f"the program reports: {answer['error']}")
        outputs = answer.get("outputs")
        if wanted is not None and (not isinstance(outputs, list) or len(outputs) != wanted):
            count = len(outputs) if isinstance(outputs, list) else "no"
            raise BadOutput(
                f"the program was asked for {wanted} outputs and answered {count}; its line must be "
                '{"outputs": [...]} with one entry a run.',
            )
        return outputs

    def _process(self) -> Process:
        running = _RUNNING.get(self)
        if running is None or not running.is_alive:
            running = _RUNNING[self] = Process(self.command)
        return running

    def describe(self, timeout: float | None) -> dict[str, Any]:
        """What a function in another interpreter declares of itself."""
        answer = self._process().ask({"version": VERSION, "describe": True}, timeout)
        if "error" in answer:
            raise BadOutput(f"the other interpreter cannot load the target: {answer['error']}")
        return answer
