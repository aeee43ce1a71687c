"""Your own code as a target: file.py:object or package.module:object."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpcheck.auditing.auditors.canaries import CanaryTraining
from dpcheck.auditing.claims import audited_claim
from dpcheck.auditing.mechanism import (
    Declaration,
    Mechanism,
    Pair,
    as_mechanism,
    declaration,
)
from dpcheck.auditing.pairs.checking import check_pairs
from dpcheck.auditing.pairs.forms import Form, default_form
from dpcheck.auditing.pairs.search import PairSearch
from dpcheck.auditing.plan import PartPlan
from dpcheck.auditing.signatures import Adapted, fitted
from dpcheck.auditing.statistics.curves import guesses_for, mu_of_lines
from dpcheck.auditing.statistics.guesses import best_guess_count
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.data import fingerprint
from dpcheck.core.errors import UnsupportedAdjacency
from dpcheck.core.events.event import Event
from dpcheck.core.records import Records, in_one_line
from dpcheck.core.relation import Relation
from dpcheck.execution import code
from dpcheck.execution.imports import load
from dpcheck.execution.references import Reference, parse
from dpcheck.session.claims import read_claim
from dpcheck.session.proving import with_proof


def plan_target(
    text: str,
    *,
    epsilon: float | None,
    delta: float | None,
    timeout: float | None,
    ends: float = math.inf,
) -> tuple[PartPlan, str]:
    """The plan of a user's target, and a digest of code and data for the store's key.

    A proof of the code is tried in a third of the time until `ends`.
    """
    reference = parse(text)
    load(reference.location, timeout)
    target = reference.load()
    declared = declaration(target)
    wanted = declared.claim
    if epsilon is not None:
        wanted = Budget(epsilon, delta or 0.0)
    stated = read_claim(wanted, declared.adjacency, f"declared by {reference.attribute}")
    if declared.canaries is not None:
        call = fitted(target, reference, False)
        return _one_run(reference, call, stated, declared, timeout), _digest(reference, declared)
    mechanism = as_mechanism(target, timeout)
    suffix = ".sample_releases" if hasattr(target, "sample_releases") else ""
    remote: Callable[..., Any] = Reference(reference.location, reference.attribute + suffix)
    if isinstance(mechanism.function, Adapted):
        remote = replace(mechanism.function, function=remote)
    mechanism = Mechanism(remote, mechanism.batched, timeout, mechanism.log_density)
    plan = PartPlan(
        reference.attribute,
        "as given",
        stated,
        mechanism,
        declared.neighbours,
        event=described(target, declared.neighbours),
        **pairs_of(declared.neighbours, declared.records, declared.form, stated.adjacency),
    )
    share = max(ends - time.time(), 1e-3) / 3
    longest = share if timeout is None else min(timeout, share)
    return with_proof(plan, reference, declared, longest), _digest(reference, declared)


def described(target: object, neighbours: Sequence[Pair]) -> Event | None:
    """What a model says it releases on data like these; None where the target is no such model."""
    if not neighbours or not hasattr(target, "release_event"):
        return None
    event: Event = target.release_event("data", neighbours[0].first)
    return event


def pairs_of(
    neighbours: Sequence[Pair],
    records: Records | None,
    form: Form | None,
    adjacency: Adjacency | Relation,
) -> dict[str, Any]:
    """How a plan gets its pairs: checked if they are given, searched if records are described."""
    if records is None:
        return {"notes": check_pairs(neighbours, adjacency)}
    return {
        "pair_search": PairSearch(records, adjacency, form or _usual_form(adjacency)),
        "notes": (f"neighbours were searched among {in_one_line(records)}",),
    }


def _usual_form(adjacency: Adjacency | Relation) -> Form:
    """Answers are an array, records what the audited code seems to use."""
    return Form.ARRAY if isinstance(adjacency, Relation) else default_form()


def _one_run(
    reference: Reference,
    call: Callable[..., Any],
    stated: Claim,
    declared: Declaration,
    timeout: float | None,
) -> PartPlan:
    """A training function with canaries; its neighbours differ in whether one canary is in."""
    if stated.adjacency is Adjacency.REPLACE_ONE:
        raise UnsupportedAdjacency(
            "a one-run audit includes or leaves out each canary; state the claim under add-remove "
            "or zero-out.",
        )
    assert declared.canaries is not None
    tested = audited_claim(stated)
    guesses = declared.guesses or best_guess_count(declared.canaries)
    if declared.guesses is None and tested.lines is not None:
        # Where a claim that is a quarter too small would be refuted most surely.
        total = declared.canaries * declared.trainings
        guesses = guesses_for(total, 1.25 * mu_of_lines(tested.lines), 1e-3) // declared.trainings
    training = CanaryTraining(
        call, tested, declared.canaries, guesses, timeout, declared.trainings, declared.scores
    )
    return PartPlan(reference.attribute, "as given", stated, None, training=training)


def source_of(reference: Reference) -> Path | None:
    """The file a target's module was loaded from."""
    source = getattr(load(reference.location), "__file__", None)
    return None if source is None else Path(source).resolve()


def _digest(reference: Reference, declared: Declaration) -> str:
    """Everything known before the first run that its results depend on."""
    source = source_of(reference)
    return code.key(
        {
            "environment": code.environment(),
            "sources": {} if source is None else code.sources(source, source.parent),
            "data": [fingerprint((pair.first, pair.second)) for pair in declared.neighbours],
            "records": repr((declared.records, declared.form)),
        }
    )
