"""DPDA: adversarial domain adaptation with a private target."""

from __future__ import annotations

from dpcheck.families.adaptation.audit import PARAMETERS, build, replay
from dpcheck.session.registry import Audit, Exhibit

PAPER = "--eps 4 --delta 1e-5"  # the papers' own settings

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
    exhibits=(
        Exhibit("corrected", "One clip over both blocks; the claim holds.", PAPER),
        Exhibit(
            "printed-equations",
            "Equations 14 and 15 clip and noise two blocks of one batch apart, and one of them is "
            "accounted: the noise is really sigma / sqrt(2).",
            PAPER,
        ),
        Exhibit(
            "printed-algorithm", "Algorithm 1 leaves the extractor alone; the claim holds.", PAPER
        ),
        Exhibit(
            "noise-in-sum",
            "Equation 14 literally: noise per example, whose energy reveals the batch size. Told that "
            "size, the attacker still stays within the claim at the paper's settings.",
            PAPER,
        ),
    ),
)
