"""The mechanisms and pairs that other auditors were published with, written anew from their papers.

StatDP (Ding et al., CCS 2018): eleven mechanisms, answers that all differ by at most 1, or one of them,
claimed epsilon 0.2, 0.7 and 1.5. DP-Sniper (Bichsel et al., S&P 2021): cases.py, claimed 0.1. DP-Auditorium
(Kong et al., 2023): means and sparse vectors. dp-recorder (Re:cord-play, arXiv 2602.17454): its six reduced
bugs. Delta-Siege (Lokna et al., CCS 2023): noise of floating-point samplers on 0 and 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dpcheck
from dpcheck.core.records import Records
from dpcheck.core.relation import Relation
from suite import cases

CLOSE = dpcheck.relation("answers", norm="inf", bound=1)


@dataclass(frozen=True)
class Published:
    """A mechanism with the claim and the pairs of its suite, and whether its authors' tool rejects it."""

    suite: str
    name: str
    function: Callable[..., Any]
    epsilon: float
    caught: bool | None  # by their authors, as published; None where we did not look it up
    pairs: Sequence[tuple[Any, Any]] = ()
    delta: float = 0.0
    adjacency: str | Relation = CLOSE
    records: Records | None = None
    theirs: str = ""  # their figure
    bits: bool = False  # the fault is in the lowest bits of the output
    batched: bool = True


def answers(size: int, all_differ: bool) -> list[tuple[list[int], list[int]]]:
    """StatDP's pairs for so many queries."""
    one, half = [1] * size, size // 2
    rest = size - 1
    pairs = [(one, [0] + [1] * rest), (one, [2] + [1] * rest)]
    if all_differ:
        pairs += [
            (one, [2] + [0] * rest),
            (one, [0] + [2] * rest),
            (one, [2] * half + [0] * (size - half)),
            (one, [2] * size),
            (one, [0] * size),
            ([1] * half + [0] * (size - half), [0] * half + [1] * (size - half)),
        ]
    return pairs


def _noisy(data: Sequence[float], noise: np.ndarray) -> np.ndarray:
    return np.asarray(data, float) + noise


def largest(data, size, rng, *, kind, of, eps):
    """The largest of noisy answers: its place, or its value."""
    noise = getattr(rng, kind)(scale=2 / eps, size=(size, len(data)))
    return getattr(_noisy(data, noise), of)(axis=1).astype(float)


def first_bin(data, size, rng, *, scale):
    """One bin of a noisy histogram."""
    return data[0] + rng.laplace(scale=scale, size=size)


def _until(above: np.ndarray, most: int) -> np.ndarray:
    """Which answers are still given: all up to the most-th TRUE."""
    return np.cumsum(above, axis=1) - above < most


def sparse(data, size, rng, *, eps, threshold):
    """How many answers are FALSE before the first TRUE."""
    bound = threshold + rng.laplace(scale=2 / eps, size=(size, 1))
    above = _noisy(data, rng.laplace(scale=4 / eps, size=(size, len(data)))) >= bound
    return (~above & _until(above, 1)).sum(axis=1).astype(float)


def sparse_wrong(data, size, rng, *, eps, threshold_scale, query_scale, stops):
    """How far the answers are from TRUE in the first half and FALSE in the second."""
    bound = 1 + rng.laplace(scale=threshold_scale / eps, size=(size, 1))
    noise = rng.laplace(scale=query_scale / eps, size=(size, len(data))) if query_scale else 0.0
    above = _noisy(data, noise) >= bound
    wanted = np.arange(len(data)) < len(data) // 2
    differ = above != wanted
    return (differ | ~_until(above, 1) if stops else differ).sum(axis=1).astype(float)


def sparse_value(data, size, rng, *, eps):
    """The first noisy answer above the threshold, and how many were below it."""
    bound = 1 + rng.laplace(scale=2 / eps, size=(size, 1))
    noisy = _noisy(data, rng.laplace(scale=2 / eps, size=(size, len(data))))
    above = noisy > bound
    given = _until(above, 1)
    last = np.where((above & given).any(axis=1), (noisy * (above & given)).sum(axis=1), 0.0)
    return np.stack([(~above & given).sum(axis=1), last], axis=1)


def _statdp() -> list[Published]:
    found = []
    both = answers(5, True) + answers(10, True)
    one = answers(5, False) + answers(10, False)
    for eps in (0.2, 0.7, 1.5):
        wrong = partial(sparse_wrong, eps=eps)
        rows = [
            ("noisy max 1a", partial(largest, kind="laplace", of="argmax", eps=eps), both, False),
            ("noisy max 1b", partial(largest, kind="laplace", of="max", eps=eps), both, True),
            (
                "noisy max 2a",
                partial(largest, kind="exponential", of="argmax", eps=eps),
                both,
                False,
            ),
            ("noisy max 2b", partial(largest, kind="exponential", of="max", eps=eps), both, True),
            ("histogram", partial(first_bin, scale=1 / eps), one, False),
            # At a claim of 1.5 noise of scale 1.5 is more than enough.
            ("histogram, scale epsilon", partial(first_bin, scale=eps), one, eps < 1),
            ("SVT", partial(sparse, eps=eps, threshold=0.5), both, False),
            ("iSVT 1", partial(wrong, threshold_scale=2, query_scale=0, stops=False), both, True),
            ("iSVT 2", partial(wrong, threshold_scale=2, query_scale=2, stops=False), both, True),
            (
                "iSVT 3",
                partial(wrong, threshold_scale=4, query_scale=4 / 3, stops=True),
                both,
                True,
            ),
            ("iSVT 4", partial(sparse_value, eps=eps), both, True),
        ]
        found += [Published("StatDP", f"{n}, {eps:g}", f, eps, c, pairs) for n, f, pairs, c in rows]
    return found


