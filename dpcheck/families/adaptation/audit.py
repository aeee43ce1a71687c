"""The audits of DPDA and G-DPDA: a canary in gradient space against the accountant's curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.plan import PartPlan, Pivot
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import Proved
from dpcheck.core.claim import Claim
from dpcheck.core.data import Plain
from dpcheck.core.validate import count
from dpcheck.families.adaptation.one_run import RealTraining
from dpcheck.families.adaptation.step import CanaryStep
from dpcheck.families.adaptation.transcripts import PAIR, TranscriptLaw, TranscriptSearch
from dpcheck.session.registry import AuditSetup, Parameter

PARAMETERS = (
    Parameter("rows", 539, "target rows; fitted: [Wang2020] prints no count"),
    Parameter("noise", 6.0, "sigma"),
    Parameter("batch", 32, "expected batch size"),
    Parameter("clip", 3.0, "C, the norm gradients are clipped to"),
    Parameter("epochs", 0, "epochs over the target; 0 stands for as many as the budget allows"),
    Parameter("weights", 250_152, "weights of the network, for noise drawn per example"),
    Parameter("canaries", 1000, "canaries of the one-run audit, at most two per row; 0: none"),
)
SOURCE_ROWS = Parameter("source_rows", 2817, "source rows")
HIDDEN = 16  # units of the network that is really trained
PAPER_DELTA = 1e-5  # [Wang2020] section IV-E


def build(
    name: str, estimator: str, claims: Mapping[str, str], request: AuditSetup
) -> Sequence[PartPlan]:
    """One plan per protected part."""
    model, rows = _model(estimator, request)
    return [_part(name, model, part, rows, claims[part], request) for part in model.parts]


def replay(estimator: str, witness: Mapping[str, Plain]) -> float:
    """The epsilon of a saved witness, certified anew from its settings alone."""
    request = AuditSetup(
        epsilon=float(witness["epsilon"]),
        delta=float(witness["delta"]),
        variant=str(witness["variant"]),
        settings=dict(witness["settings"]),
    )
    model, rows = _model(estimator, request)
    name, part = str(witness["audit"]), str(witness["part"])
    return _search(name, model, part, rows, request, proved=0.0).replay(witness)


def _model(estimator: str, request: AuditSetup) -> tuple[Any, dict[str, int]]:
    """The audited estimator and the rows of every part."""
    from dpcheck import mechanisms

    s = request.settings
    model = getattr(mechanisms, estimator)(
        request.epsilon,
        request.delta or PAPER_DELTA,
        noise=s["noise"],
        clip=s["clip"],
        batch=s["batch"],
        epochs=s["epochs"] or None,
        variant=request.variant,
        hidden=(HIDDEN,),
    )
    rows = {"target": count("rows", s["rows"])}
    rows["source"] = count("source_rows", s.get("source_rows", rows["target"]))
    return model, rows


def _search(
    name: str, model: Any, part: str, rows: Mapping[str, int], request: AuditSetup, proved: float
) -> TranscriptSearch:
    plan, budget = model.training_plan(rows), model.budget(part)
    header = {
        "audit": name,
        "variant": request.variant,
        "part": part,
        "epsilon": request.epsilon,
        "delta": request.delta,
        "settings": dict(request.settings),
    }
    return TranscriptSearch(
        CanaryStep(model.gradient_rules()[part], rows[part]),
        plan.true[part],
        plan.steps * model.phases(part),
        budget.epsilon,
        budget.delta,
        header,
        request.settings["weights"],
        proved,
    )


def _part(
    name: str, model: Any, part: str, rows: Mapping[str, int], source: str, request: AuditSetup
) -> PartPlan:
    from dpcheck.accounting.api import epsilon

    plan, budget = model.training_plan(rows), model.budget(part)
    model = model.set_params(epochs=plan.epochs)  # calibrated once
    event = plan.true[part] * (plan.steps * model.phases(part))
    bound = epsilon(event, delta=budget.delta, adjacency=Adjacency.ADD_REMOVE)
    searched = _search(name, model, part, rows, request, bound.upper)
    canary, noisy_batch = searched.canary, searched.canary.rule.noise_per_example
    assumes = [*bound.assumes, "the attacker sees every noisy gradient"]
    if noisy_batch:
        assumes.append(f"neighbours are {rows[part]:,} rows and the same without one")
    # Canaries are told apart by the extractor's gradients; a head alone would mix them up.
    seen = canary.rule.use_features
    canaries = min(count("canaries", request.settings["canaries"], at_least=0), 2 * rows[part])
    return PartPlan(
        name=name,
        variant=request.variant,
        claim=Claim(budget, Adjacency.ADD_REMOVE, source, part),
        mechanism=Mechanism(canary.summaries, True, request.timeout, batch_runs=1 << 12),
        pairs=[Pair(canary.data(1), canary.data(0), PAIR)],
        proved=Proved(bound.upper, budget.delta, bound.method, tuple(assumes)),
        pivot=Pivot(canary.pivots, 1.0 if noisy_batch else canary.dimensions / 2, "gradient noise"),
        search=searched,
        event=event,
        law=TranscriptLaw(searched.pair(), searched.steps),
        training=None
        if not (canaries and seen)
        else RealTraining(model, part, rows, event, budget.epsilon, budget.delta, canaries),
    )
