"""Witnesses against output-perturbed minimisers: two solves per pair, searched, certified, saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, differential_evolution

from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.shrink import kept_loss
from dpcheck.core.data import Plain
from dpcheck.core.errors import DpcheckError
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.execution.runner import Runner
from dpcheck.families.output.loss import (
    OutputGame,
    OutputPair,
    as_rows,
    both_minimisers,
    certified_lower,
    losses,
)
from dpcheck.mechanisms.output.rows import RowShape

Array = NDArray[np.float64]
NAMES = ("changed", "replaced", "background", "public")


@dataclass(frozen=True, slots=True)
class RowDomain:
    """The rows an attacker may choose: a box [0, 1]^d, or a ball, which two dimensions fill.

    A `labelled` row stands times its label: a ball stays the same set, a box becomes two. In the
    box the features form up to four groups of equal values: enough for two rows that share no
    feature and a public row across both.
    """

    kind: RowShape
    radius: float
    features: int
    labelled: bool = False

    @property
    def sizes(self) -> tuple[int, ...]:
        """The features behind every coordinate that is searched."""
        if self.kind is not RowShape.BOX:
            return (1,) * min(2, self.features)
        groups = np.array_split(np.arange(self.features), min(4, self.features))
        return tuple(len(group) for group in groups)

    def decode(self, points: Array) -> Array:
        """The rows (batch, 4, groups) that numbers in [-1, 1] stand for."""
        rows = points.reshape(len(points), 4, len(self.sizes))
        if self.kind is RowShape.BOX and self.labelled:
            # The first number's sign is the label; beyond 3/4 and below 1/4 are corners.
            labels = np.where(rows[:, :, :1] < 0, -1.0, 1.0)
            return np.asarray(labels * np.clip(2 * np.abs(rows) - 0.5, 0.0, 1.0))
        if self.kind is RowShape.BOX:
            # Numbers beyond +-1/2 are corners, where the best rows are.
            return np.clip(rows + 0.5, 0.0, 1.0)
        limit = self.radius * (1 - 1e-12)
        # Cubed, so that short rows are tried as often as long ones.
        scaled = limit * np.sign(rows) * np.abs(rows) ** 3
        if self.kind is RowShape.POSITIVE_BALL:
            scaled = np.maximum(scaled, 0.0)
        length = np.linalg.norm(scaled, axis=2, keepdims=True)
        return np.asarray(
            np.where(length > limit, scaled * limit / np.maximum(length, limit), scaled)
        )

    def contains(self, pair: OutputPair) -> bool:
        """Whether every row is allowed, so that the mechanism's clipping leaves it alone."""
        rows = [np.array(getattr(pair, name)) for name in NAMES]
        if self.kind is RowShape.BOX:
            return all(
                ((row >= 0) & (row <= 1)).all()
                or (self.labelled and ((row <= 0) & (row >= -1)).all())
                for row in rows
            )
        short = all(np.linalg.norm(row) <= self.radius * (1 - 1e-13) for row in rows)
        return short and (self.kind is RowShape.BALL or all((row >= 0).all() for row in rows))


