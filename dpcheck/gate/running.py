"""One audit of a project: planned, looked up, run or continued, within the time that is left."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dpcheck.auditing.auditors.floating_point import with_float_parts
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.audit_result import AuditEntry, Location
from dpcheck.core.data import Plain, fingerprint
from dpcheck.core.errors import DpcheckError, InvalidProject, MechanismFailed, NothingToAudit
from dpcheck.core.events.serialize import to_dict
from dpcheck.core.method import Method
from dpcheck.core.verdict import Verdict
from dpcheck.execution import code
from dpcheck.execution.facts import relative_to, still_true
from dpcheck.execution.imports import load
from dpcheck.execution.progress import Progress
from dpcheck.execution.references import parse
from dpcheck.execution.store import MemoryStore, SqliteStore, Store
from dpcheck.gate.project import AuditSpec, Project
from dpcheck.gate.results import Kept, Results
from dpcheck.session import run as session
from dpcheck.session import targets
from dpcheck.session.claims import read_claim
from dpcheck.session.locations import locate
from dpcheck.session.made import data_digest


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """What all audits of one check share; `alpha` is the error rate of each."""

    alpha: float
    folder: Path
    cache: bool = True
    nightly: bool = False


@contextmanager
def contained(name: str) -> Iterator[None]:
    """Say which audit an error belongs to; a target that calls sys.exit() ends nothing."""
    try:
        yield
    except DpcheckError as error:
        raise type(error)(f"{name}: {error.message}", **error.data) from error
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise MechanismFailed(
            f"{name}: the target raised {type(error).__name__}: {error}; put code that ends a "
            'program under if __name__ == "__main__".'
        ) from None


def prepare(
    spec: AuditSpec, request: session.AuditRequest, root: Path
) -> tuple[list[PartPlan], Location | None]:
    """The parts of an audit as the project wants them, and where its code stands."""
    if not request.is_registered:
        reference = parse(spec.target)
        load(reference.location, request.timeout)
        target = reference.load()
        if not callable(target) and not hasattr(target, "sample_releases"):
            raise NothingToAudit("this target is not callable; name a function (data, rng).")
    plans, _ = session.plan(replace(request, floating_point=False))
    if spec.claim is not None:
        if any(plan.training is not None for plan in plans):
            raise InvalidProject(
                "the canaries were planned for the declared claim. Change that one."
            )
        stated = [read_claim(spec.claim, p.claim.adjacency, "the project file") for p in plans]
        plans = [
            replace(p, claim=replace(c, part=p.claim.part))
            for p, c in zip(plans, stated, strict=True)
        ]
    plans = [replace(p, name=spec.name) for p in plans]
    if spec.floating_point:
        plans = with_float_parts(plans)
    return plans, locate(spec.target, root)


def _source_of(target: str) -> Path:
    return targets.source_of(parse(target)) or Path()


def result_key(
    spec: AuditSpec, request: session.AuditRequest, plans: Sequence[PartPlan], project: Project
) -> str | None:
    """A digest of code, data and parameters; None where the data has none."""
    dependencies: dict[str, Plain] = {
        "environment": code.environment(),
        "name": spec.name,
        "target": spec.target,
        "epsilon": request.epsilon,
        "delta": request.delta,
        "variant": request.variant,
        "adjacency": str(request.adjacency),
        "settings": sorted(request.settings),
        "claim": None if spec.claim is None else to_dict(spec.claim),
        "max_runs": request.max_runs,
        "seed": request.seed,
        "tolerance": request.tolerance,
        "timeout": request.timeout,
        "time_limit": request.time_limit,
        "floating_point": spec.floating_point,
        "inputs": code.inputs(project.root, spec.inputs),
    }
    if not request.is_registered:
        dependencies["sources"] = code.sources(_source_of(spec.target), project.root)
        dependencies["data"] = [
            fingerprint((p.first, p.second)) for plan in plans for p in plan.pairs
        ]
        dependencies["claims"] = [repr(plan.claim) for plan in plans]
        if None in dependencies["data"]:
            return None
    return code.key(dependencies)


def run_audit(
    spec: AuditSpec,
    request: session.AuditRequest,
    settings: CheckSettings,
    project: Project,
    results: Results,
    progress: Progress,
) -> tuple[tuple[AuditEntry, ...], str]:
    """The entries of one audit, from the cache, continued, or new; and a digest of its data.

    Guarantee: the parts of an audit that keeps its claim are found violated with probability at
    most `settings.alpha`, over all nights of a continued audit together.
    """
    with contained(spec.name):
        with session.in_planning_time(request):
            plans, location = prepare(spec, request, project.root)
        described = data_digest(plans)
        key = result_key(spec, request, plans, project)
        wanted = settings.cache or settings.nightly
        kept = results.get(key) if key is not None and wanted else None
        # A result that was allowed more error than this check has to give is no result for it.
        fits = kept is not None and kept.alpha <= settings.alpha * (1 + 1e-9)
        if kept is not None and not still_true(kept.files, project.root):
            kept, fits = None, False  # a file that the code reads while it runs was changed
        if kept is not None and fits and kept.pictures >= request.pictures:
            found = any(entry.verdict is Verdict.VIOLATED for entry in kept.entries)
            # Ville's inequality holds for the largest value an e-process ever takes, so what was
            # found on an earlier night stays found.
            if found or not settings.nightly or not any(map(_goes_on, kept.entries)):
                cached = [replace(e, origin="cached", location=location) for e in kept.entries]
                return tuple(cached), described
        nights = kept.nights if kept is not None else 0
        if settings.nightly and key is not None:
            outdated = results.swap_night(spec.name, key)
            if outdated is not None:  # its runs could only be made again, never be used
                SqliteStore(settings.folder, f"night {outdated}", resume=False).close()
        entries, whole, files = _run(plans, request, settings, key, nights, progress)
    entries = tuple(replace(entry, location=location) for entry in entries)
    if key is not None and whole:
        count = nights + 1 if settings.nightly else nights
        files = relative_to(files, project.root)
        results.put(key, Kept(entries, settings.alpha, count, request.pictures, files))
    return entries, described


def _run(
    plans: list[PartPlan],
    request: session.AuditRequest,
    settings: CheckSettings,
    key: str | None,
    nights: int,
    progress: Progress,
) -> tuple[tuple[AuditEntry, ...], bool, dict[str, str]]:
    """The entries, whether none was cut short by the time limit, and the files that were read."""
    store: Store = MemoryStore()
    if settings.nightly and key is not None:
        store = SqliteStore(settings.folder, f"night {key}", resume=True)
    base = Limits(
        alpha=settings.alpha / len(plans), max_runs=request.max_runs, tolerance=request.tolerance
    )
    entries, whole = [], True
    try:
        for index, plan in enumerate(plans):
            limits = night_limits(base, plan, nights) if settings.nightly else base
            limits = session.in_time(limits, request.ends, len(plans) - index)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*still being processed")
                report = session.run_plans(
                    [plan],
                    replace(request, time_limit=None),
                    {},
                    progress=progress,
                    limits=limits,
                    store=store,
                )
            (entry,) = report.entries
            whole = whole and not entry.cut_short
            if settings.nightly and _goes_on(entry):
                note = f"night {nights + 1} of the same test: it shares the error rate of the earlier nights"
                entry = replace(
                    entry, origin="continued" if nights else "run", notes=(*entry.notes, note)
                )
            entries.append(entry)
    finally:
        if isinstance(store, SqliteStore):
            store.close()
    return tuple(entries), whole, store.facts.files


def _goes_on(entry: AuditEntry) -> bool:
    """Whether a part has an e-process: its other tests would only repeat themselves."""
    return any(line.test is Method.DISTINGUISHER for line in entry.spending)


def night_limits(base: Limits, plan: PartPlan, nights: int) -> Limits:
    """Limits under which the audit is yesterday's, with as many fresh test runs again.

    The batches of a test are seeded by their number, so a longer test is the same e-process with
    more runs. What is learned is pinned, so that all nights ask about the same events. (Evidence
    about events that changed between nights would be as valid: a bet has mean at most 1 whichever
    event it is on, as long as that was chosen before the runs. It would only be weaker.) Stopping
    early is left out: enough power for one night is no reason for the next to do nothing. A
    violation is kept by `run_audit`, which then runs nothing.
    """
    if plan.mechanism is None:
        return base
    size = plan.mechanism.batch
    whole_batches = math.ceil(base.runs_for(plan.mechanism) / size) * size
    return replace(
        base,
        max_runs=whole_batches * (nights + 1),
        learning_runs=base.learning_for(plan.mechanism),
        sharpening_runs=base.sharpening_for(plan.mechanism),
        stop_early=False,
    )
