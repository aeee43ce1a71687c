"""Encryption against `phe` itself, and sums of ciphertexts against whole-number arithmetic."""

import subprocess
import sys

import gmpy2
import numpy as np
import phe
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms.federated.crypto import paillier
from dpcheck.mechanisms.federated.crypto.randomness import (
    WORTH_TABLES,
    Randomness,
    residues_by_tables,
    small_factors,
)


@pytest.fixture(scope="module")
def key():
    return paillier.generate_key(1024)


@pytest.fixture(scope="module")
def peer(key):
    public = phe.PaillierPublicKey(int(key.public.n))
    return public, phe.PaillierPrivateKey(public, int(key.p), int(key.q))


NUMBERS = [0, 1, -1, 12345, -(2**200), 2**500 + 7]


@pytest.mark.parametrize(("owner", "ahead"), [(True, 0), (True, WORTH_TABLES), (False, 0)])
def test_phe_reads_what_we_encrypt(key, peer, owner, ahead):
    pool = Randomness(key if owner else key.public)
    pool.prepare(ahead)
    ciphertexts = paillier.encrypt(key.public, NUMBERS, pool.take(len(NUMBERS)))
    n = int(key.public.n)
    assert [peer[1].raw_decrypt(int(c)) for c in ciphertexts] == [m % n for m in NUMBERS]


def test_we_read_what_phe_encrypts(key, peer):
    n = int(key.public.n)
    ciphertexts = [peer[0].raw_encrypt(m % n) for m in NUMBERS]
    assert [int(m) for m in paillier.decrypt(key, ciphertexts)] == [m % n for m in NUMBERS]


@pytest.mark.parametrize("size", [20, WORTH_TABLES])
def test_owner_randomness_is_an_nth_residue_and_never_repeats(key, size):
    order = (key.p - 1) * (key.q - 1)
    values = Randomness(key).take(size)
    # r^n has order dividing (p-1)(q-1); a random unit modulo n^2 has not.
    assert all(pow(int(v), int(order), int(key.public.squared)) == 1 for v in values[:20])
    assert len({int(v) for v in values}) == size
    assert pow(int(key.public.n) + 1, int(order), int(key.public.squared)) != 1


def test_tables_reach_the_whole_group_evenly():
    """p = 1031: p - 1 = 2 * 5 * 103 is small enough to count every p-th power modulo p^2."""
    p = gmpy2.mpz(1031)
    group = {int(gmpy2.powmod(s, p, p * p)) for s in range(1, 1031)}
    assert len(group) == 1030
    drawn = [int(x) for x in residues_by_tables(p, 20_000)]
    assert set(drawn) <= group
    counts = np.bincount(np.searchsorted(sorted(group), drawn), minlength=1030)
    expected = 20_000 / 1030
    # Chi-square with 1029 degrees of freedom: above 1300 once in 10^8, by scipy.stats.chi2.sf.
    assert ((counts - expected) ** 2 / expected).sum() < 1300


def test_small_factors_are_all_found():
    big = gmpy2.next_prime(2**40)
    assert small_factors(gmpy2.mpz(2**5 * 3 * 1048573) * big) == [2, 3, 1048573]
    assert small_factors(big) == []


def test_prepared_randomness_is_given_out_once(key):
    pool = Randomness(key)
    pool.prepare(5)
    assert len(pool) == 5
    first = pool.take(3)
    assert len(pool) == 2
    assert not {int(v) for v in first} & {int(v) for v in pool.take(4)}
    assert len(pool) == 0


def test_two_processes_give_the_same_plaintexts(key):
    pool = Randomness(key, jobs=2)
    numbers = list(range(64))
    ciphertexts = paillier.encrypt(key.public, numbers, pool.take(64))
    assert [int(m) for m in paillier.decrypt(key, ciphertexts, jobs=2)] == numbers
    rng = np.random.default_rng(0)
    weights = rng.integers(-1000, 1000, size=(40, 64))
    (out,) = paillier.combine(key.public, [(weights, ciphertexts)], jobs=2)
    n = int(key.public.n)
    expected = [int(m) % n for m in weights @ np.arange(64)]
    assert [int(m) for m in paillier.decrypt(key, out)] == expected


SMALL = paillier.generate_key(256, allow_weak=True)  # weak: only arithmetic is tested


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(1, 6),
    st.sampled_from([1, 7, 40, 61, 90]),
    st.integers(0, 2**32),
    st.sampled_from([None, 2, 3, 5]),
    st.booleans(),
)
def test_combinations_are_whole_number_sums(outputs, terms, bits, seed, window, fixed):
    rng = np.random.default_rng(seed)
    weights = np.array(
        [
            [int(rng.integers(-(2**30), 2**30)) << max(0, bits - 30) for _ in range(terms)]
            for _ in range(outputs)
        ],
        dtype=object,
    )
    weights = weights if bits > 61 else weights.astype(np.int64)
    weights[0, 0] = -(2**bits) + 1 if bits < 62 else -(2**bits)
    plain = [int(v) for v in rng.integers(-(2**40), 2**40, size=terms)]
    n = int(SMALL.public.n)
    ciphertexts = paillier.encrypt(SMALL.public, plain, Randomness(SMALL).take(terms))
    if window is None:
        (out,) = paillier.combine(SMALL.public, [(weights, ciphertexts)])
    else:
        size = max(abs(int(w)) for w in weights.ravel()).bit_length()
        digits = paillier._signed_digits(weights, window, -(-(size + 2) // window))
        method = paillier._fixed_base if fixed else paillier._shared_squarings
        out = method(SMALL.public.squared, digits, ciphertexts, window)
    expected = [sum(int(w) * m for w, m in zip(row, plain, strict=True)) % n for row in weights]
    assert [int(m) for m in paillier.decrypt(SMALL, out)] == expected


def test_weak_keys_are_refused_unless_asked_for():
    with pytest.raises(InvalidParameter, match="1024, 2048, 3072"):
        paillier.generate_key(512)
    assert paillier.generate_key(512, allow_weak=True).public.bits == 512


def test_a_bare_install_names_the_extra():
    code = (
        "import sys; sys.modules['gmpy2'] = sys.modules['phe'] = sys.modules['cryptography'] = None\n"
        "from pathlib import Path\n"
        "from dpcheck.core.errors import MissingExtra\n"
        "from dpcheck.mechanisms.ftl import FederatedTransfer\n"
        "from dpcheck.mechanisms.federated.crypto.paillier import generate_key\n"
        "from dpcheck.mechanisms.federated.service.certificates import make_certificates\n"
        "for f in (generate_key, lambda: make_certificates(Path('nowhere'))):\n"
        "    try: f()\n"
        "    except MissingExtra as e: print(e)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all("pip install 'dpcheck[ftl]'" in line for line in lines)
