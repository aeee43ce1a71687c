"""`dpcheck.audit`: the whole of `dpcheck audit` as one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dpcheck.auditing.mechanism import declaration, is_audited, none_given
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.audit_result import AuditReport
from dpcheck.core.data import Data, Output, Plain
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.records import Records
from dpcheck.core.relation import Relation
from dpcheck.execution.parallel import Workers
from dpcheck.session import registry
from dpcheck.session.assertion import audit_function, one_claim
from dpcheck.session.made import made
from dpcheck.session.provenance import versions
from dpcheck.session.registry import Audit, AuditSetup
from dpcheck.session.run import AuditRequest, run_plans, run_request

Settings = Mapping[str, Plain] | Sequence[str]


def audit(
    target: str | Callable[..., Output],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    claim: Plain = None,
    neighbours: Sequence[Data] = (),
    records: Records | Data | None = None,
    form: str | None = None,
    adjacency: Adjacency | Relation | str | None = None,
    variant: str | None = None,
    settings: Settings = (),
    confidence: float = 0.999,
    max_runs: int | None = None,
    seed: int = 0,
    tolerance: float = 0.25,
    timeout: float | None = None,
    time_limit: float | None = None,
    floating_point: bool = False,
    jobs: int = 1,
) -> AuditReport:
    """Audit a registered algorithm, `file.py:function`, or a function on given neighbours.

    A model of `dpcheck.mechanisms` is audited as it was set up, on data of the shape `settings` say
    (rows, features). A function needs an `adjacency`, epsilon (with delta) or `claim`, and
    `neighbours` or `records`, a description of a record among which they are searched; one that is
    decorated with `dpcheck.audited` says all of it itself. A claim about query answers or graphs has
    adjacency=dpcheck.relation(...).

    Guarantee: something that keeps its claim is violated with probability at most 1 - confidence.
    """
    if isinstance(target, str):
        if claim is not None or records is not None or not none_given(neighbours):
            raise InvalidParameter(
                "a target given by name brings its own claim and neighbours. To use others, pass "
                "the function itself.",
                name="neighbours",
            )
        request = AuditRequest(
            target,
            epsilon=epsilon,
            delta=delta,
            variant=variant,
            adjacency=None if adjacency is None else as_adjacency(adjacency),
            settings=texts(settings),
            confidence=confidence,
            max_runs=max_runs,
            seed=seed,
            tolerance=tolerance,
            timeout=timeout,
            time_limit=time_limit,
            floating_point=floating_point,
            workers=Workers(jobs=jobs),
        )
        return run_request(request)
    model = registry.audit_of(target)
    if model is not None and claim is None and records is None and none_given(neighbours):
        if any(each is not None for each in (epsilon, delta, variant, adjacency)):
            raise InvalidParameter(
                "a model knows its own variant, adjacency and budget. Create another one, or "
                "give neighbours and a claim.",
                name="epsilon",
            )
        return _audit_model(
            target,
            model,
            AuditRequest(
                model.name,
                settings=texts(settings),
                confidence=confidence,
                max_runs=max_runs,
                seed=seed,
                tolerance=tolerance,
                timeout=timeout,
                time_limit=time_limit,
                workers=Workers(jobs=jobs),
            ),
        )
    if variant is not None or settings or floating_point:
        raise InvalidParameter(
            "variant, settings and floating_point are for targets given by name.", name="variant"
        )
    if is_audited(target):
        said = declaration(target)
        if said.canaries is not None:
            raise InvalidParameter(
                "a training with canaries is audited by name: file.py:function.", name="target"
            )
        if claim is None and epsilon is None:
            claim = said.claim
        adjacency = adjacency or said.adjacency
        if records is None and none_given(neighbours):
            neighbours, records = said.neighbours, said.records
            form = form or (None if said.form is None else str(said.form))
    if adjacency is None:
        raise InvalidParameter(
            "add adjacency=: replace-one, add-remove or zero-out.", name="adjacency"
        )
    entry = audit_function(
        target,
        claim=one_claim(epsilon, delta or 0.0, claim),
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
    return AuditReport(seed, (entry,), confidence, versions(), made=made(Path.cwd()))


def _audit_model(target: object, audit: Audit, request: AuditRequest) -> AuditReport:
    """A model of dpcheck.mechanisms as it was set up; settings say on how many rows and features."""
    assert audit.build_model is not None
    setup = AuditSetup(
        epsilon=1.0, settings=audit.settings(request.settings), timeout=request.timeout
    )
    plans = list(audit.build_model(target, setup))
    report = run_plans(plans, request, {"target": repr(target), "seed": request.seed})
    return replace(report, command="")  # a model stands in no command line


def texts(settings: Settings) -> tuple[str, ...]:
    """Settings as the command line gives them: name=value."""
    if isinstance(settings, Mapping):
        return tuple(f"{name}={value}" for name, value in settings.items())
    return tuple(settings)
