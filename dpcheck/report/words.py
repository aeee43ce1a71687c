"""A verdict in whole sentences, the same in every format."""

from __future__ import annotations

import math

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditEntry, Standing
from dpcheck.core.verdict import Verdict

MEANING = {
    Verdict.HOLDS: "a proved bound is within the claim, and the code was tied to it",
    Verdict.CONSISTENT: "no attack that was tried contradicts the claim, and nothing proves it",
    Verdict.VIOLATED: "the code leaks more than it claims",
    Verdict.UNDECIDED: "the evidence is not enough to say",
}
_ACCOUNTANTS = {
    "pure": "the exact worst case of pure differential privacy",
    "variation": "the total variation distance, which is at most delta",
    "gdp": "the exact formula for Gaussian noise",
    "optimal-composition": "optimal composition of (epsilon, delta) guarantees",
    "rdp-classic": "Renyi accounting, classic conversion",
    "rdp-improved": "Renyi accounting, improved conversion",
    "rdp-optimal": "Renyi accounting, optimal conversion",
    "pld": "a certified privacy-loss distribution",
    "selection": "the curve of one run plus the cost of selecting",
}
# Why a budget is not within.
REASONS = {
    Standing.OVERSPENT: "overspent.",
    Standing.VIOLATED: "the budget is broken: an audit found that one of its claims is false.",
    Standing.UNDECIDED: "undecided: an audit of one of its claims could not decide.",
}
# What an attacker wants to know about one person.
_ONE_PERSON: dict[object, str] = {
    Adjacency.REPLACE_ONE: "which of two records belongs to a person",
    Adjacency.ADD_REMOVE: "whether a person is in the data",
    Adjacency.ZERO_OUT: "whether a person's record was blanked out",
}


def figure(value: float) -> str:
    """A number for a table."""
    return "inf" if value == float("inf") else f"{value:.6g}"


def budget(epsilon: float, delta: float) -> str:
    """An (epsilon, delta) for a table; delta only where there is one."""
    return figure(epsilon) if delta == 0 else f"{figure(epsilon)} @ {delta:.3g}"


def accountant(method: str) -> str:
    """Who proved it, in words of the field; a name we have no words for stays as it is.

    >>> accountant("pld")
    'a certified privacy-loss distribution'
    >>> accountant("code, pld")
    'a proof from the source, then a certified privacy-loss distribution'
    """
    if method.startswith("code, "):
        return f"a proof from the source, then {accountant(method.removeprefix('code, '))}"
    return _ACCOUNTANTS.get(method, method)


def allowed(entry: AuditEntry) -> float:
    """What the claim allows at the delta of the observation."""
    level = entry.observed.allowed
    return entry.claim.budget.epsilon if level is None else level


def claim(entry: AuditEntry) -> str:
    """What is claimed; a curve is named, with the point of it that tables show."""
    stated = _point(entry.claim.budget.epsilon, entry.claim.budget.delta)
    if entry.claim.event is None:
        return stated
    return f"the whole curve of {entry.claim.event}, of which {stated} is one point"


def _point(epsilon: float, delta: float) -> str:
    return f"epsilon {figure(epsilon)}" + (f" at delta {delta:.3g}" if delta else "")


def finding(entry: AuditEntry) -> str:
    """The verdict with its numbers, at the delta where it was reached."""
    seen = entry.observed
    reached = _point(seen.epsilon, seen.delta)
    if entry.verdict is Verdict.VIOLATED:
        at = f"At delta {seen.delta:.3g} the" if seen.delta else "The"
        stated = "claimed curve" if entry.claim.event is not None else "claim"
        proves = f"at least {figure(seen.epsilon)}"
        if math.isinf(seen.epsilon):
            proves = "that no finite epsilon holds"
        text = (
            f"{at} {stated} allows epsilon {figure(allowed(entry))}, and an attack on the code "
            f"proves {proves}."
        )
    elif entry.verdict is Verdict.HOLDS and entry.proved is not None:
        text = (
            f"The code spends at most {_point(entry.proved.epsilon, entry.proved.delta)}, which is within "
            f"the claim. The best attack found reaches {reached}."
        )
    else:
        why = entry.why or MEANING[entry.verdict]
        text = f"{why[:1].upper()}{why[1:]}."
        if entry.verdict is Verdict.UNDECIDED:
            text += f" {entry.needed}"
    return text + (f" Accepted: {entry.accepted}." if entry.accepted else "")


def attack_accuracy(epsilon: float, delta: float) -> float:
    """How often an attacker who starts at even odds can be right at most.

    Guarantee: no attacker on an (epsilon, delta)-private release is right more often.
    Reference: [Dong2022] Proposition 2.5: both error rates are (1 - delta)/(1 + e^epsilon) where they
    are equal, which is where their sum is least.

    >>> round(attack_accuracy(1.0, 0.0), 4), attack_accuracy(float("inf"), 0.0)
    (0.7311, 1.0)
    """
    return min(1.0, 1.0 - (1.0 - delta) * _share(epsilon))


def _share(epsilon: float) -> float:
    return math.exp(-epsilon) / (1.0 + math.exp(-epsilon))


def for_a_person(entry: AuditEntry) -> str:
    """What the verdict means for somebody in the data."""
    question = _ONE_PERSON.get(entry.claim.adjacency, "something about one person")
    stated = attack_accuracy(entry.claim.budget.epsilon, entry.claim.budget.delta)
    if entry.verdict is Verdict.HOLDS and entry.proved is not None:
        most = attack_accuracy(entry.proved.epsilon, entry.proved.delta)
        return (
            f"Somebody who wants to find out {question}, and starts at even odds, is right at most "
            f"{_percent(most)} of the time after seeing the output, whatever else they know."
        )
    if entry.verdict is Verdict.VIOLATED:
        times = math.exp(min(700.0, entry.observed.epsilon))
        beside = "There are outputs"
        if entry.observed.delta:
            aside = f"outcomes of probability {entry.observed.delta:.3g}"
            beside = f"Even with {aside} set aside there are outputs"
        odds = (
            "Some outputs are possible on one dataset and never, or almost never, on its neighbour"
            if math.isinf(entry.observed.epsilon)
            else f"{beside} that are at least {times:.3g} times as likely on one "
            f"dataset as on its neighbour; the claim allows {math.exp(min(700.0, allowed(entry))):.3g} times"
        )
        return (
            f"{odds}. The claim promises that somebody who wants to find out {question}, and starts at "
            f"even odds, is right at most {_percent(stated)} of the time. This code breaks that promise."
        )
    return (
        f"If the claim is true, somebody who wants to find out {question}, and starts at even odds, is "
        f"right at most {_percent(stated)} of the time after seeing the output. This audit did not prove "
        "the claim."
    )


def _percent(share: float) -> str:
    """Rounded up: it is said to be the most."""
    return f"{math.ceil(share * 1000 - 1e-9) / 10:g}%"
