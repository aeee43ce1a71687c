"""DPHTL: source models and importance weights, handed to an unprotected target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.data import Data, Plain
from dpcheck.families.output import audit as _output
from dpcheck.families.output.audit import Array, Attack
from dpcheck.families.output.loss import OutputGame, OutputPair
from dpcheck.families.output.search import OutputTarget, RowDomain
from dpcheck.mechanisms.output.rows import RowShape
from dpcheck.session.judgement import REPLACED, Exhibit, Grade, Judgement
from dpcheck.session.region import Hypotheses
from dpcheck.session.registry import Audit, AuditSetup, Parameter

if TYPE_CHECKING:
    from dpcheck.mechanisms.output.model import OutputModel

CLAIM = "[Wang2018] Theorem 1"
LABELLED = Parameter(
    "labelled_rows",
    "ball",
    "the set of labelled rows: norm at most 1, or [0, 1]^d",
    ("ball", "box"),
)
REGULARIZATION = Parameter("regularization", 0.001, "lambda of the source models")


def _attack(request: AuditSetup) -> Attack:
    from dpcheck.mechanisms import DPHTL, Source, SourcesData

    s = request.settings
    rows, features = s["rows"], s["features"]
    lam, weight_lam = s["regularization"], s["weight_regularization"]
    model = DPHTL(
        request.epsilon,
        lam,
        weight_lam,
        bound=s["bound"],
        labelled_bound=s["labelled_rows"],
        variant=request.variant,
    )
    zeros, ones = np.zeros((rows, features)), np.ones(rows)
    # Sources release independently of each other: one stands for any.
    blank = SourcesData((Source(zeros, ones, zeros),), np.zeros((1, features)))
    source_rate, weight_rate = (block.scale.rate for block in model.blocks(blank))
    labelled = RowDomain(RowShape(s["labelled_rows"]), 1.0, features, labelled=True)
    unlabelled = _output.weight_domain(model, features, s["largest_row"])

    def data(signed: Array, extra: Array, public: Array) -> Data:
        # Rows come times their labels; of a box they have one sign each.
        labels = ones
        if labelled.kind is RowShape.BOX:
            labels = np.where((signed < 0).any(axis=1), -1.0, 1.0)
        return SourcesData((Source(signed * labels[:, None], labels, extra),), public)

    def into_labelled(
        pair: OutputPair, release: Array
    ) -> tuple[OutputModel[SourcesData], Data, Data, Array]:
        first, second, public = _output.expand(pair, labelled.sizes, rows, features)
        w = _output.spread(release, labelled.sizes, features)
        both = [data(X, zeros, public) for X in (first, second)]
        return model, both[0], both[1], np.concatenate([w, np.zeros(features)])

    def into_unlabelled(
        pair: OutputPair, release: Array
    ) -> tuple[OutputModel[SourcesData], Data, Data, Array]:
        first, second, public = _output.expand(pair, unlabelled.sizes, rows, features)
        w = _output.spread(release, unlabelled.sizes, features)
        both = [data(zeros, X, public) for X in (first, second)]
        return model, both[0], both[1], np.concatenate([np.zeros(features), w])

    games = (
        OutputGame(source_rate, rows, lam, labelled.sizes, False),
        _output.weight_game(weight_rate, rows, weight_lam, unlabelled),
    )
    targets = [
        OutputTarget("labelled", games[0], labelled, into_labelled),
        OutputTarget("unlabelled", games[1], unlabelled, into_unlabelled),
    ]
    shorter = np.full(features, features**-0.5)
    changed = data(_output.private_rows(shorter, np.zeros(features), rows), zeros, blank.public)
    pair = Pair(changed, blank, "one labelled row")
    return Attack(model, blank, targets, pair, 2 * features)


def _build(request: AuditSetup) -> Sequence[PartPlan]:
    _output.check("dphtl", request)
    return [_output.plan("dphtl", "source", CLAIM, request, _attack(request))]


def _replay(witness: Mapping[str, Plain]) -> float:
    request = _output.request_of(witness)
    return _output.search_of("dphtl", "source", request, _attack(request)).replay(witness)


def _regions() -> Sequence[Hypotheses]:
    from dpcheck.families.output.region import DPHTL

    return DPHTL


AUDIT = Audit(
    name="dphtl",
    summary="hypothesis transfer from private sources; the target is not protected",
    paper="Wang2018",
    parts=("source",),
    build=_build,
    variants=_output.VARIANTS,
    parameters=(
        _output.ROWS,
        _output.FEATURES,
        REGULARIZATION,
        _output.WEIGHT_REGULARIZATION,
        _output.BOUND,
        LABELLED,
        _output.REACH,
    ),
    replay=_replay,
    regions=_regions,
    judgement=Judgement(
        Grade.GAP,
        "The proof of Theorem 1 takes both models as proved elsewhere. The noise printed for the "
        "weight model is enough for unlabelled rows in the box [0, 1]^d, that of the source model "
        "for labelled rows of norm at most 1; this paper states neither condition, and neither "
        "implies the other.",
        literal=Exhibit(
            "printed", "No bound on rows: the loss of the weight model grows with them."
        ),
        favourable=Exhibit(
            "corrected",
            "With unlabelled rows in the box and labelled rows of norm at most 1 the claim holds. "
            "Normalised term weights, as the paper uses them, satisfy both.",
        ),
        others=(
            Exhibit(
                "printed",
                "The box alone is not enough for labelled rows: they may have norm sqrt(d), and a "
                "flipped label moves the source model further than its noise covers.",
                "--eps 1 --set rows=1000 --set features=100 --set regularization=0.01 "
                "--set weight_regularization=0.01 --set labelled_rows=box --set largest_row=1",
            ),
        ),
        inferred=(
            "unlabelled rows in the box [0, 1]^d and labelled rows of norm at most 1",
            REPLACED,
        ),
        places=("[Wang2018] Algorithm 1 steps 1 and 2, Theorem 1 and its proof sketch",),
    ),
)
