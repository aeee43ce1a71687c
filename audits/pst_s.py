"""PST-S: stacking of models on row partitions."""

from __future__ import annotations

from dpcheck.families.objective.audit import (
    HIGH,
    LAMBDAS,
    MODULUS,
    PUBLIC_ROWS,
    Family,
    objective_audit,
)
from dpcheck.session.judgement import Exhibit, Grade, Judgement

AUDIT = objective_audit(
    Family(
        name="pst_s",
        estimator="PSTS",
        summary="private stacking by samples",
        paper="Yao2019",
        sources={"data": "[Yao2019] Algorithm 2, Proposition 3"},
        grouped="partitions",
        takes_center=True,
        parameters=(MODULUS, LAMBDAS, *HIGH),
        has_region=True,
        judgement=Judgement(
            Grade.GAP,
            "Parallel composition over disjoint rows; each model counts the rows of its own part. "
            "Proposition 3 asks for a strongly convex regulariser and names no modulus, while the "
            "formula for eps' is the one for modulus 1, which the paper assumes only below, in "
            "appendix A.2.",
            literal=Exhibit(
                "printed",
                "Any strongly convex regulariser: with |w - u|^2/200, of modulus 0.01, the "
                "determinant costs more than eps' leaves for it.",
                "--eps 1 --set rows=1000 --set regularization=0.1 --set modulus=0.01",
            ),
            favourable=Exhibit(
                "printed", "The claim holds for regularisers of modulus 1, with n = |S_k|."
            ),
            inferred=(
                PUBLIC_ROWS,
                "modulus 1 in the favourable reading; modulus 0.01, 1,000 rows and lambda 0.1 in the "
                "literal one",
            ),
            places=("[Yao2019] Algorithm 2 steps 4 and 7, Proposition 3, appendices A.1 and A.2",),
        ),
    )
)
