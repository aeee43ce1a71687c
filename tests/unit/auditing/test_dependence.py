"""Runs that depend on each other are named, in words that do not depend on who saw it."""

import numpy as np

from dpcheck.auditing.dependence import signs_of_dependence
from dpcheck.auditing.part import _said_once


def test_a_clock_is_seen_and_noise_is_not():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(500, 2))
    clock = np.column_stack([noise[:, 0], np.arange(500) + noise[:, 1]])
    assert signs_of_dependence(noise) == []
    (seen,) = signs_of_dependence(clock)
    assert _said_once("first", seen, *signs_of_dependence(clock[:300])) == ("first", seen)
