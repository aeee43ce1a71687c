"""PST-F: stacking of models on feature groups."""

from __future__ import annotations

from dpcheck.audits._objective import Family, objective_audit

AUDIT = objective_audit(
    Family(
        name="pst_f",
        estimator="PSTF",
        summary="private stacking by features",
        paper="Yao2019",
        sources={"data": "[Yao2019] Algorithm 3, Theorem 4"},
        grouped="groups",
        takes_center=True,
    )
)
