"""The programs of CheckDP (Wang, Ding, Kifer, Zhang, CCS 2020), written anew after their description."""

from __future__ import annotations

from .base import EPSILON, QUERIES, REFUSED, Paper, histogram

PAPER = Paper("CheckDP")
T, N, M = 50, 2, 3


@PAPER.right()
def noisy_max(x, rng):
    q = x.sum(axis=0)
    largest, i, best = 0, 0, 0.0
    while i < len(q):
        eta = rng.laplace(scale=2 / EPSILON)
        if q[i] + eta > best or i == 0:
            largest = i
            best = q[i] + eta
        i = i + 1
    return largest


@PAPER.wrong(5.0)
def noisy_max_value(x, rng):
    """The largest noisy number instead of its place: ten numbers of scale 2."""
    q = x.sum(axis=0)
    largest, i, best = 0.0, 0, 0.0
    while i < len(q):
        eta = rng.laplace(scale=2 / EPSILON)
        if q[i] + eta > best or i == 0:
            largest = q[i] + eta
            best = q[i] + eta
        i = i + 1
    return largest


@PAPER.right()
def sparse_vector(x, rng):
    q = x.sum(axis=0)
    out = []
    noisy_threshold = T + rng.laplace(scale=2 / EPSILON)
    count, i = 0, 0
    while count < N and i < len(q):
        eta = rng.laplace(scale=4 * N / EPSILON)
        if q[i] + eta >= noisy_threshold:
            out.append(1)
            count = count + 1
        else:
            out.append(0)
        i = i + 1
    return out


@PAPER.right()
def sparse_vector_numeric(x, rng):
    q = x.sum(axis=0)
    out = []
    noisy_threshold = T + rng.laplace(scale=3 / EPSILON)
    count, i = 0, 0
    while count < N and i < len(q):
        eta = rng.laplace(scale=6 * N / EPSILON)
        if q[i] + eta >= noisy_threshold:
            out.append(q[i] + rng.laplace(scale=3 * N / EPSILON))
            count = count + 1
        else:
            out.append(0)
        i = i + 1
    return out


@PAPER.right()
def sparse_vector_gap(x, rng):
    q = x.sum(axis=0)
    out = []
    noisy_threshold = T + rng.laplace(scale=2 / EPSILON)
    count, i = 0, 0
    while count < N and i < len(q):
        noisy = q[i] + rng.laplace(scale=4 * N / EPSILON)
        if noisy >= noisy_threshold:
            out.append(noisy - noisy_threshold)
            count = count + 1
        else:
            out.append(0)
        i = i + 1
    return out


@PAPER.right()
def sparse_vector_adaptive(x, rng):
    """1/2 for the threshold, and the budget leaves room for hits of 1/2: 1/8 each, or 1/4 for a fine one."""
    q = x.sum(axis=0)
    out = []
    noisy_threshold = T + rng.laplace(scale=2 / EPSILON)
    cost, i = EPSILON * N * 2, 0
    while i < len(q):
        coarse = q[i] + rng.laplace(scale=8 * N / EPSILON)
        if coarse - noisy_threshold >= 16:
            out.append(coarse - noisy_threshold)
            cost = cost + EPSILON
        else:
            fine = q[i] + rng.laplace(scale=4 * N / EPSILON)
            if fine - noisy_threshold >= 0:
                out.append(fine - noisy_threshold)
                cost = cost + 2 * EPSILON
            else:
                out.append(0)
        i = i + 1
        if cost > 4 * N * EPSILON - 2 * EPSILON:
            break
    return out


@PAPER.wrong(REFUSED)
def sparse_vector_without_query_noise(x, rng):
    q = x.sum(axis=0)
    out = []
    noisy_threshold = T + rng.laplace(scale=2 / EPSILON)
    i = 0
    while i < len(q):
        if q[i] >= noisy_threshold:
            out.append(1)
        else:
            out.append(0)
        i = i + 1
    return out


@PAPER.wrong(5.0)
def sparse_vector_without_end(x, rng):
    """Any number of hits, and noise that does not know it: ten answers of scale 2."""
    q = x.sum(axis=0)
    out = []
    noisy_threshold = T + rng.laplace(scale=2 / EPSILON)
    i = 0
    while i < len(q):
        if q[i] + rng.laplace(scale=2 / EPSILON) >= noisy_threshold:
            out.append(1)
        else:
            out.append(0)
        i = i + 1
    return out


@PAPER.wrong(0.25 + 2 * N * 0.75)
def sparse_vector_with_too_little_noise(x, rng):
    """1/4 for the threshold, and for each of two hits 2 over 4/3."""
    q = x.sum(axis=0)
    out = []
    noisy_threshold = T + rng.laplace(scale=4 / EPSILON)
    count, i = 0, 0
    while count < N and i < len(q):
        if q[i] + rng.laplace(scale=4 / (3 * EPSILON)) >= noisy_threshold:
            out.append(1)
            count = count + 1
        else:
            out.append(0)
        i = i + 1
    return out


@PAPER.wrong(1.25)
def sparse_vector_telling_the_query(x, rng):
    """The noisy number itself is told with a hit: ten numbers of scale 8."""
    q = x.sum(axis=0)
    out = []
    noisy_threshold = T + rng.laplace(scale=2 / EPSILON)
    count, i = 0, 0
    while count < N and i < len(q):
        noisy = q[i] + rng.laplace(scale=4 * N / EPSILON)
        if noisy >= noisy_threshold:
            out.append(noisy)
            count = count + 1
        else:
            out.append(-100)
        i = i + 1
    return out


@PAPER.right(one=True)
def partial_sum(x, rng):
    q = histogram(x)
    total, i = 0, 0
    while i < len(q):
        total = total + q[i]
        i = i + 1
    return total + rng.laplace(scale=1 / EPSILON)


@PAPER.wrong(2.0, one=True)
def partial_sum_with_half_the_noise(x, rng):
    q = histogram(x)
    total, i = 0, 0
    while i < len(q):
        total = total + q[i]
        i = i + 1
    return total + rng.laplace(scale=1 / (2 * EPSILON))


@PAPER.right(2.0, claimed=2.0, one=True)
def smart_sum(x, rng):
    q = histogram(x)
    out = []
    following, total, i = 0, 0, 0
    while i < QUERIES:
        if (i + 1) % M == 0:
            following = total + q[i] + rng.laplace(scale=1 / EPSILON)
            total = 0
        else:
            following = following + q[i] + rng.laplace(scale=1 / EPSILON)
            total = total + q[i]
        out.append(following)
        i = i + 1
    return out


@PAPER.wrong(REFUSED, claimed=2.0, one=True)
def smart_sum_without_noise(x, rng):
    """The sums of whole blocks are told as they are."""
    q = histogram(x)
    out = []
    following, total, i = 0, 0, 0
    while i < QUERIES:
        if (i + 1) % M == 0:
            following = total + q[i]
            total = 0
        else:
            following = following + q[i] + rng.laplace(scale=1 / EPSILON)
            total = total + q[i]
        out.append(following)
        i = i + 1
    return out


@PAPER.right(one=True)
def prefix_sum(x, rng):
    """Of LightDP and ShadowDP: one noisy number for each bin, added up."""
    q = histogram(x)
    out = []
    following = 0.0
    for i in range(QUERIES):
        following = following + q[i] + rng.laplace(scale=1 / EPSILON)
        out.append(following)
    return out