def search(game: OutputGame, domain: RowDomain, seed: np.random.SeedSequence) -> OutputPair:
    """The pair with the largest loss that was found.

    Guarantee: none beyond that it is a real pair of the domain; its loss is what it is.
    """
    width = 4 * len(domain.sizes)
    # Gradients of 1e-9 lam leave the minimisers, and so the loss, right to about nine digits.
    close = 1e-9 * game.regularization

    def cost(points: Array) -> Array:
        return -losses(game, domain.decode(points.T), close)

    found: Any = differential_evolution(
        cost,
        Bounds(-np.ones(width), np.ones(width)),
        popsize=max(10, 80 // width),
        maxiter=150,
        tol=1e-7,
        polish=False,
        vectorized=True,
        updating="deferred",
        rng=np.random.default_rng(seed),
    )
    (rows,) = domain.decode(np.asarray(found.x)[None, :])
    if not game.has_public:
        rows[3] = 0.0
    return OutputPair(*(tuple(float(v) for v in row) for row in rows))


def shrink(pair: OutputPair, keeps: Callable[[OutputPair], bool]) -> OutputPair:
    """Rounder numbers, one entry at a time, while the finding is kept."""
    for name in NAMES:
        for index, value in enumerate(getattr(pair, name)):
            for short in [0.0, *(float(f"{value:.{digits}e}") for digits in range(7))]:
                row = list(getattr(pair, name))
                row[index] = short
                simpler = replace(pair, **{name: tuple(row)})
                if keeps(simpler):
                    pair = simpler
                    break
    return pair


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """One vector of a release under attack, and how the mechanism itself takes the pair."""

    name: str  # "labelled", "unlabelled" or "data"
    game: OutputGame
    domain: RowDomain
    # pair, minimisers -> (model, D, D', release)
    materialise: Callable[[OutputPair, Array], tuple[Any, Any, Any, Array]]

    def certified(self, pair: OutputPair) -> float:
        """The proved loss, once the mechanism's own density has said the same."""
        if not self.domain.contains(pair):
            raise ValueError("a row leaves the bound the mechanism clips to")
        proved = certified_lower(self.game, pair)
        first, _ = both_minimisers(self.game, as_rows(pair))
        model, data, neighbour, release = self.materialise(pair, first[0])
        stated = float(model.log_density(data, release) - model.log_density(neighbour, release))
        if abs(stated - proved) > 1e-6 * (1 + abs(proved)):
            raise DpcheckError(
                f"the mechanism's density gives a loss of {stated!r} where the certified formula "
                f"gives {proved!r}; one of the two is wrong, so no verdict is given.",
                stated=stated,
                proved=proved,
            )
        return proved


@dataclass(frozen=True, slots=True)
class OutputSearch:
    """Search every vector of the release, certify, confirm, shrink."""

    targets: Sequence[OutputTarget]
    claim: float
    header: Mapping[str, Plain]

    @property
    def delta(self) -> float:
        """One loss is proved."""
        return 0.0

    @property
    def detectable(self) -> None:
        """Everything above the claim."""
        return

    def find(self, runner: Runner) -> tuple[float, Witness]:
        """(certified loss, witness) of the vector that leaks most."""
        best: tuple[float, OutputTarget, OutputPair] | None = None
        for index, target in enumerate(self.targets):
            pair = search(target.game, target.domain, runner.seeds("witness", index))
            loss = target.certified(pair)
            if best is None or loss > best[0]:
                best = (loss, target, pair)
        assert best is not None
        strongest, target, pair = best
        if strongest > self.claim:
            wanted = kept_loss(strongest, self.claim)
            pair = shrink(pair, lambda p: _keeps(target, p, wanted))
        return strongest, Witness(
            WitnessKind.EXACT_WITNESS,
            {
                **self.header,
                "pair": f"one {'' if target.name == 'data' else target.name + ' '}row replaced",
                "claim": self.claim,
                "loss": target.certified(pair),
                "strongest_loss": strongest,
                "vector": target.name,
                "group_sizes": list(target.game.sizes),
                "rows": {name: list(getattr(pair, name)) for name in NAMES},
            },
        )

    def _named(self, witness: Mapping[str, Plain]) -> tuple[OutputTarget, OutputPair]:
        by_name = {target.name: target for target in self.targets}
        rows = {n: tuple(float(v) for v in witness["rows"][n]) for n in NAMES}
        return by_name[str(witness["vector"])], OutputPair(**rows)

    def shown(self, witness: Witness) -> tuple[Any, Pair]:
        """The witness's pair as the mechanism takes it."""
        target, pair = self._named(witness)
        minimiser = both_minimisers(target.game, as_rows(pair))[0][0]
        model, first, second, _ = target.materialise(pair, minimiser)
        return model, Pair(first, second, str(witness["pair"]))

    def replay(self, witness: Mapping[str, Plain]) -> float:
        """The loss of a saved witness, proved and confirmed anew."""
        target, pair = self._named(witness)
        return target.certified(pair)


def _keeps(target: OutputTarget, pair: OutputPair, wanted: float) -> bool:
    # A little above, so that the certified loss is above it too.
    return target.domain.contains(pair) and float(
        losses(target.game, as_rows(pair))[0]
    ) > wanted * (1 + 1e-4)
