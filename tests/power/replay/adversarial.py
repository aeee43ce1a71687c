"""Code that looks additive and is not, or hides where its randomness comes from.

`true` is the epsilon of the function on PAIR at delta 0, or more than it; whatever replay proves
must stay at or below. `never_exact` says that no exact loss may be claimed.
"""

from __future__ import annotations

import copy
import ctypes
import datetime
import math
import os
import random
import secrets
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .tricky import tricky

LIBC = ctypes.CDLL(None)
_calls = [0]
_kept: list[Any] = []
_HIDDEN = {"rng": np.random.default_rng(5)}
_REAL_FLOAT = [float]


@tricky(math.inf)
def rarely_without_noise(data, rng):
    z = rng.laplace()
    return data.sum() + z if abs(z) < 12 else data.sum()


@tricky(1.0)
def rarely_more_noise(data, rng):
    noisy = data.sum() + rng.laplace(scale=2.0)
    if noisy > 30:
        noisy = noisy + rng.laplace(scale=2.0)
    return noisy


@tricky(1.0)
def redrawn_while_far(data, rng):
    # Truncated to (-50, 50) around the truth would be infinite; around 0 it is at most 2/2.
    while True:
        noisy = data.sum() + rng.laplace(scale=2.0)
        if -50 < noisy < 50:
            return noisy


@tricky(0.5)
def clipped_answer(data, rng):
    return np.clip(data.sum() + rng.laplace(scale=2.0), 0, 3)


@tricky(0.5)
def rounded_answer(data, rng):
    return round(data.sum() + rng.laplace(scale=2.0))


@tricky(0.5)
def where_on_noise(data, rng):
    noisy = data.sum() + rng.laplace(scale=2.0)
    return np.where(noisy > 1, noisy, 0.0)


@tricky(0.5)
def masked_by_noise(data, rng):
    noisy = data[:2] + rng.laplace(scale=2.0, size=2)
    noisy[noisy < 0] = 0.0
    return noisy


@tricky(0.5)
def real_float(data, rng):
    return _REAL_FLOAT[0](data.sum() + rng.laplace(scale=2.0))


@tricky(0.5)
def as_text(data, rng):
    return f"{data.sum() + rng.laplace(scale=2.0):.3f}"


@tricky(0.5)
def cast_to_small_integers(data, rng):
    return (data[:2] + rng.laplace(scale=2.0, size=2)).astype(np.int8)


@tricky(1.0)
def sorted_noise(data, rng):
    # The same multiset of noisy values, without their places: post-processing.
    return np.sort(data + rng.laplace(scale=1.0, size=3))


@tricky(1.0)
def maximum_of_noisy_values(data, rng):
    return (data + rng.laplace(scale=1.0, size=3)).max()


@tricky(math.inf, never_exact=False)
def noise_multiplied_by_data(data, rng):
    return data.sum() * rng.normal()


@tricky(math.inf)
def scale_drawn_from_noise(data, rng):
    return data.sum() + rng.laplace(scale=abs(rng.normal()))


@tricky(1.0, never_exact=False)
def two_stage_noise(data, rng):
    first = data.sum() + rng.laplace(scale=1.0)
    return first + rng.laplace(scale=0.01)


@tricky(0.5)
def noise_in_an_error(data, rng):
    try:
        raise ValueError(f"{data.sum() + rng.laplace(scale=2.0)}")
    except ValueError as error:
        return str(error)


@tricky(math.inf)
def state_between_calls(data, rng):
    _calls[0] += 1
    return data.sum() + (rng.laplace() if _calls[0] % 3 else 0.0)


@tricky(0.5, never_exact=False)
def state_adds_unseen_noise(data, rng):
    _kept.append(data.sum() + rng.laplace(scale=2.0))
    return _kept[-1]


@tricky(1.0)
def system_entropy(data, rng):
    u = int.from_bytes(os.urandom(7), "big") / 2**56
    return data.sum() + math.copysign(1, u - 0.5) * math.log(1 - 2 * abs(u - 0.5) + 1e-300)


@tricky(1.0)
def system_entropy_now_and_then(data, rng):
    noisy = data.sum() + rng.laplace(scale=1.0)
    return noisy if secrets.randbelow(1000) else 0.0


@tricky(1.0)
def system_random(data, rng):
    return data.sum() + random.SystemRandom().gauss(0, 1) * 0 + rng.laplace()


@tricky(math.inf)
def clock(data, rng):
    return data.sum() + (time.time() % 1.0)


@tricky(math.inf)
def calendar(data, rng):
    return data.sum() + datetime.datetime.now().microsecond


@tricky(math.inf)
def unique_name(data, rng):
    return data.sum() + uuid.uuid4().int % 1000


@tricky(math.inf)
def device_file(data, rng):
    with open("/dev/urandom", "rb") as device:
        return data.sum() + device.read(1)[0]


@tricky(math.inf)
def compiled_library(data, rng):
    return data.sum() + LIBC.rand() % 1000


@tricky(math.inf)
def address(data, rng):
    return data.sum() + id(object()) % 1000


@tricky(math.inf)
def hashed_text(data, rng):
    return data.sum() + hash("salted per process") % 1000


@tricky(1.0)
def thread(data, rng):
    out = []
    worker = threading.Thread(target=lambda: out.append(data.sum() + rng.laplace()))
    worker.start()
    worker.join()
    return out[0]


@tricky(1.0)
def pool(data, rng):
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(lambda: data.sum() + rng.laplace()).result()


@tricky(1.0)
def bit_generator(data, rng):
    u = rng.bit_generator.random_raw() / 2**64
    return data.sum() + math.copysign(1, u - 0.5) * math.log(1 - 2 * abs(u - 0.5) + 1e-300)


@tricky(1.0)
def method_of_the_class(data, rng):
    return data.sum() + np.random.Generator.laplace(rng)


@tricky(1.0)
def copied_generator(data, rng):
    return data.sum() + copy.deepcopy(rng).laplace()


@tricky(1.0)
def hidden_generator(data, rng):
    return data.sum() + _HIDDEN["rng"].laplace()


@tricky(1.0)
def shuffled(data, rng):
    order = rng.permutation(3)
    return data[order][0] + rng.laplace()


@tricky(1.0)
def subsampled(data, rng):
    # Amplified by sampling: each record is in with probability 1/2.
    mask = rng.random(3) < 0.5
    return data[mask].sum() + rng.laplace(scale=1.0)


@tricky(1.0)
def subsampled_by_product(data, rng):
    mask = rng.random(3) < 0.5
    return (data * mask).sum() + rng.laplace(scale=1.0)


@tricky(1.0)
def gamma_difference(data, rng):
    return data.sum() + rng.gamma(1.0) - rng.gamma(1.0)


@tricky(1.0, never_exact=False)
def exponential_difference(data, rng):
    # A Laplace by another name; the sum of two exponentials is not taken apart.
    return data.sum() + rng.exponential() - rng.exponential()


@tricky(1.0, never_exact=False)
def by_inverse_distribution(data, rng):
    u = rng.random() - 0.5
    return data.sum() - np.sign(u) * np.log(1 - 2 * np.abs(u))


@tricky(1.0)
def by_math_log(data, rng):
    u = rng.random() - 0.5
    return data.sum() - math.copysign(1.0, u) * math.log(1 - 2 * abs(u))


@tricky(0.5)
def recursion(data, rng, depth=6):
    noisy = data.sum() + rng.laplace(scale=2.0)
    if noisy < 0 and depth:
        return max(0.0, noisy)
    return noisy
