"""PST-H: PST-F on the target around models of the source."""

from __future__ import annotations

from dpcheck.families.objective.audit import PUBLIC_ROWS, Family, objective_audit
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
        judgement=Judgement(
            Grade.FALSE,
            "Step 3 trains a PLR with the whole budget eps_src on every one of the K feature "
            "blocks of the same people: by sequential composition, and in fact, this costs almost "
            "K eps_src.",
            literal=Exhibit(
                "printed", "Almost K times the claim for the source; the target holds."
            ),
            favourable="None that we can find: the text beside the algorithm says the same as step 3 "
            '("PLR is trained on each source domain data subset"), and no step divides eps_src.',
            others=(
                Exhibit("corrected", "The source budget divided over the blocks; both parts hold."),
            ),
            inferred=(
                PUBLIC_ROWS,
                "K = 5, as in the paper's experiments; 10,000 rows and lambda 0.001, ours",
            ),
            places=("[Yao2019] Algorithm 4 steps 1 to 5, Corollary 6, section 3.3",),
        ),
    )
)
