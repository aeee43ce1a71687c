"""Exactly private functions that draw from generators of the process, with a seed in the file.

Targets of false_alarms.py: under workers that replayed the seed they were called violated.
"""

from __future__ import annotations

import math
import random

import numpy as np

np.random.seed(0)  # noqa: NPY002 - this is what people write
random.seed(0)
RNG = np.random.default_rng(0)
KEEP = math.e / (1 + math.e)  # epsilon 1 exactly


def respond_numpy(data, size, rng):  # noqa: ARG001 - the auditor's generator is not used
    """Randomized response from numpy's global generator."""
    return np.where(np.random.random(size) < KEEP, data, 1 - data)  # noqa: NPY002


def respond_python(data, size, rng):  # noqa: ARG001
    """The same from Python's."""
    return [data if random.random() < KEEP else 1 - data for _ in range(size)]


def respond_kept(data, size, rng):  # noqa: ARG001
    """The same from a generator the module keeps."""
    return np.where(RNG.random(size) < KEEP, data, 1 - data)
