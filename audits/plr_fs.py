"""PLR-FS: one private regression per feature group."""

from __future__ import annotations

from dpcheck.families.objective.audit import (
    IMPORTANCES,
    LAMBDAS,
    PUBLIC_ROWS,
    Family,
    objective_audit,
)
from dpcheck.session.judgement import REPLACED, Exhibit, Grade, Judgement

# Where the literal reading fails.
SMALL = "--eps 1 --set rows=100 --set features=10 --set regularization=0.0015"

AUDIT = objective_audit(
    Family(
        name="plr_fs",
        estimator="PLRFS",
        summary="a private regression per feature group",
        paper="Guo2018",
        sources={"data": "[Guo2018] Algorithm 3, Proposition 3"},
        grouped="groups",
        takes_center=True,
        parameters=(IMPORTANCES, LAMBDAS),
        has_region=True,
        judgement=Judgement(
            Grade.MISPRINT,
            "Line 6 gives every block eps, while line 2 computes eps' and only the test in line 5 "
            "would use it; the companion paper prints eps' in this place ([Yao2019] Algorithm 3 "
            "step 7), and so does this paper's own Algorithm 1, which uses eps' in line 8.",
            literal=Exhibit(
                "printed",
                "With eps the determinant is not paid for: violated where eps' > 0, so that line 6 "
                "is reached, and eps n lambda_k < 2 q_k for some k. Where eps' <= 0, line 8 pays for "
                "the determinant and the claim holds.",
                SMALL,
            ),
            favourable=Exhibit(
                "corrected",
                "With eps' in line 6 the claim holds.",
                SMALL,
            ),
            others=(
                Exhibit(
                    "printed",
                    "Here eps n lambda_k is far below 2 q_k, but eps' <= 0: line 8 is reached, and "
                    "the claim holds.",
                    "--eps 10 --set rows=200 --set groups=2 --set regularization=6.2e-6",
                ),
            ),
            inferred=(
                REPLACED,
                "lambda^(k) in line 11, where the index is dropped as well",
                PUBLIC_ROWS,
                "a public centre u of the attacker's choice in g = |w - u|^2/2, as 'each g^(k) is 1-strongly "
                "convex' allows",
                "100 rows and lambda 0.0015: chosen by us, where the literal reading fails; 200 rows "
                "and lambda 6.2e-6, where it does not",
            ),
            places=("[Guo2018] Algorithm 3 lines 2, 4, 5, 6, 8, 10 and 11, Proposition 3",),
        ),
    )
)
