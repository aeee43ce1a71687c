"""PST-S: stacking of models on row partitions."""

from __future__ import annotations

from dpcheck.families.objective.audit import Family, objective_audit
from dpcheck.session.registry import Exhibit

AUDIT = objective_audit(
    Family(
        name="pst_s",
        estimator="PSTS",
        summary="private stacking by samples",
        paper="Yao2019",
        sources={"data": "[Yao2019] Algorithm 2, Proposition 3"},
        grouped="partitions",
        exhibits=(
            Exhibit(
                "printed",
                "Parallel composition over row partitions; the claim holds with the rows of the"
                " part.",
            ),
        ),
    )
)
