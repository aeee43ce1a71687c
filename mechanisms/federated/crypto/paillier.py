"""Paillier encryption of many numbers at once: keys by `phe`, arithmetic by gmpy2.

A ciphertext of m is (1 + n m) r^n mod n^2 [Paillier1999]; `_paillier_randomness` prepares r^n. Sums of
ciphertexts times plain numbers share their squarings and tables. Work is spread over processes:
multiplications of a microsecond are too short to release the interpreter for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.errors import InvalidParameter, MissingExtra

T = TypeVar("T")
Integer: TypeAlias = Any  # gmpy2.mpz
SECURE_BITS = (1024, 2048, 3072)


@cache
def require(module: str) -> Any:
    """gmpy2 or phe, or an error that names the extra."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(
            f"encryption needs {module}, which is not installed: pip install 'dpcheck[ftl]'."
        ) from None


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The modulus, and its square."""

    n: Integer
    squared: Integer

    @property
    def bits(self) -> int:
        """The size of the modulus."""
        return int(self.n.bit_length())

    @property
    def width(self) -> int:
        """Bytes of a ciphertext."""
        return (int(self.squared.bit_length()) + 7) // 8

    @property
    def plain_width(self) -> int:
        """Bytes of a plaintext."""
        return (self.bits + 7) // 8


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """The factors, and what decryption modulo each of them needs."""

    public: PublicKey
    p: Integer
    q: Integer
    h_p: Integer
    h_q: Integer
    q_inverse: Integer  # of q modulo p
    q_squared_inverse: Integer  # of q^2 modulo p^2


def public_key(n: int) -> PublicKey:
    """A public key from its modulus."""
    modulus = require("gmpy2").mpz(n)
    return PublicKey(modulus, modulus * modulus)


def generate_key(bits: int = 2048, *, allow_weak: bool = False) -> PrivateKey:
    """A fresh key pair from the operating system's randomness."""
    if bits not in SECURE_BITS and not (allow_weak and bits >= 256):
        raise InvalidParameter(
            f"key_bits must be one of {', '.join(map(str, SECURE_BITS))}, got {bits}.",
            name="key_bits",
        )
    _, private = require("phe").generate_paillier_keypair(n_length=bits)
    return private_key(private.p, private.q)


