"""What both parties of federated transfer learning have in common.

A party is a set of programs: generators that yield the messages they send, `Receive` where they
wait for one, and `Learned` when something of the other party became readable. A transport runs
them; the programs know of no socket, and never see the other party's object.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.core.errors import InvalidParameter, WireError
from dpcheck.mechanisms.federated.protocol.autoencoder import Array, Network, flatten, unflatten
from dpcheck.mechanisms.federated.protocol.cipher import Cipher
from dpcheck.mechanisms.federated.protocol.messages import (
    Computed,
    Hello,
    Learned,
    Message,
    Party,
    PublicKey,
    Receive,
    StartSession,
)
from dpcheck.mechanisms.federated.protocol.state import (
    Checkpoints,
    InMemory,
    Settings,
    State,
    check_agreement,
)
from dpcheck.mechanisms.federated.protocol.wire import session_name

M = TypeVar("M", bound=Message)
T = TypeVar("T")
Program = Generator[Message | Receive | Learned | StartSession, Message | None, T]
_DIVERGED = 1e9


def receive(kind: type[M]) -> Program[M]:
    """Wait for a message of this kind."""
    message = yield Receive((kind,))
    assert isinstance(message, kind)  # transports deliver nothing else
    return message


class HasIteration(Protocol):
    """A message of one training iteration."""

    @property
    def iteration(self) -> int:
        """Its number."""


class PartyBase:
    """Rows, network, key and checkpoints of one party."""

    party: Party

    def __init__(
        self,
        X: ArrayLike,
        common: ArrayLike,
        network: Network,
        *,
        settings: Settings,
        cipher: Cipher,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self.X = check_rows(X)
        self.common = check_numbers("common", common, len(self.X))
        self.initial = network
        self.settings = settings
        self.cipher = cipher
        self.checkpoints: Checkpoints = InMemory() if checkpoints is None else checkpoints
        self.networks: dict[str, Network] = {}
        self.losses: dict[str, Array] = {}
        fan_in, width = network[0].weights.shape[0], network[-1].weights.shape[1]
        if fan_in != self.X.shape[1] or width != settings.hidden[-1]:
            raise InvalidParameter(
                f"the network takes {fan_in} features to {width} hidden units; the rows have "
                f"{self.X.shape[1]} and the settings ask for {settings.hidden[-1]}.",
                name="network",
            )

    def greeting(self, nonce: int) -> Hello:
        """What this party says first on every connection."""
        text = self.settings.text(self.cipher.scheme, len(self.common))
        return Hello(self.party, text, nonce)

    def check_greeting(self, hello: Hello) -> None:
        """Refuse a party that is not the other one, or was set up differently."""
        if hello.party == self.party or hello.party not in ("a", "b"):
            raise WireError(f"expected the other party, but it says it is {hello.party[:20]!r}.")
        check_agreement(self.greeting(0).settings, hello.settings)

    def meet(self) -> Program[None]:
        """Greet, agree on settings and session, exchange public keys."""
        nonce = secrets.randbits(128)
        mine = self.greeting(nonce)
        yield mine
        hello = yield from receive(Hello)
        self.check_greeting(hello)
        nonces = (nonce, hello.nonce) if self.party == "a" else (hello.nonce, nonce)
        yield StartSession(session_name(mine.settings, *nonces))
        yield PublicKey(self.party, self.cipher.public_modulus())
        other = yield from receive(PublicKey)
        if other.party == self.party:
            raise WireError("the other party sent this party's own key back.")
        self.cipher.meet(other.modulus)

    # --- states of a training --------------------------------------------------------------------

    def resume(self, task: str, start: int, network: Network) -> tuple[Network, State]:
        """The network and state at iteration `start`; 0 is the initial network."""
        if start == 0:
            return network, State(task, 0, flatten(network), np.zeros(0))
        state = self.checkpoints.load(task, start)
        return unflatten(state.parameters, network), state

    def step(self, network: Network, gradient: Array, state: State) -> Network:
        """theta - eta gradient, refused where training diverges."""
        changed = flatten(network) - self.settings.rate * gradient
        if not (abs(changed) < _DIVERGED).all():
            raise InvalidParameter(
                f"training diverges: a parameter is beyond {_DIVERGED:g} after iteration "
                f"{state.iteration + 1}; lower the learning rate.",
                name="rate",
            )
        return unflatten(changed, network)

    def keep(self, state: State, network: Network, loss: float, stopped: bool) -> State:
        """Checkpoint the next iteration."""
        after = State(
            state.task,
            state.iteration + 1,
            flatten(network),
            np.append(state.losses, loss),
            stopped,
        )
        self.checkpoints.save(after)
        return after

    def finish_training(self, state: State, network: Network) -> Network:
        """Remember the trained network of a task."""
        self.networks[state.task] = network
        self.losses[state.task] = state.losses
        return network

    def trained(self, task: str) -> Network:
        """The network a task ended with."""
        if task not in self.networks:
            raise WireError(f"no training named {task[:40]!r} was finished on this connection.")
        return self.networks[task]

    def learned(self, task: str, iteration: int, name: str, value: ArrayLike) -> Learned:
        """A record of something that became readable."""
        return Learned(self.party, task, iteration, name, np.asarray(value))


def upper_triangles(matrices: Computed) -> Computed:
    """Symmetric matrices (n, d, d) without what they say twice: (n, d(d+1)/2)."""
    rows, columns = np.triu_indices(matrices.shape[1])
    return matrices[:, rows, columns]


def from_triangles(packed: Computed, d: int) -> Computed:
    """The symmetric matrices again; ciphertexts too."""
    place = np.zeros((d, d), dtype=np.int64)
    rows, columns = np.triu_indices(d)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    return packed[:, place]


def check_iteration(message: HasIteration, iteration: int) -> None:
    """Refuse a message of another iteration."""
    if message.iteration != iteration:
        raise WireError(
            f"a message of iteration {message.iteration} came in iteration {iteration}."
        )


def check_rows(X: ArrayLike) -> Array:
    """A finite table with at least one row."""
    rows = np.array(X, dtype=float)
    if rows.ndim != 2 or not rows.size:
        raise InvalidParameter("X must be a table of at least one row.", name="X")
    if not np.isfinite(rows).all():
        raise InvalidParameter("X holds NaN or infinity.", name="X")
    return rows


def check_numbers(name: str, numbers: ArrayLike, rows: int) -> Array:
    """Distinct row numbers below `rows`."""
    array = np.array(numbers, dtype=np.int64).reshape(-1)
    if array.size and (array.min() < 0 or array.max() >= rows):
        raise InvalidParameter(f"{name} must hold row numbers below {rows}.", name=name)
    if len(np.unique(array)) != len(array):
        raise InvalidParameter(f"{name} holds a row twice.", name=name)
    return array
