"""Secure federated transfer learning: what each party sees of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.plan import PartPlan, Pivot, certified
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.data import Plain
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.validate import count
from dpcheck.session.judgement import Exhibit, Grade, Judgement
from dpcheck.session.registry import Audit, AuditSetup, Parameter

if TYPE_CHECKING:  # scikit-learn takes as long to load as all the rest
    from dpcheck.mechanisms.private_ftl import PrivateFederatedTransfer

PARTS = tuple(
    f"{party}: {algorithm}"
    for algorithm in ("training", "prediction", "cross-validation")
    for party in ("a sees b", "b sees a")
)
SOURCE = "not a claim of [Liu2018], which states no epsilon: the epsilon given to this audit"
PRIVATE_SOURCE = "the budget given to the private variant, for all messages of a party"
PARAMETERS = (
    Parameter("rows_a", 30, "rows of A"),
    Parameter("rows_b", 12, "rows of B"),
    Parameter("common", 8, "rows both have"),
    Parameter("labelled", 4, "common rows whose label trains B"),
    Parameter("features_a", 12, "features of A; a second run has too few to solve one gradient"),
    Parameter("features_b", 10, "features of B"),
    Parameter("hidden", 4, "d, the width of the hidden representation"),
    Parameter("iterations", 10, "iterations of a training"),
    Parameter("rate", 2.0, "learning rate"),
    Parameter(
        "transport",
        "plain",
        "in-process: 1024-bit encryption, the same leaks, some hundred times slower",
        ("plain", "in-process"),
    ),
)


def _build(request: AuditSetup) -> Sequence[PartPlan]:
    if request.variant == "private":
        return [_private(request, part) for part in ("b", "a")]
    return _protocol(request)


def _protocol(request: AuditSetup) -> Sequence[PartPlan]:
    from dpcheck.audits.ftl.leaks import LEAKS, LeakLaw, LeakSearch
    from dpcheck.audits.ftl.scenario import read_scenario

    signs: Literal["printed", "corrected"] = (
        "printed" if request.variant == "printed" else "corrected"
    )
    scenario = read_scenario(request.settings, signs)
    plans = []
    for part in PARTS:
        header = _header(request, part)
        budget = Budget(request.epsilon, request.delta)
        relation = Adjacency.REPLACE_ONE
        search = LeakSearch(LEAKS[part], scenario, request.delta, header)
        plans.append(
            PartPlan(
                name="ftl",
                variant=request.variant,
                claim=Claim(budget, relation, SOURCE, part),
                mechanism=None,
                search=search,
                law=LeakLaw(search),
            )
        )
    return plans


def _header(request: AuditSetup, part: str) -> dict[str, Plain]:
    return {
        "audit": "ftl",
        "variant": request.variant,
        "part": part,
        "claim": request.epsilon,
        "delta": request.delta,
        "settings": dict(request.settings),
    }


def _private(request: AuditSetup, part: Literal["a", "b"]) -> PartPlan:
    from dpcheck.mechanisms.private_ftl import PrivateFederatedTransfer

    s = request.settings
    model = PrivateFederatedTransfer(
        request.epsilon,
        request.delta,
        hidden=(count("hidden", s["hidden"]),),
        iterations=count("iterations", s["iterations"]),
        rate=s["rate"],
    )
    return private_plan(model, part, request)


def private_plan(
    model: PrivateFederatedTransfer, part: Literal["a", "b"], request: AuditSetup
) -> PartPlan:
    """What the other party sees of `part`'s rows, for this model or one with a planted fault."""
    from dpcheck.audits.ftl.private import Attack, ShiftSearch, Side

    if not request.delta:
        raise InvalidParameter(
            "the private variant adds Gaussian noise; give a delta above 0.", name="delta"
        )
    s, relation = request.settings, Adjacency.REPLACE_ONE
    name = "a sees b: everything" if part == "b" else "b sees a: everything"
    sizes = (
        count(f"rows_{part}", s[f"rows_{part}"]),
        count(f"features_{part}", s[f"features_{part}"]),
    )
    attack = Attack(model, model.rules(), part, *sizes)
    assumes = (
        "the other party sees every noisy sum, also the part that is not sent",
        "prediction and validation use nothing but messages and the party's own rows",
    )
    pairs = [
        Pair(Side(number, 0), Side(number, 1), chosen.label)
        for number, chosen in enumerate(attack.choices())
    ]
    claim = Claim(model.budget(), relation, PRIVATE_SOURCE, name)
    return PartPlan(
        name="ftl",
        variant=request.variant,
        claim=claim,
        mechanism=Mechanism(
            attack.sample, True, request.timeout, attack.log_density, batch_runs=50
        ),
        pairs=pairs,
        proved=certified(model, part, claim, None, *assumes),
        event=model.release_event(part),
        pivot=Pivot(attack.pivots, attack.shape, "noise of the sums"),
        search=ShiftSearch(attack, request.delta, _header(request, name)),
        loss_runs=200,
    )


AUDIT = Audit(
    name="ftl",
    summary="secure federated transfer learning: encrypted, and not private",
    paper="Liu2018",
    parts=PARTS,
    build=_build,
    variants=("protocol", "printed", "private"),
    parameters=PARAMETERS,
    judgement=Judgement(
        Grade.NO_CLAIM,
        "The paper promises no epsilon. Its definition of security asks that infinitely many inputs of "
        "the other party give the same output, and by that definition Theorem 1 is true: rotate B's "
        "features and turn its first weights back, and all that A sees stays equal. The same argument holds "
        "if the hidden rows u^B are published, which is why the definition is too weak: what the parties "
        "see is enough to rebuild each other's hidden rows. Encryption protects messages, not what they "
        "say.",
        literal=Exhibit(
            "protocol",
            "Gradients, loss and scores are deterministic functions of the other party's rows, so "
            "no finite epsilon holds; rows of the hidden representation are rebuilt from them.",
        ),
        favourable="No reading gives an epsilon: nothing random is added.",
        others=(
            Exhibit(
                "private",
                "Not in the paper: everything released about a record clipped as one vector and "
                "noised once, with a budget.",
                "--eps 8 --delta 1e-5",
            ),
        ),
        inferred=(
            "an epsilon to test against, given by whoever runs the audit",
            "two signs, without which the loss would not be one: C(y) = -y in equation 5, where y is printed "
            "below equation 6, and the alignment loss added, where equation 2 subtracts it (variant "
            "printed: as printed)",
            "log 2 - y phi/2 + y^2 phi^2/8 as the expansion: equation 5 defines C and D as derivatives and "
            "multiplies them by 1/2 and 1/8 again",
        ),
        places=(
            "[Liu2018] Security Definition, equations 1 to 10, Algorithms 1 to 3, Theorem 1 and its proof",
        ),
    ),
)
