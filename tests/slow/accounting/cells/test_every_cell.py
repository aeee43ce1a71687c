"""Every kind of event, in every wrapper, under every relation, against mechanisms listed outcome by outcome.

A kind of event without a mechanism, or a cell that is refused without being listed as such, fails.
"""

from __future__ import annotations

import math
from functools import partial

import brute_force as brute
import numpy as np
import pytest
from brute_force import ADD, REPLACE, ZERO, Witness
from described import witnesses

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import InvalidEvent, InvalidParameter, UnsupportedAdjacency
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import event_names

TABLE = ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5))
UNEVEN = ((0.6, 0.3, 0.1), (0.25, 0.35, 0.4))
STEP = 0.25
TREE = dpcheck.TreeAggregation(3.0, 5, 2, 2)
DONE = dpcheck.TreeAggregation(3.0, 5, 2, 2, completed_only=True)
BANDS = ((1.0, 0.0, 0.0), (0.5, 1.0, 0.0), (0.0, 0.5, 1.0))


def loss_distribution() -> dpcheck.LossDistribution:
    """The losses -0.5 and 0.5 of the first outcomes of randomized response."""
    more = 1 / (1 + math.exp(-0.5))
    return dpcheck.LossDistribution(STEP, -2, (1 - more, 0.0, 0.0, 0.0, more))


LEAVES: dict[str, Event] = {
    "Gaussian": dpcheck.Gaussian(1.5),
    "Laplace": dpcheck.Laplace(1.5),
    "DiscreteGaussian": dpcheck.DiscreteGaussian(2.0),
    "DiscreteLaplace": dpcheck.DiscreteLaplace(2.0, 2),
    "RandomizedResponse": dpcheck.RandomizedResponse(0.4, 3),
    "ExponentialMechanism": dpcheck.ExponentialMechanism(1.0),
    "FinitePair": dpcheck.FinitePair(*TABLE),
    "FinitePair, uneven": dpcheck.FinitePair(*UNEVEN),
    "LossDistribution": loss_distribution(),
    "PureDP": dpcheck.PureDP(0.7),
    "ApproxDP": dpcheck.ApproxDP(0.5, 0.05),
    "ZCDP": dpcheck.ZCDP(0.2),
    "GDP": dpcheck.GDP(0.7),
    "NotPrivate": dpcheck.NotPrivate("told"),
    "ReportNoisyMax": dpcheck.ReportNoisyMax(2.0),
    "ReportNoisyMax, gumbel": dpcheck.ReportNoisyMax(2.0, "gumbel"),
    "ReportNoisyMax, counts": dpcheck.ReportNoisyMax(2.0, "exponential", monotone=True),
    "PermuteAndFlip": dpcheck.PermuteAndFlip(1.0),
    "AboveThreshold": dpcheck.AboveThreshold(2.0, 4.0),
    "AboveThreshold, counts": dpcheck.AboveThreshold(2.0, 4.0, monotone=True),
    "ShuffledReports": dpcheck.ShuffledReports(1.0, 3),
    "OutputPerturbation": dpcheck.OutputPerturbation(2.0, 0.4),
    "OutputPerturbation, zeroed": dpcheck.OutputPerturbation(2.0, 0.4, "zero-out"),
    "ObjectivePerturbation": dpcheck.ObjectivePerturbation(1.0, 4, 0.5),
    "GaussianObjectivePerturbation": dpcheck.GaussianObjectivePerturbation(1.5, 4, 0.5),
    "SampledGaussian": dpcheck.SampledGaussian(1.2, 0.3),
    "SampledLaplace": dpcheck.SampledLaplace(1.2, 0.3),
    "FixedBatchGaussian": dpcheck.FixedBatchGaussian(2.0, 3, 1),
    "WithReplacementGaussian": dpcheck.WithReplacementGaussian(2.0, 3, 2),
    "MixtureGaussian": dpcheck.MixtureGaussian(2.0, (1.0, 2.0), (0.3, 0.1)),
    "TruncatedPoissonGaussian": dpcheck.TruncatedPoissonGaussian(2.0, 0.4, 3, 1),
    "RealisedBatchGaussian": dpcheck.RealisedBatchGaussian(2.0, 0.4, 3),
    "RandomAllocationGaussian": dpcheck.RandomAllocationGaussian(1.5, 2),
    "TreeAggregation": TREE,
    "TreeAggregation, completed": DONE,
    "BandedMatrix": dpcheck.BandedMatrix(2.0, 6, 2, participations=2),
    "BandedMatrix, sampled": dpcheck.BandedMatrix(1.5, 4, 2, sampling_rate=0.3),
    "MatrixMechanism": dpcheck.MatrixMechanism(2.0, BANDS),
}
WRAPPERS = (
    "plain",
    "under add-remove",
    "under zero-out",
    "under replace-one",
    "sampled",
    "grouped",
    "repeated",
    "parallel",
    "stopped",
    "poisson-stopped",
    "ledger",
)
COMBINATIONS = {
    "Sequential",
    "Repeated",
    "Parallel",
    "Under",
    "Grouped",
    "Sampled",
    "RandomStopping",
    "PoissonStopping",
    "Moved",  # made by ledgers, for a split by a private key; tests of theirs
}


