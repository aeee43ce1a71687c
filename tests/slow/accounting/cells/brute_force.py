"""Small mechanisms, each one that an event describes, listed outcome by outcome.

A witness is a mechanism on a handful of records and the record that is added, replaced or nulled. Its law on
a dataset is a table; continuous noise is seen through bins, which shows less than the mechanism does. So no
divergence between neighbours may exceed what is accounted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product

import numpy as np
from scipy.stats import laplace, norm

import dpcheck
from dpcheck.core.adjacency import Adjacency

Records = tuple[float, ...]
Law = Callable[[Records], np.ndarray]
ADD, ZERO, REPLACE = Adjacency.ADD_REMOVE, Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE


@dataclass(frozen=True)
class Witness:
    """A law on datasets, the record, what it is replaced by, the null record, and everybody else."""

    law: Law
    record: float = 1.0
    replaced: float = -1.0
    null: float = 0.0
    others: Records = ()

    def neighbours(self, adjacency: Adjacency, group: int = 1) -> tuple[Records, Records]:
        """Two datasets that differ in `group` records."""
        changed = {ADD: (), ZERO: (self.null,) * group, REPLACE: (self.replaced,) * group}
        return (*self.others, *(self.record,) * group), (*self.others, *changed[adjacency])


def binned(cdf: Callable[[np.ndarray], np.ndarray], scale: float, bins: int = 81) -> Law:
    """The sum of the records plus noise, in bins."""
    edges = np.linspace(-2 - 7 * scale, 2 + 7 * scale, bins - 1)

    def law(records: Records) -> np.ndarray:
        inner = cdf((edges - sum(records)) / scale)
        return np.diff(np.concatenate(([0.0], inner, [1.0])))

    return law


def gaussian(noise: float, bins: int = 81) -> Law:
    return binned(norm.cdf, noise, bins)


def poisson_draws(records: Records, rate: float) -> Iterator[tuple[float, Records]]:
    for coins in product((False, True), repeat=len(records)):
        chance = math.prod(rate if coin else 1 - rate for coin in coins)
        yield chance, tuple(x for x, coin in zip(records, coins, strict=True) if coin)


def on_draws(law: Law, draws: Callable[[Records], Iterator[tuple[float, Records]]]) -> Law:
    return lambda records: sum(chance * law(drawn) for chance, drawn in draws(records))


def sampled(law: Law, rate: float) -> Law:
    return on_draws(law, lambda records: poisson_draws(records, rate))


def together(*laws: Law) -> Law:
    """Independent outputs on the same records."""

    def law(records: Records) -> np.ndarray:
        found = laws[0](records)
        for one in laws[1:]:
            found = np.outer(found, one(records)).ravel()
        return found

    return law


def integers(mass: Callable[[np.ndarray], np.ndarray], bound: int, reach: int = 60) -> Law:
    x = np.arange(-reach, reach + 1)

    def law(records: Records) -> np.ndarray:
        found = mass(x - bound * int(sum(records)))
        return np.append(found, max(0.0, 1 - found.sum()))

    return law


def gaussian_mass(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    total = np.exp(-(np.arange(-400, 401) ** 2) / (2 * scale**2)).sum()
    return lambda x: np.exp(-(x**2) / (2 * scale**2)) / total


def laplace_mass(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    a = math.exp(-1 / scale)
    return lambda x: (1 - a) / (1 + a) * a ** np.abs(x)


def stated(law: Law, relation: Adjacency) -> Witness:
    """A law on a sum that moves by 1 between neighbours of the relation the guarantee was proved under.

    Under replace-one the record's 1 is replaced by 0; under the others it may also be replaced by -1.
    """
    return Witness(law, replaced=0.0 if relation is REPLACE else -1.0)


def choice(wins: Callable[[float], float], monotone: bool, relation: Adjacency) -> list[Witness]:
    """Of two candidates the first wins with probability `wins(its lead)`, in sensitivities.

    Scores move apart: by 2 where both may move either way, by 1 where a record raises one of them.
    """

    replaced = -1.0 if monotone or relation is not REPLACE else 0.0

    def behind(shift: float) -> Law:
        def law(records: Records) -> np.ndarray:
            won = wins(sum(records) * (1.0 if monotone else 2.0) - shift)
            return np.array([won, 1 - won])

        return law

    return [Witness(behind(shift), replaced=replaced) for shift in (0.0, 1.0, -1.0, 2.0)]


def logistic(rate: float) -> Callable[[float], float]:
    """The exponential mechanism of two, and Gumbel noise."""
    return lambda lead: 1 / (1 + math.exp(-rate * lead))


def flipped(epsilon: float) -> Callable[[float], float]:
    """Permute-and-flip of two: the one behind wins with e^{-epsilon gap/2}/2."""
    return lambda lead: (
        0.5 * math.exp(epsilon * lead / 2) if lead < 0 else 1 - 0.5 * math.exp(-epsilon * lead / 2)
    )


def laplace_lead(noise: float) -> Callable[[float], float]:
    """P(L1 - L2 > -lead) for Laplace noise of that scale."""

    def tail(s: float) -> float:
        s /= noise
        return math.exp(-s) * (2 + s) / 4

    return lambda lead: tail(-lead) if lead < 0 else 1 - tail(lead)


def threshold_laws(event: dpcheck.AboveThreshold, queries: int = 4) -> list[Law]:
    """Which of a few queries is first above the threshold, by quadrature over the threshold's noise."""
    z = np.linspace(-40, 40, 8001) * event.threshold_noise
    weight = laplace.pdf(z / event.threshold_noise)
    weight /= weight.sum()

    def law_of(signs: tuple[float, ...]) -> Law:
        def law(records: Records) -> np.ndarray:
            below, found = weight.copy(), []
            for sign in signs:
                value = sum(records) if event.monotone else sign * sum(records)
                under = laplace.cdf((z - value) / event.query_noise)
                found.append(float((below * (1 - under)).sum()))
                below = below * under
            return np.array([*found, below.sum()])

        return law

    return [law_of((-1.0,) * (queries - 1) + (1.0,)), law_of((1.0,) * queries)]


