"""What one path does to a list or an array is seen through another name, or on another path."""

from __future__ import annotations

import numpy as np

from .base import INF, Group

GROUP = Group("paths")
NEVER = -1e9  # no noisy count is less


def first(output):
    return np.asarray(output[0]).tolist()


class Holder:
    def __init__(self):
        self.w = np.zeros(2)
        self.parts = []


@GROUP.wrong(INF, leak=first)
def list_that_may_be_another(x, rng):
    n = x.sum() + rng.laplace()
    a = [1.0]
    b = a if n > NEVER else [2.0]
    b.append(x.sum())
    return a, n


@GROUP.wrong(INF, leak=first)
def array_that_may_be_another(x, rng):
    n = x.sum() + rng.laplace()
    a, c = np.zeros(2), np.ones(2)
    b = a if n > NEVER else c
    b[0] = x.sum()
    return a, n


@GROUP.wrong(INF, leak=first)
def array_chosen_before_it_is_written(x, rng):
    n = x.sum() + rng.laplace()
    a = np.zeros(2)
    b = a if n > NEVER else np.ones(2)
    a[0] = x.sum()
    return b, n


@GROUP.wrong(INF, leak=first)
def none_that_is_not_asked_for(x, rng):
    n = x.sum() + rng.laplace()
    best = None if n > NEVER else "k"
    if best is None:
        return x.sum(), n
    return 0.0, n


@GROUP.wrong(INF, leak=first)
def list_within_a_choice(x, rng):
    n = x.sum() + rng.laplace()
    inner = [1.0]
    out = [inner] if n > NEVER else 5
    inner.append(x.sum())
    return out, n


@GROUP.wrong(INF, leak=first)
def swapped_on_one_path(x, rng):
    n = x.sum() + rng.laplace()
    t, u = np.zeros(2), np.ones(2)
    if n > NEVER:
        t, u = u, t
    t[0] = x.sum()
    u[1] = 1.0
    return t, n


@GROUP.wrong(INF, leak=first)
def attribute_replaced_on_one_path(x, rng):
    n = x.sum() + rng.laplace()
    holder = Holder()
    keep = holder.w
    if n < NEVER:
        holder.w = np.ones(2)
    holder.w[0] = x.sum()
    return keep, n


@GROUP.wrong(INF, leak=first)
def appended_under_another_name(x, rng):
    n = x.sum() + rng.laplace()
    log = []
    also = log
    if n > NEVER:
        log.append(1.0)
    also.append(x.sum())
    return log, n


@GROUP.wrong(INF, leak=first)
def kept_by_a_growing_list(x, rng):
    n = x.sum() + rng.laplace()
    w, out = np.zeros(2), []
    if n > NEVER:
        out.append(w)
    w[0] = x.sum()
    return out, n


@GROUP.wrong(INF, leak=first)
def left_with_an_old_name(x, rng):
    n = x.sum() + rng.laplace()
    w = np.zeros(2)
    v = w
    for _ in range(3):
        if n > NEVER:
            break
        v = np.ones(2)
    w[0] = x.sum()
    return v, n


@GROUP.wrong(INF, leak=first)
def returned_by_a_helper(x, rng):
    n = x.sum() + rng.laplace()
    w = np.zeros(2)

    def one():
        if n > NEVER:
            return w
        return np.ones(2)

    v = one()
    w[0] = x.sum()
    return v, n


@GROUP.wrong(INF, leak=first)
def array_added_to_by_records(x, rng):
    counts = np.zeros(2)
    also = counts
    for v in x:
        counts[min(int(v * 2), 1)] += 1
    return also, rng.laplace()


@GROUP.wrong(INF, leak=first)
def while_a_release_lasts(x, rng):
    n = x.sum() + rng.laplace()
    total, rounds = x.sum(), 0
    while n > NEVER and rounds < 3:
        rounds += 1
        if rounds > 2:
            return total, n
    return 0.0, n


@GROUP.right(1.0)
def appended_on_one_path(x, rng):
    noisy = x.sum() + rng.laplace()
    out = []
    if noisy > NEVER:
        out.append(noisy)
    return out


@GROUP.right(1.0)
def copied_before_it_is_written(x, rng):
    noisy = x.sum() + rng.laplace()
    a = np.zeros(1)
    b = a.copy() if noisy > NEVER else np.ones(1)
    a[0] = noisy
    return a + b
