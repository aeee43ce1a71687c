"""dp-accounting's PLD accountant forgets how often randomized response was repeated.

    python benchmarks/findings/dp_accounting_randomized_response.py

Prints, for n repetitions composed at once and one by one, what the library answers, the exact value by
enumerating all outcomes in rational arithmetic, and dpcheck's certified interval. Exits 1 when the
library is below the exact value, as release 0.6.0 is.
"""

import math
import sys
from fractions import Fraction
from importlib.metadata import version

import dp_accounting
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant

import dpcheck

NOISE, CATEGORIES, DELTA = 0.5, 2, 1e-6


def exact_delta(times: int, epsilon: float) -> float:
    """delta(epsilon) of `times` binary randomized responses: keep with 3/4, flip with 1/4."""
    keep, total = Fraction(3, 4), Fraction(0)
    growth = Fraction(math.exp(epsilon))
    for kept in range(times + 1):
        ways = math.comb(times, kept)
        p = keep**kept * (1 - keep) ** (times - kept)
        q = keep ** (times - kept) * (1 - keep) ** kept
        total += ways * max(Fraction(0), p - growth * q)
    return float(total)


def exact_epsilon(times: int) -> float:
    low, high = 0.0, times * math.log(3)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if exact_delta(times, middle) > DELTA else (low, middle)
    return high


def library(times: int, at_once: bool) -> float:
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    event = dp_event.RandomizedResponseDpEvent(NOISE, CATEGORIES)
    if at_once:
        accountant.compose(event, times)
    else:
        for _ in range(times):
            accountant.compose(event)
    return accountant.get_epsilon(DELTA)


def main() -> int:
    print(
        f"dp-accounting {version('dp-accounting')}, dpcheck {dpcheck.__version__}, delta {DELTA:g}"
    )
    print(
        f"{'repeated':>9} {'at once':>10} {'one by one':>11} {'exact':>10}   certified by dpcheck"
    )
    wrong = False
    for times in (1, 2, 10, 100):
        at_once, one_by_one = library(times, True), library(times, False)
        truth = exact_epsilon(times)
        ours = dpcheck.epsilon(
            dpcheck.RandomizedResponse(NOISE, CATEGORIES) * times,
            delta=DELTA,
            adjacency="replace-one",
        )
        wrong |= at_once < truth * (1 - 1e-6)
        print(
            f"{times:>9} {at_once:>10.4f} {one_by_one:>11.4f} {truth:>10.4f}   "
            f"[{ours.lower:.4f}, {ours.upper:.4f}]"
        )
    print("below the exact value: the repetitions are lost" if wrong else "never below")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
