"""The first page of a report, in plain words: what whoever signs it has to know, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpcheck.core.audit_result import AuditEntry, AuditReport, Standing
from dpcheck.core.verdict import Verdict
from dpcheck.report.words import accountant, budget, claim, figure, finding, for_a_person

_MOST = 6  # entries a first page names; the parts name all


@dataclass(frozen=True, slots=True)
class Topic:
    """A question and its answer, in sentences."""

    heading: str
    sentences: tuple[str, ...]


def topics(report: AuditReport) -> tuple[Topic, ...]:
    """The page: what changed, claimed, proved, attacked, left out, meant for people, and by whom."""
    entries = _worst_first(report.entries)
    found = [
        Topic("What changed", report.changes),
        Topic("What was claimed", _each(entries, _claimed)),
        Topic("What is proved", _each(entries, _proved)),
        Topic("What was attacked, and what was found", _each(entries, _attacked)),
        Topic("What the budgets say", _budgets(report)),
        Topic("What was not looked at", not_looked_at(report)),
        Topic("What it means for a person in the data", _each(entries, for_a_person)),
        Topic("Who made this, when, from what", made_lines(report)),
    ]
    return tuple(topic for topic in found if topic.sentences)


def _worst_first(entries: Sequence[AuditEntry]) -> list[AuditEntry]:
    order = (Verdict.VIOLATED, Verdict.UNDECIDED, Verdict.CONSISTENT, Verdict.HOLDS)
    return sorted(entries, key=lambda entry: order.index(entry.verdict))


def _each(entries: Sequence[AuditEntry], say: object) -> tuple[str, ...]:
    """A sentence per entry, named where there are several; the same sentence is said once."""
    assert callable(say)
    grouped: dict[str, list[str]] = {}
    for entry in entries:
        grouped.setdefault(str(say(entry)), []).append(name(entry, entries))
    lines = [
        text if len(entries) == 1 else f"{', '.join(names)}: {text}"
        for text, names in list(grouped.items())[:_MOST]
    ]
    if len(grouped) > _MOST:
        lines.append(f"And {len(grouped) - _MOST} more, below.")
    return tuple(lines)


def name(entry: AuditEntry, among: Sequence[AuditEntry]) -> str:
    """The part, with its audit where there is more than one."""
    if len({(e.name, e.variant) for e in among}) == 1:
        return entry.part
    variant = "" if entry.variant == "as given" else f" ({entry.variant})"
    return f"{entry.name}{variant} {entry.part}"


def _claimed(entry: AuditEntry) -> str:
    stated = claim(entry)
    text = f"{stated[:1].upper()}{stated[1:]}, for neighbours by {entry.claim.adjacency}"
    return f"{text}. Source: {entry.claim.source}."


def _proved(entry: AuditEntry) -> str:
    if entry.proved is None:
        return (
            "Nothing from above: no accountant bounds this code, so an unseen attack may do better."
        )
    level = budget(entry.proved.epsilon, entry.proved.delta)
    text = (
        f"No attack on the algorithm as it is described gets beyond epsilon {level}, by "
        f"{accountant(entry.proved.method)}."
    )
    if entry.conformance is None:
        return f"{text} That the code is that algorithm was not tested."
    return f"{text} The code was compared with the description: {entry.conformance}."


def _attacked(entry: AuditEntry) -> str:
    seen = entry.observed
    effort = f", {seen.effort}" if seen.runs else ""
    sure = "a proof" if seen.confidence == 1 else f"confidence {seen.confidence:.6g}"
    return f"{entry.verdict}. {finding(entry)} Found by {seen.method} ({sure}{effort})."


def _budgets(report: AuditReport) -> tuple[str, ...]:
    return tuple(
        f"{each.dataset}: at most {figure(each.upper)} of "
        f"{budget(each.budget.epsilon, each.budget.delta)} is spent by its releases, "
        + ("within the budget." if each.standing is Standing.WITHIN else f"{each.standing}.")
        for each in report.budgets
    )


def not_looked_at(report: AuditReport) -> tuple[str, ...]:
    """What no sentence of the report vouches for."""
    if not report.entries:
        return ()
    found = []
    assumed = dict.fromkeys(
        text for entry in report.entries if entry.proved for text in entry.proved.assumes
    )
    if assumed:
        found.append(f"What the proof takes for granted: {'; '.join(assumed)}.")
    unproved = [e for e in report.entries if e.verdict in (Verdict.CONSISTENT, Verdict.UNDECIDED)]
    if unproved:
        found.append(
            "Data sets and events other than those tried: a leak that shows only there is missed."
        )
    if not any(entry.floating_point for entry in report.entries):
        found.append(
            "The last bits of floating-point outputs (--floating-point looks at them), running time, "
            "memory and error messages."
        )
    else:
        found.append("Running time, memory and error messages.")
    found.append(
        "What the same people lose elsewhere: other releases from the same data add to this one."
    )
    return tuple(found)


def made_lines(report: AuditReport) -> tuple[str, ...]:
    """Provenance, a fact a line; the command last."""
    known = report.made.lines() if report.made is not None else ()
    lines = [f"{what}: {text}" for what, text in known]
    if report.versions:
        lines.append("with: " + ", ".join(f"{n} {v}" for n, v in report.versions.items()))
    lines.append(f"seed: {report.seed}")
    if report.command:
        lines.append(f"to repeat it: {report.command}")
    return tuple(lines)
