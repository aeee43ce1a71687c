"""Encrypted arrays against numpy, their bounds against the plaintexts, and the edge of the encoding."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.core.errors import CorruptValue, EncodingOverflow, WireError
from dpcheck.mechanisms.federated.crypto.cipher import PaillierCipher
from dpcheck.mechanisms.federated.crypto.encrypted_array import Encoding
from dpcheck.mechanisms.federated.crypto.paillier import decrypt, generate_key
from dpcheck.mechanisms.federated.protocol.autoencoder import flatten, forward, initial_network
from dpcheck.mechanisms.federated.protocol.messages import BigIntegers
from dpcheck.mechanisms.federated.protocol.model import (
    KnownToA,
    KnownToB,
    Objective,
    SentByA,
    SentByB,
    gradient_of_a,
    gradient_of_b,
    joint_gradients,
    loss_seen_by_a,
    sent_by_a,
    sent_by_b,
)

# 512 bits: weak on purpose, for speed. One test below uses 1024.
KEYS = {party: generate_key(512, allow_weak=True) for party in "ab"}


def ciphers(keys=KEYS):
    a, b = PaillierCipher("a", keys["a"]), PaillierCipher("b", keys["b"])
    a.meet(b.public_modulus())
    b.meet(a.public_modulus())
    return a, b


def encrypted(values, level=1, pair=None):
    """Values of A, as B computes with them."""
    a, b = pair or ciphers()
    return b.load(a.encrypt(np.asarray(values, dtype=float), level), np.shape(values))


def decoded(array):
    """What A would read, and the largest whole number behind it."""
    array = array.applied()
    n = int(KEYS["a"].public.n)
    residues = [int(m) for m in decrypt(KEYS["a"], array.numbers.ravel().tolist())]
    centred = [m - n if m > n // 2 else m for m in residues]
    assert max(map(abs, centred), default=0) <= array.bound
    return np.array([m / 2**array.exponent for m in centred]).reshape(array.shape)


def table(rng, *shape):
    return rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**32))
def test_operations_are_numpys(rows, columns, width, seed):
    rng = np.random.default_rng(seed)
    x, y = table(rng, rows, columns), table(rng, rows, columns)
    left, right, wide = table(rng, width, rows), table(rng, columns, width), table(rng, columns)
    pair = ciphers()
    E, F = encrypted(x, 1, pair), encrypted(y, 2, pair)
    chosen = rng.permutation(rows)
    cases = [
        (E + F, x + y),
        (E - F, x - y),
        (E + y, x + y),
        (y - E, y - x),
        (-1 * E, -x),
        (E * y, x * y),
        (2.5 * E * y * wide, 2.5 * x * y * wide),
        (left @ E, left @ x),
        (left @ (E * y), left @ (x * y)),
        (E @ right, x @ right),
        (E @ wide, x @ wide),
        (left[0] @ E, left[0] @ x),
        (E.sum(axis=0), x.sum(axis=0)),
        (E.sum(axis=1), x.sum(axis=1)),
        ((E * y).sum(axis=0), (x * y).sum(axis=0)),
        ((E * y).sum(), (x * y).sum()),
        (E[chosen], x[chosen]),
        (E[x > 0], x[x > 0]),
        (E.T, x.T),
        (E.ravel(), x.ravel()),
        (np.concatenate([E, F * y]), np.concatenate([x, y * y])),
        (
            np.add.reduceat(E, [0, rows - 1] if rows > 1 else [0], axis=0),
            np.add.reduceat(x, [0, rows - 1] if rows > 1 else [0], axis=0),
        ),
        (left[:, None, :] @ E, left[:, None, :] @ x),
        (wide * E[0] + y, wide * x[0] + y),
        (E[0, 0] + 1.5, x[0, 0] + 1.5),
        (y[:, :1] * E[0], y[:, :1] * x[0]),
    ]
    for number, (computed, expected) in enumerate(cases):
        scale = max(1.0, np.abs(x).max(initial=0), np.abs(y).max(initial=0)) ** 2 * 1e4
        np.testing.assert_allclose(
            decoded(computed), expected, rtol=0, atol=scale * 2.0**-36, err_msg=str(number)
        )


def test_two_ciphertexts_cannot_be_multiplied():
    E = encrypted([1.0, 2.0])
    with pytest.raises(TypeError):
        E * E
    with pytest.raises(TypeError):
        E @ E


# --- gradients -----------------------------------------------------------------------------------


def setting(rng, shape, objective, scale=1.0):
    rows_a, rows_b, common, labelled, features_a, features_b, hidden = shape
    X_a, X_b = rng.normal(size=(rows_a, features_a)), rng.normal(size=(rows_b, features_b))
    networks = [initial_network([width, *hidden], rng) for width in (features_a, features_b)]
    traces = tuple(forward(net, X * scale) for net, X in zip(networks, (X_a, X_b), strict=True))
    y = rng.choice([-1.0, 1.0], size=rows_a)
    known_a = KnownToA(y, rng.choice([-1.0, 1.0], size=labelled), rng.permutation(rows_a)[:common])
    known_b = KnownToB(rng.permutation(rows_b)[:labelled], rng.permutation(rows_b)[:common])
    return objective, tuple(networks), traces, known_a, known_b


def encrypted_gradients(case, keys=KEYS):
    """Loss and both gradients as the two parties compute and unmask them."""
    objective, networks, traces, known_a, known_b = case
    a, b = ciphers(keys)
    from_a = sent_by_a(objective, traces[0].hidden, known_a)
    from_b = sent_by_b(objective, networks[1], traces[1].hidden, known_b)
    at_b = SentByA(
        *(b.load(a.encrypt(v, level), v.shape) for v, level in zip(from_a, (1, 2, 2), strict=True))
    )
    at_a = SentByB(
        *(
            a.load(b.encrypt(np.asarray(v), level), np.shape(v))
            for v, level in zip(from_b, (1, 1, 2, 3), strict=True)
        )
    )
    of_b = flatten(gradient_of_b(objective, networks[1], traces[1], known_b, at_b))
    of_a = flatten(gradient_of_a(objective, networks[0], traces[0], known_a, at_a))
    loss = loss_seen_by_a(objective, networks[0], traces[0].hidden, known_a, at_a)
    results = []
    for computing, owner, value in ((a, b, loss), (a, b, of_a), (b, a, of_b)):
        sealed, secret = computing.mask(value)
        results.append(computing.unmask(owner.open(sealed, value.shape), secret, value.shape))
    return results


SHAPES = st.tuples(
    st.integers(3, 6),
    st.integers(3, 6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([(1,), (2,), (3,), (3, 2)]),
)
OBJECTIVES = st.builds(
    Objective,
    st.floats(0, 2),
    st.floats(0, 1),
    st.sampled_from(["inner", "distance"]),
    st.sampled_from(["corrected", "printed"]),
)


@settings(max_examples=30, deadline=None)
@given(SHAPES, OBJECTIVES, st.integers(0, 2**32))
def test_the_encrypted_gradient_is_the_plain_one(shape, objective, seed):
    case = setting(np.random.default_rng(seed), shape, objective)
    loss, of_a, of_b = encrypted_gradients(case)
    plain = joint_gradients(*case)
    np.testing.assert_allclose(loss, plain.loss, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(of_a, flatten(plain.of_a), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(of_b, flatten(plain.of_b), rtol=1e-9, atol=1e-9)


SHAPE = (5, 4, 3, 2, 3, 2, (2,))


@pytest.mark.parametrize("bits", [512, 1024])
def test_at_the_largest_values_the_encoding_admits(bits):
    keys = KEYS if bits == 512 else {party: generate_key(bits) for party in "ab"}
    rng = np.random.default_rng(3)
    case = setting(rng, SHAPE, Objective(1.0, 0.01))
    largest = np.abs(sent_by_a(case[0], case[2][0].hidden, case[3]).aligned).max()
    weight = 2.0**32 / largest
    while weight * largest > 2.0**32:
        weight = np.nextafter(weight, 0)
    # gamma kappa u^A now reaches 2^32, and the rows are large as well.
    traces = tuple(
        trace._replace(values=(trace.values[0] * 1e9, trace.values[1])) for trace in case[2]
    )
    at_limit = (Objective(weight, 0.01), case[1], traces, *case[3:])
    loss, of_a, of_b = encrypted_gradients(at_limit, keys)
    plain = joint_gradients(*at_limit)
    assert np.abs(flatten(plain.of_a)).max() > 1e17
    np.testing.assert_allclose(loss, plain.loss, rtol=1e-9)
    for ours, theirs in ((of_a, plain.of_a), (of_b, plain.of_b)):
        size = np.abs(flatten(theirs)).max()
        np.testing.assert_allclose(ours, flatten(theirs), rtol=1e-9, atol=1e-9 * size)
    beyond = (Objective(weight * 1.001, 0.01), *at_limit[1:])
    with pytest.raises(EncodingOverflow, match=r"within 2\^32"):
        encrypted_gradients(beyond, keys)


@pytest.mark.parametrize("value", [2.0**32, -(2.0**32), 2.0**-40, 0.0])
def test_what_the_encoding_admits_comes_back(value):
    assert decoded(encrypted([value]))[0] == value


@pytest.mark.parametrize("value", [np.nextafter(2.0**32, np.inf), -1e300, np.inf, np.nan])
def test_what_it_does_not_admit_is_an_error(value):
    with pytest.raises(EncodingOverflow, match="cannot be encrypted"):
        encrypted([1.0, value])


def test_a_sum_that_could_wrap_is_an_error_before_it_wraps():
    E = encrypted([2.0**32], level=3)  # 152 bits
    n = int(KEYS["a"].public.n)
    power = 0
    while 2 * (E.bound << (power + 41)) < n:  # the largest factor 2^power that still fits
        power += 1
    fits = (E * 2.0**power).applied()
    assert decoded(fits)[0] == 2.0 ** (32 + power)
    assert 2 * fits.bound < n
    with pytest.raises(EncodingOverflow, match="key has 512"):
        (E * 2.0 ** (power + 1)).applied()
    with pytest.raises(EncodingOverflow, match="key has 512"):
        np.full((1, 2), 2.0**power) @ np.concatenate([E, E])
    doubled = E
    while 4 * doubled.bound < n:
        doubled = doubled + doubled
    with pytest.raises(EncodingOverflow, match="key has 512"):
        doubled + doubled


# --- masks and corrupt values --------------------------------------------------------------------


def test_masked_numbers_say_nothing_and_come_back():
    a, b = ciphers()
    E = b.load(a.encrypt(np.array([0.25, -3.0])), (2,))
    seen = set()
    for _ in range(60):
        sealed, secret = b.mask(E)
        opened = a.open(sealed, (2,))
        np.testing.assert_array_equal(b.unmask(opened, secret, (2,)), [0.25, -3.0])
        seen.add(opened.data)
    n = int(KEYS["a"].public.n)
    top = [int.from_bytes(data[:64], "big") / n for data in seen]
    assert len(seen) == 60
    assert min(top) < 0.3 < 0.7 < max(top)  # uniform over the residues; 0.7^60 is 5e-10


def _flipped(data, place):
    changed = bytearray(data)
    changed[place] ^= 1
    return bytes(changed)


@pytest.mark.parametrize(
    "change", ["ciphertext", "opened", "swapped", "exponent", "range", "owner"]
)
def test_a_changed_number_is_never_used(change):
    a, b = ciphers()
    E = b.load(a.encrypt(np.array([0.25, -3.0])), (2,))
    sealed, secret = b.mask(E)
    width = sealed.width
    if change == "ciphertext":
        sealed = BigIntegers("a", (2,), sealed.exponent, width, _flipped(sealed.data, -1))
    opened = a.open(sealed, (2,))
    half = opened.width
    altered = {
        "opened": ("a", opened.exponent, _flipped(opened.data, -30)),
        "swapped": ("a", opened.exponent, opened.data[half:] + opened.data[:half]),
        "exponent": ("a", opened.exponent + 1, opened.data),
        "range": ("a", opened.exponent, b"\xff" * len(opened.data)),
        "owner": ("b", opened.exponent, opened.data),
    }
    if change in altered:
        owner, exponent, data = altered[change]
        assert (owner, exponent, data) != ("a", opened.exponent, opened.data)
        opened = BigIntegers(owner, (2,), exponent, half, data)
    with pytest.raises((CorruptValue, WireError)):
        b.unmask(opened, secret, (2,))


@pytest.mark.parametrize(
    "number", [0, int(KEYS["a"].p), 7 * int(KEYS["a"].q)], ids=["zero", "p", "7q"]
)
def test_numbers_without_an_inverse_are_no_ciphertexts(number):
    a, b = ciphers()
    sealed = a.encrypt(np.array([1.0, 2.0]))
    width = sealed.width
    data = sealed.data[:width] + number.to_bytes(width, "big")
    bad = BigIntegers("a", (2,), sealed.exponent, width, data)
    with pytest.raises(CorruptValue, match="no ciphertext"):
        b.load(bad, (2,))
    with pytest.raises(CorruptValue, match="no ciphertext"):
        a.open(bad, (2,))


def test_encodings_of_another_precision_are_another_scheme():
    key = KEYS["a"]
    assert PaillierCipher("a", key).scheme == "paillier-512-40-32"
    coarse = PaillierCipher("a", key, encoding=Encoding(20, 32))
    assert coarse.scheme != PaillierCipher("a", key).scheme


def test_keys_of_another_size_are_refused():
    a, _ = ciphers()
    with pytest.raises(WireError, match="256 bits where 512"):
        a.meet(int(generate_key(256, allow_weak=True).public.n))
    with pytest.raises(WireError, match="own key"):
        a.meet(a.public_modulus())
