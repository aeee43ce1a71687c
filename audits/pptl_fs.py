"""PPTL-FS: transfer by feature groups and stacking."""

from __future__ import annotations

from dpcheck.families.objective.audit import (
    EPSILON_TARGET,
    ETA,
    HIGH,
    IMPORTANCES,
    LAMBDAS,
    PUBLIC_ROWS,
    Family,
    objective_audit,
)
from dpcheck.session.judgement import REPLACED, Exhibit, Grade, Judgement

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
        parameters=(IMPORTANCES, LAMBDAS, ETA, EPSILON_TARGET, *HIGH),
        has_region=True,
        judgement=Judgement(
            Grade.MISPRINT,
            "Inherits PLR-FS and its line 6. Step 4 prints the raw rows of D_t1 where the text beside it "
            "means the predictions on them; the claim does not depend on it.",
            literal=Exhibit(
                "printed",
                "The target, whose centre is the source's model, is violated where PLR-FS is. The "
                "source has centre 0: here what is proved for it lies above the claim and no "
                "violation was found.",
                SMALL,
            ),
            favourable=Exhibit(
                "corrected",
                "With eps' in PLR-FS both parts hold.",
                SMALL,
            ),
            others=(
                Exhibit(
                    "printed",
                    "The source's claim is broken as well, where n is large and n lambda small. The "
                    "target, trained on half of its rows, has eps' <= 0 here and holds.",
                    "--eps 1 --set rows=1000 --set groups=1 --set features=2 "
                    "--set regularization=0.0004",
                ),
            ),
            inferred=(
                REPLACED,
                "meta-features are divided by sqrt(K), which 'scale' in PLR asks for without "
                "saying how",
                PUBLIC_ROWS,
                "200 rows and lambda 0.0015: chosen by us, where the target fails; 1,000 rows, one group "
                "and lambda 0.0004, where the source does",
            ),
            places=("[Guo2018] Algorithm 4 steps 1 to 4, section 3.3, Theorem 5",),
        ),
    )
)
