"""What `dpcheck` exits with."""

from __future__ import annotations

from enum import IntEnum

from dpcheck.core.audit_result import AuditReport, Standing
from dpcheck.core.verdict import Verdict


class ExitCode(IntEnum):
    """0 holds or consistent, 1 violated, 2 cannot be carried out, 3 undecided."""

    OK = 0
    VIOLATED = 1
    ERROR = 2
    UNDECIDED = 3


def exit_code(report: AuditReport, allow_undecided: bool, require_proof: bool) -> ExitCode:
    """The worst verdict decides.

    A baseline whose entries no longer hold is a configuration error, unless the finding it no
    longer accepts is there: then that is a violation.
    """
    verdicts = {entry.verdict for entry in report.entries if entry.accepted is None}
    budgets = {budget.standing for budget in report.budgets if budget.accepted is None}
    if Verdict.VIOLATED in verdicts or budgets & {Standing.OVERSPENT, Standing.VIOLATED}:
        return ExitCode.VIOLATED
    if report.complaints:
        return ExitCode.ERROR
    undecided = Verdict.UNDECIDED in verdicts or Standing.UNDECIDED in budgets
    if undecided and not allow_undecided:
        return ExitCode.UNDECIDED
    if require_proof and not verdicts <= {Verdict.HOLDS}:
        return ExitCode.UNDECIDED
    return ExitCode.OK
