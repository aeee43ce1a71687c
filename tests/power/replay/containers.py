"""Noise that takes a way round: through types, buffers, containers, keys and errors."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os

import numpy as np

from .tricky import tricky


@tricky(1.0)
def type_of_the_noise(data, rng):
    noisy = data.sum() + rng.laplace()
    return noisy if type(noisy) in (float, np.float64) else data.sum()


@tricky(1.0)
def tuple_in_place(data, rng):
    held = (np.array([data.sum()]),)
    with contextlib.suppress(TypeError):
        held[0] += rng.laplace(size=1)
    return held[0]


@tricky(1.0)
def noise_written_by_a_helper(data, rng):
    total = np.array([data.sum()])

    def add(array):
        array += rng.laplace(size=1)

    add(total)
    return total


@tricky(1.0, never_exact=False)
def view_written_into(data, rng):
    total = np.zeros((2, 2))
    flat = np.ravel(total)
    flat[0] = data.sum() + rng.laplace()
    return total[0, 0]


@tricky(1.0, never_exact=False)
def row_written_in_a_loop(data, rng):
    table = np.zeros((1, 2))
    for row in table:
        row += data.sum() + rng.laplace()
    return table[0, 0]


@tricky(1.0)
def buffer_read(data, rng):
    noisy = data.sum() + rng.laplace(size=2)
    return np.frombuffer(noisy.tobytes())[0]


@tricky(1.0)
def digest_of_noise(data, rng):
    noisy = data.sum() + rng.laplace(size=1)
    return hashlib.sha256(noisy.tobytes()).hexdigest()


@tricky(1.0)
def key_of_noise(data, rng):
    noisy = data.sum() + rng.laplace()
    return {noisy: 1}


@tricky(math.inf)
def modulo_of_noise(data, rng):
    return (data.sum() + rng.uniform(0, 7)) % 7


@tricky(1.0)
def where_keyword(data, rng):
    noisy = np.array([data.sum(), 0.0]) + rng.laplace(size=2)
    return np.mean(noisy, where=np.array([True, False]))


@tricky(1.0)
def errors_as_branches(data, rng):
    noisy = data.sum() + rng.laplace()
    try:
        return math.sqrt(noisy)
    except ValueError:
        return -1.0


@tricky(1.0)
def raised_by_numpy(data, rng):
    noisy = data.sum() + rng.laplace()
    with np.errstate(all="raise"):
        try:
            return float(np.sqrt(noisy))
        except FloatingPointError:
            return -1.0


@tricky(1.0)
def integer_container(data, rng):
    out = np.zeros(2, dtype=int)
    out[0] = data.sum() + rng.laplace()
    return out


@tricky(1.0, never_exact=False)
def copied_over(data, rng):
    out = np.zeros(2)
    np.copyto(out, data.sum() + rng.laplace(size=2))
    return out[0]


@tricky(1.0)
def many_draws(data, rng):
    noise = rng.laplace(size=30_000)
    return data.sum() + noise[0]


@tricky(1.0)
def matrix_of_noise(data, rng):
    noise = rng.normal(size=(2, 2))
    return np.linalg.inv(noise)[0, 0] * 0 + data.sum() + rng.laplace()


@tricky(1.0)
def set_of_noise(data, rng):
    return {data.sum() + rng.laplace()}


@tricky(1.0)
def truth_of_noise(data, rng):
    noisy = data.sum() + rng.laplace()
    return noisy if noisy else data.sum()


@tricky(1.0)
def profile_switched_off(data, rng):
    import sys

    sys.setprofile(None)
    return data.sum() + rng.laplace() + int.from_bytes(os.urandom(1), "big") * 0


@tricky(1.0, never_exact=False)
def same_law_from_other_draws(data, rng):
    # Which draw is used depends on the data, but its law does not.
    z = rng.laplace(size=2)
    return data.sum() + (z[0] if data[0] > 0 else z[1])


@tricky(1.0, never_exact=False)
def mirrored_noise(data, rng):
    # The sign depends on the data; the law of a Laplace does not notice.
    z = rng.laplace()
    return data.sum() + (z if data[0] > 0 else -z)
