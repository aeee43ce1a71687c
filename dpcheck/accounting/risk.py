"""What an attacker gains: the accountant's curve as rates of real attacks.

All of it is read off one trade-off function: the best membership test at a false-positive rate, its
advantage over guessing, and the chance to reconstruct a record. Upper bounds are what to rely on;
lower bounds say what the best attack on the worst mechanism of that description achieves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpcheck.accounting.api import delta, tradeoff
from dpcheck.accounting.certify.bound import from_advantage, from_missed
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.events.event import Event
from dpcheck.core.validate import probability

FALSE_POSITIVES = (0.001, 0.01, 0.1)


def advantage(event: Event, *, adjacency: Adjacency | str | None = None) -> Bound:
    """The most by which a membership test's true positives exceed its false positives.

    Guarantee: no test does better than `upper`. It is the total variation distance, delta at
    epsilon 0.
    Reference: [Kulynych2024], which calibrates noise to it.

    >>> from dpcheck import Gaussian
    >>> round(advantage(Gaussian(1.0)).upper, 6)
    0.382925
    """
    return delta(event, epsilon=0.0, adjacency=adjacency)


def attack_accuracy(event: Event, *, adjacency: Adjacency | str | None = None) -> Bound:
    """How often the best attacker is right about one fair coin: in the data or not.

    Guarantee: no attacker is right more often than `upper`.

    >>> from dpcheck import Gaussian
    >>> round(attack_accuracy(Gaussian(1.0)).upper, 6)
    0.691462
    """
    return from_advantage(advantage(event, adjacency=adjacency))


def true_positives(event: Event, fpr: float, *, adjacency: Adjacency | str | None = None) -> Bound:
    """The highest true-positive rate of any membership test with this false-positive rate.

    Guarantee: no test does better than `upper`.
    Reference: [Dong2022] Definition 2.1: it is 1 - f(fpr).

    >>> from dpcheck import Gaussian
    >>> round(true_positives(Gaussian(1.0), 0.01).upper, 6)
    0.092362
    """
    rate = probability("fpr", fpr)
    missed = tradeoff(event, rate, adjacency=adjacency)
    return from_missed(missed, rate)


def reconstruction(
    event: Event, guess: float, *, adjacency: Adjacency | str | None = None
) -> Bound:
    """The chance that an attacker reconstructs a record it would guess with probability `guess`.

    `guess` is the success of the best guess made without the release: 1/k for a uniform attribute of
    k values. What counts as success (an exact match, an error below some distance) is part of it.

    Guarantee: no attacker that knows all other records, and the prior, succeeds more often than
    `upper`. For each value of the record "success" is an event; it has probability `guess` on average
    where the record was not used, at most 1 - f of that where it was, and 1 - f is concave.
    Reference: [Hayes2023] Theorem 2.
    Assumes: the record is drawn from the prior independently of the others.

    >>> from dpcheck import PureDP
    >>> round(reconstruction(PureDP(1.0), 0.01, adjacency="add-remove").upper, 6)
    0.027183
    """
    return true_positives(event, guess, adjacency=adjacency)


@dataclass(frozen=True, slots=True)
class AttackRisk:
    """The rates people ask for first; `true_positives` and `reconstruction` by their argument."""

    advantage: Bound
    accuracy: Bound
    true_positives: dict[float, Bound]
    reconstruction: dict[float, Bound]

    def to_dict(self) -> dict[str, Any]:
        """As plain data; rates are keyed by their argument as text."""
        return {
            "advantage": _ends(self.advantage),
            "accuracy": _ends(self.accuracy),
            "true_positives": {f"{p:g}": _ends(b) for p, b in self.true_positives.items()},
            "reconstruction": {f"{p:g}": _ends(b) for p, b in self.reconstruction.items()},
        }

    def __str__(self) -> str:
        rows = [
            ("membership advantage", self.advantage),
            ("membership accuracy", self.accuracy),
            *((f"true positives at {rate:g} false", b) for rate, b in self.true_positives.items()),
            *((f"reconstruction, guessed at {g:g}", b) for g, b in self.reconstruction.items()),
        ]
        return "\n".join(f"  {name:<34}at most {bound.upper:.6g}" for name, bound in rows)


def attack_risk(
    event: Event,
    *,
    adjacency: Adjacency | str | None = None,
    fprs: tuple[float, ...] = FALSE_POSITIVES,
    guesses: tuple[float, ...] = (0.1, 0.5),
) -> AttackRisk:
    """Every rate at once.

    Guarantee: as for each.

    >>> from dpcheck import Gaussian
    >>> print(attack_risk(Gaussian(4.0), fprs=(0.01,), guesses=(0.1,)))
      membership advantage              at most 0.0994764
      membership accuracy               at most 0.549738
      true positives at 0.01 false      at most 0.0189309
      reconstruction, guessed at 0.1    at most 0.151141
    """
    rates = {
        p: true_positives(event, p, adjacency=adjacency) for p in dict.fromkeys(fprs + guesses)
    }
    return AttackRisk(
        advantage(event, adjacency=adjacency),
        attack_accuracy(event, adjacency=adjacency),
        {fpr: rates[fpr] for fpr in fprs},
        {guess: rates[guess] for guess in guesses},
    )


def _ends(bound: Bound) -> dict[str, float]:
    return {"lower": bound.lower, "upper": bound.upper}
