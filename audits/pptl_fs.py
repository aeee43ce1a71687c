"""PPTL-FS: transfer by feature groups and stacking."""

from __future__ import annotations

from dpcheck.families.objective.audit import Family, objective_audit
from dpcheck.session.registry import Exhibit

AUDIT = objective_audit(
    Family(
        name="pptl_fs",
        estimator="PPTLFS",
        summary="private transfer by feature groups and stacking",
        paper="Guo2018",
        sources={
            "source": "[Guo2018] Theorem 5, source",
            "target": "[Guo2018] Theorem 5, target",
        },
        grouped="groups",
        exhibits=(
            Exhibit(
                "corrected",
                "Both parts hold.",
            ),
            Exhibit(
                "printed",
                "Inherits PLR-FS: the target, whose centre is the source's model, is violated "
                "for small n lambda.",
                "--eps 1 --set rows=200 --set features=10 --set regularization=0.0015",
            ),
        ),
    )
)
