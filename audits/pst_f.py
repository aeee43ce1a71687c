"""PST-F: stacking of models on feature groups."""

from __future__ import annotations

from dpcheck.families.objective.audit import Family, objective_audit
from dpcheck.session.registry import Exhibit

AUDIT = objective_audit(
    Family(
        name="pst_f",
        estimator="PSTF",
        summary="private stacking by features",
        paper="Yao2019",
        sources={"data": "[Yao2019] Algorithm 3, Theorem 4"},
        grouped="groups",
        takes_center=True,
        exhibits=(
            Exhibit(
                "corrected",
                "Delta_k and lambda_k at step 12; the claim holds.",
            ),
            Exhibit(
                "printed",
                "Step 12 drops the index of Delta, which nothing then sets: with Delta 0 the "
                "second branch is violated.",
                "--eps 1 --set rows=200 --set groups=1 --set features=2 --set regularization=0.001",
            ),
        ),
    )
)
