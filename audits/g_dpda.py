"""G-DPDA: adversarial domain adaptation with a private source and a private target."""

from __future__ import annotations

from dpcheck.families.adaptation.audit import PARAMETERS, SOURCE_ROWS, build, replay
from dpcheck.mechanisms.adaptation.noisy_steps import FORMER_NAMES
from dpcheck.session.judgement import Exhibit, Grade, Judgement
from dpcheck.session.registry import Audit

# Section V-B prints noise 8, clip 4 and 2,000 rows a domain.
REVIEWS = (
    "--eps 8 --delta 2e-5 --set noise=8 --set clip=4 --set rows=2000 --set source_rows=2000 "
    "--set canaries=0"
)

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
    variants=("corrected", "noise-in-sum", "blocks-apart"),
    aliases=FORMER_NAMES,
    parameters=(*PARAMETERS, SOURCE_ROWS),
    replay=lambda witness: replay("GDPDA", witness),
    judgement=Judgement(
        Grade.GAP,
        "Section IV-E accounts one clipped sum a step; equations 14 and 19 to 22 clip several sums of "
        "one batch apart and draw noise per example. To the letter the source's claim holds and the "
        "target's is open: what we can prove lies above it, and no attack was found. With noise added "
        "once the target's claim fails, while (2 eps, 2 delta) is generous enough to pay for the "
        "missing sqrt(2) of the source.",
        literal=Exhibit(
            "noise-in-sum",
            "The equations to the letter: the source's claim holds; the target's is neither proved "
            "nor refuted.",
            REVIEWS,
        ),
        favourable=Exhibit(
            "corrected",
            "What section IV-E accounts for, one clip over all sums of a batch and noise once: both "
            "claims hold.",
            REVIEWS,
        ),
        others=(
            Exhibit(
                "blocks-apart",
                "A reading of ours: sums clipped apart, noise added once as in DPDA's Algorithm "
                "1. The target's claim is broken as DPDA's is.",
                REVIEWS,
            ),
        ),
        inferred=(
            "the number of epochs, which the paper does not print: as many as its own accounting "
            "allows",
            "batch 32: printed in section V-A.3, and section V-B names other changes only",
        ),
        places=(
            "[Wang2020] equations 14 and 19 to 22, section IV-E, section V-B.1 (2,000 rows), "
            "section V-B.3 (sigma 8, C 4, both budgets)",
        ),
    ),
)