def test_every_kind_of_event_has_a_mechanism() -> None:
    kinds = {name.split(",")[0] for name in LEAVES}
    assert kinds | COMBINATIONS == set(event_names())
    assert not kinds & COMBINATIONS


def best_run(law: brute.Law, ranking: np.ndarray, runs) -> brute.Law:
    """The best of a random number of runs: `runs` is the generating function of their number."""
    order = np.argsort(-ranking, kind="stable")

    def found(records: brute.Records) -> np.ndarray:
        table = law(records)
        up_to = np.minimum(np.cumsum(table[order[::-1]]), 1.0)  # from the worst on
        return np.concatenate(([runs(0.0)], np.diff(runs(np.concatenate(([0.0], up_to))))))

    return found


def wrap(leaf: Event, witness: Witness, wrapper: str) -> tuple[Event, Witness, int]:
    """The event, its mechanism, and by how many records neighbours differ."""
    law = witness.law
    match wrapper:
        case "plain" | "ledger":
            return leaf, witness, 1
        case "sampled":
            return (
                dpcheck.Sampled(leaf, 0.4),
                brute.wrapped(witness, partial(brute.sampled, rate=0.4)),
                1,
            )
        case "grouped":
            return dpcheck.Grouped(leaf, 2), witness, 2
        case "repeated":
            return leaf * 2, brute.wrapped(witness, lambda one: brute.together(one, one)), 1
        case "parallel":
            return leaf | leaf, witness, 1
        case "stopped" | "poisson-stopped":
            first, second = (law(d) for d in witness.neighbours(REPLACE))
            ranking = first / np.maximum(second, 1e-300)
            if wrapper == "stopped":  # geometric: E s^K = g s/(1 - (1 - g) s)
                runs = lambda s: 0.5 * s / (1 - 0.5 * s)  # noqa: E731
                return (
                    dpcheck.RandomStopping(leaf, 1.0, 0.5),
                    brute.wrapped(witness, lambda one: best_run(one, ranking, runs)),
                    1,
                )
            runs = lambda s: np.exp(2.0 * (s - 1))  # noqa: E731
            return (
                dpcheck.PoissonStopping(leaf, 2.0),
                brute.wrapped(witness, lambda one: best_run(one, ranking, runs)),
                1,
            )
    relation = wrapper.removeprefix("under ")
    return dpcheck.Under(relation, leaf), witness, 1


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    y = math.exp(epsilon)
    return max(float(np.maximum(p - y * q, 0).sum()), float(np.maximum(q - y * p, 0).sum()))


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """The larger of both divergences, outcomes that are hardly ever seen taken as one."""
    rare = np.minimum(p, q) < 1e-9
    p, q = (np.append(law[~rare], law[rare].sum()) for law in (p, q))
    if np.any((np.maximum(p, q) > 1e-6) & (np.minimum(p, q) < 1e-12)):
        return math.inf
    p, q = p[:-1], q[:-1]  # the last is less than what is compared
    moments = [(p**order * q ** (1 - order)).sum(), (q**order * p ** (1 - order)).sum()]
    return math.log(max(moments)) / (order - 1)


def check(event: Event, adjacency: Adjacency, tables: list[tuple[np.ndarray, np.ndarray]]) -> None:
    epsilons = [0.0, 0.3, 1.0, 2.5]
    deltas = dpcheck.delta(event, epsilon=epsilons, adjacency=adjacency)
    spent = dpcheck.epsilon(event, delta=1e-3, adjacency=adjacency)
    pure = dpcheck.epsilon(event, adjacency=adjacency).upper
    order = dpcheck.rdp(event, order=3.0, adjacency=adjacency).upper
    for p, q in tables:
        for epsilon, bound in zip(epsilons, deltas, strict=True):
            assert hockey_stick(p, q, epsilon) <= bound.upper * (1 + 1e-9) + 1e-12
        if math.isfinite(spent.upper):
            assert hockey_stick(p, q, spent.upper) <= 1e-3 * (1 + 1e-9) + 1e-12
        if math.isfinite(pure):
            assert hockey_stick(p, q, pure) <= 1e-12
        if math.isfinite(order) and "AboveThreshold" not in repr(event):
            assert renyi(p, q, 3.0) <= order * (1 + 1e-6) + 1e-9


