"""What a training can be resumed from, and the settings two parties must share."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.errors import InvalidParameter, PartiesDisagree
from dpcheck.core.validate import count, finite, positive
from dpcheck.mechanisms.federated.protocol.model import Objective


@dataclass(frozen=True, slots=True)
class Settings:
    """What both parties must agree on. Public: it is sent in the clear.

    Training ends after `iterations`, or once the loss falls by no more than `tolerance` (None:
    never before). `run` names the run, so that two runs are never mixed.
    """

    objective: Objective = field(default_factory=Objective)
    hidden: tuple[int, ...] = (16,)  # widths of both parties' layers; the last is the paper's d
    rate: float = 0.05
    iterations: int = 20
    tolerance: float | None = None
    run: str = "run"

    def __post_init__(self) -> None:
        positive("rate", self.rate)
        count("iterations", self.iterations)
        if self.tolerance is not None:
            finite("tolerance", self.tolerance)
        if not self.hidden:
            raise InvalidParameter("hidden needs at least one width.", name="hidden")
        for width in self.hidden:
            count("hidden", width)

    def text(self, scheme: str, pairs: int) -> str:
        """Canonical text of the settings, the encryption and the number of common rows."""
        settings = {**asdict(self), "scheme": scheme, "common rows": pairs}
        return json.dumps(settings, sort_keys=True, separators=(",", ":"))


def check_agreement(mine: str, theirs: str) -> None:
    """Refuse to start with another party's settings, naming what differs."""
    if mine == theirs:
        return
    try:
        other: Any = json.loads(theirs)
    except ValueError:
        other = None
    own = json.loads(mine)
    if not isinstance(other, dict):
        raise PartiesDisagree("the other party sent settings that cannot be read.")
    names = sorted(name for name in own.keys() | other.keys() if own.get(name) != other.get(name))
    shown = ", ".join(f"{n} ({own.get(n)} here, {str(other.get(n))[:80]} there)" for n in names)
    raise PartiesDisagree(
        f"the parties were started with different settings: {shown}; start both with the same.",
        names=names,
    )


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """A party after `iteration` iterations of a task."""

    task: str
    iteration: int
    parameters: NDArray[np.float64]
    losses: NDArray[np.float64]  # of every iteration so far
    stopped: bool = False


class Checkpoints(Protocol):
    """Where a party keeps its states. The last two of a task are enough to resume."""

    def save(self, state: State) -> None:
        """Keep a state; when this returns it survives the process."""

    def available(self, task: str) -> tuple[int, ...]:
        """The iterations of a task that can be loaded."""

    def load(self, task: str, iteration: int) -> State:
        """A kept state."""


class InMemory:
    """Checkpoints that live as long as the object."""

    def __init__(self) -> None:
        self._states: dict[str, dict[int, State]] = {}

    def save(self, state: State) -> None:
        """Keep a state and the one before it; later ones were of a course not taken."""
        states = self._states.setdefault(state.task, {})
        states[state.iteration] = state
        for iteration in list(states):
            if not state.iteration - 1 <= iteration <= state.iteration:
                del states[iteration]

    def available(self, task: str) -> tuple[int, ...]:
        """The iterations of a task that can be loaded."""
        return tuple(sorted(self._states.get(task, {})))

    def load(self, task: str, iteration: int) -> State:
        """A kept state."""
        return self._states[task][iteration]
