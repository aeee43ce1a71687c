"""SimComb: PLR on the source, PLR on the target around it."""

from __future__ import annotations

from dpcheck.families.objective.audit import Family, objective_audit
from dpcheck.session.registry import Exhibit

AUDIT = objective_audit(
    Family(
        name="simcomb",
        estimator="SimComb",
        summary="hypothesis transfer between two private regressions",
        paper="Guo2018",
        sources={
            "source": "[Guo2018] Proposition 1 on the source",
            "target": "[Guo2018] Proposition 1 on the target",
        },
        exhibits=(
            Exhibit(
                "printed",
                "Two private regressions; each data set pays for its own.",
            ),
        ),
    )
)
