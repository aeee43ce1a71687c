"""Everything a project wants checked, in one error budget, as one report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from dpcheck.core.audit_result import AuditEntry, AuditReport, BudgetEntry, Scope, Standing
from dpcheck.core.data import Plain
from dpcheck.core.errors import NothingToAudit
from dpcheck.core.validate import non_negative, open_probability, positive
from dpcheck.core.verdict import Verdict
from dpcheck.execution import code
from dpcheck.execution.parallel import Workers
from dpcheck.execution.progress import Progress
from dpcheck.execution.references import parse
from dpcheck.gate import baseline
from dpcheck.gate.baseline import GateFinding
from dpcheck.gate.budgets import check_budget, spenders
from dpcheck.gate.changes import changes
from dpcheck.gate.project import AuditSpec, Project
from dpcheck.gate.results import Results
from dpcheck.gate.running import CheckSettings, run_audit
from dpcheck.session.locations import from_checkout
from dpcheck.session.made import made
from dpcheck.session.provenance import versions
from dpcheck.session.run import AuditRequest
from dpcheck.session.targets import source_of

TIME_LIMIT = 120.0  # seconds an audit, unless told otherwise


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What `dpcheck check` was asked, beside the project itself.

    `overrides` are the names of settings that a flag or the environment gave: they win over those
    of a single audit.
    """

    confidence: float = 0.999
    max_runs: int | None = None
    seed: int = 0
    tolerance: float = 0.25
    timeout: float | None = None
    time_limit: float | None = None
    folder: Path = Path(".dpcheck")
    baseline: Path = Path(baseline.DEFAULT)
    cache: bool = True
    nightly: bool = False
    pictures: bool = False
    workers: Workers = field(default_factory=Workers)
    overrides: frozenset[str] = frozenset()
    shard: tuple[int, int] | None = None  # the i-th of n parts of the audits; no budgets
    merge: tuple[Path, ...] = ()  # folders of shards, whose results are taken over first

    def __post_init__(self) -> None:
        open_probability("confidence", self.confidence)
        non_negative("tolerance", self.tolerance)
        for name in ("timeout", "time_limit"):
            if getattr(self, name) is not None:
                positive(name.replace("_", "-"), getattr(self, name))

    def audit(self, spec: AuditSpec, confidence: float) -> AuditRequest:
        """The request of one audit of the project."""

        def chosen(name: str, own: float | None) -> float | None:
            general: float | None = getattr(self, name)
            return general if name in self.overrides or own is None else own

        runs = chosen("max_runs", spec.max_runs)
        return AuditRequest(
            target=spec.target,
            epsilon=spec.epsilon,
            delta=spec.delta,
            variant=spec.variant,
            adjacency=spec.adjacency,
            settings=spec.settings,
            confidence=confidence,
            max_runs=None if runs is None else int(runs),
            seed=self.seed,
            tolerance=self.tolerance,
            timeout=chosen("timeout", spec.timeout),
            time_limit=chosen("time_limit", spec.time_limit),
            pictures=self.pictures,
            workers=self.workers,
        )


