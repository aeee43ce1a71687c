"""From a request to a report: what `dpcheck audit`, the gate and the test plugin share."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpcheck import __version__
from dpcheck.auditing.auditors.witness_search import is_searched
from dpcheck.auditing.limits import Limits, Pace
from dpcheck.auditing.pairs.search import handed_over
from dpcheck.auditing.part import audit_part
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditEntry, AuditReport
from dpcheck.core.budget import Budget
from dpcheck.core.errors import (
    NothingToAudit,
    TimeLimitReached,
    UnsupportedAdjacency,
)
from dpcheck.core.validate import count, non_negative, open_probability, positive
from dpcheck.execution.interrupts import until
from dpcheck.execution.parallel import Workers
from dpcheck.execution.pools import close_clients
from dpcheck.execution.progress import Progress
from dpcheck.execution.runner import Runner
from dpcheck.execution.store import MemoryStore, SqliteStore, Store, audit_key
from dpcheck.session import registry
from dpcheck.session.catalogue import resolved
from dpcheck.session.conditions import conditions_of
from dpcheck.session.external.plan import Outside, plan_outside
from dpcheck.session.external.program import end_programs
from dpcheck.session.locations import locate
from dpcheck.session.made import made_for
from dpcheck.session.provenance import finished, rerun_command, versions
from dpcheck.session.targets import plan_target

HANGS = 600.0  # seconds after which one call of somebody's function is ended, unless told otherwise


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """Everything a command line says, checked."""

    target: str
    epsilon: float | None = None
    delta: float | None = None
    variant: str | None = None
    adjacency: Adjacency | None = None
    settings: tuple[str, ...] = ()
    confidence: float = 0.999
    max_runs: int | None = None
    seed: int = 0
    tolerance: float = 0.25
    timeout: float | None = None
    time_limit: float | None = None  # seconds, from when the request was made
    floating_point: bool = False
    store: str | None = None
    resume: bool = False
    pictures: bool = False  # sample what an HTML report draws; changes no verdict
    workers: Workers = field(default_factory=Workers)
    outside: Outside = field(default_factory=Outside)  # another process the target runs in
    begun: float = field(default_factory=time.time, compare=False, repr=False)

    def __post_init__(self) -> None:
        open_probability("confidence", self.confidence)
        non_negative("tolerance", self.tolerance)
        count("seed", self.seed, at_least=0)
        if self.max_runs is not None:
            count("max-runs", self.max_runs)
        if self.timeout is not None:
            positive("timeout", self.timeout)
        if self.time_limit is not None:
            positive("time_limit", self.time_limit)

    @property
    def is_registered(self) -> bool:
        """Whether the target is an audit's name rather than somebody's code."""
        return not self.outside and ":" not in self.target

    @property
    def ends(self) -> float:
        """When its time is over, by time.time()."""
        return self.begun + (self.time_limit or math.inf)


def plan(request: AuditRequest) -> tuple[list[PartPlan], dict[str, object]]:
    """The parts to audit, and what identifies the audit in a store."""
    with in_planning_time(request):
        return _plan(resolved(request))


@contextmanager
def in_planning_time(request: AuditRequest) -> Iterator[None]:
    """Where the time limit passes before there is anything to audit, say so."""
    try:
        with until(request.ends):
            yield
    except TimeLimitReached:
        raise TimeLimitReached(
            f"{request.target or 'the program'} was not ready to be audited within the time limit of "
            f"{request.time_limit:g} s: importing it, or reading its data, takes longer or hangs.",
            name="time_limit",
        ) from None


def _plan(request: AuditRequest) -> tuple[list[PartPlan], dict[str, object]]:
    identity: dict[str, object] = {
        "version": __version__,
        "target": request.target,
        "epsilon": request.epsilon,
        "delta": request.delta,
        "variant": request.variant,
        "adjacency": str(request.adjacency),
        "settings": sorted(request.settings),
        "seed": request.seed,
        "confidence": request.confidence,
        "max_runs": request.max_runs,
        "tolerance": request.tolerance,
        "floating_point": request.floating_point,
    }
    if request.outside:
        claim = None if request.epsilon is None else Budget(request.epsilon, request.delta or 0.0)
        one, identity["source"] = plan_outside(
            request.outside,
            request.target or None,
            claim,
            request.adjacency,
            request.timeout or HANGS,
        )
        plans = [one]
    elif request.is_registered:
        plans = _plan_registered(request)
    else:
        if request.settings or request.variant:
            raise NothingToAudit(
                "settings and variants are for registered audits only.", name="settings"
            )
        one, digest = plan_target(
            request.target,
            epsilon=request.epsilon,
            delta=request.delta,
            timeout=request.timeout or HANGS,
            ends=request.ends,
        )
        identity["source"] = digest
        plans = [one]
    if request.adjacency is not None:
        for each in plans:
            if each.claim.adjacency is not request.adjacency:
                raise UnsupportedAdjacency(
                    f"{each.name} claims privacy under {each.claim.adjacency}; its neighbours "
                    f"cannot be audited under {request.adjacency}.",
                )
    if not plans:
        raise NothingToAudit(f"{request.target} has no part to audit.")
    return plans, identity


def _plan_registered(request: AuditRequest) -> list[PartPlan]:
    audit = registry.get(request.target)
    wanted = registry.AuditSetup(
        epsilon=1.0 if request.epsilon is None else request.epsilon,
        delta=request.delta or 0.0,
        variant=audit.check_variant(request.variant),
        adjacency=request.adjacency,
        settings=audit.settings(request.settings),
        timeout=request.timeout,
    )
    return list(audit.build(wanted))


def run_plans(
    plans: Sequence[PartPlan],
    request: AuditRequest,
    identity: dict[str, object],
    *,
    progress: Progress | None = None,
    limits: Limits | None = None,
    store: Store | None = None,
) -> AuditReport:
    """Audit every part; the error rate of the command is split evenly over them.

    Whoever gives `limits` has split the error rate already; a given `store` stays open.
    """
    if request.floating_point:
        from dpcheck.auditing.auditors.floating_point import with_float_parts

        plans = with_float_parts(plans)
    given = limits is not None
    if limits is None:
        alpha = (1 - request.confidence) / len(plans)
        limits = Limits(alpha=alpha, max_runs=request.max_runs, tolerance=request.tolerance)
    own: SqliteStore | None = None
    if store is None and request.store is not None:
        own = SqliteStore(request.store, audit_key(identity), resume=request.resume)
    store = store or own or MemoryStore()
    watch = progress or Progress(quiet=True)
    runner = Runner(request.seed, request.workers, store, watch, plans[0].name)
    try:
        with watch:
            entries = [
                _audited(
                    each,
                    limits if given else in_time(limits, request.ends, len(plans) - index),
                    runner,
                    request,
                )
                for index, each in enumerate(plans)
            ]
    finally:
        close_clients()
        end_programs()
        if own is not None:
            own.close()
    if not given and not request.outside:
        where = locate(request.target, Path())
        entries = [replace(entry, location=where) for entry in entries]
    return AuditReport(
        request.seed,
        tuple(entries),
        request.confidence,
        versions(),
        command=rerun_command(request),
        made=None if given else made_for(request, plans),
    )


def _audited(plan: PartPlan, limits: Limits, runner: Runner, request: AuditRequest) -> AuditEntry:
    began = time.monotonic()
    with handed_over(plan.pair_search):
        found = audit_part(plan, limits, runner.within(plan.claim.part), pictures=request.pictures)
    seconds = time.monotonic() - began
    return replace(finished(found, request), conditions=conditions_of(plan), seconds=seconds)


def in_time(limits: Limits, ends: float, parts: int) -> Limits:
    """The limits of the next of `parts` that share the time until `ends`."""
    if math.isinf(ends):
        return replace(limits, pace=Pace())
    now = time.time()
    return replace(limits, deadline=now + max(0.0, ends - now) / parts, pace=Pace())


def run_request(request: AuditRequest, *, progress: Progress | None = None) -> AuditReport:
    """Plan and run."""
    plans, identity = plan(request)
    return run_plans(plans, request, identity, progress=progress)


def describe(plans: Sequence[PartPlan], request: AuditRequest) -> str:
    """What would be done, for `--dry-run`."""
    limits = Limits(max_runs=request.max_runs)
    lines = []
    for each in plans:
        budget = each.claim.budget
        lines.append(f"{each.name} ({each.variant}), part {each.claim.part}")
        lines.append(f"  claim      {budget} under {each.claim.adjacency}, {each.claim.source}")
        if each.proved is not None:
            lines.append(
                f"  proved     epsilon <= {each.proved.epsilon:.6g} ({each.proved.method})"
            )
        steps = []
        searched = is_searched(each)
        if searched and each.tested.delta == 0:
            steps.append("exact witness search")
        if each.pivot is not None and each.mechanism is not None:
            steps.append("noise-scale test")
        if each.mechanism is not None and each.pairs:
            if each.mechanism.log_density is not None:
                steps.append(f"exact losses of {each.loss_runs:,} outputs a side")
            if not (searched and each.tested.delta == 0):
                learning = limits.learning_for(each.mechanism)
                learning += limits.sharpening_for(each.mechanism)
                learning *= min(2, len(each.pairs))
                most = limits.runs_for(each.mechanism)
                steps.append(
                    f"distinguisher: {learning:,} learning runs and at most {most:,} test runs a "
                    f"side on {len(each.pairs)} pair(s)"
                )
        if each.training is not None:
            steps.append("one training with canaries")
        lines += [f"  auditor    {step}" for step in steps]
    share = (1 - request.confidence) / max(1, len(plans))
    lines.append(f"error rate {1 - request.confidence:.3g} for the command, {share:.3g} a part")
    if math.isclose(share, 0.0):
        lines.append("warning: a confidence this close to 1 needs very many runs")
    return "\n".join(lines)
