"""`dpcheck.pld`: the privacy-loss distribution of a target, over what the accountant proves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpcheck.auditing.mechanism import as_mechanism, declaration
from dpcheck.auditing.plan import PartPlan
from dpcheck.auditing.pld.measure import measure
from dpcheck.core.data import Output
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.evidence import LossReport
from dpcheck.core.validate import count
from dpcheck.execution.pools import close_clients
from dpcheck.execution.progress import Progress
from dpcheck.execution.runner import Runner
from dpcheck.execution.store import MemoryStore
from dpcheck.session.audit import Settings, texts
from dpcheck.session.claims import read_claim
from dpcheck.session.external.program import end_programs
from dpcheck.session.run import AuditRequest, plan
from dpcheck.session.targets import described, pairs_of

RUNS = 10_000


def pld(
    target: str | Callable[..., Output],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    variant: str | None = None,
    settings: Settings = (),
    runs: int = RUNS,
    confidence: float = 0.999,
    seed: int = 0,
) -> LossReport:
    """The privacy loss of the real code on bad pairs, both directions: losses and delta(epsilon).

    `target` is a registered algorithm, `file.py:function`, or a function or model decorated with
    `dpcheck.audited`. `report.entries[0].losses` are the losses of single runs.

    Guarantee: all bands of the report hold together with probability `confidence`; those of a learned
    score bound delta from below only.
    """
    if not isinstance(target, str):
        plans = _of_function(target)
        return measure_plans(plans, plans[0].name, runs, confidence, seed)
    request = AuditRequest(
        target,
        epsilon=epsilon,
        delta=delta,
        variant=variant,
        settings=texts(settings),
        confidence=confidence,
        seed=seed,
    )
    return measure_request(request, runs)


def _of_function(target: Callable[..., Output]) -> list[PartPlan]:
    said = declaration(target)
    if said.canaries is not None:
        raise InvalidParameter(
            "a training with canaries has no pair of datasets to compare; give neighbours.",
            name="target",
        )
    stated = read_claim(said.claim, said.adjacency, "declared by the function")
    return [
        PartPlan(
            str(getattr(target, "__name__", "function")),
            "as given",
            stated,
            as_mechanism(target),
            said.neighbours,
            event=described(target, said.neighbours),
            **pairs_of(said.neighbours, said.records, said.form, stated.adjacency),
        )
    ]


def measure_request(
    request: AuditRequest, runs: int = RUNS, progress: Progress | None = None
) -> LossReport:
    """Plan and measure."""
    plans, _ = plan(request)
    return measure_plans(plans, request.target, runs, request.confidence, request.seed, progress)


def measure_plans(
    plans: Sequence[PartPlan],
    target: str,
    runs: int,
    confidence: float,
    seed: int,
    progress: Progress | None = None,
) -> LossReport:
    """Measure every part; the error rate is split evenly over them."""
    size = count("runs", runs, at_least=64)
    watch = progress or Progress(quiet=True)
    runner = Runner(seed, store=MemoryStore(), progress=watch, prefix=plans[0].name)
    alpha = (1 - confidence) / len(plans)
    try:
        with watch:
            entries = [
                curve
                for each in plans
                for curve in measure(each, size, alpha, runner.within(each.claim.part))
            ]
    finally:
        close_clients()
        end_programs()
    return LossReport(
        target,
        plans[0].variant,
        tuple(
            (each.claim.part, each.claim.budget.epsilon, each.claim.budget.delta) for each in plans
        ),
        tuple(entries),
        seed,
        confidence,
    )
