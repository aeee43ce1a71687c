"""The audits of DPDA and G-DPDA: a canary in gradient space against the accountant's curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.noise_scale import Pivot
from dpcheck.auditing.part import PartPlan
from dpcheck.audits._dpda_step import CanaryStep
from dpcheck.audits._dpda_transcripts import TranscriptHunt
from dpcheck.audits.registry import Parameter, Request
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import Proved
from dpcheck.core.claim import Claim
from dpcheck.core.validate import count

PARAMETERS = (
    Parameter("rows", 539, "target rows"),
    Parameter("noise", 6.0, "sigma"),
    Parameter("batch", 32, "expected batch size"),
    Parameter("clip", 3.0, "C, the norm gradients are clipped to"),
    Parameter("epochs", 0, "epochs over the target; 0 stands for as many as the budget allows"),
    Parameter("weights", 250_152, "weights of the network, for noise drawn per example"),
)
SOURCE_ROWS = Parameter("source_rows", 2817, "source rows")
PAPER_DELTA = 1e-5  # [Wang2020] section IV-E


def build(
    name: str, estimator: str, claims: Mapping[str, str], request: Request
) -> Sequence[PartPlan]:
    """One plan per protected part."""
    from dpcheck import mechanisms

    s = request.settings
    model = getattr(mechanisms, estimator)(
        request.epsilon, request.delta or PAPER_DELTA, noise=s["noise"], clip=s["clip"],
        batch=s["batch"], epochs=s["epochs"] or None, variant=request.variant,
    )  # fmt: skip
    rows = {"target": count("rows", s["rows"])}
    rows["source"] = count("source_rows", s.get("source_rows", rows["target"]))
    return [_part(name, model, part, rows, claims[part], request) for part in model.parts]


def _part(
    name: str, model: Any, part: str, rows: Mapping[str, int], source: str, request: Request
) -> PartPlan:
    from dpcheck.accounting.api import epsilon

    plan, budget = model.training_plan(rows), model.budget(part)
    steps = plan.steps * model.phases(part)
    bound = epsilon(plan.true[part] * steps, delta=budget.delta, adjacency=Adjacency.ADD_REMOVE)
    canary = CanaryStep(model.gradient_rules()[part], rows[part])
    header = {
        "audit": name, "variant": request.variant, "part": part,
        "settings": dict(request.settings),
    }  # fmt: skip
    hunt = TranscriptHunt(
        canary, plan.true[part], steps, budget.epsilon, budget.delta, header,
        request.settings["weights"],
    )  # fmt: skip
    noisy_batch = canary.rule.noise_per_example
    assumes = (*bound.assumes, "the attacker sees every noisy gradient")
    return PartPlan(
        name=name,
        variant=request.variant,
        claim=Claim(budget, Adjacency.ADD_REMOVE, source, part),
        tested=AuditedClaim(budget.epsilon, budget.delta, Adjacency.ADD_REMOVE, source),
        mechanism=Mechanism(canary.summaries, True, request.timeout, batch_runs=1 << 12),
        pairs=[Pair(canary.data(1), canary.data(0), "a canary in gradient space")],
        proved=None if noisy_batch else Proved(bound.upper, budget.delta, bound.method, assumes),
        pivot=Pivot(canary.pivots, 1.0 if noisy_batch else canary.dimensions / 2, "gradient noise"),
        hunt=hunt,
    )
