"""The programs of StatDP (Ding, Wang, Wang, Zhang, Kifer, CCS 2018), written anew after their description."""

from __future__ import annotations

import numpy as np

from .base import EPSILON, REFUSED, Paper, histogram

PAPER = Paper("StatDP")
T, N = 50, 1


@PAPER.right()
def noisy_max_laplace(x, rng):
    noisy = x.sum(axis=0) + rng.laplace(scale=2.0 / EPSILON, size=10)
    return noisy.argmax()


@PAPER.wrong(5.0)
def noisy_max_laplace_value(x, rng):
    noisy = x.sum(axis=0) + rng.laplace(scale=2.0 / EPSILON, size=10)
    return noisy.max()


@PAPER.right()
def noisy_max_exponential(x, rng):
    noisy = x.sum(axis=0) + rng.exponential(scale=2.0 / EPSILON, size=10)
    return noisy.argmax()


@PAPER.wrong(REFUSED)
def noisy_max_exponential_value(x, rng):
    noisy = x.sum(axis=0) + rng.exponential(scale=2.0 / EPSILON, size=10)
    return noisy.max()


@PAPER.right(one=True)
def histogram_first(x, rng):
    noisy = histogram(x) + rng.laplace(scale=1.0 / EPSILON, size=10)
    return noisy[0]


@PAPER.wrong(2.0, claimed=0.5, one=True)
def histogram_with_epsilon_as_scale(x, rng):
    """Noise of scale epsilon = 1/2 instead of 1/epsilon."""
    noisy = histogram(x) + rng.laplace(scale=0.5, size=10)
    return noisy[0]


@PAPER.right()
def svt(x, rng):
    out = []
    noisy_threshold = T + rng.laplace(scale=2.0 / EPSILON)
    count = 0
    for query in x.sum(axis=0):
        if query + rng.laplace(scale=4.0 * N / EPSILON) >= noisy_threshold:
            out.append(True)
            count += 1
            if count >= N:
                break
        else:
            out.append(False)
    return out.count(False)


@PAPER.wrong(REFUSED)
def isvt_1(x, rng):
    """No noise on the queries."""
    out = []
    noisy_threshold = T + rng.laplace(scale=2.0 / EPSILON)
    for query in x.sum(axis=0):
        if query >= noisy_threshold:
            out.append(True)
        else:
            out.append(False)
    return out


@PAPER.wrong(5.0)
def isvt_2(x, rng):
    """Any number of hits: ten answers of scale 2."""
    out = []
    noisy_threshold = T + rng.laplace(scale=2.0 / EPSILON)
    for query in x.sum(axis=0):
        if query + rng.laplace(scale=2.0 / EPSILON) >= noisy_threshold:
            out.append(True)
        else:
            out.append(False)
    return out


@PAPER.wrong(0.25 + 1.5)
def isvt_3(x, rng):
    """1/4 for the threshold, 2 over 4/3 for the hit."""
    out = []
    noisy_threshold = T + rng.laplace(scale=4.0 / EPSILON)
    count = 0
    for query in x.sum(axis=0):
        if query + rng.laplace(scale=4.0 / (3.0 * EPSILON)) > noisy_threshold:
            out.append(True)
            count += 1
            if count >= N:
                break
        else:
            out.append(False)
    return out


@PAPER.wrong(5.0)
def isvt_4(x, rng):
    """The noisy query is told with the hit: ten numbers of scale 2."""
    out = []
    noisy_threshold = T + rng.laplace(scale=2.0 / EPSILON)
    count = 0
    for query in x.sum(axis=0):
        noisy = query + rng.laplace(scale=2.0 * N / EPSILON)
        if noisy > noisy_threshold:
            out.append(noisy)
            count += 1
            if count >= N:
                break
        else:
            out.append(False)
    return out.count(False), np.asarray(out[-1])
