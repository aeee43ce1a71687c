"""DPDA: adversarial domain adaptation with a private target."""

from __future__ import annotations

from dpcheck.audits._dpda import PARAMETERS, build, replay
from dpcheck.audits.registry import Audit

AUDIT = Audit(
    name="dpda",
    summary="adversarial domain adaptation, private target (needs jax)",
    paper="Wang2020",
    parts=("target",),
    build=lambda request: build(
        "dpda", "DPDA", {"target": "[Wang2020] section IV-E, target"}, request
    ),
    variants=("corrected", "printed-equations", "printed-algorithm", "noise-in-sum"),
    parameters=PARAMETERS,
    replay=lambda witness: replay("DPDA", witness),
)
