"""PPTL-FS: transfer by feature groups and stacking."""

from __future__ import annotations

from dpcheck.families.objective.audit import PUBLIC_ROWS, Family, objective_audit
from dpcheck.session.judgement import Exhibit, Grade, Judgement

# Where the literal reading fails.
SMALL = "--eps 1 --set rows=200 --set features=10 --set regularization=0.0015"

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
        judgement=Judgement(
            Grade.MISPRINT,
            "Inherits PLR-FS and its line 6; nothing else is wrong.",
            literal=Exhibit(
                "printed",
                "The target, whose centre is the source's model, is violated for small n lambda; "
                "for the source no violation was found, and what is proved lies above the claim.",
                SMALL,
            ),
            favourable=Exhibit(
                "corrected",
                "With eps' in PLR-FS both parts hold.",
                SMALL,
            ),
            inferred=(
                "meta-features are divided by sqrt(K), which 'scale' in PLR asks for without "
                "saying how",
                PUBLIC_ROWS,
                "200 rows and lambda 0.0015: chosen by us, where the literal reading fails",
            ),
            places=("[Guo2018] Algorithm 4 steps 1 to 4, section 3.3, Theorem 5",),
        ),
    )
)
