"""G-DPDA: adversarial domain adaptation with a private source and a private target."""

from __future__ import annotations

from dpcheck.families.adaptation.audit import PARAMETERS, SOURCE_ROWS, build, replay
from dpcheck.session.registry import Audit, Exhibit

PAPER = "--eps 8 --delta 2e-5 --set source_rows=539"  # the papers' own settings

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
    exhibits=(
        Exhibit("corrected", "One clip over all blocks of a batch; both claims hold.", PAPER),
        Exhibit(
            "printed-equations",
            "(2 eps, 2 delta) is generous enough to pay for the missing sqrt(2) on the source's side; the "
            "target's claim is broken as DPDA's is.",
            PAPER,
        ),
    ),
)
