"""Proofs of targets: the data a declaration describes, the claim a proof is compared with."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpcheck.accounting.api import epsilon
from dpcheck.attack.attack import attack
from dpcheck.auditing.mechanism import Declaration, declaration
from dpcheck.auditing.pairs.forms import default_form
from dpcheck.auditing.plan import CodeProof, PartPlan
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.audit_result import Proved
from dpcheck.core.claim import Claim
from dpcheck.core.data import Data
from dpcheck.core.errors import (
    CannotCertify,
    DpcheckError,
    InvalidRecords,
    MissingExtra,
    NothingToAudit,
    NotProvable,
    ProofsContradict,
)
from dpcheck.core.records import Field, Number, OneOf, Records, Text
from dpcheck.execution.facts import watched
from dpcheck.execution.imports import load
from dpcheck.execution.interrupts import Interrupted, interruptible, time_limited
from dpcheck.execution.references import Reference, parse
from dpcheck.program.described import alike
from dpcheck.program.proof import Proof, of_people, proof_of, read
from dpcheck.session.claims import read_claim
from dpcheck.session.evaluating import ProgramEvaluation
from dpcheck.session.many_runs import many_runs

# A claim written in decimals and a scale computed from it agree up to the rounding of floats.
_ROUNDING = 1e-12
_LONGEST = 60.0  # seconds a trace may take
_DELTAS = tuple(10.0**-k for k in range(2, 13, 2))  # where a curve is compared with another


def prove(
    function: Callable[..., Data],
    data: Data = None,
    adjacency: Adjacency | str | None = None,
    *,
    form: str | None = None,
    public: Sequence[str] = (),
    params: Any = None,
    batch: Any = None,
    key: Any = None,
    sampling_rate: float | None = None,
    records: Any = None,
) -> Proof:
    """Prove what `function(data, rng)` spends, for every dataset like `data`, or raise NotProvable.

    A training step is proved by an example of its arguments: `prove(step, params=params, batch=batch,
    key=key)` for `step(params, batch, key)` in jax, without `key` for `step(params,
    batch)` on dicts of torch tensors.
    `sampling_rate` says that the records of a batch are drawn by Poisson sampling. Neighbours are add-remove
    for steps and replace-one for functions unless `adjacency` says otherwise.

    The function's source is read, not run. `data` is an example, of which only shapes and types are used, or
    a `dpcheck.records(...)` description, handed over as a numpy table or, if it has more than numbers, as a
    DataFrame (`form`). `public` names large constants of the function's module that are public. The
    function is then run for about a second on data made up to fit, which must not contradict the proof:
    where they do, ProofsContradict is raised.

    Guarantee: no two neighbouring datasets of that shape have outputs further apart than `event`.
    Assumes: what `assumes` lists.

    >>> import dpcheck
    >>> import numpy as np
    >>> def mean_age(age, rng):
    ...     return np.clip(age, 0, 100).mean() + rng.laplace(scale=0.5)
    >>> people = dpcheck.records(age=dpcheck.number(), rows=1000)
    >>> round(prove(mean_age, people).epsilon().upper, 12)
    0.2
    """
    if batch is not None:
        relation = as_adjacency(adjacency or Adjacency.ADD_REMOVE)
        return _prove_step(function, params, batch, key, relation, sampling_rate, records)
    relation = as_adjacency(adjacency or Adjacency.REPLACE_ONE)
    program = read(function, data, relation, form=form, public=public)
    proof = proof_of(program, data)
    evaluation = ProgramEvaluation(function, program)
    skipped = attack(evaluation.call, data, form, proof, evaluation)
    return replace(proof, assumes=(*proof.assumes, *skipped))


def _prove_step(
    step: Callable[..., Any],
    params: Any,
    batch: Any,
    key: Any,
    adjacency: Adjacency,
    sampling_rate: float | None,
    records: Any,
) -> Proof:
    """jax where there is a key, torch where there is none."""
    given = {"sampling_rate": sampling_rate, "records": records}
    try:
        if key is None:
            from dpcheck.training.torch.step import prove_step as prove_torch

            return prove_torch(step, params, batch, adjacency, **given)
        from dpcheck.training.jax.step import prove_step as prove_jax

        return prove_jax(step, params=params, batch=batch, key=key, adjacency=adjacency, **given)
    except ModuleNotFoundError as error:
        raise _missing(error) from error


def _missing(error: ModuleNotFoundError) -> Exception:
    extras = {"jax": "deep", "torch": "opacus", "opacus": "opacus"}
    extra = extras.get(str(error.name).partition(".")[0])
    if extra is None:
        return error
    return MissingExtra(f"this needs {error.name}: pip install 'dpcheck[{extra}]'.", extra=extra)


def prove_training(
    *,
    model: Any,
    optimizer: Any,
    loader: Any,
    loss: Callable[..., Any],
    steps: int | None = None,
    epochs: float | None = None,
    adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
) -> Proof:
    """Prove what a training with torch and Opacus spends, or raise NotProvable.

    Give it what `make_private` returned, and a `loss(outputs, targets)`. `steps` counts noisy
    steps, not physical batches.

    Guarantee: no two neighbouring datasets have trainings further apart than `event`.
    Assumes: what `assumes` lists, the loop among it.
    """
    try:
        from dpcheck.training.torch.training import prove_training as prove_whole
    except ModuleNotFoundError as error:
        raise _missing(error) from error
    return prove_whole(
        model=model,
        optimizer=optimizer,
        loader=loader,
        loss=loss,
        steps=steps,
        epochs=epochs,
        adjacency=adjacency,
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """The proof of a target, and the claim under the declared adjacency.

    `guessed`: the columns of which it needs a guess. `condition`: what has to be true of the records, in
    words; empty where nothing has to be that nobody confirmed. `other`: a proof that needs other guesses,
    with its condition.
    """

    proof: Proof
    claim: Claim | None
    guessed: tuple[str, ...] = ()
    condition: str = ""
    other: tuple[Proof, str] | None = None


def prove_target(text: str, adjacency: str | None = None) -> Answer:
    """The proof of a user's target: without the guesses of its description, if there is one."""
    reference = parse(text)
    load(reference.location)
    target = reference.load()
    declared = declaration(target)
    relation = as_adjacency(adjacency or declared.adjacency)
    claim = None
    if relation is as_adjacency(declared.adjacency) and declared.claim is not None:
        claim = read_claim(declared.claim, declared.adjacency, f"declared by {reference.attribute}")
    return with_fewest_guesses(target, declared, relation, claim)


