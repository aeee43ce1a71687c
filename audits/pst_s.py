"""PST-S: stacking of models on row partitions."""

from __future__ import annotations

from dpcheck.families.objective.audit import PUBLIC_ROWS, Family, objective_audit
from dpcheck.session.judgement import Exhibit, Grade, Judgement

AUDIT = objective_audit(
    Family(
        name="pst_s",
        estimator="PSTS",
        summary="private stacking by samples",
        paper="Yao2019",
        sources={"data": "[Yao2019] Algorithm 2, Proposition 3"},
        grouped="partitions",
        judgement=Judgement(
            Grade.HOLDS,
            "Parallel composition over disjoint rows; each model counts the rows of its own part.",
            literal=Exhibit("printed", "The claim holds with n = |S_k|."),
            favourable=Exhibit("printed", "The claim holds with n = |S_k|."),
            inferred=(PUBLIC_ROWS,),
            places=("[Yao2019] Algorithm 2 steps 4 and 7, Proposition 3, appendix A.1",),
        ),
    )
)
