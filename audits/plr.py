"""PLR: one private logistic regression."""

from __future__ import annotations

from dpcheck.families.objective.audit import Family, objective_audit
from dpcheck.session.registry import Exhibit

AUDIT = objective_audit(
    Family(
        name="plr",
        estimator="PLR",
        summary="logistic regression by objective perturbation",
        paper="Guo2018",
        sources={"data": "[Guo2018] Proposition 1, [Yao2019] Proposition 1"},
        takes_center=True,
        exhibits=(
            Exhibit(
                "corrected",
                "What is published as epsilon 1 costs at most 0.950615 here: the determinant "
                "term of the papers is paid twice.",
            ),
            Exhibit(
                "printed",
                "The print has a plus sign in the noise density (which then is none) and scales"
                " rows by their own maximum; read with a minus and public bounds it is the "
                "corrected algorithm.",
            ),
        ),
    )
)
