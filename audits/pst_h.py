"""PST-H: PST-F on the target around models of the source."""

from __future__ import annotations

from dpcheck.families.objective.audit import Family, objective_audit
from dpcheck.session.registry import Exhibit

AUDIT = objective_audit(
    Family(
        name="pst_h",
        estimator="PSTH",
        summary="private stacking with hypothesis transfer",
        paper="Yao2019",
        sources={
            "source": "[Yao2019] Algorithm 4 and Corollary 6, source",
            "target": "[Yao2019] Algorithm 4 and Corollary 6, target",
        },
        grouped="groups",
        exhibits=(
            Exhibit(
                "corrected",
                "The source budget divided over the blocks; both parts hold.",
            ),
            Exhibit(
                "printed",
                "Algorithm 4 trains all K blocks on every source record at the full budget: "
                "almost K times the claim.",
            ),
        ),
    )
)
