"""The cipher of the encrypted run: fixed-point numbers under two Paillier keys, and masks."""

from __future__ import annotations

import secrets
from typing import NamedTuple

import numpy as np

from dpcheck.core.errors import CorruptValue, WireError
from dpcheck.mechanisms.federated.crypto import paillier
from dpcheck.mechanisms.federated.crypto.encrypted_array import Encoding, EncryptedArray, Ring
from dpcheck.mechanisms.federated.crypto.paillier import Integer
from dpcheck.mechanisms.federated.crypto.randomness import Randomness
from dpcheck.mechanisms.federated.protocol.cipher import Floats, check_shape
from dpcheck.mechanisms.federated.protocol.messages import BigIntegers, Computed, Party, Sealed

LEVELS = (1, 2, 3)


class Secret(NamedTuple):
    """What removes a mask, and what the number behind it can be."""

    masks: list[int]
    exponent: int
    bound: int


class PaillierCipher:
    """One party's key pair and the other's public key.

    Masks are uniform modulo the other's n, so the masked number is uniform whatever it hides; and
    they come with fresh randomness, so the ciphertext says nothing of how it was computed.
    Guarantee: a number that comes back from the other party is within the bound of what was
    computed, or CorruptValue; a wrong answer passes with probability at most 2 bound / n.
    """

    def __init__(
        self,
        party: Party,
        key: paillier.PrivateKey,
        *,
        encoding: Encoding | None = None,
        jobs: int = 1,
    ) -> None:
        self.party = party
        self.encoding = encoding or Encoding()
        self._key, self._jobs = key, jobs
        self._own_randomness = Randomness(key, jobs)
        self._ring: Ring | None = None
        self._other_randomness: Randomness | None = None

    @property
    def scheme(self) -> str:
        """Scheme, size of the keys and the encoding: both parties must use the same."""
        encoding = self.encoding
        bits = self._key.public.bits
        return f"paillier-{bits}-{encoding.fraction_bits}-{encoding.magnitude_bits}"

    def public_modulus(self) -> int:
        """n."""
        return int(self._key.public.n)

    def meet(self, modulus: int) -> None:
        """Learn the other party's n; refuse one of another size, or the own one."""
        if modulus.bit_length() != self._key.public.bits or modulus % 2 == 0:
            raise WireError(
                f"the other party's key has {modulus.bit_length()} bits where "
                f"{self._key.public.bits} are due."
            )
        if modulus == self.public_modulus():
            raise WireError("the other party uses this party's own key.")
        key = paillier.public_key(modulus)
        self._ring = Ring(key, self.encoding, self._jobs)
        self._other_randomness = Randomness(key, self._jobs)

    def prepare(self, own: int, other: int) -> None:
        """Randomness for so many encryptions under either key."""
        self._own_randomness.prepare(own)
        self._other().prepare(other)

    def _other(self) -> Randomness:
        if self._other_randomness is None:
            raise WireError("a message came before the keys were exchanged.")
        return self._other_randomness

    # --- numbers of this party, for the other to compute with ----------------------------------------

    def encrypt(self, values: Floats, level: int = 1) -> Sealed:
        """Under the own key, at `level` times the fraction bits."""
        values, exponent = np.asarray(values), level * self.encoding.fraction_bits
        numbers = self.encoding.encode(values, exponent)
        key = self._key.public
        ciphertexts = paillier.encrypt(key, numbers, self._own_randomness.take(len(numbers)))
        return _pack(self.party, values.shape, exponent, key.width, ciphertexts)

    # --- numbers of the other party, for this one to compute with ------------------------------------

    def load(self, sealed: Sealed, shape: tuple[int, ...]) -> EncryptedArray:
        """The other's ciphertexts; their plaintexts are taken to be within the declared range."""
        ring = self._ring
        if ring is None:
            raise WireError("a message came before the keys were exchanged.")
        numbers = _unpack(sealed, self._other_party(), ring.key.width, int(ring.key.squared), shape)
        assert isinstance(sealed, BigIntegers)
        if sealed.exponent not in [level * self.encoding.fraction_bits for level in LEVELS]:
            raise WireError(f"the other party sent numbers of an unknown scale {sealed.exponent}.")
        _check_units(numbers, ring.key)
        mpz, array = paillier.require("gmpy2").mpz, np.empty(len(numbers), dtype=object)
        array[:] = [mpz(number) for number in numbers]
        bound = ring.check(self.encoding.received_bound(sealed.exponent))
        return EncryptedArray(ring, array.reshape(shape), sealed.exponent, bound)

    def _other_party(self) -> Party:
        return "b" if self.party == "a" else "a"

    def seal(self, computed: Computed) -> tuple[Sealed, Secret]:
        """Fresh randomness, no mask."""
        return self._blinded(computed, masked=False)

    def mask(self, computed: Computed) -> tuple[Sealed, Secret]:
        """A uniform mask and fresh randomness."""
        return self._blinded(computed, masked=True)

    def _blinded(self, computed: Computed, *, masked: bool) -> tuple[Sealed, Secret]:
        randomness, ring = self._other(), self._ring
        assert ring is not None
        if not isinstance(computed, EncryptedArray):  # no parameters, no gradient
            assert np.size(computed) == 0
            return _pack(self._other_party(), np.shape(computed), 0, ring.key.width, []), Secret(
                [], 0, 0
            )
        array, n = computed.applied(), self.public_modulus_of_other()
        masks = [secrets.randbelow(n) if masked else 0 for _ in range(array.size)]
        fresh = paillier.encrypt(ring.key, masks, randomness.take(array.size))
        squared = ring.key.squared
        hidden = [c * r % squared for c, r in zip(array.numbers.ravel(), fresh, strict=True)]
        packed = _pack(self._other_party(), array.shape, array.exponent, ring.key.width, hidden)
        return packed, Secret(masks, array.exponent, array.bound)

    def public_modulus_of_other(self) -> int:
        """The other party's n."""
        assert self._ring is not None
        return int(self._ring.key.n)

    # --- decryption ------------------------------------------------------------------------------

    def open(self, sealed: Sealed, shape: tuple[int, ...]) -> Sealed:
        """Decrypt to residues modulo the own n."""
        key = self._key.public
        numbers = _unpack(sealed, self.party, key.width, int(key.squared), shape)
        assert isinstance(sealed, BigIntegers)
        _check_units(numbers, key)
        residues = paillier.decrypt(self._key, numbers, self._jobs)
        return _pack(self.party, shape, sealed.exponent, key.plain_width, residues)

    def read(self, opened: Sealed) -> Floats:
        """Numbers behind own residues that carry no mask."""
        n = self.public_modulus()
        assert isinstance(opened, BigIntegers)
        residues = _unpack(opened, self.party, opened.width, n, opened.shape)
        return _decoded(residues, n, opened.exponent, n // 3, opened.shape)

    def unmask(self, opened: Sealed, secret: Secret, shape: tuple[int, ...]) -> Floats:
        """Take the mask off what the other party decrypted."""
        assert self._ring is not None
        n = self.public_modulus_of_other()
        width = self._ring.key.plain_width
        residues = _unpack(opened, self._other_party(), width, n, shape)
        assert isinstance(opened, BigIntegers)
        if opened.exponent != secret.exponent:
            raise WireError("the other party changed the scale of a number.")
        plain = [(r - m) % n for r, m in zip(residues, secret.masks, strict=True)]
        return _decoded(plain, n, secret.exponent, secret.bound, shape)


def _decoded(
    residues: list[int], n: int, exponent: int, bound: int, shape: tuple[int, ...]
) -> Floats:
    centred = [r - n if r > n // 2 else r for r in residues]
    if any(abs(number) > bound for number in centred):
        raise CorruptValue(
            "a number from the other party is outside what its computation can give: it was changed "
            "on the way, encrypted under another key, or computed by another protocol."
        )
    scale = 1 << exponent
    return np.array([number / scale for number in centred], dtype=float).reshape(shape)


def _check_units(numbers: list[int], key: paillier.PublicKey) -> None:
    """Every ciphertext has an inverse; 0 and multiples of a factor of n have none."""
    gmpy2 = paillier.require("gmpy2")
    product = gmpy2.mpz(1)
    for number in numbers:
        product = product * number % key.n
    if gmpy2.gcd(product, key.n) != 1:
        raise CorruptValue("a number from the other party is no ciphertext.")


def _pack(
    owner: Party, shape: tuple[int, ...], exponent: int, width: int, numbers: list[Integer]
) -> BigIntegers:
    data = b"".join(int(number).to_bytes(width, "big") for number in numbers)
    return BigIntegers(owner, tuple(shape), exponent, width, data)


def _unpack(
    sealed: Sealed, owner: Party, width: int, below: int, shape: tuple[int, ...]
) -> list[int]:
    """The integers, each in range, of an array that must have this owner, width and shape."""
    if not isinstance(sealed, BigIntegers) or sealed.owner != owner or sealed.width != width:
        raise WireError("the other party sent numbers under another key than is due.")
    check_shape(sealed, shape)
    data = sealed.data
    numbers = [int.from_bytes(data[i : i + width], "big") for i in range(0, len(data), width)]
    if len(numbers) != int(np.prod(shape)) or any(number >= below for number in numbers):
        raise CorruptValue("a number from the other party is no residue of its key's modulus.")
    return numbers
