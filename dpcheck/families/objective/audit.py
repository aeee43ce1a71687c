"""The audits of the objective-perturbation family: one builder, a few lines per algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.plan import Named, NoiseShift, PartPlan, Pivot, plan_part
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.data import Data, Plain
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import count
from dpcheck.session.judgement import Judgement
from dpcheck.session.region import Hypotheses
from dpcheck.session.registry import Audit, AuditSetup, Parameter

if TYPE_CHECKING:  # scikit-learn takes as long to load as all the rest
    from dpcheck.families.objective.search import Situation

ROWS = Parameter("rows", 10_000, "rows of each dataset, before any split")
FEATURES = Parameter("features", 0, "features; 0 stands for 4 times the groups")
GROUPS = Parameter("groups", 5, "feature groups, or row partitions for pst_s")
REGULARIZATION = Parameter("regularization", 0.001, "lambda of every block")
CENTER = Parameter(
    "center",
    "free",
    "the regulariser's public centre: chosen by the attacker, or 0",
    ("free", "zero"),
)
MODULUS = Parameter("modulus", 1.0, "modulus of strong convexity of the regulariser g")
SOURCE_BLOCKS = Parameter(
    "source_blocks",
    "plr",
    "the source's models: PLR on every group, or PLR-FS",
    ("plr", "plr-fs"),
)
IMPORTANCES = Parameter("importances", "", "q_k of the groups, like 0.5,0.3,0.2; empty: all equal")
LAMBDAS = Parameter("regularizations", "", "lambda of every group, like 0.1,0.01; empty: all equal")
ETA = Parameter("eta", 0.0, "weight of |w|^2 against the distance to the source's model")
EPSILON_TARGET = Parameter("epsilon_target", 0.0, "epsilon of the target; 0: that of the source")
HIGH = (
    Parameter("high_regularization", 0.0, "lambda of the stacking layer; 0: as the first group's"),
    Parameter("high_share", 0.5, "share of the rows that train the stacking layer"),
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
    parameters: tuple[Parameter, ...] = ()  # further ones, handed to the constructor as they are
    judgement: Judgement | None = None
    has_region: bool = False  # families.objective.region has the printed claim under this name

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
    for own in family.parameters:
        value = s.get(own.name, own.default)
        if value == own.default:
            continue
        if own is LAMBDAS:
            arguments |= {f"regularization{end}": _numbers(own.name, value) for end in both}
        else:
            arguments[own.name] = _numbers(own.name, value) if own is IMPORTANCES else value
    if request.variant != "corrected":
        arguments["variant"] = request.variant
    return arguments


def _numbers(name: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        raise InvalidParameter(
            f"{name} takes numbers like 0.5,0.5, got {text!r}.", name=name
        ) from None


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
        design = self.model.design(data)
        slices = design.slices()
        released = {name: releases[:, place] for name, place in slices.items()}
        total = np.zeros(len(releases))
        for block in design.blocks:
            if block.part == self.part:
                objective = design.objective(block, data, released)
                weights = released[block.name]
                noise = objective.noise(weights, objective.pulls(weights))
                total += block.event.noise_epsilon / 2 * np.linalg.norm(noise, axis=1)
        return total


@dataclass(frozen=True, slots=True)
class _FlippedLabel:
    """Where the noise of every block has to lie for a flipped label to show; None for other pairs.

    With x~ the flipped row times its label on D, the noise behind an output is b on D and b - x~ on D'
    (s(-z) + s(z) = 1), and the Jacobians are the same: the loss is (eps'/2)(|b - x~| - |b|).
    """

    model: Any
    part: str

    def __call__(self, pair: Pair, backwards: bool) -> list[NoiseShift] | None:
        from dpcheck.mechanisms.common.data import Labelled, Transfer, part_of

        sides = [
            side for side in (pair.first, pair.second) if isinstance(side, Labelled | Transfer)
        ]
        first, second = (part_of(side, self.part) for side in sides)
        changed = np.flatnonzero(first.y != second.y)
        if len(changed) != 1 or not np.array_equal(first.X, second.X):
            return None
        record, found = int(changed[0]), []
        for block in self.model.design(pair.first).blocks:
            if block.part != self.part or record not in block.rows:
                found.append(NoiseShift(block.width, None, 0.0))
                continue
            if block.columns is None:
                return None  # its features are predictions, which differ from run to run
            row = block.low_features(first.X[[record]])[0] * first.y[record]
            length = float(np.linalg.norm(row))
            if not length:
                return None
            sign = 1.0 if backwards else -1.0
            ratio = block.event.noise_epsilon / 2 * length
            found.append(NoiseShift(block.width, sign * row / length, ratio))
        return found


def _pivot(model: Any, blank: Data, part: str) -> Pivot:
    width = sum(b.width for b in model.design(blank).blocks if b.part == part)
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
    arguments = _arguments(family, request)
    shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    constructor = f"{family.estimator}({shown})"
    return [
        _build_part(family, request, _situation(family, request, part), constructor)
        for part in family.sources
    ]


def _build_model(family: Family, model: Any, request: AuditSetup) -> Sequence[PartPlan]:
    """The audit of a model as somebody set it up; of the settings only the shape of the data counts."""
    from dpcheck.families.objective.search import Situation

    free = family.takes_center and model.get_params().get("center") is None
    free = free and request.settings["center"] == "free"
    request = replace(request, variant=str(model.get_params().get("variant", "corrected")))
    blank = _blank(family, request.settings)
    # Settings do not say what the model is, so a witness cannot be replayed from them: it is a program.
    request = replace(request, settings={})
    return [
        _build_part(family, request, Situation(model, blank, part, free), repr(model))
        for part in family.sources
    ]


def _build_part(
    family: Family, request: AuditSetup, situation: Situation, constructor: str
) -> PartPlan:
    from dpcheck.families.objective.search import ObjectiveSearch
    from dpcheck.mechanisms import flip

    model, blank, part = situation.model, situation.blank, situation.part
    budget = Budget(model.claimed_epsilon(part))
    claimed = Claim(budget, Adjacency.REPLACE_ONE, family.sources[part], part)
    recipe = flip(model, blank, part)
    header = {
        **({"audit": family.name} if request.settings else {}),
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
        search=ObjectiveSearch(situation, budget.epsilon, header, constructor),
        loss_runs=50,
        shifts=_FlippedLabel(model, part),
    )


def _replay(family: Family, witness: Mapping[str, Plain]) -> float:
    from dpcheck.families.objective.search import replay

    request = AuditSetup(
        epsilon=float(witness["epsilon"]),
        variant=str(witness["variant"]),
        settings=dict(witness["settings"]),
    )
    part = str(witness["part"])
    situation = _situation(family, request, part)
    if not math.isclose(float(witness["claim"]), situation.model.claimed_epsilon(part)):
        raise ValueError("the claim is not the budget the algorithm was given")
    return replay(situation, witness)


def _regions(name: str) -> Sequence[Hypotheses]:
    from dpcheck.families.objective import region

    found: Sequence[Hypotheses] = getattr(region, name.upper())
    return found


def objective_audit(
    family: Family, *, variants: tuple[str, ...] = ("corrected", "printed")
) -> Audit:
    """The registered audit of a family member."""
    parameters = [ROWS, FEATURES, REGULARIZATION, CALIBRATION]
    if family.grouped is not None:
        parameters.insert(2, GROUPS)
    if family.takes_center:
        parameters.append(CENTER)
    parameters.extend(family.parameters)
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
        regions=(lambda: _regions(family.name)) if family.has_region else None,
        estimator=family.estimator,
        build_model=lambda model, r: _build_model(family, model, r),
    )
