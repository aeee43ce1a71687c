"""Code that catches errors is not proved; what only looks like it is."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import dpcheck


def clipped(data):
    return np.nan_to_num(np.clip(data, 0, 1))


def falls_back(data, rng):
    noisy = clipped(data).sum() + rng.laplace()
    try:
        return np.linalg.solve(np.array([[noisy]]), np.array([1.0]))
    except np.linalg.LinAlgError:
        return clipped(data).sum()


def catches_all(data, rng):
    noisy = clipped(data).sum() + rng.laplace()
    try:
        return 1 / noisy
    except:  # noqa: E722 - the point
        return clipped(data).sum()


def suppresses(data, rng):
    answer = clipped(data).sum() + rng.laplace()
    with contextlib.suppress(Exception):
        answer = np.linalg.solve(np.array([[answer]]), np.array([1.0]))
    return answer


class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return True


def own_manager(data, rng):
    answer = clipped(data).sum() + rng.laplace()
    with Quiet():
        answer = 1 / answer
    return [answer]


def in_a_helper(data, rng):
    return falls_back(data, rng)


@pytest.mark.parametrize(
    "function", [falls_back, catches_all, suppresses, own_manager, in_a_helper]
)
def test_a_path_taken_by_an_error_is_not_proved(function):
    with pytest.raises(dpcheck.NotProvable, match="catches errors"):
        dpcheck.prove(function, data=np.zeros(10), adjacency="replace-one")


def with_numpy_s_own(data, rng):
    with np.errstate(all="ignore"):
        return [part.sum() + rng.laplace() for part in [clipped(data)]]


def test_a_with_statement_alone_is_no_handler():
    proof = dpcheck.prove(with_numpy_s_own, data=np.zeros(10), adjacency="replace-one")
    assert proof.epsilon(delta=0).upper == 1.0


def steep(data, rng):
    return np.nan_to_num(np.clip(data, 0, 1e290)).sum() + rng.normal(scale=1e-30)


def test_noise_too_small_for_floats_is_no_privacy():
    proof = dpcheck.prove(steep, data=np.zeros(10), adjacency="replace-one")
    assert proof.epsilon(delta=1e-5).upper == float("inf")
