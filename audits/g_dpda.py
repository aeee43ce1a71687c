"""G-DPDA: adversarial domain adaptation with a private source and a private target."""

from __future__ import annotations

from dpcheck.audits._dpda import PARAMETERS, SOURCE_ROWS, build, replay
from dpcheck.audits.registry import Audit

AUDIT = Audit(
    name="g_dpda",
    summary="adversarial domain adaptation, private source and target (needs jax)",
    paper="Wang2020",
    parts=("source", "target"),
    build=lambda request: build(
        "g_dpda",
        "GDPDA",
        {
            "source": "[Wang2020] section IV-E, source: (2 eps', 2 delta')",
            "target": "[Wang2020] section IV-E, target",
        },
        request,
    ),
    variants=("corrected", "printed-equations", "noise-in-sum"),
    parameters=(*PARAMETERS, SOURCE_ROWS),
    replay=lambda witness: replay("GDPDA", witness),
)
