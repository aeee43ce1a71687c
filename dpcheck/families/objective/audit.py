"""The audits of the objective-perturbation family: one builder, a few lines per algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.plan import Named, PartPlan, Pivot, plan_part
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.data import Data, Plain
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import count
from dpcheck.session.judgement import Judgement
from dpcheck.session.registry import Audit, AuditSetup, Parameter

ROWS = Parameter("rows", 10_000, "rows of each data set, before any split")
FEATURES = Parameter("features", 0, "features; 0 stands for 4 times the groups")
GROUPS = Parameter("groups", 5, "feature groups, or row partitions for pst_s")
REGULARIZATION = Parameter("regularization", 0.001, "lambda of every block")
CENTER = Parameter(
    "center",
    "free",
    "the regulariser's public centre: chosen by the attacker, or 0",
    ("free", "zero"),
)
CALIBRATION = Parameter(
    "calibration",
    "papers",
    "noise by the papers' formula or by the exact epsilon",
    ("papers", "tight"),
)

# What all papers of the family leave open; said wherever one of them is judged.
PUBLIC_ROWS = (
    "rows are clipped to a public bound: 'scale so that |x| <= 1' does not say how, and dividing by "
    "the data's own largest row would void every claim"
)


@dataclass(frozen=True, slots=True)
class Family:
    """What differs between the algorithms."""

    name: str
    estimator: str  # in dpcheck.mechanisms
    summary: str
    paper: str
    sources: Mapping[str, str]  # part -> where the claim is made
    grouped: str | None = None  # the constructor's name for the number of groups
    takes_center: bool = False
    judgement: Judgement | None = None

    @property
    def transfer(self) -> bool:
        """Whether it has a source and a target."""
        return "target" in self.sources


def _features(settings: Mapping[str, Plain]) -> int:
    groups = count("groups", settings.get("groups", 5))
    return count("features", settings["features"] or 4 * groups)


def _arguments(family: Family, request: AuditSetup) -> dict[str, Plain]:
    s = request.settings
    both = ("_source", "_target") if family.transfer else ("",)
    arguments: dict[str, Plain] = {f"epsilon{end}": request.epsilon for end in both}
    arguments |= {f"regularization{end}": s["regularization"] for end in both}
    if family.grouped is not None:
        arguments[family.grouped] = count("groups", s["groups"])
    arguments["calibration"] = s["calibration"]
    if request.variant != "corrected":
        arguments["variant"] = request.variant
    return arguments


def _model(family: Family, arguments: Mapping[str, Plain]) -> Any:
    from dpcheck import mechanisms

    return getattr(mechanisms, family.estimator)(**arguments)


def _blank(family: Family, settings: Mapping[str, Plain]) -> Any:
    from dpcheck.mechanisms import Labelled, Transfer

    rows, features = count("rows", settings["rows"]), _features(settings)
    X, y = np.zeros((rows, features)), np.ones(rows)
    return Transfer(X, y, X, y) if family.transfer else Labelled(X, y)


@dataclass(frozen=True, slots=True)
class _NoiseLengths:
    """(eps'/2)|b| summed over the blocks of a part: Gamma(total width) when the code is right."""

    model: Any
    part: str

    def __call__(self, data: Data, releases: np.ndarray) -> np.ndarray:
        plan = self.model.plan(data)
        slices = plan.slices()
        released = {name: releases[:, place] for name, place in slices.items()}
        total = np.zeros(len(releases))
        for block in plan.blocks:
            if block.part == self.part:
                objective = plan.objective(block, data, released)
                weights = released[block.name]
                noise = objective.noise(weights, objective.pulls(weights))
                total += block.event.noise_epsilon / 2 * np.linalg.norm(noise, axis=1)
        return total


def _pivot(model: Any, blank: Data, part: str) -> Pivot:
    width = sum(b.width for b in model.plan(blank).blocks if b.part == part)
    return Pivot(_NoiseLengths(model, part), float(width), "objective noise")


def _situation(family: Family, request: AuditSetup, part: str) -> Any:
    from dpcheck.families.objective.search import Situation

    model = _model(family, _arguments(family, request))
    free = family.takes_center and request.settings["center"] == "free"
    return Situation(model, _blank(family, request.settings), part, free)


def _build(family: Family, request: AuditSetup) -> Sequence[PartPlan]:
    if request.delta:
        raise InvalidParameter(
            f"{family.name} is a pure epsilon algorithm; it takes no delta.", name="delta"
        )
    if request.epsilon <= 0:
        raise InvalidParameter("epsilon must be above 0.", name="epsilon")
    return [_build_part(family, request, part) for part in family.sources]


def _build_part(family: Family, request: AuditSetup, part: str) -> PartPlan:
    from dpcheck.families.objective.search import ObjectiveSearch
    from dpcheck.mechanisms import flip

    situation = _situation(family, request, part)
    model, blank = situation.model, situation.blank
    claimed = Claim(Budget(request.epsilon), Adjacency.REPLACE_ONE, family.sources[part], part)
    recipe = flip(model, blank, part)
    arguments = _arguments(family, request)
    shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    header = {
        "audit": family.name,
        "variant": request.variant,
        "part": part,
        "epsilon": request.epsilon,
        "settings": dict(request.settings),
    }
    return plan_part(
        Named(family.name, request.variant, request.timeout),
        model,
        part,
        claimed,
        [Pair(recipe.data, recipe.neighbour, "one label flipped")],
        data=blank,
        pivot=_pivot(model, blank, part),
        search=ObjectiveSearch(situation, request.epsilon, header, f"{family.estimator}({shown})"),
        loss_runs=50,
    )


def _replay(family: Family, witness: Mapping[str, Plain]) -> float:
    from dpcheck.families.objective.search import replay

    request = AuditSetup(
        epsilon=float(witness["epsilon"]),
        variant=str(witness["variant"]),
        settings=dict(witness["settings"]),
    )
    if not math.isclose(float(witness["claim"]), request.epsilon):
        raise ValueError("the claim is not the budget the algorithm was given")
    return replay(_situation(family, request, str(witness["part"])), witness)


def objective_audit(
    family: Family, *, variants: tuple[str, ...] = ("corrected", "printed")
) -> Audit:
    """The registered audit of a family member."""
    parameters = [ROWS, FEATURES, REGULARIZATION, CALIBRATION]
    if family.grouped is not None:
        parameters.insert(2, GROUPS)
    if family.takes_center:
        parameters.append(CENTER)
    build: Callable[[AuditSetup], Sequence[PartPlan]] = lambda r: _build(family, r)  # noqa: E731
    return Audit(
        name=family.name,
        summary=family.summary,
        paper=family.paper,
        parts=tuple(family.sources),
        build=build,
        variants=variants,
        parameters=tuple(parameters),
        replay=lambda w: _replay(family, w),
        judgement=family.judgement,
    )
