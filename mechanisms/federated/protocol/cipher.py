"""How a party hides numbers from the other one: the interface, and the plain run that hides nothing.

The parties are written once against `Cipher`. With `PlainCipher` every step is the same but the
encryption, for audits and as the yardstick of the encrypted run.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from dpcheck.core.errors import CorruptValue, WireError
from dpcheck.mechanisms.federated.protocol.autoencoder import Array
from dpcheck.mechanisms.federated.protocol.messages import (
    BigIntegers,
    Computed,
    Mask,
    Party,
    Sealed,
)

Floats = NDArray[np.float64]


class Cipher(Protocol):
    """One party's keys. Values under the other's key can be added and multiplied by plain ones."""

    @property
    def scheme(self) -> str:
        """ "plain" or "paillier-BITS"."""

    def public_modulus(self) -> int:
        """What the other party needs to know."""

    def meet(self, modulus: int) -> None:
        """Learn the other party's public key."""

    def prepare(self, own: int, other: int) -> None:
        """Compute randomness for so many encryptions ahead of their use."""

    def encrypt(self, values: Floats, level: int = 1) -> Sealed:
        """Under the own key; `level` is how many factors later sums are scaled by."""

    def load(self, sealed: Sealed, shape: tuple[int, ...]) -> Computed:
        """The other party's ciphertexts, to compute with. They must have this shape."""

    def seal(self, computed: Computed) -> tuple[Sealed, Mask]:
        """A computed value for its key's owner to read, and what is needed to read it back."""

    def mask(self, computed: Computed) -> tuple[Sealed, Mask]:
        """A computed value under a fresh mask that hides it wholly, and what removes the mask."""

    def open(self, sealed: Sealed, shape: tuple[int, ...]) -> Sealed:
        """Decrypt with the own key; what comes out is masked or meant for the own eyes."""

    def read(self, opened: Sealed) -> Floats:
        """The numbers in something this party opened that was not masked."""

    def unmask(self, opened: Sealed, secret: Mask, shape: tuple[int, ...]) -> Floats:
        """The numbers behind what the other party opened, by the secret of `mask` or `seal`."""


class PlainCipher:
    """No encryption. Masks are one-time pads on the bits of the numbers, so they cost no accuracy."""

    scheme = "plain"

    def __init__(self, party: Party) -> None:
        self.party = party
        self._rng = np.random.default_rng()  # pads never influence a result

    def public_modulus(self) -> int:
        """There is no key."""
        return 0

    def meet(self, modulus: int) -> None:
        """Refuse a party that encrypts."""
        if modulus:
            raise WireError("the other party encrypts and this one does not; use the same scheme.")

    def prepare(self, own: int, other: int) -> None:
        """Nothing to prepare."""

    def encrypt(self, values: Floats, level: int = 1) -> Sealed:  # noqa: ARG002 - interface
        """The values themselves."""
        return _frozen(np.array(values, dtype=np.float64))

    def load(self, sealed: Sealed, shape: tuple[int, ...]) -> Floats:
        """The values themselves."""
        return _checked(sealed, np.float64, shape)

    def seal(self, computed: Computed) -> tuple[Sealed, None]:
        """The value itself."""
        return self.encrypt(computed), None

    def mask(self, computed: Computed) -> tuple[Sealed, NDArray[np.uint64]]:
        """The bits of the values, xor-ed with as many random ones."""
        values = np.array(computed, dtype=np.float64)
        pad = self._rng.integers(0, 2**64, size=values.shape, dtype=np.uint64)
        return _frozen(values.view(np.uint64) ^ pad), pad

    def open(self, sealed: Sealed, shape: tuple[int, ...]) -> Sealed:
        """What was sent."""
        kind = sealed.dtype.type if isinstance(sealed, np.ndarray) else np.float64
        return _checked(sealed, kind, shape)

    def read(self, opened: Sealed) -> Floats:
        """The value itself."""
        assert isinstance(opened, np.ndarray)
        return opened

    def unmask(self, opened: Sealed, secret: Mask, shape: tuple[int, ...]) -> Floats:
        """Remove the pad, if there is one."""
        if secret is None:
            return _checked(opened, np.float64, shape)
        values: Floats = (_checked(opened, np.uint64, shape) ^ secret).view(np.float64)
        if not np.isfinite(values).all():
            raise CorruptValue("the other party returned a value that is no number.")
        return values


def check_shape(sealed: Sealed, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape than the protocol asks for."""
    if tuple(sealed.shape) != tuple(shape):
        raise WireError(
            f"the other party sent an array of shape {tuple(sealed.shape)} where {tuple(shape)} "
            "is due; do both parties use the same rows and hidden dimension?"
        )


def _checked(sealed: Sealed, kind: DTypeLike, shape: tuple[int, ...]) -> Array:
    if isinstance(sealed, BigIntegers) or sealed.dtype != kind:
        raise WireError("the other party sent numbers of another kind than are due.")
    check_shape(sealed, shape)
    return sealed


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
