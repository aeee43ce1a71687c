"""PLR: one private logistic regression."""

from __future__ import annotations

from dpcheck.families.objective.audit import PUBLIC_ROWS, Family, objective_audit
from dpcheck.session.judgement import REPLACED, Exhibit, Grade, Judgement

AUDIT = objective_audit(
    Family(
        name="plr",
        estimator="PLR",
        summary="logistic regression by objective perturbation",
        paper="Guo2018",
        sources={"data": "[Guo2018] Proposition 1, [Yao2019] Proposition 1"},
        takes_center=True,
        judgement=Judgement(
            Grade.MISPRINT,
            "The noise density is printed with a plus sign, which is no density; the Gamma "
            "distribution of [Guo2018] footnote 3 and the mean 2d/eps' of [Yao2019] mean a minus.",
            literal="h(b) proportional to exp(+eps'|b|/2) cannot be normalised: there is nothing to run.",
            favourable=Exhibit(
                "printed",
                "With the minus sign and public bounds on rows the claim holds. What is published "
                "as epsilon 1 costs at most 0.950615 here: line 1 takes a term for the determinant "
                "off epsilon, and with these rows the determinant costs nothing.",
            ),
            inferred=(
                PUBLIC_ROWS,
                REPLACED,
                "a regulariser of modulus 1, as [Guo2018] Assumption 1 says; [Yao2019] Proposition 1 "
                "asks for a strongly convex one and names no modulus",
            ),
            places=(
                "[Guo2018] Algorithm 1 lines 1, 7 and 8, footnote 3, Proposition 1",
                "[Yao2019] Algorithm 1 steps 1, 7 and 8, the text below equation 2, Proposition 1",
            ),
        ),
    )
)
