"""One composition proved a second time in ball arithmetic, leaks and failures taken out beforehand."""

from __future__ import annotations

import math
from fractions import Fraction

from dpcheck.accounting.accountants import best
from dpcheck.accounting.accountants.interface import AccountingMethod
from dpcheck.accounting.certify.bound import between, room_below
from dpcheck.accounting.compose import Profile
from dpcheck.accounting.losses import Parts, reverse_parts
from dpcheck.accounting.pld.verify.proof import METHOD, verified_epsilon
from dpcheck.accounting.sides import OneSide, lower_side, upper_side
from dpcheck.core.bound import Bound
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.enclose import enclose
from dpcheck.numerics.side import Side

_TRIES = 3


def verified(profile: Profile, delta: float) -> Bound:
    """epsilon at `delta`; the lower side is 0 where no pair that is contained can be verified."""
    if delta <= 0:
        raise CannotCertify(
            "at delta 0 nothing is composed on a lattice; ask without verification: exact sums are used."
        )
    upper = _upper(upper_side(profile), delta)
    known = lower_side(profile)
    room = room_below(known.leak, delta)
    lower = math.inf if room < 0 else 0.0
    if 0 <= room < 1 and known.parts:
        try:
            lower = max(verified_epsilon(way, room, Side.LOWER) for way in _ways(known.parts))
        except CannotCertify:
            lower = 0.0
    return between(lower, upper, METHOD)


def _upper(side: OneSide, delta: float) -> float:
    """The least verified epsilon; with failures the one of the accountant, which must prove itself."""
    if not side.failure:
        return _without_failure(side, Fraction(delta))
    fast = best.ACCOUNTANTS[AccountingMethod.DISTRIBUTION]
    value = best.epsilon_upper(side, delta, fast)
    for _ in range(_TRIES):
        if value > 700:
            return math.inf
        lost = Fraction((1 + math.exp(value)) * side.failure * (1 + 1e-12))
        found = _without_failure(side, Fraction(delta) - lost)
        if found <= value:
            return value
        value = found * (1 + 1e-9) + 1e-12
    return math.inf


def _without_failure(side: OneSide, delta: Fraction) -> float:
    if delta < side.leak:
        return math.inf
    room = enclose((delta - side.leak) / (1 - side.leak))[0] if delta > side.leak else 0.0
    if not side.parts:
        return 0.0
    if room <= 0:
        return math.inf
    return max(verified_epsilon(way, room, Side.UPPER) for way in _ways(side.parts))


def _ways(parts: Parts) -> dict[Parts, None]:
    """Both directions, once where they are the same."""
    return dict.fromkeys((parts, reverse_parts(parts)))
