"""The audits of output perturbation: DPHTL and DPIW share their targets, claims and variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.plan import Named, NoiseShift, PartPlan, Pivot, plan_part
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.data import Data, Plain
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import count, positive
from dpcheck.families.output.loss import OutputGame, OutputPair
from dpcheck.families.output.search import OutputSearch, OutputTarget, RowDomain
from dpcheck.mechanisms.output.rows import RowShape
from dpcheck.session.registry import AuditSetup, Parameter

Array = NDArray[np.float64]
VARIANTS = ("corrected", "printed", "signed")
ROWS = Parameter("rows", 10_000, "private rows; for dphtl, of each of the two parts of a source")
FEATURES = Parameter("features", 20, "features")
WEIGHT_REGULARIZATION = Parameter("weight_regularization", 0.001, "lambda of the weight model")
BOUND = Parameter(
    "bound",
    "box",
    "how the corrected variant bounds rows of the weight model",
    ("box", "ball", "positive-ball"),
)
REACH = Parameter(
    "largest_row", 100.0, "norm of the longest row the attacker uses where rows are not bounded"
)


@dataclass(frozen=True, slots=True)
class Attack:
    """A model, blank data of the audited shape, and how the rows of a witness get into it."""

    model: Any
    blank: Data
    targets: Sequence[OutputTarget]
    pair: Pair
    width: int


def weight_domain(model: Any, features: int, largest_row: float) -> RowDomain:
    """The rows of the weight model: what the variant clips to, or all up to the attacker's reach."""
    bound = model.row_bound(features)
    if bound.kind is RowShape.NONE:
        return RowDomain(RowShape.BALL, positive("largest_row", largest_row), features)
    return RowDomain(bound.kind, bound.radius, features)


def weight_game(rate: float, rows: int, lam: float, domain: RowDomain) -> OutputGame:
    """The weight model on private and public rows."""
    return OutputGame(rate, rows, lam, domain.sizes, True)


def spread(row: Sequence[float] | Array, sizes: Sequence[int], features: int) -> Array:
    """A row of groups as a row of features; coordinates nobody uses are 0."""
    full = np.repeat(np.asarray(row, dtype=float), sizes)
    return np.concatenate([full, np.zeros(features - len(full))])


def private_rows(first: Array, others: Array, rows: int) -> Array:
    """The changed row above copies of the background."""
    table = np.tile(others, (rows, 1))
    table[0] = first
    return table


def expand(
    pair: OutputPair, sizes: Sequence[int], rows: int, features: int
) -> tuple[Array, Array, Array]:
    """(rows of D, rows of D', public rows)."""
    full = {n: spread(getattr(pair, n), sizes, features) for n in OutputPair.__slots__}
    return (
        private_rows(full["changed"], full["background"], rows),
        private_rows(full["replaced"], full["background"], rows),
        full["public"][None, :],
    )


@dataclass(frozen=True, slots=True)
class _Moved:
    """Where the noise has to lie: a release at noise b of D is at b + (theta - theta') of D'."""

    model: Any

    def __call__(self, pair: Pair, backwards: bool) -> list[NoiseShift] | None:
        ends = (pair.second, pair.first) if backwards else (pair.first, pair.second)
        blocks, others = (self.model.blocks(side) for side in ends)
        found = []
        for block, other in zip(blocks, others, strict=True):
            moved = block.center - other.center
            length = float(np.linalg.norm(moved))
            direction = moved / length if length else None
            found.append(NoiseShift(block.width, direction, block.scale.rate * length))
        return found


def plan(name: str, part: str, source: str, request: AuditSetup, attack: Attack) -> PartPlan:
    """The one part of an output-perturbation audit."""
    claim = Claim(Budget(request.epsilon), Adjacency.REPLACE_ONE, source, part)
    return plan_part(
        Named(name, request.variant, request.timeout),
        attack.model,
        part,
        claim,
        [attack.pair],
        data=attack.blank,
        pivot=Pivot(attack.model.noise_lengths, float(attack.width), "output noise"),
        search=search_of(name, part, request, attack),
        loss_runs=200,
        shifts=_Moved(attack.model),
    )


def search_of(name: str, part: str, request: AuditSetup, attack: Attack) -> OutputSearch:
    """The witness search, with what a replay needs."""
    header = {
        "audit": name,
        "variant": request.variant,
        "part": part,
        "epsilon": request.epsilon,
        "settings": dict(request.settings),
    }
    return OutputSearch(attack.targets, request.epsilon, header)


def check(name: str, request: AuditSetup) -> None:
    """Refuse what a pure algorithm cannot be asked."""
    if request.delta:
        raise InvalidParameter(
            f"{name} is a pure epsilon algorithm; it takes no delta.", name="delta"
        )
    positive("epsilon", request.epsilon)
    for setting in ("rows", "features"):
        count(setting, request.settings[setting])


def request_of(witness: Mapping[str, Plain]) -> AuditSetup:
    """The request a saved witness was found under."""
    if float(witness["claim"]) != float(witness["epsilon"]):
        raise ValueError("the claim is not the budget the algorithm was given")
    return AuditSetup(
        epsilon=float(witness["epsilon"]),
        variant=str(witness["variant"]),
        settings=dict(witness["settings"]),
    )