def check_ledger(event: Event, adjacency: Adjacency, tables: list) -> None:
    ledger = dpcheck.Ledger(budget=dpcheck.Budget(1e4, 0.2), adjacency=adjacency)
    people = ledger.dataset("people", rows=getattr(event, "rows", 3))
    try:
        ledger.spend(people, event)
    except dpcheck.BudgetExceeded:
        return  # it costs too much, which is safe
    spent = ledger.epsilon(delta=1e-2).upper
    for p, q in tables:
        assert math.isinf(spent) or hockey_stick(p, q, spent) <= 1e-2 * (1 + 1e-9)


# Which relations a cell is refused under: A add-remove, Z zero-out, R replace-one.
LETTERS = {"A": ADD, "Z": ZERO, "R": REPLACE}
# The relation changes what is public, or no bound is proved under it.
EVERYWHERE = {
    "RandomizedResponse": "AZ",
    "ShuffledReports": "AZ",
    "FixedBatchGaussian": "A",
    "WithReplacementGaussian": "A",
    "OutputPerturbation": "A",
    "OutputPerturbation, zeroed": "A",
    "RealisedBatchGaussian": "Z",
    "RandomAllocationGaussian": "R",
    "ReportNoisyMax, counts": "Z",
    "AboveThreshold, counts": "Z",
}
# What is known by a guarantee: proved under one relation, it says nothing where rows come or stay.
GUARANTEES = {
    "AboveThreshold",
    "AboveThreshold, counts",
    "ApproxDP",
    "ExponentialMechanism",
    "FinitePair",
    "FinitePair, uneven",
    "GDP",
    "LossDistribution",
    "PermuteAndFlip",
    "PureDP",
    "ReportNoisyMax",
    "ReportNoisyMax, counts",
    "ReportNoisyMax, gumbel",
    "ZCDP",
}
STATED = {"under add-remove": "Z", "under zero-out": "A", "under replace-one": "A"}
# On a sample: any event where a record comes or goes, some under more relations, none that counts rows.
ON_A_SAMPLE = {"Gaussian": "", "Laplace": "", "ZCDP": "R"} | dict.fromkeys(
    (
        "FixedBatchGaussian",
        "GaussianObjectivePerturbation",
        "ObjectivePerturbation",
        "OutputPerturbation",
        "OutputPerturbation, zeroed",
        "RandomizedResponse",
        "RealisedBatchGaussian",
        "ShuffledReports",
        "TruncatedPoissonGaussian",
        "WithReplacementGaussian",
    ),
    "AZR",
)
ELSEWHERE = {
    # A person's contributions are described as a whole; records may be in groups that overlap.
    ("MixtureGaussian", "grouped"): "AZR",
    ("BandedMatrix, sampled", "grouped"): "AZR",
    # These name a relation of their own.
    ("OutputPerturbation", "under add-remove"): "AZR",
    ("OutputPerturbation", "under zero-out"): "AZR",
    ("OutputPerturbation, zeroed", "under add-remove"): "AZR",
    ("OutputPerturbation, zeroed", "under replace-one"): "AZR",
}


def expected(name: str, wrapper: str) -> str:
    """The relations under which a cell is refused, and should be."""
    if (name, wrapper) in ELSEWHERE:
        return ELSEWHERE[name, wrapper]
    if wrapper == "sampled":
        return ON_A_SAMPLE.get(name, "ZR")
    if wrapper in STATED and name in GUARANTEES:
        return STATED[wrapper]
    return EVERYWHERE.get(name, "")


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("name", LEAVES)
def test_never_below_a_mechanism_that_it_describes(name: str, wrapper: str) -> None:
    leaf, refused = LEAVES[name], ""
    for letter, adjacency in LETTERS.items():
        stated = (
            Adjacency(wrapper.removeprefix("under ")) if wrapper.startswith("under") else adjacency
        )
        found = witnesses(leaf, stated)
        try:
            event = wrap(leaf, found[0], wrapper)[0]
            dpcheck.epsilon(event, delta=0.5, adjacency=adjacency)
        except (UnsupportedAdjacency, InvalidParameter, InvalidEvent):
            refused += letter
            continue
        tables = []
        for witness in found:
            _, seen, group = wrap(leaf, witness, wrapper)
            tables.append(tuple(seen.law(d) for d in seen.neighbours(adjacency, group)))
        (check_ledger if wrapper == "ledger" else check)(event, adjacency, tables)
    assert refused == expected(name, wrapper)
