"""Arrays of Paillier ciphertexts that numpy code can add, multiply by plain numbers, and contract.

Numbers are fixed-point: the plaintext is a whole number times 2^-exponent, one exponent per array.
Every array carries a bound on its plaintexts, computed from the declared range of what was received
and the plain numbers it met; no operation is done that could pass half the modulus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dpcheck.core.errors import EncodingOverflow
from dpcheck.mechanisms.federated.crypto.paillier import PublicKey, combine, require
from dpcheck.mechanisms.federated.protocol.autoencoder import Array
from dpcheck.mechanisms.federated.protocol.messages import Computed


@dataclass(frozen=True, slots=True)
class Encoding:
    """Whole numbers for reals: `fraction_bits` behind the point, at most 2^magnitude_bits before."""

    fraction_bits: int = 40
    magnitude_bits: int = 32

    def received_bound(self, exponent: int) -> int:
        """The largest whole number a party may send at this exponent."""
        return 1 << (self.magnitude_bits + exponent)

    def encode(self, values: Array, exponent: int) -> list[int]:
        """Numbers to be encrypted; refused beyond the range the other party counts on."""
        flat = np.asarray(values, dtype=float).ravel()
        if not np.isfinite(flat).all() or (abs(flat) > 2.0**self.magnitude_bits).any():
            worst = flat[np.argmax(np.where(np.isfinite(flat), abs(flat), np.inf))]
            raise EncodingOverflow(
                f"{worst:g} cannot be encrypted: numbers must be within 2^{self.magnitude_bits}. "
                "Scale the features, or lower the learning rate.",
                value=float(worst),
            )
        return whole_numbers(flat, exponent)


def whole_numbers(values: Array, exponent: int) -> list[int]:
    """values * 2^exponent, rounded to the nearest whole numbers (exactly, where they are large)."""
    scaled = np.rint(np.ldexp(np.asarray(values, dtype=float).ravel(), exponent))
    if not np.isfinite(scaled).all():
        raise EncodingOverflow("a number is not finite, or too large for fixed-point arithmetic.")
    if not scaled.size or abs(scaled).max() < 2.0**62:
        small: list[int] = scaled.astype(np.int64).tolist()
        return small
    return [int(number) for number in scaled.tolist()]


def _weights(values: Array, exponent: int) -> Array:
    """Whole-number weights, as int64 where they fit."""
    numbers = whole_numbers(values, exponent)
    fits = not numbers or max(map(abs, numbers)) < 2**62
    return np.array(numbers, dtype=np.int64 if fits else object).reshape(np.shape(values))


@dataclass(frozen=True, slots=True)
class Ring:
    """Where ciphertexts live: a key, an encoding, and how many processes compute."""

    key: PublicKey
    encoding: Encoding
    jobs: int = 1

    def check(self, bound: int) -> int:
        """The bound, if no plaintext below it can wrap around."""
        if 2 * bound >= int(self.key.n):
            raise EncodingOverflow(
                f"a sum under encryption can need {bound.bit_length() + 1} bits, and the key has "
                f"{self.key.bits}. Use a larger key, fewer layers, or smaller features.",
                bits=bound.bit_length() + 1,
            )
        return bound


@dataclass(frozen=True, slots=True, eq=False)
class EncryptedArray(NDArrayOperatorsMixin):
    """Ciphertexts of whole numbers times 2^-exponent, times `factor`.

    Plain factors are collected in floating point and applied when ciphertexts are next summed, so a
    chain of them costs one exponentiation and one rounding.
    Guarantee: |plaintext| <= bound < n/2 for every entry of `numbers`, if what was received kept to
    the declared range; otherwise EncodingOverflow.
    """

    ring: Ring
    numbers: Array  # of gmpy2.mpz
    exponent: int
    bound: int
    factor: Array | None = None

    # --- shape -----------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """As in numpy."""
        return self.numbers.shape

    @property
    def ndim(self) -> int:
        """As in numpy."""
        return self.numbers.ndim

    @property
    def size(self) -> int:
        """As in numpy."""
        return self.numbers.size

    def __len__(self) -> int:
        return len(self.numbers)

    def _moved(self, move: Callable[[Array], Computed]) -> EncryptedArray:
        factor = None if self.factor is None else np.asarray(move(self.factor))
        return replace(self, numbers=_object_array(move(self.numbers)), factor=factor)

    def __getitem__(self, index: Computed) -> EncryptedArray:
        return self._moved(lambda array: array[index])

    def reshape(self, *shape: int | tuple[int, ...]) -> EncryptedArray:
        """As in numpy."""
        return self._moved(lambda array: array.reshape(*shape))

    def ravel(self) -> EncryptedArray:
        """As in numpy."""
        return self.reshape(-1)

    @property
    def T(self) -> EncryptedArray:  # noqa: N802 - numpy's name
        """As in numpy."""
        return self._moved(lambda array: array.T)

    # --- numpy's doors ---------------------------------------------------------------------------

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Computed, **options: Computed
    ) -> Computed:
        if method == "reduceat" and ufunc is np.add and inputs[0] is self:
            return self._segment_sums(inputs[1], options.get("axis", 0))
        if method != "__call__" or options or ufunc not in _OPERATIONS:
            return NotImplemented
        return _OPERATIONS[ufunc](*inputs)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: object,
        arguments: tuple[Computed, ...],
        options: object,
    ) -> Computed:
        if function is not np.concatenate or options:
            return NotImplemented
        return _concatenate(*arguments)

    # --- arithmetic ------------------------------------------------------------------------------

    def applied(self) -> EncryptedArray:
        """The same numbers with the plain factors multiplied in."""
        if self.factor is None:
            return self
        if not self.size or (self.factor == 1).all():
            return replace(self, factor=None)
        if (self.factor == -1).all():
            invert, squared = require("gmpy2").invert, self.ring.key.squared
            numbers = [invert(c, squared) for c in self.numbers.ravel()]
            return replace(self, numbers=_objects(numbers, self.shape), factor=None)
        bits = self.ring.encoding.fraction_bits
        weights = _weights(self.factor, bits).ravel()
        bound = self.ring.check(self.bound * max(abs(int(w)) for w in weights))
        # One ciphertext met by many factors, as in row times vector, needs one table.
        places: dict[int, list[int]] = {}
        ciphertexts = self.numbers.ravel().tolist()
        for place, ciphertext in enumerate(ciphertexts):
            places.setdefault(id(ciphertext), []).append(place)
        work = [(weights[at][:, None], [ciphertexts[at[0]]]) for at in places.values()]
        products = np.empty(self.size, dtype=object)
        for at, out in zip(
            places.values(), combine(self.ring.key, work, self.ring.jobs), strict=True
        ):
            for place, number in zip(at, out, strict=True):
                products[place] = number
        return EncryptedArray(self.ring, products.reshape(self.shape), self.exponent + bits, bound)

    def _raised(self, exponent: int) -> EncryptedArray:
        """At a larger exponent: times 2^(difference)."""
        if exponent == self.exponent:
            return self
        shift, squared = 1 << (exponent - self.exponent), self.ring.key.squared
        bound = self.ring.check(self.bound * shift)
        powmod = require("gmpy2").powmod
        numbers = [powmod(c, shift, squared) for c in self.numbers.ravel()]
        return EncryptedArray(self.ring, _objects(numbers, self.shape), exponent, bound)

    def _plus_plain(self, values: Computed) -> EncryptedArray:
        left, values = self.applied(), np.asarray(values, dtype=float)
        shape = np.broadcast_shapes(left.shape, values.shape)
        plain = whole_numbers(values, left.exponent)
        bound = self.ring.check(left.bound + max(map(abs, plain), default=0))
        n, squared = self.ring.key.n, self.ring.key.squared
        steps = _objects([1 + n * (m % n) for m in plain], values.shape)
        pairs = zip(
            np.broadcast_to(left.numbers, shape).ravel(),
            np.broadcast_to(steps, shape).ravel(),
            strict=True,
        )
        numbers = [c * step % squared for c, step in pairs]
        return EncryptedArray(self.ring, _objects(numbers, shape), left.exponent, bound)

    def _plus_encrypted(self, other: EncryptedArray) -> EncryptedArray:
        left, right = self.applied(), other.applied()
        exponent = max(left.exponent, right.exponent)
        left, right = left._raised(exponent), right._raised(exponent)
        bound = self.ring.check(left.bound + right.bound)
        squared, shape = self.ring.key.squared, np.broadcast_shapes(left.shape, right.shape)
        pairs = zip(
            np.broadcast_to(left.numbers, shape).ravel(),
            np.broadcast_to(right.numbers, shape).ravel(),
            strict=True,
        )
        numbers = [a * b % squared for a, b in pairs]
        return EncryptedArray(self.ring, _objects(numbers, shape), exponent, bound)

    def _times(self, values: Computed) -> EncryptedArray:
        values = np.asarray(values, dtype=float)
        shape = np.broadcast_shapes(self.shape, values.shape)
        factor = values if self.factor is None else self.factor * values
        return replace(
            self,
            numbers=np.broadcast_to(self.numbers, shape),
            factor=np.broadcast_to(factor, shape),
        )

    def sum(self, axis: int | None = None) -> EncryptedArray:
        """As in numpy, along one axis or all of them."""
        if axis is None:
            return self.ravel().sum(axis=0)
        if self.factor is not None and not (abs(self.factor) == 1).all():
            front = self._moved(lambda array: np.moveaxis(array, axis, 0))
            table = front.reshape(len(front), -1)
            return _contract(np.ones((1, len(front))), table).reshape(front.shape[1:])
        terms = self.applied()
        rows = np.moveaxis(terms.numbers, axis, 0)
        squared, total = self.ring.key.squared, _ones(rows.shape[1:])
        for row in rows:
            total = total * row % squared
        bound = self.ring.check(terms.bound * len(rows))
        return replace(terms, numbers=_object_array(total), bound=bound)

    def _segment_sums(self, starts: Array, axis: int) -> EncryptedArray:
        assert axis == 0
        terms = self.applied()
        ends = [*[int(s) for s in starts[1:]], len(self)]
        return _concatenate(
            [terms[int(a) : b].sum(axis=0)[None] for a, b in zip(starts, ends, strict=True)]
        )


def _objects(numbers: Sequence[Computed], shape: tuple[int, ...]) -> Array:
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array.reshape(shape)


def _object_array(value: Computed) -> Array:
    """An object array also of one number, which numpy hands out bare."""
    if isinstance(value, np.ndarray):
        return value
    return _objects([value], ())


def _ones(shape: tuple[int, ...]) -> Array:
    return _objects([require("gmpy2").mpz(1)] * int(np.prod(shape)), shape)


def _contract(plain: Array, encrypted: EncryptedArray) -> EncryptedArray:
    """plain (F, N) @ encrypted (N, K)."""
    return _contract_many(plain[None], encrypted[None])[0]


def _contract_many(plain: Array, encrypted: EncryptedArray) -> EncryptedArray:
    """plain (batch, F, N) @ encrypted (batch, N, K), by one table per ciphertext."""
    ring, bits = encrypted.ring, encrypted.ring.encoding.fraction_bits
    batch, rows, _ = plain.shape
    columns = encrypted.shape[2]
    work, largest = [], 0
    for b in range(batch):
        shared = None if encrypted.factor is not None else _weights(plain[b], bits)
        for k in range(columns):
            if shared is None:
                assert encrypted.factor is not None
                weights = _weights(plain[b] * encrypted.factor[b, :, k], bits)
            else:
                weights = shared
            if weights.size:
                # Rounded up: a sum of doubles is within a share of 1e-9 of the true one.
                peak = float(np.abs(weights.astype(float)).sum(axis=1).max())
                largest = max(largest, int(peak * (1 + 1e-9)) + 1)
            work.append((weights, encrypted.numbers[b, :, k].tolist()))
    bound = ring.check(encrypted.bound * largest)
    results = combine(ring.key, work, ring.jobs)
    flat = [number for result in results for number in result]
    numbers = _objects(flat, (batch, columns, rows)).transpose(0, 2, 1)
    return EncryptedArray(ring, numbers, encrypted.exponent + bits, bound)


def _matmul(left: Computed, right: Computed) -> Computed:
    if isinstance(left, EncryptedArray):
        if isinstance(right, EncryptedArray) or left.ndim > 2 or np.ndim(right) > 2:
            return NotImplemented
        answer = _matmul(np.transpose(right), left.T)
        return answer.T if isinstance(answer, EncryptedArray) else answer
    plain = np.asarray(left, dtype=float)
    vector_left, vector_right = plain.ndim == 1, right.ndim == 1
    plain = plain[None] if vector_left else plain
    encrypted = right.reshape(-1, 1) if vector_right else right
    if plain.shape[-1] != encrypted.shape[-2]:
        raise ValueError(f"shapes {plain.shape} and {encrypted.shape} do not match")
    outer = np.broadcast_shapes(plain.shape[:-2], encrypted.shape[:-2])
    sizes = (int(np.prod(outer)), plain.shape[-2], plain.shape[-1], encrypted.shape[-1])
    plain = np.broadcast_to(plain, (*outer, *sizes[1:3])).reshape(sizes[:3])
    encrypted = encrypted._moved(
        lambda array: np.broadcast_to(array, (*outer, *sizes[2:])).reshape(sizes[0], *sizes[2:])
    )
    shape = [*outer, *([] if vector_left else [sizes[1]]), *([] if vector_right else [sizes[3]])]
    return _contract_many(plain, encrypted).reshape(tuple(shape))


def _add(left: Computed, right: Computed) -> Computed:
    if not isinstance(left, EncryptedArray):
        left, right = right, left
    if isinstance(right, EncryptedArray):
        return left._plus_encrypted(right)
    return left._plus_plain(right)


def _multiply(left: Computed, right: Computed) -> Computed:
    if isinstance(left, EncryptedArray) and isinstance(right, EncryptedArray):
        return NotImplemented  # Paillier cannot multiply two ciphertexts
    if isinstance(left, EncryptedArray):
        return left._times(right)
    return right._times(left)


def _subtract(left: Computed, right: Computed) -> Computed:
    return _add(left, _multiply(right, -1.0) if isinstance(right, EncryptedArray) else -right)


def _concatenate(parts: Sequence[Computed], axis: int = 0) -> EncryptedArray:
    """Along the first axis; plain parts are not allowed."""
    assert axis == 0
    applied = [part.applied() for part in parts]
    exponent = max(part.exponent for part in applied)
    raised = [part._raised(exponent) for part in applied]
    numbers = np.concatenate([part.numbers for part in raised])
    return EncryptedArray(raised[0].ring, numbers, exponent, max(part.bound for part in raised))


_OPERATIONS: dict[Computed, Callable[..., Computed]] = {
    np.add: _add,
    np.subtract: _subtract,
    np.multiply: _multiply,
    np.matmul: _matmul,
}
