"""dp-accounting's own expectations about its mechanisms, held against certified bounds.

    python benchmarks/peers/conformance.py        # or: make conformance

The released tests of the installed dp-accounting are run, and every delta of a mechanism that they compare
with a number is noted as a fact: mechanism, parameters, epsilon, number, place. Each is then bounded by
dpcheck on both sides. Covered are the tests of `pld/privacy_loss_mechanism_test.py` that ask for a delta.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
import unittest
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.accounting.losses import (
    DiscreteLaplaceLoss,
    FiniteLoss,
    GaussianLoss,
    GaussianMixtureLoss,
    LaplaceLoss,
    Loss,
    OppositeMixtureLoss,
    SampledLaplaceLoss,
    SampledLoss,
)
from dpcheck.accounting.pld.distribution import pld_delta
from dpcheck.core.errors import DpcheckError
from dpcheck.numerics.side import Side

# A delta as many digits as the tests print.
DIGITS = 1e-7


@dataclass(frozen=True)
class Fact:
    """What a test says a mechanism's delta is."""

    place: str
    mechanism: str
    parameters: tuple[tuple[str, Any], ...]
    epsilon: float
    number: float


class Told(float):
    """A delta that knows which mechanism told it."""

    source: tuple[Any, float]


FACTS: list[Fact] = []


def recording(kind: type) -> None:
    """Let the mechanism's deltas say where they come from."""
    plain = kind.get_delta_for_epsilon

    def told(self: Any, epsilon: Any) -> Any:
        found = plain(self, epsilon)
        if np.ndim(epsilon):
            return [tag(self, e, d) for e, d in zip(epsilon, found, strict=True)]
        return tag(self, epsilon, found)

    kind.get_delta_for_epsilon = told


def tag(mechanism: Any, epsilon: float, delta: float) -> Told:
    """The delta with its source."""
    found = Told(delta)
    found.source = (mechanism, float(epsilon))
    return found


def note(test: unittest.TestCase, first: Any, second: Any, *_: Any, **__: Any) -> None:
    """In place of a comparison: note what it expects of a mechanism."""
    pairs = (
        zip(first, second, strict=True) if np.ndim(first) and np.ndim(second) else [(first, second)]
    )
    for one, other in pairs:
        for expected, told in ((one, other), (other, one)):
            if isinstance(told, Told) and not isinstance(expected, Told):
                mechanism, epsilon = told.source
                FACTS.append(
                    Fact(
                        test.id(),
                        type(mechanism).__name__,
                        parameters(mechanism),
                        epsilon,
                        float(expected),
                    )
                )


def parameters(mechanism: Any) -> tuple[tuple[str, Any], ...]:
    """What the mechanism was made with."""
    names = (
        "standard_deviation",
        "_standard_deviation",
        "parameter",
        "_parameter",
        "sensitivity",
        "_sensitivity",
    )
    names += ("sampling_prob", "adjacency_type", "sigma", "_sigma", "_truncation_bound")
    found = {}
    for name in names:
        value = getattr(mechanism, name, None)
        if value is not None and not callable(value):
            found[name.strip("_")] = getattr(value, "name", value)
    return tuple(sorted(found.items()))


def loss_of(fact: Fact) -> Loss | None:
    """The pair the fact is about; None for mechanisms that have no pair here."""
    given = dict(fact.parameters)
    rate, way = float(given.get("sampling_prob", 1.0)), str(given.get("adjacency_type", "REMOVE"))
    shift = float(given.get("sensitivity", 1.0))
    back = way == "ADD"
    if fact.mechanism == "GaussianPrivacyLoss":
        mu = shift / float(given["standard_deviation"])
        if way == "REPLACE":
            return OppositeMixtureLoss((mu,), (rate,)) if rate < 1 else GaussianLoss(2 * mu)
        return GaussianMixtureLoss((mu,), (rate,), back) if rate < 1 else GaussianLoss(mu)
    if fact.mechanism == "LaplacePrivacyLoss" and way != "REPLACE":
        ratio = shift / float(given["parameter"])
        return SampledLaplaceLoss(ratio, rate, back) if rate < 1 else LaplaceLoss(ratio)
    inner: Loss | None = None
    if fact.mechanism == "DiscreteLaplacePrivacyLoss":
        inner = DiscreteLaplaceLoss(1 / float(given["parameter"]), int(shift))
    elif fact.mechanism == "DiscreteGaussianPrivacyLoss":
        return truncated(
            float(given["sigma"]), int(shift), int(given["truncation_bound"]), rate, back
        )
    if inner is None or way == "REPLACE":
        return None
    return SampledLoss(((inner, 1),), rate, back) if rate < 1 else inner


