"""PLR-FS: one private regression per feature group."""

from __future__ import annotations

from dpcheck.families.objective.audit import Family, objective_audit
from dpcheck.session.registry import Exhibit

AUDIT = objective_audit(
    Family(
        name="plr_fs",
        estimator="PLRFS",
        summary="a private regression per feature group",
        paper="Guo2018",
        sources={"data": "[Guo2018] Algorithm 3, Proposition 3"},
        grouped="groups",
        takes_center=True,
        exhibits=(
            Exhibit(
                "corrected",
                "Line 6 set to eps' instead of eps; the claim holds.",
            ),
            Exhibit(
                "printed",
                "Algorithm 3 line 6 gives every block eps instead of eps', so the determinant "
                "is not paid for. Violated where eps n lambda_k < 2 q_k.",
                "--eps 1 --set rows=100 --set features=10 --set regularization=0.0015",
            ),
        ),
    )
)
