"""What one composition costs, by every accountant that can say: the best of each side, in one loop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, reduce

import numpy as np

from dpcheck.accounting.accountants.distribution import DistributionAccountant
from dpcheck.accounting.accountants.gaussian import GaussianAccountant
from dpcheck.accounting.accountants.interface import Accountant, AccountingMethod
from dpcheck.accounting.accountants.optimal import OptimalAccountant
from dpcheck.accounting.accountants.pure import PureAccountant
from dpcheck.accounting.accountants.renyi import RenyiClassic, RenyiImproved, RenyiOptimal
from dpcheck.accounting.accountants.selected import SelectionAccountant
from dpcheck.accounting.accountants.selected_below import selected_deltas, selected_epsilon
from dpcheck.accounting.accountants.variation import VariationAccountant
from dpcheck.accounting.assumptions import ARITHMETIC, PLAIN_ARITHMETIC
from dpcheck.accounting.compose import Profile
from dpcheck.accounting.losses import LossBounds
from dpcheck.accounting.sides import OneSide, lower_side, upper_side
from dpcheck.core.bound import Bound
from dpcheck.core.errors import ProofsContradict, UnknownName
from dpcheck.numerics.enclose import enclose
from dpcheck.numerics.rounding import Array

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
# Sides that cross by more than this are no rounding.
CROSSED, CROSSED_ABSOLUTE = 1e-9, 1e-14
# So many alternatives are tried all at once before they are tried one by one.
MANY = 3
# The optimal composition of so many mechanisms takes no time.
QUICK = 4
# Accountants whose upper bounds rest on floats, but on no transform.
_PLAIN = frozenset(
    (
        AccountingMethod.VARIATION.value,
        AccountingMethod.RENYI_CLASSIC.value,
        AccountingMethod.RENYI_IMPROVED.value,
        AccountingMethod.RENYI_OPTIMAL.value,
    )
)
# Those that may rest on the lattice of the privacy-loss distribution.
_BY_LATTICE = frozenset((AccountingMethod.DISTRIBUTION.value, AccountingMethod.SELECTION.value))
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
    profiles: Sequence[Profile], delta: float, chosen: Sequence[Accountant]
) -> list[Bound]:
    """`best_epsilon` of each; of one that cannot be the worst only an upper bound that is quick.

    It cannot be where its Renyi bound is at most what is proved of another from below. Many that are left
    are bounded at once, by a composition that contains each of them, where that costs next to nothing.
    """
    if len(profiles) < 2 or len(chosen) == 1:
        return [best_epsilon(profile, delta, chosen) for profile in profiles]
    renyi = ACCOUNTANTS[AccountingMethod.RENYI_OPTIMAL]
    quick = [epsilon_upper(upper_side(profile), delta, renyi) for profile in profiles]
    found: dict[int, Bound] = {}
    left = sorted(range(len(profiles)), key=lambda i: -quick[i])
    while left:
        worst = max((bound.upper for bound in found.values()), default=math.inf)
        proved = max((bound.lower for bound in found.values()), default=0.0)
        i = left.pop(0)
        if quick[i] <= proved:
            found[i] = Bound(0.0, quick[i], renyi.method.value, assumes=(PLAIN_ARITHMETIC,))
            continue
        if len(found) == 1 and len(left) >= MANY - 1 and math.isfinite(worst):
            all_ = _containing([profiles[k] for k in (i, *left)])
            if epsilon_upper(upper_side(all_), delta, renyi) <= max(quick) * (1 + CLOSE):
                together = best_epsilon(all_, delta, chosen)
                if together.upper <= worst * (1 + CLOSE):
                    found |= dict.fromkeys((i, *left), replace(together, lower=0.0))
                    break
        found[i] = best_epsilon(profiles[i], delta, chosen)
    return [found[i] for i in range(len(profiles))]


def _containing(profiles: Sequence[Profile]) -> Profile:
    """A composition that has every part of each of these, so that none of them costs more."""
    most: dict[LossBounds, int] = {}
    for profile in profiles:
        for bounds, times in profile:
            most[bounds] = max(most.get(bounds, 0), times)
    return tuple(sorted(most.items(), key=repr))


def best_epsilon(profile: Profile, delta: float, chosen: Sequence[Accountant]) -> Bound:
    """Both sides of epsilon at `delta`; a single accountant asked by name gives no lower side."""
    side, known, alone = upper_side(profile), lower_side(profile), len(chosen) == 1
    room = 1.0 if alone else room_below(known, delta)
    lowers = {"leak": math.inf if room < 0 else 0.0}
    if known.selected and 0 <= room < 1:
        lowers[_SELECTION] = selected_epsilon(known.selected, room)
        # One run is asked where that proves nothing, and at delta 0, where it is exact.
        room = 1.0 if lowers[_SELECTION] and room else room
    uppers: dict[str, float] = {}
    for accountant in _in_turn(chosen, side):
        name = accountant.method.value
        if 0 <= room < 1:
            found = accountant.epsilon_lower(known.parts, room)
            lowers[name] = max(lowers.get(name, 0.0), found)
        lower = max(lowers.values())
        value = epsilon_upper(side, delta, accountant)
        if alone and math.isinf(value) and side.parts and delta > side.leak:
            accountant.explain(side.parts, delta)
        uppers[name] = value
        if value <= lower * (1 + EXACT):  # nothing left to gain
            _contradict_nothing(value, known, room, lowers)
            break
        if math.isfinite(value) and _settles(accountant, side, value - lower, value):
            break
    return _summarised(uppers, lowers)


def _contradict_nothing(
    value: float, known: OneSide, room: float, lowers: dict[str, float]
) -> None:
    """Ask the distribution for a lower bound where the upper one is 0, which no lower bound was held against.

    Nowhere else an answer is taken from one proof alone.
    """
    name = AccountingMethod.DISTRIBUTION.value
    if value == 0 and 0 < room < 1 and known.parts and name not in lowers:
        lowers[name] = ONE_RUN.epsilon_lower(known.parts, room)


def _settles(accountant: Accountant, side: OneSide, gap: float, value: float) -> bool:
    """Whether no accountant that is asked later is likely to find less; only tightness rests on it."""
    if accountant.method is AccountingMethod.SELECTION:
        return True  # its terms are those of the Renyi bound, each from the whole curve of one run
    if accountant.method is not AccountingMethod.DISTRIBUTION:
        return False
    loose = all(loss.loose_renyi for loss, _ in side.parts)
    return loose or gap <= CLOSE * value + CLOSE_ABSOLUTE


def _in_turn(chosen: Sequence[Accountant], side: OneSide) -> Sequence[Accountant]:
    """The optimal composition of pure mechanisms first where it is exact or quick; the others see more.

    Beside a selection the distribution knows the lower side only, and need not know it well.
    """
    if any(loss.selection and loss.selection.binomial for loss, _ in side.parts):
        chosen = [ONE_RUN if a.method is ONE_RUN.method else a for a in chosen]
    if (
        any(loss.by_largest_alone() for loss, _ in side.parts)
        or sum(times for _, times in side.parts) <= QUICK
    ):
        return chosen
    return sorted(chosen, key=lambda a: a.method is AccountingMethod.OPTIMAL_COMPOSITION)


def alternatives_deltas(profiles: Sequence[Profile], epsilons: Array) -> list[list[Bound]]:
    """`best_deltas` of each; where one cannot be the worst only an upper bound that is quick.

    It cannot be where its Renyi bound is at most what is proved of another from below.
    """
    if len(profiles) < 2:
        return [best_deltas(profile, epsilons) for profile in profiles]
    renyi = ACCOUNTANTS[AccountingMethod.RENYI_OPTIMAL]
    quick = [deltas_upper(upper_side(profile), epsilons, renyi) for profile in profiles]
    name, assumed = renyi.method.value, (PLAIN_ARITHMETIC,)
    found = [[Bound(0.0, one, name, assumes=assumed) for one in each.tolist()] for each in quick]
    proved = np.zeros(len(epsilons))
    for i in sorted(range(len(profiles)), key=lambda i: -float(quick[i].sum())):
        left = np.flatnonzero(quick[i] > proved)
        for at, bound in zip(left, best_deltas(profiles[i], epsilons[left]), strict=True):
            found[i][at] = bound
            proved[at] = max(proved[at], bound.lower)
    return found


def best_deltas(profile: Profile, epsilons: Array) -> list[Bound]:
    """Both sides of delta at each epsilon; those that are settled are not asked of further accountants."""
    if not len(epsilons):
        return []
    side, known = upper_side(profile), lower_side(profile)
    uppers: dict[str, Array] = {}
    lowers: dict[str, Array] = {}
    open_ = np.ones(len(epsilons), dtype=bool)
    for accountant in accountants():
        name = accountant.method.value
        uppers[name], lowers[name] = np.ones(len(epsilons)), np.zeros(len(epsilons))
        uppers[name][open_] = deltas_upper(side, epsilons[open_], accountant)
        lowers[name][open_] = deltas_lower(known, epsilons[open_], accountant)
        by_lattice = accountant.method is AccountingMethod.DISTRIBUTION
        least, most = (reduce(np.minimum, uppers.values()), reduce(np.maximum, lowers.values()))
        open_ &= least > most * (1 + (CLOSE_DELTA if by_lattice else EXACT))
        if not open_.any():
            break
    by_lattice_name, none = (
        AccountingMethod.DISTRIBUTION.value,
        reduce(np.minimum, uppers.values()) == 0,
    )
    if none.any() and by_lattice_name not in lowers:  # as `_contradict_nothing`
        lowers[by_lattice_name] = np.zeros(len(epsilons))
        lowers[by_lattice_name][none] = deltas_lower(known, epsilons[none], ONE_RUN)
    if known.selected:
        least = reduce(np.minimum, uppers.values())
        one = lowers.get(_SELECTION, np.zeros(len(epsilons)))
        lowers[_SELECTION] = np.maximum(one, selected_deltas(known.selected, epsilons, least))
    return [
        _summarised(
            {name: float(values[i]) for name, values in uppers.items()},
            {name: float(values[i]) for name, values in lowers.items()},
        )
        for i in range(len(epsilons))
    ]


def epsilon_upper(side: OneSide, delta: float, accountant: Accountant) -> float:
    """The least epsilon one accountant proves at `delta`; infinite where it proves none."""
    if not side.failure and not side.leak:
        return _plain_epsilon(side, delta, accountant)
    if side.failure == 0:
        return _epsilon_without_failure(side, Fraction(delta), accountant)
    # Solve eps = eps_0(delta - (1+e^eps) t) from below: the map is increasing, so the iteration
    # increases to the least solution; only a value that maps below itself is returned.
    value = 0.0
    for _ in range(200):
        if value > 700:
            return math.inf
        lost = (1 + math.exp(value)) * side.failure * (1 + 1e-12)
        found = _epsilon_without_failure(side, Fraction(delta) - Fraction(lost), accountant)
        if found <= value:
            return value
        value = found * (1 + 1e-9) + 1e-12
    return math.inf


def _epsilon_without_failure(side: OneSide, delta: Fraction, accountant: Accountant) -> float:
    if delta < side.leak:
        return math.inf
    room = enclose((delta - side.leak) / (1 - side.leak))[0] if delta > side.leak else 0.0
    return _plain_epsilon(side, max(0.0, room), accountant)


def _plain_epsilon(side: OneSide, delta: float, accountant: Accountant) -> float:
    if not side.parts:
        return 0.0
    return accountant.epsilon(side.parts, delta) if accountant.supports(side.parts) else math.inf


def deltas_upper(side: OneSide, epsilons: Array, accountant: Accountant) -> Array:
    """The least delta one accountant proves at each epsilon, at most 1."""
    plain = np.zeros(len(epsilons))
    if side.parts:
        usable = accountant.supports(side.parts)
        plain = accountant.deltas(side.parts, epsilons) if usable else np.ones(len(epsilons))
    if not side.leak and not side.failure:
        return plain
    found = [_with_failure(side, *both) for both in zip(plain, epsilons, strict=True)]
    return np.array(found)


def _with_failure(side: OneSide, plain: float, epsilon: float) -> float:
    total = side.leak + (1 - side.leak) * Fraction(plain)
    if side.failure:
        if epsilon > 700:
            return 1.0
        total += Fraction((1 + math.exp(epsilon)) * side.failure * (1 + 1e-12))
    return min(1.0, enclose(total)[1])


def epsilon_lower(side: OneSide, delta: float) -> float:
    """The best lower bound on epsilon; parts that have none are left out."""
    room = room_below(side, delta)
    if room < 0:
        return math.inf
    if side.selected and room < 1 and (found := selected_epsilon(side.selected, room)):
        return found
    return 0.0 if room >= 1 else max(a.epsilon_lower(side.parts, room) for a in accountants())


def room_below(side: OneSide, delta: float) -> float:
    """What of `delta` is left beside the leak, rounded up; -1 where the leak is larger."""
    if not side.leak:
        return delta
    exact = (Fraction(delta) - side.leak) / (1 - side.leak) if side.leak < 1 else Fraction(-1)
    return -1.0 if exact < 0 else enclose(exact)[1] if exact else 0.0


def deltas_lower(side: OneSide, epsilons: Array, accountant: Accountant) -> Array:
    """The largest lower bound of one accountant on delta at each epsilon."""
    plain = accountant.deltas_lower(side.parts, epsilons)
    if not side.leak:
        return plain
    total = [side.leak + (1 - side.leak) * Fraction(one) for one in plain.tolist()]
    return np.array([max(0.0, enclose(one)[0]) for one in total])


def _summarised(uppers: Mapping[str, float], lowers: Mapping[str, float]) -> Bound:
    """The tightest of the bounds on either side, with what the arithmetic of their proofs assumes."""
    method = min(uppers, key=lambda name: uppers[name])
    proof = max(lowers, key=lambda name: lowers[name])
    upper, lower = uppers[method], lowers[proof]
    used: tuple[str, ...] = ()
    if not _BY_LATTICE.isdisjoint((method, proof)):
        used = (ARITHMETIC,)
    elif method in _PLAIN:
        used = (PLAIN_ARITHMETIC,)
    if math.isinf(upper):
        method = "unbounded"
    return Bound(agreed(lower, upper, proof, method), upper, method, assumes=used)


def agreed(lower: float, upper: float, proof: str, method: str) -> float:
    """The lower side, at most the upper one. Both are proved, so they cross by the last digits or not at all.

    >>> agreed(1.0 + 1e-12, 1.0, "pld", "rdp")
    1.0
    """
    if lower > upper * (1 + CROSSED) + CROSSED_ABSOLUTE:
        raise ProofsContradict(
            f"two proofs contradict each other: at least {lower:.17g} by {proof}, at most {upper:.17g} by "
            f"{method}. One of them is a mistake in dpcheck: trust neither, and please report the event."
        )
    return min(lower, upper)
