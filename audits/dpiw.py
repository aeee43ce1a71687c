"""DPIW: private importance weights of public rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcheck.auditing.mechanism import Pair
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.data import Data, Plain
from dpcheck.families.output import audit as _output
from dpcheck.families.output.audit import Array, Attack
from dpcheck.families.output.loss import OutputPair
from dpcheck.families.output.search import OutputTarget
from dpcheck.session.judgement import REPLACED, Exhibit, Grade, Judgement
from dpcheck.session.registry import Audit, AuditSetup, Parameter

if TYPE_CHECKING:
    from dpcheck.mechanisms.output.model import OutputModel

SOURCE = "[Wang2018] Algorithm 2, [Ji2013]"
REGULARIZATION = Parameter("regularization", 0.001, "lambda of the weight model")


def _attack(request: AuditSetup) -> Attack:
    from dpcheck.mechanisms import DPIW, TwoSamples

    s = request.settings
    rows, features, lam = s["rows"], s["features"], s["regularization"]
    model = DPIW(request.epsilon, lam, bound=s["bound"], variant=request.variant)
    blank = TwoSamples(np.zeros((rows, features)), np.zeros((1, features)))
    domain = _output.weight_domain(model, features, s["largest_row"])
    rate = model.blocks(blank)[0].scale.rate

    def materialise(
        pair: OutputPair, release: Array
    ) -> tuple[OutputModel[TwoSamples], Data, Data, Array]:
        first, second, public = _output.expand(pair, domain.sizes, rows, features)
        w = _output.spread(release, domain.sizes, features)
        return model, TwoSamples(first, public), TwoSamples(second, public), w

    game = _output.weight_game(rate, rows, lam, domain)
    target = OutputTarget("data", game, domain, materialise)
    changed = TwoSamples(
        _output.private_rows(np.ones(features), np.zeros(features), rows), blank.public
    )
    return Attack(model, blank, [target], Pair(changed, blank, "one row of ones"), features)


def _build(request: AuditSetup) -> Sequence[PartPlan]:
    _output.check("dpiw", request)
    return [_output.plan("dpiw", "data", SOURCE, request, _attack(request))]


def _replay(witness: Mapping[str, Plain]) -> float:
    request = _output.request_of(witness)
    return _output.search_of("dpiw", "data", request, _attack(request)).replay(witness)


AUDIT = Audit(
    name="dpiw",
    summary="importance weights of public rows by output perturbation",
    paper="Wang2018",
    parts=("data",),
    build=_build,
    variants=_output.VARIANTS,
    parameters=(
        _output.ROWS,
        _output.FEATURES,
        REGULARIZATION,
        _output.BOUND,
        _output.REACH,
    ),
    replay=_replay,
    judgement=Judgement(
        Grade.GAP,
        "The noise rate eps N lambda / sqrt(d) is right for rows in the box [0, 1]^d; Algorithm 2 "
        "states no bound on rows at all.",
        literal=Exhibit(
            "printed", "No bound on rows: the loss grows with them, and with the number of rows."
        ),
        favourable=Exhibit("corrected", "Rows clipped to the box: the claim holds."),
        others=(
            Exhibit(
                "signed",
                "Rows of norm at most sqrt(d) with signs, the other bound one may have in mind: "
                "up to twice the sensitivity.",
            ),
        ),
        inferred=(
            "rows in the box [0, 1]^d, which non-negative normalised term weights satisfy",
            REPLACED,
        ),
        places=("[Wang2018] Algorithm 2 steps 2 and 3",),
    ),
)
