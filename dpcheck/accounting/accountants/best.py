"""What one composition costs, by every accountant that can say; the api takes the best of each side.

Two kinds of probability are set aside first. A *leak* (the delta of ApproxDP) reveals everything: with
total leak D, delta(eps) = D + (1-D) delta_0(eps) [Kairouz2017, Theorem 3.3]. A *failure* is a total
variation distance t to the pair that is accounted, on both sides: it adds (1 + e^eps) t.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from dpcheck.accounting import losses
from dpcheck.accounting.accountants.gaussian import gdp_delta, gdp_epsilon
from dpcheck.accounting.accountants.pure import (
    OPTIMAL_COMPOSITION_LIMIT,
    composed_largest_loss,
    largest_loss,
    optimal_composition,
)
from dpcheck.accounting.compose import Profile
from dpcheck.accounting.losses import Loss
from dpcheck.accounting.pld.distribution import ComposedLoss, pld_tradeoff, supports
from dpcheck.accounting.pld.distribution import compose as compose_pld
from dpcheck.accounting.renyi.conversion import (
    CONVERSIONS,
    linear_rdp_epsilon,
    rdp_delta,
    rdp_epsilon,
)
from dpcheck.accounting.renyi.divergence import composed_renyi, concentration
from dpcheck.core.bound import Bound
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.enclose import enclose, enclose_root
from dpcheck.numerics.side import Side

Parts = tuple[tuple[Loss, int], ...]

METHODS = (
    "pure",
    "gdp",
    "optimal-composition",
    *(f"rdp-{name}" for name in CONVERSIONS),
    "pld",
)


_DUST = 1e-10  # losses below this are not worth a lattice


@dataclass(frozen=True, slots=True)
class Flat:
    """A composition without leaks: what is left to account, and the probabilities set aside."""

    parts: Parts
    leak: Fraction
    failure: float


def upper_side(profile: Profile) -> Flat:
    """The dominating pairs of a composition."""
    failure = math.fsum(bounds.failure * times for bounds, times in profile) * (1 + 1e-14)
    return _flatten(((bounds.upper, times) for bounds, times in profile), failure, Side.UPPER)


def lower_side(profile: Profile) -> Flat:
    """The pairs the composition contains; leaves without a known one are dropped, which only lowers."""
    known = ((b.lower, t) for b, t in profile if b.lower is not None and not b.failure)
    return _flatten(known, 0.0, Side.LOWER)


def _flatten(parts: Iterable[tuple[Loss, int]], failure: float, side: Side) -> Flat:
    kept: Counter[Loss] = Counter()
    safe = Fraction(1)
    for loss, times in parts:
        if isinstance(loss, losses.ResponseLoss) and loss.delta > 0:
            safe *= _no_leak(loss.delta, times, side)
            loss = replace(loss, delta=0.0)
        if times:
            kept[loss] += times
    return Flat(tuple(kept.items()), 1 - safe, failure)


def _no_leak(delta: float, times: int, side: Side) -> Fraction:
    """(1 - delta)^times, exactly for few times; beyond, from a leak rounded to its side."""
    if times <= 64:
        return (1 - Fraction(delta)) ** times
    slip = 1e-12 if side is Side.UPPER else -1e-12
    return 1 - Fraction(min(1.0, -math.expm1(times * math.log1p(-delta)) * (1 + slip)))


def epsilon_upper(flat: Flat, delta: float, method: str) -> float:
    """The least epsilon `method` proves at `delta`; infinite where it proves none."""
    if flat.failure == 0 and flat.leak == 0:
        return _plain_epsilon(flat.parts, delta, method)
    if flat.failure == 0:
        return _epsilon_without_failure(flat, Fraction(delta), method)
    # Solve eps = eps_0(delta - (1+e^eps) t) from below: the map is increasing, so the iteration
    # climbs to the least solution; only a value that maps below itself is returned.
    value = 0.0
    for _ in range(200):
        if value > 700:
            return math.inf
        lost = (1 + math.exp(value)) * flat.failure * (1 + 1e-12)
        found = _epsilon_without_failure(flat, Fraction(delta) - Fraction(lost), method)
        if found <= value:
            return value
        value = found * (1 + 1e-9) + 1e-12
    return math.inf


def _epsilon_without_failure(flat: Flat, delta: Fraction, method: str) -> float:
    if delta < flat.leak:
        return math.inf
    room = enclose((delta - flat.leak) / (1 - flat.leak))[0] if delta > flat.leak else 0.0
    return _plain_epsilon(flat.parts, max(0.0, room), method)


def _plain_epsilon(parts: Parts, delta: float, method: str) -> float:
    if not parts:
        return 0.0
    if method == "pure":
        return composed_largest_loss(parts)[1]
    if method == "gdp":
        mu = gaussian_mu(parts)
        return gdp_epsilon(mu[1], delta)[1] if mu else math.inf
    if method == "optimal-composition":
        pure = _equal_pure(parts)
        return optimal_composition(*pure, delta)[1] if pure else math.inf
    if delta <= 0:
        return math.inf
    if method == "pld":
        rest, dust = _without_dust(parts)
        return dust + _pld(rest, Side.UPPER, lambda composed: composed.epsilon(delta), math.inf)
    conversion = method.removeprefix("rdp-")
    rho = concentration(parts)
    known = linear_rdp_epsilon(rho, delta, conversion) if rho else None
    if known:
        return known.value
    return rdp_epsilon(lambda orders: composed_renyi(parts, orders), delta, conversion).value


def _pld(parts: Parts, side: Side, ask: Callable[[ComposedLoss], float], otherwise: float) -> float:
    """The answer of the worse direction, or `otherwise` where no distribution can be certified."""
    parts = tuple(_without_choices(parts)) if side is Side.UPPER else parts
    if not parts:
        return 0.0
    if not all(supports(loss, side) for loss, _ in parts):
        return otherwise
    backwards = tuple((losses.reverse(loss), times) for loss, times in parts)
    try:
        return max(ask(compose_pld(way, side)) for way in dict.fromkeys((parts, backwards)))
    except CannotCertify:
        return otherwise


def explain_pld(flat: Flat, delta: float) -> None:
    """Raise why no privacy-loss distribution could be certified; silent where the answer is infinite."""
    parts = tuple(_without_choices(_without_dust(flat.parts)[0]))
    if parts and delta > flat.leak:
        compose_pld(parts, Side.UPPER).epsilon(delta)


def tradeoff_by_pld(flat: Flat, false_positives: float, side: Side) -> float | None:
    """The trade-off function of the worse direction; None where no distribution can be certified."""
    lattice = Side.UPPER if side is Side.LOWER else Side.LOWER
    usable = all(supports(loss, lattice) for loss, _ in flat.parts)
    if flat.leak or flat.failure or not flat.parts or not usable:
        return None
    backwards = tuple((losses.reverse(loss), times) for loss, times in flat.parts)
    ways = dict.fromkeys((flat.parts, backwards))
    try:
        return min(float(pld_tradeoff(way, [false_positives], side)[0]) for way in ways)
    except CannotCertify:
        return None


def _without_dust(parts: Parts) -> tuple[Parts, float]:
    """The parts worth a lattice, and the epsilon of pure ones too small for it, which just adds.

    Gaussians that are too small together are raised to the smallest that is worth one.
    """
    kept: list[tuple[Loss, int]] = []
    dust = 0.0
    for loss, times in parts:
        largest = times * largest_loss(loss)[1]
        if isinstance(loss, losses.GaussianLoss) and math.sqrt(times) * loss.mu < _DUST:
            kept.append((losses.GaussianLoss(_DUST), 1))
        elif largest > _DUST:
            kept.append((loss, times))
        elif largest > 0:
            dust = math.nextafter(dust + largest, math.inf)
    return tuple(kept), dust


def _without_choices(parts: Parts) -> Iterable[tuple[Loss, int]]:
    """Every option of a choice at once: costs more, but is one composition."""
    for loss, times in parts:
        if isinstance(loss, losses.WorstLoss):
            for option in loss.options:
                yield from ((inner, count * times) for inner, count in _without_choices(option))
        else:
            yield loss, times


def _seen_by_pld(parts: Parts) -> Parts:
    """The parts a lower lattice exists for; none where the closed form is exact already."""
    if gaussian_mu(parts):
        return ()
    kept = set(_without_dust(parts)[0])  # dust is dropped, raised Gaussians are not among the parts
    return tuple(part for part in parts if part in kept and supports(part[0], Side.LOWER))


def delta_upper(flat: Flat, epsilon: float, method: str) -> float:
    """The least delta `method` proves at `epsilon`, at most 1."""
    plain = _plain_delta(flat.parts, epsilon, method)
    total = flat.leak + (1 - flat.leak) * Fraction(plain)
    if flat.failure:
        total += Fraction((1 + math.exp(min(epsilon, 700.0))) * flat.failure * (1 + 1e-12))
    return min(1.0, enclose(total)[1])


def _plain_delta(parts: Parts, epsilon: float, method: str) -> float:
    if not parts:
        return 0.0
    if method == "pure":
        return 0.0 if composed_largest_loss(parts)[1] <= epsilon else 1.0
    if method == "gdp":
        mu = gaussian_mu(parts)
        return gdp_delta(mu[1], epsilon)[1] if mu else 1.0
    if method == "pld":
        rest, dust = _without_dust(parts)
        point = math.nextafter(epsilon - dust, -math.inf) if dust else epsilon
        return _pld(rest, Side.UPPER, lambda composed: float(composed.delta(point)[0]), 1.0)
    if method == "rdp-optimal":
        return rdp_delta(lambda orders: composed_renyi(parts, orders), epsilon).value
    return 1.0


def epsilon_lower(flat: Flat, delta: float) -> float:
    """The best closed-form lower bound; parts that have none are left out."""
    if Fraction(delta) < flat.leak:
        return math.inf
    exact = (Fraction(delta) - flat.leak) / (1 - flat.leak)
    room = enclose(exact)[1] if exact else 0.0
    if room >= 1:
        return 0.0
    if room == 0:
        return composed_largest_loss(flat.parts)[0] if flat.parts else 0.0
    found = [0.0]
    mu = gaussian_mu(_gaussians(flat.parts))
    if mu:
        found.append(gdp_epsilon(mu[0], room)[0])
    for loss, times in flat.parts:
        if isinstance(loss, losses.UnboundedLoss):
            return math.inf
        if isinstance(loss, losses.ResponseLoss) and loss.neutral == 0:
            few = min(times, OPTIMAL_COMPOSITION_LIMIT)
            found.append(optimal_composition(loss.epsilon, few, room)[0])
    known = _seen_by_pld(flat.parts)
    if known:
        found.append(_pld(known, Side.LOWER, lambda composed: composed.epsilon(room), 0.0))
    return max(found)


def delta_lower(flat: Flat, epsilon: float) -> float:
    """A closed-form lower bound on delta at `epsilon`."""
    if any(isinstance(loss, losses.UnboundedLoss) for loss, _ in flat.parts):
        return 1.0
    mu = gaussian_mu(_gaussians(flat.parts))
    plain = gdp_delta(mu[0], epsilon)[0] if mu else 0.0
    known = _seen_by_pld(flat.parts)
    if known:
        seen = _pld(known, Side.LOWER, lambda composed: float(composed.delta(epsilon)[0]), 0.0)
        plain = max(plain, seen)
    return max(0.0, enclose(flat.leak + (1 - flat.leak) * Fraction(plain))[0])


def _gaussians(parts: Parts) -> Parts:
    return tuple(part for part in parts if isinstance(part[0], losses.GaussianLoss))


def gaussian_mu(parts: Parts) -> tuple[float, float] | None:
    """(lower, upper) around sqrt(sum mu^2) if every part is Gaussian, else None."""
    total = Fraction(0)
    for loss, times in parts:
        if not isinstance(loss, losses.GaussianLoss):
            return None
        total += Fraction(loss.mu) ** 2 * times
    return enclose_root(total)


def _equal_pure(parts: Parts) -> tuple[float, int] | None:
    """(epsilon, times) if all parts are pure DP with one epsilon and few enough to enumerate."""
    largest = {largest_loss(loss)[1] for loss, _ in parts}
    times = sum(times for _, times in parts)
    if len(largest) != 1 or times > OPTIMAL_COMPOSITION_LIMIT:
        return None
    epsilon = largest.pop()
    return None if math.isinf(epsilon) else (epsilon, times)


def summarise(uppers: dict[str, float], lower: float, assumes: tuple[str, ...]) -> Bound:
    """The tightest of the upper bounds, with the lower one."""
    method = min(uppers, key=lambda name: uppers[name])
    upper = uppers[method]
    if math.isinf(upper):
        method = "unbounded"
    # Both are proved, so they can cross only by the last digit of an exact value.
    return Bound(min(lower, upper), upper, method, assumes=assumes)
