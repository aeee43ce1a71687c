"""The report as one HTML file: verdict first, pictures, the witness, and how to run it again.

It loads nothing from anywhere, follows the reader's light or dark theme, and prints. Every text that
comes from a target, a claim or a witness is escaped by the template engine.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpcheck.core.audit_result import AuditEntry, AuditReport, BudgetEntry, Standing
from dpcheck.core.card import SIGNS
from dpcheck.core.data import Plain
from dpcheck.core.evidence import Spent
from dpcheck.core.explained.glossary import GLOSSARY
from dpcheck.core.extras import need
from dpcheck.core.verdict import Verdict
from dpcheck.core.witness import WitnessKind
from dpcheck.report import figures, palette
from dpcheck.report.drawing import Drawing
from dpcheck.report.page import topics
from dpcheck.report.sealing import seal
from dpcheck.report.summary import spent
from dpcheck.report.text import row
from dpcheck.report.words import REASONS, accountant, budget, claim, figure, finding

_TEMPLATES = Path(__file__).parent / "templates"
_WORST_FIRST = (Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.CONSISTENT, Verdict.HOLDS)
_NO_RUNS = "No picture: this part was decided without runs on neighbouring data."
_NOT_SAMPLED = "No picture: nothing was sampled for one in this audit."


@dataclass(frozen=True, slots=True)
class Mark:
    """A verdict as a word and a sign."""

    name: str
    sign: str


@dataclass(frozen=True, slots=True)
class Part:
    """One section of the page."""

    id: str
    heading: str
    verdict: Mark
    cells: list[tuple[str, str]]
    sentence: str
    details: list[tuple[str, Sequence[str]]]
    drawings: list[Drawing]
    no_pictures: str
    witness: str
    violated: bool
    python: str
    python_does: str
    share: str
    spending: list[dict[str, Plain]]


def render(report: AuditReport) -> str:
    """The whole file.

    Guarantee: the same report gives the same bytes; nothing in it is fetched or run but its own
    script, which copies text and opens what is folded before printing.
    """
    need("jinja2", "report")
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    several = _several(report)
    parts = [_part(entry, f"part-{index}", several) for index, entry in enumerate(report.entries)]
    verdict = _overall(report)
    subject = _subject(report)
    script = (_TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    page = environment.get_template("report.html").render(
        headline=f"{subject}: {verdict}",
        subject=subject,
        verdict=_mark(verdict),
        lead=_lead(report),
        topics=topics(report),
        glossary=list(GLOSSARY.items()),
        parts=parts,
        columns=["part", "claimed ε", "proved", "observed", "verdict"],
        overview=figures.overview(report.entries, "overview") if report.entries else None,
        budgets=[_budget(entry) for entry in report.budgets],
        complaints=report.complaints,
        error_rate=f"{1 - report.confidence:.3g}",
        command=report.command,
        seed=report.seed,
        versions=list(report.versions.items()),
        light=palette.variables(palette.LIGHT),
        dark=palette.variables(palette.DARK),
        script=script,
        script_hash=f"sha256-{digest}",
    )
    return seal(page)


def _mark(verdict: Verdict) -> Mark:
    return Mark(str(verdict), SIGNS[verdict])


def _overall(report: AuditReport) -> Verdict:
    """The worst verdict; a budget that is not proved to be kept leaves a report undecided."""
    found = {entry.verdict for entry in report.entries}
    if any(entry.standing is not Standing.WITHIN for entry in report.budgets):
        found.add(Verdict.UNDECIDED)
    return next((verdict for verdict in _WORST_FIRST if verdict in found), Verdict.HOLDS)


def _subject(report: AuditReport) -> str:
    names = list(dict.fromkeys((entry.name, entry.variant) for entry in report.entries))
    if len(names) == 1:
        name, variant = names[0]
        return name if variant == "as given" else f"{name} ({variant})"
    return f"{len(names)} audits" if names else "budgets"


def _lead(report: AuditReport) -> list[str]:
    """The worst news, in sentences; the parts say the rest."""
    worst = _overall(report)
    shown = [entry for entry in report.entries if entry.verdict is worst]
    several = _several(report)
    sentences = [
        finding(entry)
        if len(report.entries) == 1
        else f"{_heading(entry, several)}: {finding(entry)}"
        for entry in shown[:3]
    ]
    if len(shown) > 3:
        sentences.append(f"The same verdict for {len(shown) - 3} more.")
    rest = len(report.entries) - len(shown)
    if rest and worst is Verdict.VIOLATED:
        sentences.append(f"{rest} other {'part is' if rest == 1 else 'parts are'} not violated.")
    sentences += [
        f"Budget of {entry.dataset}: {REASONS[entry.standing]}"
        for entry in report.budgets
        if entry.standing is not Standing.WITHIN
    ]
    return sentences + [f"Baseline: {text}" for text in report.complaints[:3]]


def _several(report: AuditReport) -> bool:
    return len({(entry.name, entry.variant) for entry in report.entries}) > 1


def _heading(entry: AuditEntry, several: bool) -> str:
    """The part, with its audit where there is more than one."""
    if not several:
        return entry.part
    variant = "" if entry.variant == "as given" else f" ({entry.variant})"
    return f"{entry.name}{variant} {entry.part}"


def _part(entry: AuditEntry, key: str, several: bool) -> Part:
    labels = ("claimed ε", "proved", "observed")
    cells = [cell.replace("<= ", "≤ ").replace(">= ", "≥ ") for cell in row(entry)[1:4]]
    python = "" if entry.witness is None else entry.witness.program
    data = {k: v for k, v in (entry.witness or {}).items() if k != "python"}
    return Part(
        id=key,
        heading=_heading(entry, several),
        verdict=_mark(entry.verdict),
        cells=list(zip(labels, cells, strict=True)),
        sentence=finding(entry),
        details=_details(entry),
        drawings=_drawings(entry, key),
        no_pictures=_NOT_SAMPLED if entry.observed.runs else _NO_RUNS,
        witness=_data(data) if data else "",
        violated=entry.verdict is Verdict.VIOLATED,
        python=python.rstrip(),
        python_does=_python_does(entry),
        share=f"{sum(line.share for line in entry.spending):.3g}",
        spending=[_spent(line) for line in entry.spending],
    )


def _python_does(entry: AuditEntry) -> str:
    witness = entry.witness
    if witness is None or witness.kind is not WitnessKind.EXACT_WITNESS:
        return "Run it: it repeats the audit with its seed and prints the witness."
    text = "Run it: it prints the privacy loss of this output."
    if entry.verdict is Verdict.VIOLATED and "strongest_loss" in witness:
        text = (
            f"Simplified from the strongest found, which loses "
            f"{figure(float(witness['strongest_loss']))}; this one loses "
            f"{figure(float(witness['loss']))}, and its pair, “{witness.get('pair', '')}”, is the one "
            f"in the pictures. {text}"
        )
    return text


def _drawings(entry: AuditEntry, key: str) -> list[Drawing]:
    seen = entry.evidence
    if seen is None:
        return []
    found = [
        figures.losses(entry, seen, f"{key}-loss"),
        figures.tradeoff(entry, seen, f"{key}-curve"),
    ]
    extra = figures.scores(entry, seen, f"{key}-score")
    return [*found, extra] if extra is not None else found


def _details(entry: AuditEntry) -> list[tuple[str, Sequence[str]]]:
    seen = entry.observed
    how = f"by {seen.method}, confidence {seen.confidence:.6g}"
    if seen.runs:
        how += f", {seen.effort}"
        how += f" after {seen.learning_runs:,} to learn" if seen.learning_runs else ""
    details: list[tuple[str, Sequence[str]]] = [
        ("claim", [f"{entry.claim.source}: {claim(entry)}; {entry.claim.adjacency} neighbours"])
    ]
    if entry.proved is not None:
        details.append(("proof", [f"by {accountant(entry.proved.method)}"]))
        if entry.proved.assumes:
            details.append(("assumes", entry.proved.assumes))
    if entry.conformance is not None:
        details.append(("code checked", [entry.conformance]))
    details.append(("observed", [how]))
    if entry.origin != "run":
        details.append(("origin", [entry.origin]))
    if entry.location is not None:
        details.append(("code", [f"{entry.location.path}:{entry.location.line}"]))
    if entry.notes:
        details.append(("notes", entry.notes))
    return details


def _spent(line: Spent) -> dict[str, Plain]:
    return {"test": line.test, "share": f"{line.share:.3g}", "over": line.over, "note": line.note}


def _budget(entry: BudgetEntry) -> dict[str, str]:
    return {
        "dataset": entry.dataset,
        "budget": budget(entry.budget.epsilon, entry.budget.delta),
        "spent": spent(entry),
        "releases": "; ".join(entry.releases),
        "basis": entry.basis,
        "verdict": str(entry.standing)
        if entry.accepted is None
        else f"{entry.standing}, accepted: {entry.accepted}",
    }


_LONGEST = 20_000


def _data(witness: dict[str, Plain]) -> str:
    """JSON that a reader can scan: short lists on one line."""
    lines = [f"  {json.dumps(name)}: {_value(value)}" for name, value in witness.items()]
    text = "{\n" + ",\n".join(lines) + "\n}"
    if len(text) > _LONGEST:
        return text[:_LONGEST] + "\n… shortened; --format json has all of it"
    return text


def _value(value: Plain) -> str:
    flat = json.dumps(value, default=str, ensure_ascii=False)
    if len(flat) <= 96 or not isinstance(value, dict):
        return flat
    inner = [
        f"    {json.dumps(name)}: {json.dumps(item, default=str)}" for name, item in value.items()
    ]
    return "{\n" + ",\n".join(inner) + "\n  }"