def check(
    project: Project, request: CheckRequest, today: date, progress: Progress | None = None
) -> AuditReport:
    """Audit, add up, compare with the baseline.

    Guarantee: if every claim is true, some audit is reported violated with probability at most
    1 - confidence: each of n audits gets an n-th of it, and splits that over its parts. A shard's audits
    get as much as they do in the whole.
    """
    if not project.audits and not project.budgets:
        file = "there is no dpcheck.toml here, and no [tool.dpcheck] in a pyproject.toml"
        if project.file is not None:
            file = f"{project.file.name} names neither audits nor budgets"
        raise NothingToAudit(
            f"{file}. `dpcheck init FILE.py:FUNCTION` writes one for you; by hand, start with [[audits]] "
            'and target = "file.py:function".'
        )
    accepted_before = baseline.load(request.baseline, today)
    watch = progress or Progress(quiet=True)
    alpha = (1 - request.confidence) / max(1, len(project.audits))
    settings = CheckSettings(alpha, request.folder, request.cache, request.nightly)
    results = Results(request.folder)
    try:
        for other in request.merge:
            watch.stage(f"{results.take(other)} results of {other.name}")
        ran = []
        chosen = _shard(project.audits, request.shard)
        for number, spec in enumerate(chosen, 1):
            watch.stage(f"audit {number} of {len(chosen)}: {spec.name}")
            asked = request.audit(spec, 1 - alpha)
            ran.append(run_audit(spec, asked, settings, project, results, watch))
        audited = [(spec, found) for spec, (found, _) in zip(chosen, ran, strict=True)]
        described = {spec.name: data for spec, (_, data) in zip(chosen, ran, strict=True)}
        budgets = project.budgets if request.shard is None else ()
        spent = [check_budget(spec, spenders(spec, audited)) for spec in budgets]
        entries = [entry for _, found in audited for entry in found]
        found = findings(entries, spent)
        changed: tuple[str, ...] = ()
        if request.shard is None:
            changed = tuple(changes(results.last(), {f.name: f.verdict for f in found}))
            results.put_last([_remembered(each) for each in found])
    finally:
        results.close()
    if request.shard is not None:  # what the others find is not stale here
        names = {each.name for each in found}
        accepted_before = [entry for entry in accepted_before if entry.finding in names]
    accepted, complaints = baseline.judge(accepted_before, found, today)
    why = {name: entry.describe() for name, entry in accepted.items()}
    return AuditReport(
        request.seed,
        tuple(replace(e, accepted=why.get(finding_name(e))) for e in entries),
        request.confidence,
        versions(),
        budgets=tuple(replace(b, accepted=why.get(f"budgets/{b.dataset}")) for b in spent),
        complaints=tuple(complaints),
        command=f"dpcheck check --seed {request.seed} --no-cache",
        file=from_checkout(project.file, project.root) or "" if project.file is not None else "",
        scope=Scope.PROJECT,
        made=made(project.root, code_digest=_code(project), data_digest=_data(described)),
        changes=changed,
    )


def _shard(audits: Sequence[AuditSpec], shard: tuple[int, int] | None) -> Sequence[AuditSpec]:
    """Every n-th audit, so that slow ones that stand together are spread."""
    return audits if shard is None else audits[shard[0] - 1 :: shard[1]]


def _code(project: Project) -> str:
    """A digest of the project file and of all code that it names."""
    files = {} if project.file is None else {project.file.name: code.digest(project.file)}
    for spec in project.audits:
        source = source_of(parse(spec.target)) if ":" in spec.target else None
        if source is not None:
            files |= code.sources(source, project.root)
    return code.key(files) if files else ""


def _data(described: Mapping[str, str]) -> str:
    """One digest of all audits' data descriptions; empty where one of them has none."""
    return code.key(dict(described)) if described and all(described.values()) else ""


def finding_name(entry: AuditEntry) -> str:
    """What a baseline calls an entry."""
    return f"{entry.name}/{entry.part}"


def findings(entries: Sequence[AuditEntry], spent: Sequence[BudgetEntry]) -> list[GateFinding]:
    """Everything a baseline can speak of."""
    return [
        GateFinding(
            finding_name(e),
            e.observed.epsilon,
            e.verdict is Verdict.VIOLATED,
            e.verdict is not Verdict.UNDECIDED,
            str(e.verdict),
        )
        for e in entries
    ] + [
        GateFinding(
            f"budgets/{b.dataset}",
            b.at_least,
            b.standing in (Standing.OVERSPENT, Standing.VIOLATED),
            b.standing is not Standing.UNDECIDED,
            str(b.standing),
        )
        for b in spent
    ]


def _remembered(found: GateFinding) -> dict[str, Plain]:
    """What `dpcheck baseline` and the next check want to know of it."""
    return {
        "name": found.name,
        "verdict": found.verdict,
        "epsilon": _plain(found.epsilon),
        "found": found.found,
        "decided": found.decided,
    }


def _plain(value: float) -> float | str:
    return "inf" if math.isinf(value) else value
