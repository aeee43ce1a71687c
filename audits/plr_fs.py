"""PLR-FS: one private regression per feature group."""

from __future__ import annotations

from dpcheck.audits._objective import Family, objective_audit

AUDIT = objective_audit(
    Family(
        name="plr_fs",
        estimator="PLRFS",
        summary="a private regression per feature group",
        paper="Guo2018",
        sources={"data": "[Guo2018] Algorithm 3, Proposition 3"},
        grouped="groups",
        takes_center=True,
    )
)