def with_fewest_guesses(
    target: Callable[..., Data],
    declared: Declaration,
    relation: Adjacency,
    claim: Claim | None,
    timeout: float | None = None,
) -> Answer:
    """The proof that needs the fewest guesses, as long as it is within the claim."""
    guessed = guessed_in(declared)
    if not guessed:
        return Answer(prove_declared(target, declared, relation, timeout), claim)
    assert declared.records is not None
    condition = in_words(declared.records)
    try:
        described = prove_declared(target, declared, relation, timeout)
    except NotProvable:
        described = None
    for missing in (True, False):
        wider = replace(declared, records=anything(declared.records, missing=missing))
        try:
            proof = prove_declared(target, wider, relation, timeout)
        except (NotProvable, InvalidRecords):
            continue
        needs = "" if missing else f"if {listed(guessed)} misses no value"
        if described is not None and claim is not None and not within(proof, claim):
            return Answer(described, claim, guessed, condition)
        other = None if described is None else (described, condition)
        return Answer(proof, claim, () if missing else guessed, needs, other)
    if described is None:
        described = prove_declared(target, declared, relation, timeout)  # says why
    return Answer(described, claim, guessed, condition)


def anything(described: Records, *, missing: bool) -> Records:
    """The description with a guess replaced by anything of its kind; `missing` if values may be missing."""

    def wider(field: Field) -> Field:
        if field.confirmed is not False:
            return field
        if isinstance(field, Number):
            may_be = (missing or field.missing) and not field.integer
            return Number(integer=field.integer, missing=may_be, confirmed=False)
        return Text(confirmed=False)

    return replace(described, fields=tuple((name, wider(each)) for name, each in described.fields))


def in_words(described: Records) -> str:
    """What the guesses of a description say, as a condition."""
    found = []
    for name, field in described.fields:
        if field.confirmed is not False:
            continue
        if isinstance(field, Number) and math.isfinite(field.low) and math.isfinite(field.high):
            found.append(f"{name} is between {field.low:,.6g} and {field.high:,.6g}")
        elif isinstance(field, Number) and math.isfinite(field.high):
            found.append(f"{name} is at most {field.high:,.6g}")
        elif isinstance(field, OneOf):
            found.append(f"{name} is one of {len(field.values)} listed values")
        else:
            found.append(f"{name} is as described")
    return f"if {listed(found)}"


