"""However a function wants its generator, it is called as it stands; what cannot be called is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.auditing.mechanism import as_mechanism
from dpcheck.core.errors import UnfitSignature

RNG = np.random.default_rng(0)


def called(function, *given):
    return as_mechanism(function).function(*given)


def test_the_generator_goes_where_it_is_asked_for():
    assert called(lambda data, rng: (data, rng), 1, RNG) == (1, RNG)
    assert called(lambda data, anything: (data, anything), 1, RNG) == (1, RNG)
    assert called(lambda data, *rest: (data, rest), 1, RNG) == (1, (RNG,))
    assert called(lambda data, scale=2, *, random_state=None: (scale, random_state), 1, RNG) == (
        2,
        RNG,
    )
    assert called(lambda data, scale=2, generator=None: (scale, generator), 1, RNG) == (2, RNG)


def test_a_seed_is_a_number_and_another_one_in_every_run():
    def seeded(data, seed=None):
        return seed

    found = [called(seeded, 1, RNG) for _ in range(8)]
    assert all(type(each) is int for each in found)
    assert len(set(found)) == 8
    # A seed of its own is the function's choice, and a fault that the audit is to find.
    assert called(lambda data, seed=7: seed, 1, RNG) == 7


def test_a_function_of_its_data_alone_gets_nothing_else():
    assert called(lambda data: data, 1, RNG) == 1
    assert called(lambda data, scale=3: scale, 1, RNG) == 3


def test_compiled_code_without_a_signature_is_called_with_both():
    assert called(max, 1, 2) == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda: 0,
        lambda data, rng, more: 0,
        lambda data, *, scale: 0,
        lambda data, rng, *, scale: 0,
    ],
)
def test_further_arguments_are_refused_with_what_to_do(function):
    with pytest.raises(UnfitSignature, match=r"functools\.partial"):
        as_mechanism(function)
