# ruff: noqa: B006, B023, C416, F601, F841, RUF059, SIM222 - what a linter warns of is tested here
"""Python as it is: aliases, order of evaluation, scopes, classes, generators, what is evaluated when."""

from __future__ import annotations

import numpy as np

from ..base import Group  # noqa: TID252 - shared by all groups

GROUP = Group("language")


@GROUP.right(102.0)
def late_binding(x, rng):
    fs = [lambda v: v * k for k in (1, 50)]
    return (
        fs[0](x.sum()) + rng.laplace(),
        fs[1](x.sum()) + rng.laplace(),
        x.sum() * 2 + rng.laplace(),
    )


@GROUP.wrong(50.0)
def comprehension_scope(x, rng):
    k = 50
    _ = [k for k in range(2)]
    return x.sum() * k + rng.laplace()


@GROUP.wrong(50.0)
def default_evaluated_once(x, rng):
    k = 50

    def f(v, k=k):
        return v * k

    k = 1
    return f(x.sum()) + rng.laplace()


@GROUP.wrong(50.0)
def closure_sees_later(x, rng):
    k = 1

    def f(v):
        return v * k

    k = 50
    return f(x.sum()) + rng.laplace()


@GROUP.wrong(50.0)
def mutable_default(x, rng):

    def f(v, acc=[]):
        acc.append(v)
        return sum(acc)

    for _ in range(49):
        f(x.sum())
    return f(x.sum()) + rng.laplace()


@GROUP.wrong(4.0)
def list_alias(x, rng):
    a = [x.sum()]
    c = a
    c[0] = c[0] * 4
    return a[0] + rng.laplace()


@GROUP.wrong(4.0)
def list_mult_alias(x, rng):
    rows = [[0.0]] * 2
    rows[0][0] = 4 * x.sum()
    return rows[1][0] + rng.laplace()


@GROUP.wrong(4.0)
def dict_alias(x, rng):
    d = {}
    e = d.setdefault("a", [])
    e.append(4 * x.sum())
    return d["a"][0] + rng.laplace()


@GROUP.wrong(4.0)
def slice_copy(x, rng):
    a = [x.sum(), 4 * x.sum()]
    c = a[:]
    c[1] = 0.0
    return a[1] + rng.laplace()


@GROUP.wrong(4.0)
def iadd_list(x, rng):
    a = [0.0]
    c = a
    c += [4 * x.sum()]
    return a[-1] + rng.laplace()


@GROUP.wrong(4.0)
def iadd_array(x, rng):
    a = np.zeros(1)
    c = a
    c += 4 * x.sum()
    return a + rng.laplace(size=1)


@GROUP.wrong(4.0)
def view_write(x, rng):
    a = np.zeros(4)
    v = a[1:3]
    v[0] = 4 * x.sum()
    return a[1] + rng.laplace()


