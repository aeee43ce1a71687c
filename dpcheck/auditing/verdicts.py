"""From all that is known of a part to a verdict: one function, so no two commands can disagree."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcheck.core.card import apart
from dpcheck.core.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything a verdict depends on; all epsilons are at the same delta, but for those of the tests.

    `epsilon` is what the claim allows, `observed` the largest proved lower bound, `proved` a certified
    upper bound, `tied` whether that bound is one of the code. `detectable` is the smallest epsilon that
    the tests would have caught with power 0.9, and infinite where nothing was told apart; `tested` is what
    the claim allows at the delta of those tests, where that is not `epsilon`. `suspected` is a
    loss that was seen and not proved (its noise was not followed to the end), 0 where there is none.
    `pairs` says on which pairs all this was looked at, `guessed` which columns the proof knows by a guess.
    """

    epsilon: float
    observed: float
    detectable: float
    proved: float | None
    tied: bool
    tolerance: float = 0.25
    suspected: float = 0.0
    pairs: str = "the given pairs"
    tested: float | None = None
    guessed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and, in half a sentence, why it is that one."""

    verdict: Verdict
    why: str


def decide(evidence: Evidence) -> Decision:
    """The verdict; certified numbers are compared without slack.

    Guarantee: violated only if a proved lower bound exceeds the claim; holds only if a certified
    upper bound is within it, rests on no guess, and the code was tied to the bounded event; consistent
    only if nothing that is known points above the claim: no proof that ends above it, no suspected loss
    that the tests could have missed.

    >>> decide(Evidence(epsilon=1.0, observed=0.9, detectable=1.1, proved=1.0, tied=True)).verdict.value
    'holds'
    >>> print(decide(Evidence(epsilon=1.0, observed=0.9, detectable=1.1, proved=5.0, tied=True)).why)
    proved at most 5, attained 0.9 on the given pairs, and the claim of 1 lies between
    """
    seen, claim, proved = evidence.observed, evidence.epsilon, evidence.proved
    if seen > claim:
        a, b = apart(seen, claim)
        return Decision(Verdict.VIOLATED, f"epsilon is at least {a}, and the claim allows {b}")
    if proved is not None and proved <= claim and evidence.tied:
        a, b = apart(proved, claim)
        if evidence.guessed:
            why = f"an attack reached {seen:.6g} on {evidence.pairs}. At most {a} is proved if "
            return Decision(Verdict.CONSISTENT, why + _right(evidence.guessed))
        return Decision(
            Verdict.HOLDS, f"at most {a} is proved of the code, and the claim allows {b}"
        )
    if proved is not None and proved > claim:
        a, b, c = apart(proved, seen, claim)
        why = f"proved at most {a}, attained {b} on {evidence.pairs}, and the claim of {c} lies between"
        return Decision(Verdict.UNDECIDED, why)
    if claim < evidence.suspected < evidence.detectable:
        a, b = apart(evidence.suspected, claim)
        why = (
            f"a loss of {a} was seen on {evidence.pairs} whose noise could not be followed, and the "
            f"tests are too weak to tell it from the {b} that is claimed"
        )
        return Decision(Verdict.UNDECIDED, why)
    if math.isinf(evidence.detectable):
        why = f"so far the tests could not have caught any leak on {evidence.pairs}"
        return Decision(Verdict.UNDECIDED, why)
    (caught,) = apart(evidence.detectable)
    power = (
        f"an epsilon of {caught} or more on the output sets that were tried would have been caught"
    )
    tested = claim if evidence.tested is None else evidence.tested
    if evidence.detectable > good_enough(tested, evidence.tolerance):
        return Decision(Verdict.UNDECIDED, f"on {evidence.pairs} only {power}")
    why = f"nothing above the claim was found on {evidence.pairs}, where {power} nine times out of ten"
    return Decision(Verdict.CONSISTENT, why)


def _right(guessed: tuple[str, ...]) -> str:
    columns = ", ".join(guessed[:5]) + (f" and {len(guessed) - 5} more" if len(guessed) > 5 else "")
    return f"the guesses about {columns} are right: correct them, then say confirmed=True"


def named_pairs(given: int, searched: int | None) -> str:
    """On which pairs something was looked at: how many were given, or tried in a search.

    >>> named_pairs(3, None), named_pairs(2, 2310), named_pairs(1, None)
    ('the 3 given pairs', 'the worst of 2,310 pairs tried', 'the given pair')
    """
    if searched is not None:
        return f"the worst of {searched:,} pairs tried"
    return "the given pair" if given == 1 else f"the {given} given pairs"


def good_enough(epsilon: float, tolerance: float) -> float:
    """The largest detectable epsilon that still counts as an answer.

    Relative to the claim; a claim of (almost) 0 is judged as one of 0.1.
    """
    return epsilon + tolerance * max(epsilon, 0.1)