def reveals(records: Records) -> np.ndarray:
    """Everything is told."""
    places = [round(x) for x in (sum(records), len(records))]
    found = np.zeros((17, 17))
    found[places[0] + 8, places[1]] = 1.0
    return found.ravel()


def coin(tells: float, law: Law) -> Law:
    """With probability `tells` everything is told, else what the law says."""
    return lambda records: np.concatenate((tells * reveals(records), (1 - tells) * law(records)))


def fixed(batch: int, law: Law) -> Law:
    def draws(records: Records) -> Iterator[tuple[float, Records]]:
        found = list(combinations(records, batch))
        return ((1 / len(found), one) for one in found)

    return on_draws(law, draws)


def with_replacement(batch: int, law: Law) -> Law:
    def draws(records: Records) -> Iterator[tuple[float, Records]]:
        found = list(product(records, repeat=batch))
        return ((1 / len(found), one) for one in found)

    return on_draws(law, draws)


def truncated(rate: float, most: int, law: Law) -> Law:
    def draws(records: Records) -> Iterator[tuple[float, Records]]:
        for chance, drawn in poisson_draws(records, rate):
            kept = list(combinations(drawn, most)) if len(drawn) > most else [drawn]
            yield from ((chance / len(kept), one) for one in kept)

    return on_draws(law, draws)


def with_size(rate: float, law: Law, most: int = 6) -> Law:
    """The size of the batch and the noisy sum."""

    def found(records: Records) -> np.ndarray:
        table = np.zeros((most, len(law(()))))
        for chance, drawn in poisson_draws(records, rate):
            table[len(drawn)] += chance * law(drawn)
        return table.ravel()

    return found


