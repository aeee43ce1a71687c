"""SimComb: PLR on the source, PLR on the target around it."""

from __future__ import annotations

from dpcheck.families.objective.audit import (
    EPSILON_TARGET,
    ETA,
    PUBLIC_ROWS,
    Family,
    objective_audit,
)
from dpcheck.session.judgement import REPLACED, Exhibit, Grade, Judgement

AUDIT = objective_audit(
    Family(
        name="simcomb",
        estimator="SimComb",
        summary="hypothesis transfer between two private regressions",
        paper="Guo2018",
        sources={
            "source": "[Guo2018] Proposition 1 on the source",
            "target": "[Guo2018] Proposition 1 on the target",
        },
        parameters=(ETA, EPSILON_TARGET),
        judgement=Judgement(
            Grade.HOLDS,
            "Two private regressions; each dataset pays for its own. Nothing but the sign of the "
            "noise, which is PLR's misprint, needs mending.",
            literal=Exhibit("printed", "Each part holds."),
            favourable=Exhibit("printed", "Each part holds."),
            inferred=(PUBLIC_ROWS, REPLACED),
            places=("[Guo2018] Algorithm 2, equations 5 and 6, section 3.1",),
        ),
    )
)
