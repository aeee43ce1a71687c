"""Proofs of targets: the data a declaration describes, the claim a proof is compared with."""

from __future__ import annotations

from dpcheck.accounting.api import epsilon
from dpcheck.auditing.mechanism import Declaration, declaration
from dpcheck.auditing.pairs.forms import Form
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.claim import Claim
from dpcheck.core.data import Data
from dpcheck.core.errors import NothingToAudit
from dpcheck.execution.imports import load
from dpcheck.execution.references import parse
from dpcheck.session.claims import read_claim
from dpcheck.tracing.proof import Proof, prove

# A claim written in decimals and a scale computed from it agree up to the rounding of floats.
_ROUNDING = 1e-12
_DELTAS = tuple(10.0**-k for k in range(2, 13, 2))  # where a curve is compared with another


def prove_target(text: str, adjacency: str | None = None) -> tuple[Proof, Claim | None]:
    """The proof of a user's target and its claim, which there is none of under another adjacency."""
    reference = parse(text)
    load(reference.location)
    target = reference.load()
    declared = declaration(target)
    relation = as_adjacency(adjacency or declared.adjacency)
    claim = None
    if relation is as_adjacency(declared.adjacency) and declared.claim is not None:
        claim = read_claim(declared.claim, declared.adjacency, f"declared by {reference.attribute}")
    return prove_declared(target, declared, relation), claim


def prove_declared(function: Data, declared: Declaration, adjacency: Adjacency) -> Proof:
    """The proof of a function as it was declared."""
    if declared.canaries is not None:
        raise NothingToAudit(
            "a training with canaries has no data to describe; prove it by records=."
        )
    if declared.records is not None:
        form = None if declared.form is None else str(declared.form)
        return prove(function, declared.records, adjacency, form=_form(form))
    if not declared.neighbours:
        raise NothingToAudit(
            "describe the data: records=dpcheck.records(...) or neighbours=[(D, D2)]."
        )
    return prove(function, declared.neighbours[0].first, adjacency)


def _form(form: str | None) -> str | None:
    return Form.ARRAY.value if form == Form.VALUES.value else form


def within(proof: Proof, claim: Claim) -> bool:
    """Whether what is proved is at most what is claimed: at its delta, or along its whole curve.

    Assumes: rounding of public constants, 1e-12 of the claim, is not a violation.
    """
    allowed = claim.budget.epsilon * (1 + _ROUNDING)
    if claim.event is None:
        return proof.epsilon(delta=claim.budget.delta).upper <= allowed
    if claim.event == proof.event:
        return True
    return all(
        proof.epsilon(delta=delta).upper
        <= epsilon(claim.event, delta=delta, adjacency=claim.adjacency).upper * (1 + _ROUNDING)
        for delta in (claim.budget.delta, *_DELTAS)
    )