@GROUP.wrong(4.0)
def fancy_is_copy(x, rng):
    a = np.full(4, 4.0)
    v = a[[0, 1]]
    v[:] = 0
    return a[0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def mask_is_copy(x, rng):
    a = np.full(4, 4.0)
    v = a[np.array([True, False, False, False])]
    v *= 0
    return a[0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def mask_assign(x, rng):
    a = np.full(4, 0.0)
    a[np.array([True, False, False, False])] += 4
    return a[0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def flatten_copy(x, rng):
    a = np.full((2, 2), 4.0)
    a.flatten()[:] = 0
    return a[0, 0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def view_of_transpose(x, rng):
    a = np.ones((2, 2))
    a.T[0, 1] = 4
    return a[1, 0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def asarray_alias(x, rng):
    a = np.ones(2)
    c = np.asarray(a)
    c[0] = 4
    return a[0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def array_copies(x, rng):
    a = np.full(2, 4.0)
    c = np.array(a)
    c[0] = 0
    return a[0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def squeeze_view(x, rng):
    a = np.ones((1, 2))
    a.squeeze()[0] = 4
    return a[0, 0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def expand_view(x, rng):
    a = np.ones(2)
    np.expand_dims(a, 0)[0, 0] = 4
    return a[0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def unpack_view(x, rng):
    a = np.ones((2, 2))
    p, q = a
    p[0] = 4
    return a[0, 0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def list_of_rows(x, rng):
    a = np.ones((2, 2))
    rows = list(a)
    rows[0][:] = 4
    return a[0, 0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def reversed_view(x, rng):
    a = np.ones(2)
    r = a[::-1]
    r[0] = 4
    return a[1] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def overlapping_assign(x, rng):
    a = np.array([1.0, 2.0, 4.0])
    a[:2] = a[1:]
    return a[1] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def swap(x, rng):
    a = [4.0, 1.0]
    a[0], a[1] = (a[1], a[0])
    return a[1] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def swap_array(x, rng):
    a = np.array([4.0, 1.0])
    a[0], a[1] = (a[1], a[0])
    return (a[0] + 3 * a[1] * 0 + 3) * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def swap_rows(x, rng):
    a = np.array([[4.0], [1.0]])
    a[0], a[1] = (a[1], a[0])
    return a[1, 0] * 4 * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def order_of_evaluation(x, rng):
    k = [1.0]

    def f():
        k[0] = 4.0
        return 0.0

    return f() + k[0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def order_of_args(x, rng):
    k = [4.0]

    def f(a, c):
        return a * x.sum()

    def g():
        k[0] = 1.0
        return 0

    return f(k[0], g()) + rng.laplace()


@GROUP.wrong(4.0)
def augmented_order(x, rng):
    k = [1.0]

    def f():
        k[0] = 100.0
        return 3.0

    k[0] += f()
    return k[0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def chained_assign(x, rng):
    a = c = [1.0]
    c[0] = 4.0
    return a[0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def global_shadow(x, rng):

    def f():
        k = 1.0

        def g():
            nonlocal k
            k = 4.0

        g()
        return k

    return f() * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def for_else(x, rng):
    for _ in range(2):
        k = 1.0
    else:
        k = 4.0
    return k * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def while_else(x, rng):
    i = 0
    while i < 2:
        i += 1
        k = 1.0
    else:
        k = 4.0
    return k * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def starargs(x, rng):

    def f(*a, **k):
        return a[0] * k["c"]

    return f(*[x.sum()], c=4) + rng.laplace()


@GROUP.wrong(4.0)
def star_middle(x, rng):
    a, *m, c = [1.0, 4.0, 1.0]
    return m[0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def dict_order(x, rng):
    d = {"a": 1.0, "b": 4.0}
    d["a"] = 1.0
    return list(d.values())[-1] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def dict_true_one(x, rng):
    d = {1: 1.0, True: 4.0}
    return d[1] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def sort_reverse(x, rng):
    return sorted([1.0, 4.0], reverse=True)[0] * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def int_division(x, rng):
    return -7 // 2 * -x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def modulo_negative(x, rng):
    return -6 % 5 * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def power_right(x, rng):
    return 2**1**3 * 2 * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def unary_power(x, rng):
    return -(2**2) * -x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def chained_compare(x, rng):
    return (4 if 1 < 3 > 2 else 1) * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def walrus_cond(x, rng):
    return (k if (k := 4) else 1) * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def and_or(x, rng):
    return ((0 or 4) and 4) * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def int_parse(x, rng):
    return int("0b100", 0) * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def round_half_even(x, rng):
    return (round(2.5) + round(1.5)) * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def bit_tricks(x, rng):
    return (5 & ~1) * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def shift(x, rng):
    return (1 << 2) * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def xor_swap(x, rng):
    a, c = (1, 4)
    a ^= c
    c ^= a
    a ^= c
    return a * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def bool_sum(x, rng):
    return sum([True] * 4) * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def string_times(x, rng):
    return len("ab" * 2) * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def format_width(x, rng):
    return len(f"{1:>4}") * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def recursion(x, rng):

    def f(k):
        return 0 if k == 0 else 1 + f(k - 1)

    return f(4) * x.sum() + rng.laplace()


@GROUP.wrong(4.0)
def recursive_private(x, rng):

    def f(v, k):
        return v if k == 0 else v + f(v, k - 1)

    return f(x.sum(), 3) + rng.laplace()


@GROUP.wrong(4.0)
def del_name(x, rng):
    k = 1.0
    del k
    k = 4.0
    return k * x.sum() + rng.laplace()


@GROUP.wrong(8.0)
def numpy_random_twice(x, rng):
    return [4 * x.sum() + rng.laplace(), 4 * x.sum() + rng.laplace()]


@GROUP.wrong(4.0)
def inplace_on_copy_of_input(x, rng):
    y = x.copy()
    y *= 4
    return y.sum() + rng.laplace()


@GROUP.wrong(4.0)
def inplace_on_slice_of_copy(x, rng):
    y = x.copy()
    y[:] = y * 4
    return y.sum() + rng.laplace()


@GROUP.wrong(4.0)
def inplace_view_of_copy(x, rng):
    y = x.copy()
    z = y[:]
    z *= 4
    return y.sum() + rng.laplace()


@GROUP.wrong(4.0)
def mask_set(x, rng):
    y = x.copy()
    y[x > 0.5] = 4
    return y.sum() + rng.laplace()


@GROUP.wrong(4.0)
def mask_set_after(x, rng):
    y = x.copy()
    m = y > 0.5
    y *= 0
    y[m] = 4
    return y.sum() + rng.laplace()
