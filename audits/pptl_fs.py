"""PPTL-FS: transfer by feature groups and stacking."""

from __future__ import annotations

from dpcheck.audits._objective import Family, objective_audit

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
    )
)
