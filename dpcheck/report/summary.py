"""The gate's report in a terminal: one table, and details only of what needs somebody."""

from __future__ import annotations

import math

from dpcheck.core.audit_result import AuditEntry, AuditReport, BudgetEntry, Standing
from dpcheck.core.verdict import Verdict
from dpcheck.report.page import made_lines
from dpcheck.report.text import HEADERS, details, row, table
from dpcheck.report.words import REASONS, budget, figure, finding

_TROUBLE = (Verdict.VIOLATED, Verdict.UNDECIDED)


def render(report: AuditReport) -> str:
    """The whole report."""
    blocks = []
    if report.changes:
        blocks.append(
            "\n".join(["changed since the last check:", *map("  {}".format, report.changes)])
        )
    if report.entries:
        rows = [[entry.name, *row(entry), status(entry)] for entry in report.entries]
        blocks.append(table(["audit", *HEADERS, ""], rows))
    for entry in report.entries:
        if entry.verdict in _TROUBLE:
            text = f"{entry.name} ({entry.variant})\n{details(entry).rstrip()}"
            if entry.location is not None:
                text += f"\n  at        {entry.location.path}:{entry.location.line}"
            if entry.accepted is not None:
                text += f"\n  accepted  {entry.accepted}"
            blocks.append(text)
        elif entry.verdict is Verdict.CONSISTENT:  # what that is conditional on
            told = [f"{entry.name}/{entry.part}: {finding(entry)}"]
            blocks.append("\n".join([*told, *(f"  note      {note}" for note in entry.notes)]))
    if report.budgets:
        blocks.append(table(BUDGET_HEADERS, [budget_row(entry) for entry in report.budgets]))
    for each in report.budgets:
        if each.standing is not Standing.WITHIN:
            text = f"{each.dataset}: {REASONS[each.standing]} Its releases:"
            text += "".join(f"\n  {release}" for release in each.releases)
            if math.isinf(each.upper) and each.budget.delta == 0:
                text += "\nAt delta 0 some of these releases have no finite epsilon; give the budget a delta."
            blocks.append(text)
    blocks += [f"baseline: {text}" for text in report.complaints]
    if report.entries:
        blocks.append(
            "proved: no attacker can do better. observed: what an attack on the real code achieves.\n"
            f"false alarms: at most {1 - report.confidence:.2g} for all audits together. "
            f"seed {report.seed}."
        )
    blocks.append("\n".join(made_lines(report)))
    return "\n\n".join(blocks)


BUDGET_HEADERS = [*("dataset", "budget eps", "neighbours", "spent", "rests on", "verdict")]


def budget_row(entry: BudgetEntry) -> list[str]:
    """The cells of one dataset."""
    word = str(entry.standing)
    return [
        entry.dataset,
        budget(entry.budget.epsilon, entry.budget.delta),
        str(entry.adjacency),
        spent(entry),
        entry.basis,
        word if entry.accepted is None else f"{word}, accepted",
    ]


def spent(entry: BudgetEntry) -> str:
    """What is spent at most, with its condition where there is one."""
    text = f"<= {figure(entry.upper)}" + ("" if entry.is_proved else " if the claims are true")
    if not entry.apart:
        return text
    # What is spent at a delta above 0 is less than its parts, each of which has all of that delta.
    between = ", alone " if entry.budget.delta else ": "
    return text + between + " + ".join(f"{figure(own)} {word}" for word, own in entry.apart)


def status(entry: AuditEntry) -> str:
    """Where the result comes from, and whether the baseline lets it pass."""
    words = [] if entry.origin == "run" else [entry.origin]
    if entry.accepted is not None:
        words.append("accepted")
    return ", ".join(words)
