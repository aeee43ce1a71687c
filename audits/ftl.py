"""Secure federated transfer learning: what each party sees of the other."""

from __future__ import annotations

from collections.abc import Sequence

from dpcheck.auditing.claims import AuditedClaim
from dpcheck.auditing.part import PartPlan
from dpcheck.audits.registry import Audit, Parameter, Request
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim

PARTS = tuple(
    f"{party}: {algorithm}"
    for algorithm in ("training", "prediction", "cross-validation")
    for party in ("a sees b", "b sees a")
)
SOURCE = "[Liu2018] claims no epsilon; the one given is tested"
PARAMETERS = (
    Parameter("rows_a", 30, "rows of A"),
    Parameter("rows_b", 12, "rows of B"),
    Parameter("common", 8, "rows both have"),
    Parameter("labelled", 4, "common rows whose label trains B"),
    Parameter("features_a", 12, "features of A; a second run has too few to solve one gradient"),
    Parameter("features_b", 10, "features of B"),
    Parameter("hidden", 4, "d, the width of the hidden representation"),
    Parameter("iterations", 10, "iterations of a training"),
    Parameter("rate", 2.0, "learning rate"),
)


def _build(request: Request) -> Sequence[PartPlan]:
    from dpcheck.audits._ftl_leaks import LEAKS, LeakHunt
    from dpcheck.audits._ftl_scenario import read_scenario

    signs = "printed" if request.variant == "printed" else "corrected"
    scenario = read_scenario(request.settings, signs)
    plans = []
    for part in PARTS:
        header = {
            "audit": "ftl", "variant": request.variant, "part": part,
            "claim": request.epsilon, "delta": request.delta,
            "settings": dict(request.settings),
        }  # fmt: skip
        budget = Budget(request.epsilon, request.delta)
        relation = Adjacency.REPLACE_ONE
        plans.append(
            PartPlan(
                name="ftl",
                variant=request.variant,
                claim=Claim(budget, relation, SOURCE, part),
                tested=AuditedClaim(budget.epsilon, budget.delta, relation, SOURCE),
                mechanism=None,
                hunt=LeakHunt(LEAKS[part], scenario, request.delta, header),
            )
        )
    return plans


AUDIT = Audit(
    name="ftl",
    summary="secure federated transfer learning: encrypted, and not private",
    paper="Liu2018",
    parts=PARTS,
    build=_build,
    variants=("protocol", "printed"),
    parameters=PARAMETERS,
)
