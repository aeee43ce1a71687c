"""What one composition costs, by every accountant that can say: the best of each side, in one loop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, reduce

import numpy as np

from dpcheck.accounting.accountants.distribution import DistributionAccountant
from dpcheck.accounting.accountants.gaussian import GaussianAccountant
from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.accountants.optimal import OptimalAccountant
from dpcheck.accounting.accountants.pure import PureAccountant
from dpcheck.accounting.accountants.renyi import RenyiClassic, RenyiImproved, RenyiOptimal
from dpcheck.accounting.accountants.selected import SelectionAccountant
from dpcheck.accounting.accountants.selected_below import (
    by_selecting,
    selected_epsilon,
    selecting_at,
)
from dpcheck.accounting.accountants.variation import VariationAccountant
from dpcheck.accounting.certify.bound import (
    LARGEST,
    Deltas,
    Plan,
    Question,
    certify,
    larger,
    proved_deltas,
    proved_epsilon,
    room_above,
    room_below,
    tightest,
    tightest_each,
)
from dpcheck.accounting.compose import Profile
from dpcheck.accounting.sides import OneSide, lower_side, upper_side
from dpcheck.core.bound import Bound
from dpcheck.core.errors import UnknownName
from dpcheck.numerics.rounding import Array
from dpcheck.numerics.side import Side

ACCOUNTANTS: Mapping[AccountingMethod, Accountant] = {
    accountant.method: accountant
    for accountant in (
        PureAccountant(),
        VariationAccountant(),
        GaussianAccountant(),
        OptimalAccountant(),
        RenyiClassic(),
        RenyiImproved(),
        RenyiOptimal(),
        DistributionAccountant(),
        SelectionAccountant(),
    )
}
# The lower side of a selection is that of one run, which is far below the upper one.
ONE_RUN = DistributionAccountant(share=2e-3)
METHODS: tuple[str, ...] = tuple(method.value for method in ACCOUNTANTS)
BEST = "best"
# An upper bound this close to the lower one is not improved upon.
EXACT = 1e-10
# A distribution this close to it is not either: no other accountant sees more of the loss.
CLOSE, CLOSE_ABSOLUTE = 2e-3, 2e-6
# The same for a delta, of which an upper lattice costs about a seventh.
CLOSE_DELTA = 0.05
_SELECTION = AccountingMethod.SELECTION.value
_ALIASES = {"rdp": AccountingMethod.RENYI_OPTIMAL.value}


@lru_cache(maxsize=16)
def accountants(method: str = BEST) -> tuple[Accountant, ...]:
    """Those that answer a question: all that can be the tightest, or the one that is named.

    >>> [accountant.method.value for accountant in accountants("rdp")]
    ['rdp-optimal']
    """
    if method == BEST:
        # Exact ones first, then the distribution: an answer close to the lower bound ends the loop.
        able = [a for a in ACCOUNTANTS.values() if not a.by_name_only]
        return tuple(sorted(able, key=lambda a: a.asked_last))
    try:
        return (ACCOUNTANTS[AccountingMethod(_ALIASES.get(method, method))],)
    except ValueError:
        raise UnknownName(
            f"unknown method {method!r}; use best, {', '.join(METHODS)}.", value=method
        ) from None


def alternatives_epsilon(
    profiles: Sequence[Profile], delta: float, chosen: tuple[Accountant, ...]
) -> list[Bound]:
    """`best_epsilon` of each; of one that cannot be the worst only an upper bound that is quick.

    It cannot be where its Renyi bound is at most what is proved of another from below.
    """
    if len(profiles) < 2 or len(chosen) == 1:
        return [best_epsilon(profile, delta, chosen) for profile in profiles]
    renyi = ACCOUNTANTS[AccountingMethod.RENYI_OPTIMAL]
    found = [proved_above(upper_side(profile), delta, renyi) for profile in profiles]
    proved = 0.0
    for i in sorted(range(len(profiles)), key=lambda i: -found[i].upper):
        if found[i].upper > proved:
            found[i] = best_epsilon(profiles[i], delta, chosen)
            proved = max(proved, found[i].lower)
    return found


@lru_cache(maxsize=16)  # loops ask the same question again and again
def best_epsilon(profile: Profile, delta: float, chosen: tuple[Accountant, ...]) -> Bound:
    """Both sides of epsilon at `delta`; a single accountant asked by name gives no lower side."""
    side, known, alone = upper_side(profile), lower_side(profile), len(chosen) == 1
    room = 1.0 if alone else room_below(known.leak, delta)
    lowers = {"leak": proved_below(known, 1.0 if alone else delta, None)}
    if known.selected and 0 <= room < 1:
        lowers[_SELECTION] = certify(
            Plan(by_selecting(known.selected, room)),
            Question(((known.selected, 1),), Side.LOWER, room),
            _SELECTION,
        )
        # One run is asked where that proves nothing, and at delta 0, where it is exact.
        room = 1.0 if lowers[_SELECTION].lower and room else room
    uppers: dict[str, Bound] = {}
    for accountant in _in_turn(chosen, side):
        name = accountant.method.value
        if 0 <= room < 1 and (below := accountant.plan_below(known.parts, room)).theorems:
            asked = Question(known.parts, Side.LOWER, delta, leak=known.leak)
            found = certify(below, asked, name)
            lowers[name] = max(lowers.get(name, found), found, key=lambda one: one.lower)
        plan, question = _planned_above(side, delta, accountant)
        if uppers and not plan.theorems:
            continue
        lower = max(one.lower for one in lowers.values())
        bound = certify(plan, question, name)
        value = bound.upper
        if alone and math.isinf(value) and side.parts and delta > side.leak:
            accountant.explain(side.parts, delta)
        uppers[name] = bound
        if value <= lower * (1 + EXACT):  # nothing left to gain
            _contradict_nothing(value, delta, known, room, lowers)
            break
        if math.isfinite(value) and _settles(accountant, side, value - lower, value):
            break
    return tightest(uppers, lowers)


def _contradict_nothing(
    value: float, delta: float, known: OneSide, room: float, lowers: dict[str, Bound]
) -> None:
    """Ask the distribution for a lower bound where the upper one is 0, which no lower bound was held against.

    Nowhere else an answer is taken from one proof alone.
    """
    name = AccountingMethod.DISTRIBUTION.value
    if value == 0 and 0 < room < 1 and known.parts and name not in lowers:
        lowers[name] = proved_below(known, delta, ONE_RUN)


def _settles(accountant: Accountant, side: OneSide, gap: float, value: float) -> bool:
    """Whether no accountant that is asked later is likely to find less; only tightness rests on it."""
    if accountant.method is AccountingMethod.SELECTION:
        return True  # its terms are those of the Renyi bound, each from the whole curve of one run
    if accountant.method is not AccountingMethod.DISTRIBUTION:
        return False
    loose = all(loss.loose_renyi for loss, _ in side.parts)
    return loose or gap <= CLOSE * value + CLOSE_ABSOLUTE


def _in_turn(chosen: Sequence[Accountant], side: OneSide) -> Sequence[Accountant]:
    """Beside a selection the distribution knows the lower side only, and need not know it well."""
    if any(loss.selection and loss.selection.binomial for loss, _ in side.parts):
        return [ONE_RUN if a.method is ONE_RUN.method else a for a in chosen]
    return chosen


def alternatives_deltas(profiles: Sequence[Profile], epsilons: Array) -> list[list[Bound]]:
    """`best_deltas` of each; where one cannot be the worst only an upper bound that is quick.

    It cannot be where its Renyi bound is at most what is proved of another from below.
    """
    if len(profiles) < 2:
        return [best_deltas(profile, epsilons) for profile in profiles]
    renyi = ACCOUNTANTS[AccountingMethod.RENYI_OPTIMAL]
    quick = [proved_deltas_above(upper_side(profile), epsilons, renyi) for profile in profiles]
    nothing = {"": Deltas(np.zeros(len(epsilons)))}
    found = [tightest_each({renyi.method.value: each}, nothing) for each in quick]
    proved = np.zeros(len(epsilons))
    for i in sorted(range(len(profiles)), key=lambda i: -float(quick[i].values.sum())):
        left = np.flatnonzero(quick[i].values > proved)
        for at, bound in zip(left, best_deltas(profiles[i], epsilons[left]), strict=True):
            found[i][at] = bound
            proved[at] = max(proved[at], bound.lower)
    return found


def best_deltas(profile: Profile, epsilons: Array) -> list[Bound]:
    """Both sides of delta at each epsilon; those that are settled are not asked of further accountants."""
    if not len(epsilons):
        return []
    side, known = upper_side(profile), lower_side(profile)
    uppers: dict[str, Deltas] = {}
    lowers: dict[str, Deltas] = {}
    open_ = np.ones(len(epsilons), dtype=bool)
    for accountant in accountants():
        name, asked = accountant.method.value, open_.copy()
        above = proved_deltas_above(side, epsilons[asked], accountant)
        below = proved_deltas_below(known, epsilons[asked], accountant)
        uppers[name] = above.among(asked, Side.UPPER)
        lowers[name] = below.among(asked, Side.LOWER)
        by_lattice = accountant.method is AccountingMethod.DISTRIBUTION
        least, most = _least(uppers), reduce(np.maximum, (one.values for one in lowers.values()))
        open_ &= least > most * (1 + (CLOSE_DELTA if by_lattice else EXACT))
        if not open_.any():
            break
    lattice, none = AccountingMethod.DISTRIBUTION.value, _least(uppers) == 0
    if none.any() and lattice not in lowers:  # as `_contradict_nothing`
        found = proved_deltas_below(known, epsilons[none], ONE_RUN)
        lowers[lattice] = found.among(none, Side.LOWER)
    if known.selected:
        plan = Plan(*selecting_at(known.selected, epsilons, _least(uppers)))
        asking = Question(((known.selected, 1),), Side.LOWER, epsilons=epsilons)
        lowers[_SELECTION] = larger(proved_deltas(plan, asking), lowers.get(_SELECTION))
    return tightest_each(uppers, lowers)


def _least(uppers: Mapping[str, Deltas]) -> Array:
    return reduce(np.minimum, (one.values for one in uppers.values()))


def proved_above(side: OneSide, delta: float, accountant: Accountant) -> Bound:
    """The least epsilon one accountant proves at `delta`; infinite where it proves none."""
    return certify(*_planned_above(side, delta, accountant), accountant.method.value)


def _planned_above(side: OneSide, delta: float, accountant: Accountant) -> tuple[Plan, Question]:
    """The plan, and the question it answers: where something may fail that names an epsilon."""
    asked = Question(side.parts, Side.UPPER, delta, leak=side.leak, failure=side.failure)
    if not side.failure:
        return _plan_above(side, asked, accountant), asked
    # Solve eps = eps_0(delta - (1+e^eps) t) from below: the map is increasing, so the iteration
    # increases to the least solution; only a value that maps below itself is proved.
    value = 0.0
    for _ in range(200):
        asked = replace(asked, at=value)
        plan = _plan_above(side, asked, accountant)
        if value > LARGEST or math.isfinite(proved_epsilon(plan, asked).value):
            return plan, asked
        room = room_above(side.leak, side.failure, delta, value)
        plain = proved_epsilon(plan, Question(side.parts, Side.UPPER, room)) if room >= 0 else None
        if plain is None or math.isinf(plain.value):
            return plan, asked
        value = plain.value * (1 + 1e-9) + 1e-12
    return Plan(), asked


def _plan_above(side: OneSide, asked: Question, accountant: Accountant) -> Plan:
    assert asked.delta is not None
    room = room_above(side.leak, side.failure, asked.delta, asked.at)
    return accountant.plan_above(side.parts, room) if room >= 0 and side.parts else Plan()


def epsilon_upper(side: OneSide, delta: float, accountant: Accountant) -> float:
    """`proved_above` as a number."""
    return proved_above(side, delta, accountant).upper


def proved_deltas_above(side: OneSide, epsilons: Array, accountant: Accountant) -> Deltas:
    """The least delta one accountant proves at each epsilon, at most 1."""
    plan = accountant.curve_above(side.parts, epsilons) if side.parts else Plan()
    asked = Question(
        side.parts, Side.UPPER, epsilons=epsilons, leak=side.leak, failure=side.failure
    )
    return proved_deltas(plan, asked)


def deltas_upper(side: OneSide, epsilons: Array, accountant: Accountant) -> Array:
    """`proved_deltas_above` as numbers."""
    return proved_deltas_above(side, epsilons, accountant).values


def proved_below(side: OneSide, delta: float, accountant: Accountant | None) -> Bound:
    """The largest epsilon one accountant proves at `delta`; parts that have no such bound are left out."""
    room = room_below(side.leak, delta)
    plan = accountant.plan_below(side.parts, room) if accountant and 0 <= room < 1 else Plan()
    name = accountant.method.value if accountant else "leak"
    return certify(plan, Question(side.parts, Side.LOWER, delta, leak=side.leak), name)


def epsilon_lower(side: OneSide, delta: float) -> float:
    """The best lower bound on epsilon; parts that have none are left out."""
    room = room_below(side.leak, delta)
    if side.selected and 0 <= room < 1 and (found := selected_epsilon(side.selected, room)):
        return found
    return max(proved_below(side, delta, one).lower for one in accountants())


def proved_deltas_below(side: OneSide, epsilons: Array, accountant: Accountant) -> Deltas:
    """The largest lower bound of one accountant on delta at each epsilon."""
    plan = accountant.curve_below(side.parts, epsilons)
    asked = Question(side.parts, Side.LOWER, epsilons=epsilons, leak=side.leak)
    return proved_deltas(plan, asked)