def _sniper() -> list[Published]:
    told = json.loads((Path(__file__).parents[1] / "published" / "auditor_suite.json").read_text())
    figures = {row["case"]: row for row in told["rows"]}
    return [
        Published(
            "DP-Sniper",
            case.name,
            case.function,
            cases.EPS,
            figures[case.name]["dp_sniper"] > cases.EPS,
            case.pairs,
            theirs=f"{figures[case.name]['dp_sniper']:g}",
        )
        for case in cases.CASES
        if case.name in figures
    ]


def mean(data, size, rng, *, count_noise, scale_noise, delta=0.0):
    """A mean of values in [-1, 1] at epsilon 1; the exact number of rows divides it, or scales its noise."""
    share = 0.5 if count_noise or scale_noise else 1.0
    noisy = len(data) + rng.laplace(scale=1 / share, size=size)
    divisor = noisy if count_noise else len(data)
    spread = noisy if scale_noise else len(data)
    factor = math.sqrt(2 * math.log(1.25 / delta)) if delta else 1.0
    with np.errstate(divide="ignore"):
        scale = np.maximum(1e-12, factor * 2 / share / spread)
        draw = rng.normal if delta else rng.laplace
        return np.clip(data, -1, 1).sum() / divisor + draw(scale=scale, size=size)


def sparse_records(data, size, rng, *, threshold_scale, query_scale, value=False):
    """Ten queries that show the last record, and the one before it in the last place; epsilon 1."""
    shown = np.clip([data[-1]] * 9 + [data[-2]], 0, 1)
    bound = 0.5 + rng.laplace(scale=threshold_scale, size=(size, 1))
    noise = rng.laplace(scale=query_scale, size=(size, 10)) if query_scale else np.zeros((size, 10))
    noisy = shown + noise
    above = noisy >= bound
    told = np.where(above, noisy if value else 1.0, 0.0)
    return np.where(_until(above, 1), told, -7.0)


def most_named(data, size, rng):
    """Which of five is named most often, by counts with Gumbel noise; epsilon 1."""
    counts = np.bincount(data.astype(int), minlength=5)
    return (counts + rng.gumbel(scale=2, size=(size, 5))).argmax(axis=1).astype(float)


_ENDS = [
    (np.array([0.0, 1.0]), np.array([0.0, 1.0, 0.0])),
    (np.array([1.0, 0.0]), np.array([1.0, 0.0, 1.0])),
]


def _auditorium() -> list[Published]:
    described = dpcheck.records(x=dpcheck.number(-1, 1))
    make = partial(Published, "DP-Auditorium", epsilon=1.0, adjacency="add-remove")
    means = [
        make(
            f"{kind} mean, {name}",
            partial(mean, delta=delta, **how),
            caught=True,
            delta=delta,
            records=described,
        )
        for kind, delta in (("Laplace", 0.0), ("Gaussian", 1e-5))
        for name, how in (
            ("exact count", {"count_noise": False, "scale_noise": False}),
            ("noise by the exact count", {"count_noise": True, "scale_noise": False}),
        )
    ]
    rows = [
        ("SVT 1", {"threshold_scale": 2, "query_scale": 4}, False),
        ("SVT 3", {"threshold_scale": 2, "query_scale": 2, "value": True}, True),
        ("SVT 4", {"threshold_scale": 4, "query_scale": 4 / 3}, True),
        ("SVT 5", {"threshold_scale": 2, "query_scale": 0}, True),
        ("SVT 6", {"threshold_scale": 2, "query_scale": 2}, True),
    ]
    vectors = [make(n, partial(sparse_records, **how), caught=c, pairs=_ENDS) for n, how, c in rows]
    votes = [(np.array([0, 1, 1]), np.array([0, 1, 1, 2])), (np.array([0]), np.array([0, 0]))]
    return [*means, *vectors, make("noisy max", most_named, caught=False, pairs=votes)]


def clipped_sum_over_n(data, rng):
    return float(np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0)) / len(data)


def classes_of_the_data(data, rng):
    classes = np.unique(data)
    return [float((data == c).sum() + rng.laplace(scale=len(classes))) for c in classes]


def spent_twice(data, rng):
    return float(data.sum() + rng.laplace()), float(len(data) + rng.laplace())


def clipped_with_nan(data, rng):
    return float(np.clip(data, -5, 5).sum() + rng.laplace(scale=5.0))


