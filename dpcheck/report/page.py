"""The first page of a report, in plain words: what whoever signs it has to know, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpcheck.core.audit_result import AuditEntry, AuditReport
from dpcheck.core.verdict import Verdict
from dpcheck.report.words import REASONS, accountant, budget, claim, figure, finding, for_a_person

_MOST = 6  # entries a first page names; the parts name all


@dataclass(frozen=True, slots=True)
class Topic:
    """A question and its answer, in sentences."""

    heading: str
    sentences: tuple[str, ...]


def topics(report: AuditReport) -> tuple[Topic, ...]:
    """The page: scope, finding, proof, conditions and what was not shown, apart from each other."""
    entries = _worst_first(report.entries)
    found = [
        Topic("What changed", report.changes),
        Topic("Scope: what was claimed", _each(entries, _claimed)),
        Topic("Finding: the verdict", _each(entries, _verdict)),
        Topic("Finding: what is proved", _each(entries, _proved)),
        Topic("Finding: what the budgets say", _budgets(report)),
        Topic("Conditions: what this depends on", _conditions(report)),
        Topic("Not shown", not_looked_at(report)),
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
            "No upper bound: nothing is proved about this code, so an attack that was not tried may do "
            "better."
        )
    level = budget(entry.proved.epsilon, entry.proved.delta)
    if entry.event is not None and entry.conformance is not None:  # the code itself was read
        return (
            f"If the conditions below hold, the code spends at most epsilon {level}, by "
            f"{accountant(entry.proved.method)}. {entry.conformance[:1].upper()}{entry.conformance[1:]}."
        )
    text = (
        "If the conditions below hold, no attack on the algorithm as described achieves more than epsilon "
        f"{level}, by {accountant(entry.proved.method)}."
    )
    if entry.conformance is None:
        return f"{text} Whether the code does what is described was not tested."
    return f"{text} The code was compared with the description: {entry.conformance}."


def _verdict(entry: AuditEntry) -> str:
    seen = entry.observed
    effort = f", {seen.effort}" if seen.runs else ""
    sure = "a proof" if seen.confidence == 1 else f"confidence {seen.confidence:.6g}"
    verdict = str(entry.verdict).capitalize()
    return f"{verdict}. {finding(entry)} The attack: {seen.method} ({sure}{effort})."


def _budgets(report: AuditReport) -> tuple[str, ...]:
    return tuple(
        f"{each.dataset}: at most {figure(each.upper)} of "
        f"{budget(each.budget.epsilon, each.budget.delta)} is spent by its releases. "
        + _sentence(REASONS.get(each.standing, "within the budget."))
        + f" {_sentence(each.basis)}."
        for each in report.budgets
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _conditions(report: AuditReport) -> tuple[str, ...]:
    """What has to be true of data and machine for the findings to be."""
    assumed = dict.fromkeys(
        text for entry in report.entries if entry.proved for text in entry.proved.assumes
    )
    stated = _each(report.entries, lambda entry: " ".join(entry.conditions))
    lines = [text for text in stated if text and not text.endswith(": ")]
    return (*lines, *([f"The proof assumes: {'; '.join(assumed)}."] if assumed else []))


def not_looked_at(report: AuditReport) -> tuple[str, ...]:
    """What no sentence of the report vouches for."""
    if not report.entries:
        return ()
    found = []
    unproved = [e for e in report.entries if e.verdict in (Verdict.CONSISTENT, Verdict.UNDECIDED)]
    if unproved:
        found.append(
            "Datasets and output sets other than those tried: a leak that shows only there is missed."
        )
    if not any(entry.floating_point for entry in report.entries):
        found.append(
            "The last bits of floating-point outputs (--floating-point looks at them), running time, "
            "memory and error messages."
        )
    else:
        found.append("Running time, memory and error messages.")
    found.append("Other releases about the same people: what they spend adds to this.")
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
