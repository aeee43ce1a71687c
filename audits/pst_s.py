"""PST-S: stacking of models on row partitions."""

from __future__ import annotations

from dpcheck.audits._objective import Family, objective_audit

AUDIT = objective_audit(
    Family(
        name="pst_s",
        estimator="PSTS",
        summary="private stacking by samples",
        paper="Yao2019",
        sources={"data": "[Yao2019] Algorithm 2, Proposition 3"},
        grouped="partitions",
    )
)
