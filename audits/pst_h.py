"""PST-H: PST-F on the target around models of the source."""

from __future__ import annotations

from dpcheck.families.objective.audit import (
    EPSILON_TARGET,
    HIGH,
    IMPORTANCES,
    LAMBDAS,
    PUBLIC_ROWS,
    SOURCE_BLOCKS,
    Family,
    objective_audit,
)
from dpcheck.session.judgement import Exhibit, Grade, Judgement

AUDIT = objective_audit(
    Family(
        name="pst_h",
        estimator="PSTH",
        summary="private stacking with hypothesis transfer",
        paper="Yao2019",
        sources={
            "source": "[Yao2019] Algorithm 4 and Corollary 6, source",
            "target": "[Yao2019] Algorithm 4 and Corollary 6, target",
        },
        grouped="groups",
        parameters=(SOURCE_BLOCKS, IMPORTANCES, LAMBDAS, EPSILON_TARGET, *HIGH),
        has_region=True,
        judgement=Judgement(
            Grade.FALSE,
            "Step 3 trains a PLR with the whole budget eps_src on every one of the K feature "
            "blocks of the same people: by sequential composition, and in fact, this costs almost "
            'K eps_src. The text beside the algorithm says the same ("PLR is trained on each '
            'source domain data subset"), and no step divides eps_src. The target inherits PST-F '
            "and the index missing in its step 12.",
            literal=Exhibit(
                "printed",
                "Almost K times the claim for the source. With these rows and this lambda the "
                "target's claim is true: PST-F needs no Delta here.",
            ),
            favourable=Exhibit(
                "corrected",
                "PLR-FS on the source, as in [Guo2018] Algorithm 4 step 1, by some of the same "
                "authors, with eps' as in [Yao2019] Algorithm 3, and Delta_k in step 12: both parts "
                "hold.",
                "--eps 1 --set source_blocks=plr-fs",
            ),
            others=(
                Exhibit(
                    "printed",
                    "Where the target needs Delta (eps' <= 0), a Delta read as 0 breaks its claim "
                    "too.",
                    "--eps 0.3 --set rows=60 --set groups=3 --set regularization=0.00218",
                ),
                Exhibit(
                    "corrected",
                    "Further, not in the papers: the source budget divided over the blocks; both "
                    "parts hold.",
                ),
            ),
            inferred=(
                PUBLIC_ROWS,
                "Delta = 0 where no step sets it, in the literal reading",
                "K = 5, as in the paper's experiments; 10,000 rows and lambda 0.001, ours; 60 rows, 3 "
                "groups and lambda 0.00218: chosen by us, where the target fails",
            ),
            places=(
                "[Yao2019] Algorithm 4 steps 1 to 5, Corollary 6, section 3.3; [Guo2018] Algorithm 4 "
                "step 1",
            ),
        ),
    )
)
