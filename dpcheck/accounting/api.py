"""The four questions: epsilon at a delta, delta at an epsilon, Renyi divergence, trade-off function."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.accounting.accountants import best as account
from dpcheck.accounting.accountants.gaussian import gdp_false_negatives
from dpcheck.accounting.compose import Profile, profiles
from dpcheck.accounting.losses import UnboundedLoss, reverse
from dpcheck.accounting.renyi.divergence import composed_renyi
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.errors import CannotCertify, InvalidParameter, UnknownName
from dpcheck.core.events.event import Event, natural_adjacency
from dpcheck.core.validate import finite, non_negative, probability
from dpcheck.numerics.side import Side

RANDOMNESS = (
    "noise is drawn from the stated continuous or integer distribution, not a float sampler"
)


# Never tighter than the optimal conversion; ask for them by name.
_LOOSER = ("rdp-classic", "rdp-improved")


def _resolve(event: Event, adjacency: Adjacency | str | None) -> Adjacency:
    if not isinstance(event, Event):
        raise InvalidParameter(f"expected an event, got {event!r}.", value=event)
    return natural_adjacency(event) if adjacency is None else as_adjacency(adjacency)


def epsilon(
    event: Event,
    *,
    delta: float = 0.0,
    adjacency: Adjacency | str | None = None,
    method: str = "best",
) -> Bound:
    """What `event` spends at `delta`: proved lower and upper bounds on its epsilon.

    Without `adjacency` the one the event is usually stated under is used; the answer carries it.
    `method` names one accountant instead of the best of all; `lower` is then 0.

    Guarantee: no mechanism the event describes has an epsilon above `upper`; some has one of at least
    `lower`.
    Assumes: what the answer's `assumes` lists.

    >>> from dpcheck import PureDP
    >>> epsilon(PureDP(0.5) * 3).upper
    1.5
    """
    relation, target = _resolve(event, adjacency), probability("delta", delta)
    names = _methods(method)
    bounds = [_profile_epsilon(p, target, names) for p in profiles(event, relation)]
    return _worst(bounds, relation)


def epsilon_upper(
    event: Event, *, delta: float, adjacency: Adjacency | str | None, method: str = "best"
) -> float:
    """The upper side of `epsilon` alone, at half the price; for searches.

    Guarantee: never below the true epsilon.
    """
    relation, target = _resolve(event, adjacency), probability("delta", delta)
    names = _methods(method)
    flats = [account.upper_side(profile) for profile in profiles(event, relation)]
    costs = [
        min(account.epsilon_upper(flat, target, name) for name in names if name not in _LOOSER)
        if len(names) > 1
        else account.epsilon_upper(flat, target, names[0])
        for flat in flats
    ]
    return max(costs, default=0.0)


def epsilon_lower(event: Event, *, delta: float, adjacency: Adjacency | str | None = None) -> float:
    """The lower side of `epsilon` alone; for refuting other accountants.

    Guarantee: some mechanism the event describes spends at least that much.
    """
    relation, target = _resolve(event, adjacency), probability("delta", delta)
    flats = [account.lower_side(profile) for profile in profiles(event, relation)]
    return max((account.epsilon_lower(flat, target) for flat in flats), default=0.0)


def verify_epsilon(
    event: Event, *, delta: float, adjacency: Adjacency | str | None = None
) -> Bound:
    """`epsilon` by the PLD, proved a second time in ball arithmetic; seconds to a minute.

    Guarantee: raises CannotCertify unless a slow, independent proof confirms both sides.
    """
    from dpcheck.accounting.pld.verify import pld_verify

    relation, target = _resolve(event, adjacency), probability("delta", delta)
    bounds = []
    for profile in profiles(event, relation):
        flat = account.upper_side(profile)
        if flat.leak or flat.failure or not flat.parts:
            raise CannotCertify(
                "only compositions of Gaussian and Laplace steps can be verified by balls; ask "
                "without --verify, the bounds are certified all the same."
            )
        backwards = tuple((reverse(loss), times) for loss, times in flat.parts)
        bounds += [pld_verify(way, target) for way in dict.fromkeys((flat.parts, backwards))]
    return _worst(bounds, relation)


def _methods(method: str) -> tuple[str, ...]:
    if method == "best":
        return account.METHODS
    if method == "rdp":
        return ("rdp-optimal",)
    if method not in account.METHODS:
        raise UnknownName(
            f"unknown method {method!r}; use best, {', '.join(account.METHODS)}.", value=method
        )
    return (method,)


def _profile_epsilon(profile: Profile, delta: float, names: tuple[str, ...]) -> Bound:
    flat = account.upper_side(profile)
    lower = account.epsilon_lower(account.lower_side(profile), delta) if len(names) > 1 else 0.0
    uppers: dict[str, float] = {}
    for name in names:
        if len(names) > 1 and name in _LOOSER:
            continue
        uppers[name] = account.epsilon_upper(flat, delta, name)
        if names == ("pld",) and math.isinf(uppers[name]):
            account.explain_pld(flat, delta)
        if uppers[name] <= lower:  # exact: nothing left to gain
            break
    return account.summarise(uppers, lower, _assumptions(profile))


def delta(event: Event, *, epsilon: float, adjacency: Adjacency | str | None = None) -> Bound:
    """The delta `event` needs at `epsilon`: proved lower and upper bounds.

    Guarantee: as for `epsilon`.

    >>> from dpcheck import Gaussian
    >>> round(delta(Gaussian(1.0), epsilon=1.0).upper, 6)
    0.126937
    """
    relation, target = _resolve(event, adjacency), non_negative("epsilon", epsilon)
    bounds = []
    for profile in profiles(event, relation):
        flat = account.upper_side(profile)
        lower = account.delta_lower(account.lower_side(profile), target)
        uppers = {
            n: account.delta_upper(flat, target, n) for n in ("pure", "gdp", "rdp-optimal", "pld")
        }
        bounds.append(account.summarise(uppers, lower, _assumptions(profile)))
    return _worst(bounds, relation)


def rdp(event: Event, order: float, *, adjacency: Adjacency | str | None = None) -> Bound:
    """The Renyi divergence of `event` at `order` > 1, in the worse direction.

    Guarantee: never below the divergence; `lower` is 0 where no exact pair is known.

    >>> from dpcheck import Gaussian
    >>> round(rdp(Gaussian(2.0), order=8).upper, 12)
    1.0
    """
    relation, alpha = _resolve(event, adjacency), finite("order", order)
    if alpha <= 1:
        raise InvalidParameter(f"order must be above 1, got {alpha:g}.", name="order", value=alpha)
    orders = np.array([alpha])
    bounds = []
    for profile in profiles(event, relation):
        flat = account.upper_side(profile)
        finite_cost = not flat.leak and not flat.failure
        upper = float(composed_renyi(flat.parts, orders)[0]) if finite_cost else math.inf
        exact = all(b.upper == b.lower for b, _ in profile)
        lower = upper * (1 - 1e-9) if exact and math.isfinite(upper) else 0.0
        bounds.append(Bound(lower, upper, "rdp", assumes=_assumptions(profile)))
    return _worst(bounds, relation)


def tradeoff(event: Event, fpr: float, *, adjacency: Adjacency | str | None = None) -> Bound:
    """The least false-negative rate of any test of one neighbour against the other, at `fpr`.

    Guarantee: no test with that false-positive rate misses less often than `lower`.
    Reference: [Dong2022] Proposition 2.13 for the step from (epsilon, delta) to f.

    >>> from dpcheck import Gaussian
    >>> round(tradeoff(Gaussian(1.0), 0.05).lower, 6)
    0.740489
    """
    relation, alpha = _resolve(event, adjacency), probability("fpr", fpr)
    bounds = [_profile_tradeoff(profile, alpha) for profile in profiles(event, relation)]
    if not bounds:
        return Bound(1 - alpha, 1 - alpha, "empty", relation)
    # A person may be in any of the compositions: the least of the lower and of the upper bounds.
    worst = min(bounds, key=lambda bound: bound.lower)
    upper = min(bound.upper for bound in bounds)
    return Bound(min(worst.lower, upper), upper, worst.method, relation, worst.assumes)


def _profile_tradeoff(profile: Profile, alpha: float) -> Bound:
    above, below = account.upper_side(profile), account.lower_side(profile)
    assumes = _assumptions(profile)
    mu = account.gaussian_mu(above.parts)
    if mu and not above.leak and not above.failure:
        value = gdp_false_negatives(mu[1], alpha)
        return Bound(max(0.0, value - 1e-14), min(1 - alpha, value + 1e-14), "gdp", assumes=assumes)
    least = account.tradeoff_by_pld(above, alpha, Side.LOWER)
    most = account.tradeoff_by_pld(below, alpha, Side.UPPER)
    method = "pld"
    if least is None:
        least, method = _tradeoff_by_deltas(above, alpha), "epsilon-delta"
    return Bound(least, max(least, 1 - alpha if most is None else most), method, assumes=assumes)


def _tradeoff_by_deltas(flat: account.Flat, alpha: float) -> float:
    """f(a) >= 1 - delta(eps) - e^eps a and its mirror image, for any set of epsilons."""
    best = 0.0
    for point in (0.0, *np.geomspace(1e-3, 50.0, 60)):
        least = min(account.delta_upper(flat, point, name) for name in ("pure", "rdp-optimal"))
        best = max(
            best, 1 - least - math.exp(point) * alpha, math.exp(-point) * (1 - least - alpha)
        )
    return max(0.0, best - 1e-15)


def _assumptions(profile: Profile) -> tuple[str, ...]:
    found = dict.fromkeys(text for bounds, _ in profile for text in bounds.assumes)
    for bounds, _ in profile:
        if isinstance(bounds.upper, UnboundedLoss):
            found[f"not private: {bounds.upper.reason}"] = None
    return (*found, RANDOMNESS)


def _worst(bounds: list[Bound], adjacency: Adjacency) -> Bound:
    """The most expensive alternative: the largest upper bound, and the largest lower one."""
    if not bounds:
        return Bound(0.0, 0.0, "empty", adjacency)
    top = max(bounds, key=lambda bound: bound.upper)
    lower = max(bound.lower for bound in bounds)
    assumes = tuple(dict.fromkeys(text for bound in bounds for text in bound.assumes))
    return Bound(lower, top.upper, top.method, adjacency, assumes)