def listed(words: Sequence[str]) -> str:
    """Words with commas and an "and"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def prove_declared(
    function: Callable[..., Data],
    declared: Declaration,
    adjacency: Adjacency,
    timeout: float | None = None,
) -> Proof:
    """The proof of a function as it was declared, in `timeout` seconds at most.

    Code that calls sys.exit(0), or raises anything else that is no Exception, is not provable: it
    must neither end the command nor pass for an answer.
    """
    try:
        with (
            watched(entropy=False),
            interruptible(),
            time_limited(timeout, "reading the code", fatal=False),
        ):
            return _read(function, declared, adjacency)
    except (Exception, Interrupted):
        raise
    except BaseException as error:
        remedy = "let it return an output"
        raise NotProvable(
            f"not provable: reading the function raised {type(error).__name__}; {remedy}.",
            kind="failed",
            remedy=remedy,
        ) from error


def _read(function: Callable[..., Data], declared: Declaration, adjacency: Adjacency) -> Proof:
    if declared.canaries is not None:
        raise NothingToAudit(
            "a training with canaries describes no data. Give records= to prove it."
        )
    if declared.records is not None:
        form = declared.form or default_form()  # as an audit hands the data over
        return prove(function, declared.records, adjacency, form=str(form))
    if not declared.neighbours:
        raise NothingToAudit(
            "describe the data: records=dpcheck.records(...) or neighbours=[(D, D2)]."
        )
    sides = [side for pair in declared.neighbours for side in (pair.first, pair.second)]
    if not all(alike(sides[0], each, adjacency) for each in sides):
        raise InvalidRecords(
            "the given datasets differ in size or in type, and an example proves something of datasets like "
            "itself only. Describe the data instead: records=dpcheck.records(...)."
        )
    proof = prove(function, sides[0], adjacency)
    return of_people(proof, max(pair.rows_per_person for pair in declared.neighbours))


def with_proof(
    plan: PartPlan,
    remote: Callable[..., Data],
    declared: Declaration,
    timeout: float = math.inf,
) -> PartPlan:
    """The plan with what a proof of the code says; with a note of why there is none, if it is that."""
    target = remote.load() if isinstance(remote, Reference) else remote
    adjacency = plan.claim.recorded
    if (
        adjacency is None
        or plan.mechanism is None
        or plan.mechanism.batched
        or not callable(target)
    ):
        return plan
    try:
        found = with_fewest_guesses(target, declared, adjacency, plan.claim, min(timeout, _LONGEST))
        proof = found.proof
    except ProofsContradict:
        raise  # a mistake of ours, never a verdict
    except NotProvable as refused:
        return replace(plan, notes=(*plan.notes, refused.message))
    except DpcheckError as error:
        return replace(plan, notes=(*plan.notes, f"not provable: {error.message}"))
    delta = plan.claim.budget.delta
    bound = proof.epsilon(delta=delta)
    allowed = plan.claim.budget.epsilon

    def epsilon_at(at: float) -> float:
        found = proof.epsilon(delta=at).upper
        claimed = allowed if at == delta else math.nan
        return claimed if claimed < found <= claimed * (1 + _ROUNDING) else found

    shown = bound.upper if not allowed < bound.upper <= allowed * (1 + _ROUNDING) else allowed
    notes = plan.notes
    if shown > allowed:
        notes = (*notes, f"the proof is above the claim: {cost(proof, delta)}")
    return replace(
        plan,
        proved=Proved(shown, delta, f"code, {bound.method}", bound.assumes, _certificate(proof)),
        code_proof=CodeProof(proof.event, epsilon_at, _how(proof), found.guessed),
        many_runs=many_runs(plan.mechanism, remote, declared, adjacency),
        notes=notes,
    )


def _certificate(proof: Proof) -> str | None:
    """The proof for `dpcheck verify`, where the kernel has a lemma for all of it."""
    try:
        return json.dumps(proof.certificate())
    except CannotCertify:
        return None


def guessed_in(declared: Declaration) -> tuple[str, ...]:
    """The columns whose description is a guess: what is proved with it waits for a confirmation."""
    return () if declared.records is None else declared.records.guessed


def _how(proof: Proof) -> str:
    made = sum(each.times for each in proof.releases)
    lines = ", ".join(dict.fromkeys(each.line for each in proof.releases))
    return f"the code itself was read: {made} release{'' if made == 1 else 's'} ({lines})"


def cost(proof: Proof, delta: float) -> str:
    """Which release costs what."""
    found = []
    for each in proof.releases:
        if each.event is not None:
            event = each.event * each.times if each.times > 1 else each.event
            spent = epsilon(event, delta=delta, adjacency=proof.adjacency).upper
            times = f", {each.times} times" if each.times > 1 else ""
            found.append(f"{each.line}{times} costs {spent:.6g}")
    return "; ".join(found)


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
        <= epsilon(claim.event, delta=delta, adjacency=claim.recorded).upper * (1 + _ROUNDING)
        for delta in (claim.budget.delta, *_DELTAS)
    )
