"""Small federations to attack: neighbouring data, and runs of the real protocol on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dpcheck.core.data import Plain
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import count, positive
from dpcheck.mechanisms.federated.protocol.autoencoder import Array
from dpcheck.mechanisms.federated.protocol.model import KnownToA, KnownToB, Objective
from dpcheck.mechanisms.ftl import FederatedTransfer, Federation

FOLDS = 3  # with three, any two rows are together in some training set


@dataclass(frozen=True, slots=True)
class Scenario:
    """Sizes of the data and of the networks, and whose signs are used."""

    rows_a: int
    rows_b: int
    common: int
    labelled: int
    features_a: int
    features_b: int
    hidden: int
    iterations: int
    rate: float
    signs: Literal["corrected", "printed"]
    transport: Literal["plain", "in-process"] = "plain"

    def model(self) -> FederatedTransfer:
        """The mechanism; unencrypted it has the same numbers without the wait."""
        return FederatedTransfer(
            hidden=(self.hidden,),
            rate=self.rate,
            iterations=self.iterations,
            variant=self.signs,
            transport=self.transport,
        )

    @property
    def objective(self) -> Objective:
        """What is minimised."""
        return self.model().settings().objective

    def data(self, rng: np.random.Generator) -> Federation:
        """Random rows; the first ones of each party are common."""
        shared = np.arange(self.common)
        return Federation(
            rng.normal(size=(self.rows_a, self.features_a)),
            rng.choice([-1.0, 1.0], self.rows_a),
            rng.normal(size=(self.rows_b, self.features_b)),
            shared,
            shared,
            self.labelled,
        )

    def pair_in_b(self, rng: np.random.Generator) -> tuple[Federation, Federation]:
        """Neighbours: row 1 of B is a copy of row 0, or another row."""
        second = self.data(rng)
        X = second.X_b.copy()
        X[1] = X[0]
        return replace(second, X_b=X), second

    def pair_in_a(self, rng: np.random.Generator) -> tuple[Federation, Federation]:
        """Neighbours: A's last common row, which has no label at B, copies the one before or "
        "not."""
        second = self.data(rng)
        X, y = second.X_a.copy(), second.y_a.copy()
        X[self.common - 1], y[self.common - 1] = X[self.common - 2], y[self.common - 2]
        return replace(second, X_a=X, y_a=y), replace(second, y_a=y)

    def majority_pair(self, rng: np.random.Generator) -> tuple[Federation, Federation]:
        """Neighbours: A's rows are all the same; one more, or one less, than half are positive.

        Phi^A is then u/N or -u/N, and u is positive: every label B is told turns, for any weights.
        """
        some = self.data(rng)
        rows = self.rows_a + 1 - self.rows_a % 2
        X = np.repeat(some.X_a[:1], rows, axis=0)
        first = np.where(np.arange(rows) % 2 == 0, 1.0, -1.0)
        second = first.copy()
        second[rows - 1] = -1.0
        return replace(some, X_a=X, y_a=first), replace(some, X_a=X, y_a=second)

    def fitted(self, data: Federation, seed: int) -> FederatedTransfer:
        """Algorithm 1; `seed` gives both parties' starting weights."""
        return self.model().fit(data, rng=np.random.default_rng(seed))

    def validated(self, data: Federation, seed: int) -> FederatedTransfer:
        """Algorithm 3; `seed` gives the folds and the starting weights.

        Folds that hold all labels at once cannot be trained without them; the next seed is taken,
        for neighbours alike.
        """
        for attempt in range(100):
            model = self.model()
            try:
                model.cross_validate(data, folds=FOLDS, rng=np.random.default_rng([seed, attempt]))
            except InvalidParameter as error:
                if error.data.get("name") != "folds":
                    raise
                continue
            return model
        raise InvalidParameter(
            f"too few labels to split into {FOLDS} folds; raise labelled.", name="labelled"
        )

    def known_a(self, data: Federation) -> KnownToA:
        """A's side of a training on all rows."""
        return KnownToA(data.y_a, data.y_a[data.common_a[: self.labelled]], data.common_a)

    def known_b(self, data: Federation) -> KnownToB:
        """B's side of a training on all rows."""
        return KnownToB(data.common_b[: self.labelled], data.common_b)


def read_scenario(
    settings: Mapping[str, Plain], signs: Literal["corrected", "printed"]
) -> Scenario:
    """A scenario from `--set`."""
    sizes = {
        name: count(name, settings[name])
        for name in (
            "rows_a",
            "rows_b",
            "common",
            "labelled",
            "features_a",
            "features_b",
            "hidden",
            "iterations",
        )
    }
    if sizes["common"] > min(sizes["rows_a"], sizes["rows_b"]) or sizes["common"] < 2:
        raise InvalidParameter(
            "common must be at least 2 and at most rows_a and rows_b.", name="common"
        )
    if sizes["labelled"] > sizes["common"] - 2:
        raise InvalidParameter(
            "labelled must leave two common rows without a label at B.", name="labelled"
        )
    return Scenario(
        **sizes,
        rate=positive("rate", settings["rate"]),
        signs=signs,
        transport=settings["transport"],
    )


def largest(values: Array) -> float:
    """The largest absolute entry."""
    return float(np.abs(values).max(initial=0.0))
