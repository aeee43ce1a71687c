"""PST-F: stacking of models on feature groups."""

from __future__ import annotations

from dpcheck.families.objective.audit import (
    HIGH,
    IMPORTANCES,
    LAMBDAS,
    PUBLIC_ROWS,
    Family,
    objective_audit,
)
from dpcheck.session.judgement import Exhibit, Grade, Judgement

# Where the literal reading fails.
SMALL = "--eps 1 --set rows=200 --set groups=1 --set features=2 --set regularization=0.001"

AUDIT = objective_audit(
    Family(
        name="pst_f",
        estimator="PSTF",
        summary="private stacking by features",
        paper="Yao2019",
        sources={"data": "[Yao2019] Algorithm 3, Theorem 4"},
        grouped="groups",
        takes_center=True,
        parameters=(IMPORTANCES, LAMBDAS, *HIGH),
        has_region=True,
        judgement=Judgement(
            Grade.MISPRINT,
            "Step 12 prints Delta without its index; step 9 sets Delta_k, and the proof of Lemma "
            "8 uses it.",
            literal=Exhibit(
                "printed",
                "A Delta that nothing sets, read as 0, breaks the second branch.",
                SMALL,
            ),
            favourable=Exhibit(
                "corrected",
                "With Delta_k in step 12 the claim holds.",
                SMALL,
            ),
            inferred=(
                "regularisers of modulus 1, which Theorem 4 does not ask for and appendix A.2 assumes",
                "Delta = 0 where no step sets it, in the literal reading",
                "groups of importance 0 are dropped: step 9 would divide 0 by 0",
                PUBLIC_ROWS,
                "100 rows a layer and lambda 0.001: chosen by us, where the literal reading fails",
            ),
            places=(
                "[Yao2019] Algorithm 3 steps 3, 5, 7, 9 and 12, Theorem 4, appendix A.2 Lemma 8",
            ),
        ),
    )
)
