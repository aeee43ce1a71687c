"""Every message of secure federated transfer learning ([Liu2018] Algorithms 1-3).

A message is immutable and holds numbers only: whole numbers, words, arrays of floats or of row
numbers, and `Sealed` numbers, which only the owner of the key can read. Nothing else ever passes
between the parties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpcheck.mechanisms.federated.protocol.autoencoder import Array

Party = Literal["a", "b"]


@dataclass(frozen=True, slots=True)
class BigIntegers:
    """An array of non-negative integers below 256^width, big-endian, in one run of bytes.

    Ciphertexts under the key of `owner`, or what such ciphertexts decrypt to; times 2^-exponent.
    """

    owner: Party
    shape: tuple[int, ...]
    exponent: int
    width: int
    data: bytes


# A plain run has float64 arrays where an encrypted one has ciphertexts, and uint64 arrays (floats
# under a one-time pad) where an encrypted one has masked residues.
Sealed = BigIntegers | Array
Computed: TypeAlias = (
    Any  # numbers to compute with: a plain array, or ciphertexts that act like one
)
Mask: TypeAlias = Any  # what the party that masked a value needs to unmask it


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """Root of all messages; `number` is what the wire calls the kind."""

    number: ClassVar[int] = 0


# --- meeting -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Hello(Message):
    """Who speaks, which public settings it was started with, and a number used once."""

    number: ClassVar[int] = 1
    party: str
    settings: str  # canonical text of everything both must agree on
    nonce: int


@dataclass(frozen=True, slots=True, eq=False)
class PublicKey(Message):
    """The modulus of a party's Paillier key; 0 in a plain run."""

    number: ClassVar[int] = 2
    party: str
    modulus: int


# --- Algorithm 1 ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TrainRequest(Message):
    """A starts a training: rows of B to use, and the iterations A can start from.

    `model` is "transfer" (Algorithm 1), or "self": B's network alone on the labelled rows.
    """

    number: ClassVar[int] = 3
    task: str
    model: str
    labelled: NDArray[np.int64]
    common: NDArray[np.int64]
    available: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Ready(Message):
    """B answers with the last iteration both can start from, and how many rows it has."""

    number: ClassVar[int] = 4
    task: str
    start: int
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class Decision(Message):
    """A says whether there is another iteration (the paper's stop signal)."""

    number: ClassVar[int] = 5
    iteration: int
    stop: bool


@dataclass(frozen=True, slots=True, eq=False)
class ComponentsA(Message):
    """h_1^A (upper triangles of symmetric matrices), h_2^A, h_3^A under A's key."""

    number: ClassVar[int] = 6
    iteration: int
    curvature: Sealed
    slope: Sealed
    aligned: Sealed


@dataclass(frozen=True, slots=True, eq=False)
class ComponentsB(Message):
    """h_1^B (upper triangles of symmetric matrices), h_2^B, h_3^B, h_4^B under B's key."""

    number: ClassVar[int] = 7
    iteration: int
    products: Sealed
    hidden: Sealed
    aligned: Sealed
    local_loss: Sealed


@dataclass(frozen=True, slots=True, eq=False)
class MaskedGradientA(Message):
    """A's masked gradient, and the loss, under B's key."""

    number: ClassVar[int] = 8
    iteration: int
    gradient: Sealed
    loss: Sealed


@dataclass(frozen=True, slots=True, eq=False)
class MaskedGradientB(Message):
    """B's masked gradient under A's key."""

    number: ClassVar[int] = 9
    iteration: int
    gradient: Sealed


@dataclass(frozen=True, slots=True, eq=False)
class OpenedGradientA(Message):
    """A's masked gradient and the loss, decrypted by B."""

    number: ClassVar[int] = 10
    iteration: int
    gradient: Sealed
    loss: Sealed


@dataclass(frozen=True, slots=True, eq=False)
class OpenedGradientB(Message):
    """B's masked gradient, decrypted by A."""

    number: ClassVar[int] = 11
    iteration: int
    gradient: Sealed


# --- Algorithm 2 ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PredictRequest(Message):
    """A asks for a prediction with the networks of a finished training.

    `by` "a": A predicts these rows of B. `by` "b": B predicts held-out rows of A with (10), by the
    labels it was last told; `rows` is empty.
    """

    number: ClassVar[int] = 12
    task: str
    by: str
    rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class HiddenRows(Message):
    """Hidden representations under their owner's key."""

    number: ClassVar[int] = 13
    hidden: Sealed


@dataclass(frozen=True, slots=True, eq=False)
class MaskedScores(Message):
    """Masked predictions, under the key of the owner of the rows."""

    number: ClassVar[int] = 14
    scores: Sealed


@dataclass(frozen=True, slots=True, eq=False)
class OpenedScores(Message):
    """Masked predictions, decrypted."""

    number: ClassVar[int] = 15
    scores: Sealed


@dataclass(frozen=True, slots=True, eq=False)
class Labels(Message):
    """Predicted labels, +1 or -1, for the owner of the rows."""

    number: ClassVar[int] = 16
    labels: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Finish(Message):
    """A has nothing more to ask; B answers in kind, so that both know."""

    number: ClassVar[int] = 17


@dataclass(frozen=True, slots=True, eq=False)
class Abort(Message):
    """The sender cannot go on; `reason` is the code of its error, never a value."""

    number: ClassVar[int] = 18
    reason: str


# --- what programs say besides messages ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Receive:
    """A party waits for one of these kinds of message."""

    kinds: tuple[type[Message], ...]


@dataclass(frozen=True, slots=True)
class StartSession:
    """Both have greeted each other: messages are marked with this name from now on."""

    name: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Something a party can now read in the clear that it did not know before."""

    party: Party
    task: str
    iteration: int
    name: str  # gradient, loss, scores, labels
    value: Array


_ALL: tuple[type[Message], ...] = (
    Hello,
    PublicKey,
    TrainRequest,
    Ready,
    Decision,
    ComponentsA,
    ComponentsB,
    MaskedGradientA,
    MaskedGradientB,
    OpenedGradientA,
    OpenedGradientB,
    PredictRequest,
    HiddenRows,
    MaskedScores,
    OpenedScores,
    Labels,
    Finish,
    Abort,
)
KINDS = {kind.number: kind for kind in _ALL}