def truncated(sigma: float, shift: int, bound: int, rate: float, back: bool) -> FiniteLoss:
    """Their integer noise ends at a bound: a table."""
    x = np.arange(-bound, bound + shift + 1)
    without, with_it = (
        np.where(np.abs(x - by) <= bound, np.exp(-((x - by) ** 2) / (2 * sigma**2)), 0.0)
        for by in (0, shift)
    )
    q, p = without / without.sum(), with_it / with_it.sum()
    p = (1 - rate) * q + rate * p
    return FiniteLoss(tuple(q), tuple(p)) if back else FiniteLoss(tuple(p), tuple(q))


def collected() -> list[Fact]:
    """Run the tests, comparisons replaced by notes."""
    from dp_accounting.pld import privacy_loss_mechanism, privacy_loss_mechanism_test

    for kind in (
        "GaussianPrivacyLoss",
        "LaplacePrivacyLoss",
        "DiscreteLaplacePrivacyLoss",
        "DiscreteGaussianPrivacyLoss",
    ):
        recording(getattr(privacy_loss_mechanism, kind))
    for name in ("assertAlmostEqual", "assertSequenceAlmostEqual", "assertEqual"):
        setattr(unittest.TestCase, name, note)
    suite = unittest.defaultTestLoader.loadTestsFromModule(privacy_loss_mechanism_test)
    with contextlib.redirect_stderr(io.StringIO()):
        unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    return FACTS


def verdict(fact: Fact) -> tuple[str, float, float]:
    """Whether the number lies between our bounds, within the digits it is printed with; and the bounds."""
    loss = loss_of(fact)
    if loss is None:
        return "no such event", np.nan, np.nan
    at = np.array([fact.epsilon])
    try:
        low, high = (
            float(pld_delta(((loss, 1),), at, side)[0]) for side in (Side.LOWER, Side.UPPER)
        )
    except DpcheckError:
        return "refused", np.nan, np.nan
    low = max(low, -math.expm1(fact.epsilon))  # of every pair
    slack = DIGITS * (1 + fact.number)
    if fact.number < low - slack:
        return "below the truth", low, high
    return ("above the truth" if fact.number > high + slack else "agrees"), low, high


def coarse_mixture() -> str:
    """A known deviation: a mixture of Gaussians on a lattice of step 1, meant to be an upper bound."""
    from dp_accounting.pld import privacy_loss_distribution

    theirs = privacy_loss_distribution.from_mixture_gaussian_mechanism(
        1, [1], [1], value_discretization_interval=1
    ).get_delta_for_epsilon(0)
    truth = math.erf(1 / math.sqrt(8))
    return (
        f"from_mixture_gaussian_mechanism(1, [1], [1], value_discretization_interval=1): delta(0) is "
        f"{theirs:.4f}, the truth {truth:.4f}: {'below the truth' if theirs < truth - DIGITS else 'above it'}"
    )


def main() -> int:
    """The table, and how many there are of each verdict."""
    facts = list(dict.fromkeys(collected()))
    counts: Counter[str] = Counter()
    close = 0
    for fact in facts:
        found, low, high = verdict(fact)
        counts[found] += 1
        close += found == "agrees" and high - low <= 1e-4
        if found not in ("agrees", "no such event"):
            print(f"{found}: {fact} ours [{low:.9g}, {high:.9g}]")
    print(coarse_mixture())
    print(
        f"{len(facts)} numbers: {dict(counts)}; of {close} both sides are within 1e-4 of each other"
    )
    return 1 if counts["below the truth"] or counts["above the truth"] else 0


if __name__ == "__main__":
    sys.exit(main())
