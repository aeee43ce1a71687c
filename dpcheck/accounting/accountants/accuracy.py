"""Both sides of epsilon, refined until they are as close as somebody asks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpcheck.accounting.accountants import best
from dpcheck.accounting.accountants.distribution import FinerAccountant
from dpcheck.accounting.certify.bound import finer
from dpcheck.accounting.compose import Profile
from dpcheck.accounting.sides import lower_side, upper_side
from dpcheck.core.bound import Bound
from dpcheck.core.errors import CannotCertify

# Lattices cost this share of what is asked for, then less; only how soon it is reached rests on it.
SHARES = (0.25, 0.06, 0.015)


def refined(
    options: Sequence[Profile], bounds: Sequence[Bound], delta: float, accuracy: float
) -> list[Bound]:
    """The bounds of all compositions one person can be in, the most expensive one within `accuracy`.

    `accuracy` is a share of the upper side.

    Guarantee: as for the bounds; CannotCertify, with the closest that is proved, where they stay apart.
    """
    found = list(bounds)
    for share in SHARES:
        if within(found, accuracy):
            return found
        least = max(bound.lower for bound in found)
        for i, (profile, bound) in enumerate(zip(options, found, strict=True)):
            if bound.upper > least and math.isfinite(bound.upper):
                found[i] = _finer(profile, bound, delta, accuracy * share)
    if within(found, accuracy):
        return found
    upper, lower = max(bound.upper for bound in found), max(bound.lower for bound in found)
    raise CannotCertify(
        f"epsilon is proved to lie in [{lower:.9g}, {upper:.9g}], which is not within {accuracy:g} of it: "
        "either no mechanism that needs all of the upper side is known, or the lattice for it does not fit "
        "into memory. Ask for less accuracy.",
        lower=lower,
        upper=upper,
        accuracy=accuracy,
    )


def within(bounds: Sequence[Bound], accuracy: float) -> bool:
    """Whether the largest upper side is within that share of the largest lower one."""
    upper = max((bound.upper for bound in bounds), default=0.0)
    lower = max((bound.lower for bound in bounds), default=0.0)
    return upper == lower or upper - lower <= accuracy * upper


def _finer(profile: Profile, bound: Bound, delta: float, share: float) -> Bound:
    accountant, known = FinerAccountant(share), lower_side(profile)
    upper = best.proved_above(upper_side(profile), delta, accountant)
    lower = best.proved_below(known, delta, accountant)
    return finer(bound, upper, lower)
