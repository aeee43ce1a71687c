"""Symmetric noise: one drawn number at two places of a symmetric matrix, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.program.proof import proof_of, read

from .corpus.base import gaussian

THREE = dpcheck.records(**{name: dpcheck.number(-1, 1) for name in "abc"}, rows=40)
UPPER = np.triu_indices(3)


def bare(function, adjacency=Adjacency.ADD_REMOVE, delta=1e-6) -> float:
    """What the rules alone conclude, without the attack on it."""
    program = read(function, THREE, adjacency)
    return float(proof_of(program, THREE).epsilon(delta).upper)


def gram(x):
    """The outer product of a row of norm 1 has norm 1."""
    rows = x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    return rows.T @ rows


def by_triangles(x, rng):
    noise = rng.normal(0, 2.0, (3, 3))
    return gram(x) + (np.triu(noise) + np.triu(noise, 1).T)


def by_lower_triangles(x, rng):
    noise = rng.normal(0, 2.0, (3, 3))
    return (np.tril(noise, -1).T + np.tril(noise)) + gram(x)


def by_indices(x, rng):
    noise = np.zeros((3, 3))
    noise[UPPER] = rng.normal(0, 2.0, size=6)
    lower = np.tril_indices(3, -1)
    noise[lower] = noise.T[lower]
    return gram(x) - noise


def in_loops(x, rng):
    noise = np.zeros((3, 3))
    for i in range(3):
        for j in range(i + 1):
            noise[i, j] = noise[j, i] = rng.normal(scale=2.0)
    return gram(x) + noise


@pytest.mark.parametrize("function", [by_triangles, by_lower_triangles, by_indices, in_loops])
def test_it_is_a_release_of_the_triangle(function):
    assert bare(function) == pytest.approx(gaussian(0.5), rel=1e-6)
    assert bare(function, Adjacency.REPLACE_ONE) == pytest.approx(gaussian(1.0), rel=1e-6)


def test_it_is_attacked():
    proof = dpcheck.prove(by_triangles, data=THREE, adjacency="add-remove")
    assert proof.epsilon(1e-6).upper == pytest.approx(gaussian(0.5), rel=1e-6)


def filled_one_by_one(x, rng):
    """Three numbers, of which each moves by 1: 3 / 2."""
    noise = np.zeros(3)
    for i in range(3):
        noise[i] = rng.laplace(scale=2.0)
    return np.clip(x, 0, 1).sum(axis=0) + noise


def test_an_array_that_is_filled_is_noise_like_other():
    assert bare(filled_one_by_one, delta=0.0) == pytest.approx(1.5, rel=1e-9)


def of_no_symmetric_matrix(x, rng):
    noise = rng.normal(0, 2.0, (3, 3))
    return np.clip(x, 0, 1).T @ x + np.triu(noise) + np.triu(noise, 1).T


def with_other_weights(x, rng):
    noise = rng.normal(0, 2.0, (3, 3))
    weights = np.arange(9.0).reshape(3, 3)
    return gram(x) * weights + (np.triu(noise) + np.triu(noise, 1).T)


def diagonal_without_noise(x, rng):
    noise = rng.normal(0, 2.0, (3, 3))
    return gram(x) + (np.triu(noise, 1) + np.triu(noise, 1).T)


def one_triangle(x, rng):
    return gram(x) + np.triu(rng.normal(0, 2.0, (3, 3)))


def not_mirrored(x, rng):
    noise = rng.normal(0, 2.0, (3, 3))
    lower = np.tril_indices(3, -1)
    noise[lower] = noise[lower][::-1]
    noise[lower] = noise.T[(np.array([0, 0, 1]), np.array([1, 2, 2]))]
    noise[0, 1] = noise[0, 2]
    return gram(x) + noise


def a_row_for_all(x, rng):
    noise = np.zeros((3, 3))
    noise[:] = rng.normal(0, 2.0, size=3)
    return gram(x) + noise


def one_number_for_all(x, rng):
    return gram(x) + np.full((3, 3), 1.0) * rng.normal(0, 2.0)


def shows_the_noise(x, rng):
    noise = rng.normal(0, 2.0, (3, 3))
    return gram(x) + (np.triu(noise) + np.triu(noise, 1).T), noise[0, 1]


def used_twice(x, rng):
    noise = rng.normal(0, 2.0, (3, 3))
    both = np.triu(noise) + np.triu(noise, 1).T
    return gram(x) + both, gram(x**2) + both


def scales_of_their_own(x, rng):
    noise = rng.normal(0, 1.0, (3, 3)) * np.array(
        [[2.0, 2.0, 0.0], [2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]
    )
    return gram(x) + (np.triu(noise) + np.triu(noise, 1).T)


def taken_back(x, rng):
    noise = rng.normal(0, 2.0, (3, 3))
    both = np.triu(noise) + np.triu(noise, 1).T
    return gram(x) + both - both


@pytest.mark.parametrize(
    "function",
    [
        *(of_no_symmetric_matrix, with_other_weights, diagonal_without_noise, one_triangle),
        *(not_mirrored, a_row_for_all, one_number_for_all, shows_the_noise, used_twice),
        *(scales_of_their_own, taken_back),
    ],
)
def test_what_is_no_symmetric_noise_is_refused(function):
    with pytest.raises(dpcheck.NotProvable):
        bare(function)


def less_noise_above(x, rng):
    """The noise is of scale 1 at one pair of places: 1 over 1."""
    scale = np.array([[2.0, 1.0, 2.0], [1.0, 2.0, 2.0], [2.0, 2.0, 2.0]])
    noise = rng.normal(0, scale)
    return gram(x) + (np.triu(noise) + np.triu(noise, 1).T)


def test_the_smallest_scale_counts():
    assert bare(less_noise_above) >= gaussian(1 / np.sqrt(2)) * (1 - 1e-9)


def a_table_times_itself(x, rng):
    return np.transpose(x, (0, 1)) @ x + rng.laplace(size=(3, 3))


def test_a_table_that_is_not_turned_is_no_gram_matrix():
    """Three rows of three numbers: x @ x combines every record with every other."""
    square = dpcheck.records(**{name: dpcheck.number(0, 1) for name in "abc"}, rows=3)
    with pytest.raises(dpcheck.NotProvable, match="every record"):
        dpcheck.prove(a_table_times_itself, square, adjacency="replace-one", form="array")
