"""Checkpoints in a directory: one file per iteration, written whole or not at all."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from dpcheck.core.errors import CheckpointBroken, WireError
from dpcheck.mechanisms.federated.protocol.autoencoder import flatten
from dpcheck.mechanisms.federated.protocol.party import PartyBase
from dpcheck.mechanisms.federated.protocol.state import State
from dpcheck.mechanisms.federated.protocol.wire import decode_fields, encode_fields

_MAGIC = b"DPFCKPT1"
_MARK = 32


class CheckpointDirectory:
    """The last two states of every task of one party.

    A file belongs to its party's data and settings: with others it is refused, not used. Files hold
    the party's own parameters, which are functions of the rows: keep them as private as the rows.
    """

    def __init__(self, directory: Path, party: PartyBase) -> None:
        self._directory = directory
        self._prefix = party.party
        self._mark = _fingerprint(party)
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _path(self, task: str, iteration: int) -> Path:
        name = hashlib.sha256(task.encode()).hexdigest()[:16]
        return self._directory / f"{self._prefix}-{name}-{iteration:07d}.ckpt"

    def save(self, state: State) -> None:
        """Write the state, then drop all but the one before it."""
        body = _MAGIC + self._mark + encode_fields(state)
        path = self._path(state.task, state.iteration)
        draft = path.with_suffix(".new")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(body + hashlib.sha256(body).digest())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        for iteration in self.available(state.task):
            if not state.iteration - 1 <= iteration <= state.iteration:
                self._path(state.task, iteration).unlink()

    def available(self, task: str) -> tuple[int, ...]:
        """The iterations of a task that can be loaded."""
        pattern = self._path(task, 0).name.replace("0000000.ckpt", "*.ckpt")
        return tuple(sorted(int(p.stem.rsplit("-", 1)[1]) for p in self._directory.glob(pattern)))

    def load(self, task: str, iteration: int) -> State:
        """A state as it was written, or an error."""
        path = self._path(task, iteration)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CheckpointBroken(f"{path} cannot be read: {error}.") from None
        body, digest = data[:-32], data[-32:]
        if hashlib.sha256(body).digest() != digest or not body.startswith(_MAGIC):
            raise CheckpointBroken(f"{path} is damaged; delete it to start from an earlier state.")
        start = len(_MAGIC) + _MARK
        if body[len(_MAGIC) : start] != self._mark:
            raise CheckpointBroken(
                f"{path} belongs to other data or settings; use another directory, or delete it."
            )
        try:
            return decode_fields(State, body[start:])
        except WireError as error:
            raise CheckpointBroken(f"{path} cannot be read: {error.message}") from None


def _fingerprint(party: PartyBase) -> bytes:
    """A digest of the rows, the initial network and the settings."""
    digest = hashlib.sha256(party.greeting(0).settings.encode())
    for array in (party.X, party.common, flatten(party.initial), getattr(party, "y", party.common)):
        digest.update(str(array.shape).encode() + array.tobytes())
    return digest.digest()