def allocated(batches: int, law: Law) -> Law:
    def found(records: Records) -> np.ndarray:
        total = 0.0
        for places in product(range(batches), repeat=len(records)):
            rows = [
                law(tuple(x for x, at in zip(records, places, strict=True) if at == b))
                for b in range(batches)
            ]
            joint = rows[0]
            for row in rows[1:]:
                joint = np.outer(joint, row).ravel()
            total = total + joint / batches ** len(records)
        return total

    return found


def mixed(event: dpcheck.MixtureGaussian, law: Law) -> Law:
    options = [
        *zip(event.contributions, event.probabilities, strict=True),
        (0.0, 1 - sum(event.probabilities)),
    ]

    def draws(records: Records) -> Iterator[tuple[float, Records]]:
        for picked in product(options, repeat=len(records)):
            yield (
                math.prod(p for _, p in picked),
                tuple(x * c for x, (c, _) in zip(records, picked, strict=True)),
            )

    return on_draws(law, draws)


def answers(event: dpcheck.RandomizedResponse) -> Law:
    """Each person's answer among the categories; records are categories."""
    kinds = event.categories

    def law(records: Records) -> np.ndarray:
        found = np.ones(1)
        for answer in records:
            one = np.full(kinds, event.noise / kinds)
            one[int(answer)] += 1 - event.noise
            found = np.outer(found, one).ravel()
        return found

    return law


def shuffled(epsilon: float) -> Law:
    """Bits, each flipped with probability 1/(1 + e^epsilon), and how many ones there are."""
    flip = 1 / (1 + math.exp(epsilon))

    def law(records: Records) -> np.ndarray:
        found = np.ones(1)
        for bit in records:
            one = 1 - flip if bit > 0 else flip
            found = np.convolve(found, (1 - one, one))
        return found

    return law


def minimiser(event: dpcheck.ObjectivePerturbation | dpcheck.GaussianObjectivePerturbation) -> Law:
    """The minimiser of a regularised logistic loss of one weight, in bins; records are x y."""
    m = event.rows * (event.regularization + getattr(event, "extra_regularization", 0.0))
    cuts = np.linspace(-12, 12, 121)
    normal = isinstance(event, dpcheck.GaussianObjectivePerturbation)

    def law(records: Records) -> np.ndarray:
        pull = sum(x / (1 + np.exp(cuts * x)) for x in records) - m * cuts
        # P(b <= pull) of either noise
        above = (
            norm.cdf(pull / event.noise_multiplier)
            if normal
            else laplace.cdf(pull * event.noise_epsilon / 2)
        )
        return np.abs(np.diff(np.concatenate(([1.0], above, [0.0]))))

    return law


def tables(p: Records, q: Records) -> list[Witness]:
    """A mechanism that tells by these tables whether the record is there; which of them is it is not said."""

    def two(first: Records, second: Records) -> Law:
        return lambda records: np.array(first if sum(records) > 0 else second)

    return [Witness(two(p, q), replaced=0.0), Witness(two(q, p), replaced=0.0)]


def squares(event: dpcheck.TreeAggregation) -> int:
    """The largest sum of squared counts over the released nodes of a tree, over all patterns."""
    last = event.steps if event.completed_only else 2 * event.steps
    levels = range((event.steps - 1).bit_length() + 1)
    nodes = [
        range(first, first + 2**level)
        for level in levels
        for first in range(0, event.steps, 2**level)
        if first + 2**level <= last
    ]
    best = 0
    for size in range(1, event.participations + 1):
        for pattern in combinations(range(event.steps), size):
            if all(b - a >= event.min_separation for a, b in pairwise(pattern)):
                best = max(best, sum(sum(step in node for step in pattern) ** 2 for node in nodes))
    return best


def wrapped(witness: Witness, change: Callable[[Law], Law]) -> Witness:
    """The same records, the law changed."""
    return replace(witness, law=change(witness.law))