def private_key(p: int, q: int) -> PrivateKey:
    """A private key from its factors."""
    gmpy2 = require("gmpy2")
    p, q = gmpy2.mpz(p), gmpy2.mpz(q)
    n, p2, q2 = p * q, p * p, q * q
    g = n + 1
    h_p = gmpy2.invert((gmpy2.powmod(g, p - 1, p2) - 1) // p, p)
    h_q = gmpy2.invert((gmpy2.powmod(g, q - 1, q2) - 1) // q, q)
    return PrivateKey(PublicKey(n, n * n), p, q, h_p, h_q, gmpy2.invert(q, p), gmpy2.invert(q2, p2))


# --- spreading work ------------------------------------------------------------------------------


def spread(
    function: Callable[..., list[T]], parts: Sequence[tuple[object, ...]], jobs: int
) -> list[T]:
    """All results of `function` on the parts, in order, on `jobs` processes."""
    if jobs == 1 or len(parts) <= 1:
        results = [function(*part) for part in parts]
    else:
        from joblib import Parallel, delayed

        results = Parallel(n_jobs=jobs, backend="loky")(delayed(function)(*part) for part in parts)
    return [item for result in results for item in result]


def chunks(items: Sequence[T], jobs: int, smallest: int) -> list[Sequence[T]]:
    """The items in one piece per process, none of fewer than `smallest`."""
    pieces = max(1, min(jobs, len(items) // smallest))
    edges = np.linspace(0, len(items), pieces + 1).astype(int).tolist()
    return [items[a:b] for a, b in pairwise(edges)]


# --- encryption and decryption -------------------------------------------------------------------


def encrypt(key: PublicKey, numbers: Sequence[int], randomness: Sequence[Integer]) -> list[Integer]:
    """Ciphertexts of whole numbers modulo n."""
    n, squared = key.n, key.squared
    return [(1 + n * (m % n)) * r % squared for m, r in zip(numbers, randomness, strict=True)]


def decrypt(key: PrivateKey, ciphertexts: Sequence[Integer], jobs: int = 1) -> list[Integer]:
    """The plaintexts, from 0 to n - 1."""
    parts = chunks(ciphertexts, jobs, 16)
    return spread(_decrypt, [(key, list(part)) for part in parts], jobs)


def _decrypt(key: PrivateKey, ciphertexts: Sequence[Integer]) -> list[Integer]:
    powmod = require("gmpy2").powmod
    p, q, p2, q2 = key.p, key.q, key.p**2, key.q**2
    out = []
    for c in ciphertexts:
        m_p = (powmod(c, p - 1, p2) - 1) // p * key.h_p % p
        m_q = (powmod(c, q - 1, q2) - 1) // q * key.h_q % q
        out.append(m_q + q * ((m_p - m_q) * key.q_inverse % p))
    return out


# --- sums of ciphertexts times plain numbers -----------------------------------------------------

Weights = NDArray[Any]  # whole numbers, outputs x ciphertexts: int64, or Python integers


def combine(
    key: PublicKey, work: Sequence[tuple[Weights, Sequence[Integer]]], jobs: int = 1
) -> list[list[Integer]]:
    """For every (weights, ciphertexts): the ciphertexts of weights @ plaintexts, row by row."""
    terms = sum(weights.size for weights, _ in work)
    if jobs == 1 or terms < 2000:
        return _combine(key, work)
    pieces: list[tuple[Weights, Sequence[Integer]]] = []
    splits: list[int] = []
    for weights, ciphertexts in work:  # little work of many rows is cut by rows
        parts = np.array_split(weights, min(len(weights), jobs)) if len(work) < jobs else [weights]
        splits.append(len(parts))
        pieces += [(part, ciphertexts) for part in parts]
    done = iter(spread(_combine, [(key, list(part)) for part in chunks(pieces, jobs, 1)], jobs))
    return [[number for _ in range(size) for number in next(done)] for size in splits]


def _combine(
    key: PublicKey, work: Sequence[tuple[Weights, Sequence[Integer]]]
) -> list[list[Integer]]:
    return [_linear_combinations(key, weights, ciphertexts) for weights, ciphertexts in work]


def _linear_combinations(
    key: PublicKey, weights: Weights, ciphertexts: Sequence[Integer]
) -> list[Integer]:
    """prod_t c_t^weights[i, t] for every row i."""
    gmpy2 = require("gmpy2")
    outputs, terms = weights.shape
    if not weights.size or not weights.any():
        return [gmpy2.mpz(1)] * outputs
    bits = max(int(weights.max()), -int(weights.min())).bit_length()
    if outputs * terms == 1:
        # gmpy2 inverts for a negative power
        return [gmpy2.powmod(ciphertexts[0], int(weights[0, 0]), key.squared)]
    fixed, window = _cheapest(outputs, terms, bits)
    digits = _signed_digits(weights, window, -(-(bits + 2) // window))
    method = _fixed_base if fixed else _shared_squarings
    return method(key.squared, digits, ciphertexts, window)


def _cheapest(outputs: int, terms: int, bits: int) -> tuple[bool, int]:
    """Tables for every position or only the lowest, and the window, by counting multiplications."""
    costs = {}
    for window in range(2, 8):
        places, table = -(-(bits + 2) // window), 2**window
        costs[True, window] = places * (terms * (table + window) + outputs * terms)
        costs[False, window] = terms * table + outputs * (bits + places * terms)
    return min(costs, key=lambda choice: costs[choice])


def _signed_digits(weights: Weights, window: int, places: int) -> list[list[list[int]]]:
    """Digits from -half to half-1 of every weight, plus half: [output][place][term].

    Adding half at every place makes all weights non-negative; their ordinary digits are then the
    signed ones plus half. 2^(window places) is at least 4 |weight|, so no place is missing.
    """
    half = 1 << (window - 1)
    offset = sum(half << (window * place) for place in range(places))
    wide = weights.astype(object) if window * places > 62 else weights
    shifted = wide + offset
    mask = 2 * half - 1
    digits = [(shifted >> (window * place)) & mask for place in range(places)]
    table: list[list[list[int]]] = np.stack(digits, axis=1).tolist()
    return table


def _powers(squared: Integer, base: Integer, window: int) -> list[Integer | None]:
    """base^(digit - half) for every shifted digit; None for 1."""
    half, inverse = 1 << (window - 1), require("gmpy2").invert(base, squared)
    table: list[Integer | None] = [None] * (2 * half)
    up, down = base, inverse
    table[half - 1] = inverse
    for step in range(1, half):
        table[half + step] = up
        up = up * base % squared
        down = down * inverse % squared
        table[half - step - 1] = down
    return table


def _shared_squarings(
    squared: Integer, digits: list[list[list[int]]], ciphertexts: Sequence[Integer], window: int
) -> list[Integer]:
    """Straus: all powers of one product are squared together."""
    powmod, one, step = require("gmpy2").powmod, require("gmpy2").mpz(1), 1 << window
    tables = [_powers(squared, c, window) for c in ciphertexts]
    out = []
    for row in digits:
        product = one
        for place in reversed(row):
            if product != 1:
                product = powmod(product, step, squared)
            for table, digit in zip(tables, place, strict=True):
                factor = table[digit]
                if factor is not None:
                    product = product * factor % squared
        out.append(product)
    return out


def _fixed_base(
    squared: Integer, digits: list[list[list[int]]], ciphertexts: Sequence[Integer], window: int
) -> list[Integer]:
    """Tables of every place: no squarings at all, for few ciphertexts in many products."""
    powmod, one, step = require("gmpy2").powmod, require("gmpy2").mpz(1), 1 << window
    products = [one] * len(digits)
    for term, base in enumerate(ciphertexts):
        power = base
        for place in range(len(digits[0])):
            table = _powers(squared, power, window)
            for i, row in enumerate(digits):
                factor = table[row[place][term]]
                if factor is not None:
                    products[i] = products[i] * factor % squared
            power = powmod(power, step, squared)
    return products
