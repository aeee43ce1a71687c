"""An audit inside a test: within the run's error budget, with a shrunk witness when it fails."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from dpcheck.auditing.mechanism import Pair, as_pairs
from dpcheck.auditing.shrink import has_public_rows, shrink_pair
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditEntry
from dpcheck.core.data import Data, Plain
from dpcheck.core.errors import DpcheckError, InvalidParameter
from dpcheck.core.relation import Relation
from dpcheck.core.verdict import Verdict
from dpcheck.session.assertion import audit_function, explain, require_decision
from dpcheck.testing import replay
from dpcheck.testing.run_budget import TestBudget, current


def audit_in_test(
    mechanism: object,
    *,
    claim: object,
    neighbours: Sequence[Pair | tuple[Data, Data]],
    adjacency: Adjacency | Relation | str,
    name: str | None = None,
    budget: TestBudget | None = None,
    **options: Plain,
) -> AuditEntry:
    """Audit; AssertionError with a shrunk witness and its replay command if the claim is refuted.

    Raises Undecided when the runs cannot tell.

    Guarantee: with the pytest plugin, a run in which every mechanism keeps its claim fails with
    probability at most 1 - dp_confidence in all.
    """
    __tracebackhide__ = True
    if "confidence" in options:
        raise InvalidParameter(
            "the error rate belongs to the whole pytest run; set dp_confidence in the pytest "
            "configuration, or call dpcheck.assert_private.",
            name="confidence",
        )
    own = budget or current()
    pairs = as_pairs(neighbours)
    fixed = {"claim": claim, "adjacency": adjacency, "name": name, **options}
    fixed.setdefault("max_runs", own.max_runs)
    if own.replay is not None:
        pairs = [replay.load(own.replay)]
    alpha = own.next_alpha()
    seed = own.next_seed() + (own.replay is not None)  # a replay looks at fresh runs
    entry = audit_function(mechanism, neighbours=pairs, confidence=1 - alpha, seed=seed, **fixed)
    if entry.verdict is not Verdict.VIOLATED:
        return require_decision(entry)
    shown, pair = _shrunk(mechanism, entry, pairs, own, fixed)
    raise AssertionError(_message(shown, pair, own))


def _shrunk(
    mechanism: object,
    entry: AuditEntry,
    pairs: Sequence[Pair],
    budget: TestBudget,
    fixed: dict[str, Plain],
) -> tuple[AuditEntry, Pair]:
    """The violation on the smallest pair found, proved anew; the original one where that fails."""
    label = None if entry.witness is None else entry.witness.get("pair")
    pair = next((p for p in pairs if p.label == label), pairs[0])
    if has_public_rows(entry.claim.adjacency, None):
        return entry, pair

    def still_fails(candidate: Pair) -> bool:
        quick = fixed | {"max_runs": max(4096, entry.observed.runs), "reads_code": False}
        try:
            again = audit_function(
                mechanism, neighbours=[candidate], confidence=0.99, seed=budget.next_seed(), **quick
            )
        except DpcheckError:  # outside of what the mechanism takes
            return False
        return again.verdict is Verdict.VIOLATED

    small = shrink_pair(pair, still_fails)
    if small is pair:
        return entry, pair
    alpha = budget.next_alpha()
    proof = audit_function(
        mechanism, neighbours=[small], confidence=1 - alpha, seed=budget.next_seed(), **fixed
    )
    return (proof, small) if proof.verdict is Verdict.VIOLATED else (entry, pair)


def _message(entry: AuditEntry, pair: Pair, budget: TestBudget) -> str:
    lines = [explain(entry)]
    if budget.folder is not None:
        found = {
            "epsilon": min(entry.observed.epsilon, 1e308),
            "delta": entry.observed.delta,
            "claimed": entry.claim.budget.epsilon,
            "adjacency": str(entry.claim.adjacency),
        }
        path = replay.save(budget.folder, budget.name, pair, found)
        if path is not None:
            shown = os.path.relpath(path) if path.is_relative_to(os.getcwd()) else str(path)
            test = shlex.quote(budget.name)
            lines.append(f"  replay: pytest {test} --dp-replay {shlex.quote(shown)}")
    return "\n".join(lines)