def sensitivity_of_zero(data, rng):
    return float(data.sum() + rng.laplace(scale=0.0))


def clipped_in_vain(data, rng):
    return float(data.sum() + rng.laplace(scale=5.0))


def _recorder() -> list[Published]:
    hundred = np.zeros(100)
    rows = [
        ("private n", clipped_sum_over_n, ([0.5, 0.5, 0.5], [0.5, 0.5]), "add-remove"),
        ("inferred domain", classes_of_the_data, ([0, 1, 2, 0], [0, 1, 0]), "add-remove"),
        ("spent twice", spent_twice, (hundred, np.append(hundred, 1.0)), "add-remove"),
        ("NaN", clipped_with_nan, ([1.0, 2.0], [1.0, math.nan]), "replace-one"),
        ("no noise", sensitivity_of_zero, ([1.0, 1.0], [1.0]), "add-remove"),
        ("not clipped", clipped_in_vain, ([1.0, -2.0, 3.0], [1.0, -2.0, 100.0]), "replace-one"),
    ]
    return [
        Published(
            "dp-recorder",
            name,
            function,
            1.0,
            True,
            [tuple(np.asarray(side) for side in pair)],
            adjacency=adjacency,
            batched=False,
        )
        for name, function, pair, adjacency in rows
    ]


def inverted_laplace(data, size, rng):
    u = rng.random(size) - 0.5
    return data - np.sign(u) * np.log1p(-2 * np.abs(u)) * 10


def box_muller(data, size, rng):
    radius = np.sqrt(-2 * np.log1p(-rng.random(size)))
    return data + radius * np.cos(2 * np.pi * rng.random(size)) * 3.7307


def polar(data, size, rng):
    kept = np.empty(0)
    while len(kept) < size:
        u, v = rng.uniform(-1, 1, (2, 2 * size))
        s = u * u + v * v
        inside = (s > 0) & (s < 1)
        kept = np.append(kept, u[inside] * np.sqrt(-2 * np.log(s[inside]) / s[inside]))
    return data + kept[:size] * 3.7307


def little_gaussian(data, size, rng):
    return data + 0.8 * 3.7307 * rng.normal(size=size)


def ziggurat(data, size, rng):
    return data + rng.standard_normal(size) * 3.7307  # numpy's sampler is one


def four_single(data, size, rng):
    """The mean of four normal numbers in single precision, twice over, as Opacus' secure mode draws."""
    drawn = rng.standard_normal((4, size), dtype=np.float32) * np.float32(3.7307)
    return (np.float32(data) + drawn.sum(axis=0) / np.float32(2)).astype(float)


def marginals(data, size, rng, *, sigma):
    """How many have each of ten attributes, with noise: what MST and AIM measure first."""
    return data.sum(axis=0) + rng.normal(scale=sigma, size=(size, 10))


def _of_rho(epsilon: float, delta: float) -> float:
    """The largest zCDP rho whose certified epsilon at delta is within the claim."""
    low, high = 0.0, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        within = (
            dpcheck.epsilon(dpcheck.ZCDP(middle), delta=delta, adjacency="add-remove").upper
            <= epsilon
        )
        low, high = (middle, high) if within else (low, middle)
    return low


def _synthetic() -> list[Published]:
    """The intermediate results of MST and AIM on two records of ten zeros, with and without one of ones.

    MST divides a third of its rho over the ten attributes; AIM gives each 0.9 of its rho over 160 rounds.
    """
    small, ones = np.zeros((2, 10)), np.ones((1, 10))
    pairs = [(small, np.vstack([small, ones]))]
    found = []
    for delta in (1e-6, 0.1):
        rho = _of_rho(3.0, delta)
        for name, sigma in (
            ("MST", math.sqrt(10 * 3 / (2 * rho))),
            ("AIM", math.sqrt(160 / (2 * 0.9 * rho))),
        ):
            for where in ("", ", bits"):
                found.append(
                    Published(
                        "Delta-Siege",
                        f"{name}, first marginals{where}, delta {delta:g}",
                        partial(marginals, sigma=sigma),
                        3.0,
                        None,
                        pairs,
                        delta,
                        "add-remove",
                        bits=bool(where),
                    )
                )
    return found


def _siege() -> list[Published]:
    make = partial(Published, "Delta-Siege", adjacency="zero-out", pairs=[(0.0, 1.0)])
    return [
        make("Laplace, inversion", inverted_laplace, 0.1, True, bits=True),
        make("Gaussian, Box-Muller", box_muller, 1.0, None, delta=1e-5, bits=True),
        make("Gaussian, polar", polar, 1.0, None, delta=1e-5, bits=True),
        make("Gaussian, ziggurat", ziggurat, 1.0, None, delta=1e-5, bits=True),
        make("Gaussian, four in single precision", four_single, 1.0, None, delta=1e-5, bits=True),
        make("Gaussian, 20% too little noise", little_gaussian, 1.0, True, delta=1e-5),
        *_synthetic(),
    ]


def published() -> list[Published]:
    """All of them."""
    return [*_statdp(), *_sniper(), *_auditorium(), *_recorder(), *_siege()]
