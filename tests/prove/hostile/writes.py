"""Functions in C that write into an array they are given."""

from __future__ import annotations

import array
import operator

import numpy as np

from .base import ROWS, Group

GROUP = Group("writes")


@GROUP.wrong(50.0)
def fill_diagonal(x, rng):
    made = np.zeros((ROWS, ROWS))
    np.fill_diagonal(made, 50.0 * x)
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def fill_diagonal_with_a_sum(x, rng):
    made = np.zeros((2, 2))
    np.fill_diagonal(made, 25.0 * x.sum())
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def copyto(x, rng):
    made = np.zeros(ROWS)
    np.copyto(made, 50.0 * x)
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def put(x, rng):
    made = np.zeros(1)
    np.put(made, [0], 50.0 * x.sum())
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def put_method(x, rng):
    made = np.zeros(1)
    made.put([0], 50.0 * x.sum())
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def place(x, rng):
    made = np.zeros(ROWS)
    np.place(made, np.ones(ROWS, bool), 50.0 * x)
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def putmask(x, rng):
    made = np.zeros(ROWS)
    np.putmask(made, x > 0.5, 50.0)
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def putmask_of_the_data(x, rng):
    np.putmask(x, x > 0.5, 50.0)
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def put_along_axis(x, rng):
    made = np.zeros(ROWS)
    np.put_along_axis(made, np.arange(ROWS), 50.0 * x, 0)
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def add_at(x, rng):
    made = np.zeros(1)
    np.add.at(made, np.zeros(ROWS, int), 50.0 * x)
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def out_of_a_sum(x, rng):
    made = np.zeros(())
    np.sum(50.0 * x, out=made)
    return made + rng.laplace()


@GROUP.wrong(50.0)
def out_of_a_method(x, rng):
    made = np.zeros(())
    x.sum(out=made)
    return 50.0 * made + rng.laplace()


@GROUP.wrong(50.0)
def out_of_a_product(x, rng):
    np.multiply(x, 50.0, out=x)
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def out_of_a_dot(x, rng):
    made = np.zeros(())
    np.dot(x, np.full(ROWS, 50.0), out=made)
    return made + rng.laplace()


@GROUP.wrong(50.0)
def out_of_einsum(x, rng):
    made = np.zeros(())
    np.einsum("i->", 50.0 * x, out=made)
    return made + rng.laplace()


@GROUP.wrong(50.0)
def out_of_a_clip(x, rng):
    made = np.zeros(ROWS)
    np.clip(50.0 * x, 0.0, 50.0, out=made)
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def setitem_of_an_operator(x, rng):
    made = np.zeros(1)
    operator.setitem(made, 0, 50.0 * x.sum())
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def operator_in_place(x, rng):
    operator.imul(x, 50.0)
    return x.sum() + rng.laplace()


@GROUP.wrong(50.0)
def slice_of_zeros(x, rng):
    made = np.zeros(ROWS)
    made[:] = 50.0 * x
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def element_by_element(x, rng):
    made = np.zeros(ROWS)
    for i in range(ROWS):
        made[i] = 50.0 * x[i]
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def mask_of_zeros(x, rng):
    made = np.zeros(ROWS)
    made[x > 0.5] = 50.0
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def row_of_a_public_table(x, rng):
    made = np.zeros((2, ROWS))
    row = made[1]
    row[:] = 50.0 * x
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def array_of_bytes(x, rng):
    made = array.array("d", x)
    return 50.0 * made[-1] + rng.laplace()


@GROUP.wrong(50.0)
def list_of_results(x, rng):
    made = [0.0] * ROWS
    made[:] = 50.0 * x
    return sum(made) + rng.laplace()


@GROUP.wrong(50.0)
def list_extended(x, rng):
    made = []
    made.extend(50.0 * x)
    return sum(made) + rng.laplace()


@GROUP.wrong(50.0)
def array_that_is_no_local(x, rng, made=np.zeros(ROWS)):  # noqa: B008
    made[:] = 50.0 * x
    return made.sum() + rng.laplace()


@GROUP.wrong(50.0)
def sorted_in_place(x, rng):
    """The last one is the largest afterwards."""
    x.sort()
    return 50.0 * x[-1] + rng.laplace()


@GROUP.wrong(50.0)
def filled(x, rng):
    made = np.zeros(2)
    made.fill(25.0 * x.max())
    return made.sum() + rng.laplace()


@GROUP.right(1.0)
def public_array_filled(x, rng):
    """A public array written to with public numbers."""
    weights = np.zeros(ROWS)
    weights[:] = 0.5
    return 2.0 * (x * weights).sum() + rng.laplace()
