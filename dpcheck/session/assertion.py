"""`assert_private`: an audit as one line of a test."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from textwrap import indent

from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import (
    Declaration,
    Pair,
    as_mechanism,
    as_pairs,
    as_records,
    none_given,
)
from dpcheck.auditing.pairs.forms import as_form
from dpcheck.auditing.pairs.graphs import usual_graphs
from dpcheck.auditing.pairs.search import handed_over
from dpcheck.auditing.part import audit_part
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditEntry
from dpcheck.core.budget import Budget
from dpcheck.core.data import Data, Plain
from dpcheck.core.errors import InvalidParameter, Undecided
from dpcheck.core.records import Records
from dpcheck.core.relation import Relation
from dpcheck.core.validate import open_probability, positive
from dpcheck.core.verdict import Verdict
from dpcheck.execution.parallel import Workers
from dpcheck.execution.runner import Runner
from dpcheck.session.claims import read_claim
from dpcheck.session.conditions import conditions_of
from dpcheck.session.proving import with_proof
from dpcheck.session.script import origin_of_mechanism, render
from dpcheck.session.targets import pairs_of


def audit_function(
    mechanism: object,
    *,
    claim: Plain,
    neighbours: Sequence[Data] = (),
    records: Records | Data | None = None,
    form: str | None = None,
    adjacency: Adjacency | Relation | str,
    confidence: float = 0.999,
    seed: int = 0,
    max_runs: int | None = None,
    tolerance: float = 0.25,
    timeout: float | None = None,
    time_limit: float | None = None,
    runner: Runner | None = None,
    name: str | None = None,
    reads_code: bool = True,
) -> AuditEntry:
    """Audit any callable against a claim, on given neighbours or on those found among `records`.

    A proof of its code is tried in a third of the time limit, unless not `reads_code`.
    """
    began = time.time()
    alpha = 1 - open_probability("confidence", confidence)
    target = as_mechanism(mechanism, timeout)
    stated = read_claim(claim, adjacency, "stated by the caller")
    label = name or str(getattr(mechanism, "__name__", type(mechanism).__name__))
    pairs, described = _pairs(neighbours, records, stated.adjacency)
    shape = None if form is None else as_form(form)
    found = pairs_of(pairs, described, shape, stated.adjacency)
    plan = PartPlan(label, "as given", stated, target, pairs, **found)
    limit = math.inf if time_limit is None else positive("time_limit", time_limit)
    if reads_code and callable(mechanism):
        declared = Declaration(claim, adjacency, tuple(pairs), records=described, form=shape)
        plan = with_proof(plan, mechanism, declared, min(timeout or math.inf, limit / 3))
    deadline = began + limit
    limits = Limits(alpha=alpha, max_runs=max_runs, tolerance=tolerance, deadline=deadline)
    with handed_over(plan.pair_search):
        entry = audit_part(plan, limits, runner or Runner(seed=seed, workers=Workers(jobs=1)))
    entry = replace(entry, conditions=conditions_of(plan))
    if entry.witness is None or "rule" not in entry.witness:
        return entry
    program = render(entry, origin_of_mechanism(target), seed)
    witness = entry.witness.without("source")
    return replace(entry, witness=witness.extended(python=program) if program else witness)


def _pairs(
    neighbours: Sequence[Data],
    records: Records | Data | None,
    relation: Adjacency | Relation,
) -> tuple[list[Pair], Records | None]:
    if records is None:
        if isinstance(relation, Relation) and relation.kind != "answers" and none_given(neighbours):
            return usual_graphs(relation), None
        return as_pairs(neighbours), None
    if not none_given(neighbours):
        raise InvalidParameter("give neighbours or records, not both.", name="records")
    return [], as_records(records)


def assert_private(
    mechanism: object,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    claim: Plain = None,
    neighbours: Sequence[Data] = (),
    records: Records | Data | None = None,
    form: str | None = None,
    adjacency: Adjacency | Relation | str,
    confidence: float = 0.999,
    seed: int = 0,
    max_runs: int | None = None,
    tolerance: float = 0.25,
    timeout: float | None = None,
    time_limit: float | None = None,
) -> AuditEntry:
    """Raise AssertionError, with the witness, if the mechanism provably breaks its claim.

    Give epsilon and delta, or `claim`, an event whose whole curve is tested; and `neighbours`, pairs
    of datasets, or `records`, a description of a record among which they are searched (passed in
    `form`, as for `dpcheck.audited`). A function that can be read is proved first, as `dpcheck audit
    file.py:function` does it: within the claim it holds after a few calls. Raises Undecided when the
    runs cannot tell, or where the proof ends above the claim and no pair attains it; ProofsContradict
    where the proof and an attack do, which is a mistake in dpcheck. Returns the audit's entry otherwise.

    Guarantee: a mechanism that keeps its claim fails with probability at most 1 - confidence.
    """
    entry = audit_function(
        mechanism,
        claim=one_claim(epsilon, delta, claim),
        neighbours=neighbours,
        records=records,
        form=form,
        adjacency=adjacency,
        confidence=confidence,
        seed=seed,
        max_runs=max_runs,
        tolerance=tolerance,
        timeout=timeout,
        time_limit=time_limit,
    )
    if entry.verdict is Verdict.VIOLATED:
        raise AssertionError(explain(entry))
    return require_decision(entry)


def one_claim(epsilon: float | None, delta: float, claim: Plain) -> Plain:
    """The one claim that was given, in either of two ways."""
    if (epsilon is None) == (claim is None):
        raise InvalidParameter("give either epsilon (and delta) or claim, not both or neither.")
    return claim if epsilon is None else Budget(epsilon, delta)


def require_decision(entry: AuditEntry) -> AuditEntry:
    """The entry, unless the evidence could not tell."""
    seen = entry.observed
    if entry.verdict is Verdict.UNDECIDED:
        raise Undecided(
            f"{entry.name}: {entry.why}. {entry.needed}",
            detectable=seen.detectable,
            runs=seen.runs,
        )
    return entry


def explain(entry: AuditEntry) -> str:
    """A violation in words, with its witness."""
    seen = entry.observed
    how = f"(confidence {seen.confidence:g}, {seen.effort}, {seen.method})"
    budget, event = entry.claim.budget, entry.claim.event
    broken = f"is not ({budget.epsilon:g}, {budget.delta:g})-private under {entry.claim.adjacency}:"
    if event is not None:
        allowed = budget.epsilon if seen.allowed is None else seen.allowed
        broken = (
            f"does not keep the curve of {event} under {entry.claim.adjacency}, which allows epsilon "
            f"{allowed:.4f} at delta {seen.delta:.3g}:"
        )
    lines = [f"{entry.name} {broken} epsilon >= {seen.epsilon:.4f} at delta {seen.delta:.3g} {how}"]
    for key, value in (entry.witness or {}).items():
        if key in ("python", "source"):
            continue
        text = repr(value)
        lines.append(f"  {key}: {text if len(text) < 300 else text[:300] + '...'}")
    if entry.witness is not None and entry.witness.program:
        lines += ["  a program that shows it:", indent(entry.witness.program, "    ")]
    return "\n".join(lines)
