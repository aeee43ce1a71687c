"""PLR: one private logistic regression."""

from __future__ import annotations

from dpcheck.audits._objective import Family, objective_audit

AUDIT = objective_audit(
    Family(
        name="plr",
        estimator="PLR",
        summary="logistic regression by objective perturbation",
        paper="Guo2018",
        sources={"data": "[Guo2018] Proposition 1, [Yao2019] Proposition 1"},
        takes_center=True,
    )
)
