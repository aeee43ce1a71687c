"""A refusal names a line of the function, also where it is found after the function was left."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import dpcheck


def exact(data):
    clipped = np.clip(data, 0.0, 1.0)
    return clipped.sum()


def exact_with_a_generator(data, rng):
    return np.clip(data, 0.0, 1.0).sum()


def fails(data):
    clipped = np.clip(data, 0.0, 1.0)
    return clipped.no_such_thing() + np.random.laplace()


@pytest.mark.parametrize("function", [exact, exact_with_a_generator, fails])
def test_the_line_is_the_functions_own(function):
    lines, first = inspect.getsourcelines(function)
    with pytest.raises(dpcheck.NotProvable) as caught:
        dpcheck.prove(function, data=np.zeros(3), adjacency="replace-one")
    assert caught.value.line == f"test_lines.py:{first + len(lines) - 1}"
