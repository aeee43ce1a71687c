"""r^n mod n^2 for Paillier encryption, prepared before the numbers are known.

Anybody can raise a random r to the n-th power. The owner of the key works modulo p^2 and q^2, where
n-th powers are a cyclic group of order p - 1 (q - 1), and for many of them multiplies table entries of
two fixed elements instead of raising to powers.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache

from dpcheck.core.validate import count
from dpcheck.mechanisms.federated.crypto.paillier import (
    Integer,
    PrivateKey,
    PublicKey,
    chunks,
    require,
    spread,
)

SCREENED = 2**20  # prime factors of p - 1 below this are known
SHORT_BYTES = 16  # of the second exponent
WORTH_TABLES = 128  # numbers from which tables pay


class Randomness:
    """A pool of r^n mod n^2; every value is given out once."""

    def __init__(self, key: PublicKey | PrivateKey, jobs: int = 1) -> None:
        self._key, self._jobs = key, count("jobs", jobs)
        self._ready: list[Integer] = []

    def __len__(self) -> int:
        return len(self._ready)

    def prepare(self, size: int) -> None:
        """Have at least `size` values ready."""
        missing = size - len(self._ready)
        if missing > 0:
            function: Callable[..., list[Integer]] = _by_anyone
            if isinstance(self._key, PrivateKey):
                function = _by_tables if missing >= WORTH_TABLES else _by_powers
            sizes = [len(part) for part in chunks(range(missing), self._jobs, 16)]
            self._ready += spread(function, [(self._key, part) for part in sizes], self._jobs)

    def take(self, size: int) -> list[Integer]:
        """`size` values nobody was given before."""
        self.prepare(size)
        taken, self._ready = self._ready[:size], self._ready[size:]
        return taken


def _by_anyone(key: PublicKey, size: int) -> list[Integer]:
    powmod, below = require("gmpy2").powmod, int(key.n) - 1
    return [powmod(secrets.randbelow(below) + 1, key.n, key.squared) for _ in range(size)]


def _by_powers(key: PrivateKey, size: int) -> list[Integer]:
    return _joined(key, residues_by_powers(key.p, size), residues_by_powers(key.q, size))


def _by_tables(key: PrivateKey, size: int) -> list[Integer]:
    return _joined(key, residues_by_tables(key.p, size), residues_by_tables(key.q, size))


def _joined(key: PrivateKey, of_p: list[Integer], of_q: list[Integer]) -> list[Integer]:
    """Residues modulo p^2 and q^2, put together by the Chinese remainder theorem."""
    p2, q2, inverse = key.p**2, key.q**2, key.q_squared_inverse
    return [x_q + q2 * ((x_p - x_q) * inverse % p2) for x_p, x_q in zip(of_p, of_q, strict=True)]


def residues_by_powers(p: Integer, size: int) -> list[Integer]:
    """Uniform n-th powers modulo p^2.

    They are the p-th powers: the group of order p - 1, on which taking q-th powers is one-to-one,
    since n has no factor in common with (p-1)(q-1). And s -> s^p is one-to-one from 1..p-1 onto it,
    so a uniform s gives exactly the distribution of r^n.
    """
    powmod, squared, below = require("gmpy2").powmod, p * p, int(p) - 1
    return [powmod(secrets.randbelow(below) + 1, p, squared) for _ in range(size)]


def residues_by_tables(p: Integer, size: int) -> list[Integer]:
    """The same group, as g^e h^f with e uniform below p - 1 and f of 128 bits.

    Guarantee: within 2^-64 of uniform, but for a share below 2^-33 of the choices of g and h.
    g^e is uniform on the subgroup of g, and h^f on the cosets of that subgroup that h reaches, up
    to index / 2^128. An element misses a prime factor r of p - 1 with probability 1/r; none is
    missed below 2^20, where all are tested, and above it p - 1 has fewer than 80 (keys up to 3072
    bits). Both miss the same one with probability below 80 * 2^-40, so g and h generate the group;
    and g misses a product of them above 2^64 with probability below 2^-33.
    """
    squared, below, width = p * p, int(p) - 1, (p.bit_length() + 7) // 8
    g, h = _tables(p)
    one = require("gmpy2").mpz(1)
    out = []
    for _ in range(size):
        product = one
        for table, digit in zip(g, secrets.randbelow(below).to_bytes(width, "little"), strict=True):
            product = product * table[digit] % squared
        for table, digit in zip(h, secrets.token_bytes(SHORT_BYTES), strict=True):
            product = product * table[digit] % squared
        out.append(product)
    return out


@cache
def _tables(p: Integer) -> tuple[list[list[Integer]], list[list[Integer]]]:
    """Powers of two random elements, by byte of the exponent."""
    return _byte_powers(p, (p.bit_length() + 7) // 8), _byte_powers(p, SHORT_BYTES)


def _byte_powers(p: Integer, width: int) -> list[list[Integer]]:
    """table[i][b] = g^(b 256^i) modulo p^2."""
    squared, base = p * p, _element(p)
    tables = []
    for _ in range(width):
        row = [require("gmpy2").mpz(1)]
        for _ in range(255):
            row.append(row[-1] * base % squared)
        tables.append(row)
        base = row[-1] * base % squared
    return tables


def _element(p: Integer) -> Integer:
    """A random p-th power modulo p^2 that is no r-th power for any small prime r dividing p - 1."""
    powmod, squared = require("gmpy2").powmod, p * p
    factors = small_factors(p - 1)
    while True:
        element = residues_by_powers(p, 1)[0]
        if all(powmod(element, (p - 1) // r, squared) != 1 for r in factors):
            return element


def small_factors(number: Integer) -> list[int]:
    """The prime factors below 2^20."""
    gmpy2 = require("gmpy2")
    product = gmpy2.gcd(_primorial() % number, number)  # of the distinct ones
    factors, prime = [], gmpy2.mpz(2)
    while product > 1:
        if product % prime == 0:
            factors.append(int(prime))
            product //= prime
        prime = gmpy2.next_prime(prime)
    return factors


@cache
def _primorial() -> Integer:
    return require("gmpy2").primorial(SCREENED)
