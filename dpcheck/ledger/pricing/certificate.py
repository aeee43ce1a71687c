"""What a Renyi filter enforces: the largest divergence at each of a few orders, fixed in advance.

Let L be the privacy loss so far and D the sum of the divergences of order 1 + s, each known before
its release. For constants A > 0, C >= 0 and B of any sign let

    g(x) = A e^{s (x - D)} + B + C e^{-x}.

E[e^{s (L - D)}] <= 1, E[e^{-L}] <= 1 and E[1] = 1 under P, so g(L) is a supermartingale of mean at
most A + B + C. Two conditions make it a certificate: g >= 0, and g(x) >= 1 - e^{epsilon - x}, for
all x. For a > 0 and c >= 0 the least value of a e^{s x} + c e^{-x} over all x is

    m(a, c) = (1 + s) s^{-t} a^{1 - t} c^t     with t = s / (1 + s),

so with a = A e^{-s D} they say B >= -m(a, C) and B >= 1 - m(a, C + e^epsilon). Here B = -m(a, C),
and a makes the second an equality. Then A + B + C <= delta says how large D may be: the limit of
that order. C = 0 is the conversion of [Canonne2020] Proposition 12; the best C is the dual of the
lossless one of [Asoodeh2021]. It gains most where s D is small: there B takes back most of what the
bulk of the mass would pay. Where (1 + s) delta >= 1 the first condition has room: then C = 0, the
tangent of 1 - e^{epsilon - x} in e^{s x} at D and B = delta - (1 - delta) / s >= 0 prove
D = epsilon - log(1 - delta).

Several orders share delta, each with a certificate g_k of its own for its share. While an order is
within its limit g_k >= 0; stopped at the last moment at which it is, it is a nonnegative
supermartingale, whose mean never exceeds its share. So as long as *any* order is within its limit,
(1 - e^{epsilon - L})_+ <= g_k <= sum of all stopped ones, of mean at most delta: whatever the
releases, and whenever they stop, the interaction is (epsilon, delta)-DP.

If epsilon is lowered by E after seeing outputs (late plans), D <= limit - E is enough: move x by E
in the second condition, and C e^{-x - E} <= C e^{-x}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpcheck.ledger.pricing.costs import Floats
from dpcheck.ledger.pricing.deferral import Pairs, defer

Integers = npt.NDArray[np.int_]
ORDERS: Floats = 1 + np.geomspace(0.1, 511.0, 111)

# How delta is shared between orders. Where the schedule was announced all but a thousandth goes to
# the order that suits it; else a tenth is kept for other events, which mostly want lower orders.
ANNOUNCED, SURPRISED = 0.001, 0.1
_BELOW, _ABOVE = (3, 6, 9, 12, 15, 18, 24, 30), (6, 15)  # places in ORDERS away from the favoured
_FALL, _SHARE_BELOW = 0.75, 0.85

_ROUNDING = 1e-12
_MOST_EPSILON = 1e100
_CLASSIC = 0.98  # C = 0 is good enough from this part of the lossless limit on
_NONE: tuple[Pairs, Pairs] = ((), ())
_CONSTANTS = np.concatenate([[-80.0], np.linspace(-16.0, 16.0, 33)])  # log(C / delta) to begin with


@dataclass(frozen=True, slots=True)
class Certificate:
    """The favoured order, and for each order in use the largest divergence that proves `epsilon`.

    While all divergences are within `gates`, one of `choices` may still be added to the `limits`; see
    `deferral`. Without `limits` it is what earlier versions wrote: weights around the favoured order.
    """

    order: float
    epsilon: float = 0.0
    limits: Pairs = ()
    choices: Pairs = ()
    gates: Pairs = ()

    def readable(self) -> bool:
        """Whether its orders are those that are added up."""
        used = [order for order, _ in (*self.limits, *self.choices, *self.gates)]
        known = all(np.abs(ORDERS / order - 1).min() < 1e-13 for order in used)
        return (known or used == [self.order]) and bool(self.choices) == bool(self.gates)

    def settled(self, divergences: Floats, epsilon: float) -> Certificate:
        """Itself, or what is left of it once `divergences` would be beyond the gates.

        Then the order is chosen at which most of what has come so far would fit in `epsilon`, before
        the release that goes beyond.
        """
        if not self.choices:
            return self
        places, ends = _arrays(self.gates)
        if bool((divergences[places] <= ends).all()):
            return self
        places, ends = _arrays(self.choices)
        ends = ends - (self.epsilon - epsilon)
        spent = divergences[places]
        with np.errstate(divide="ignore", invalid="ignore"):
            fits = np.where(
                spent > 0, np.where(np.isfinite(spent), ends / spent, -math.inf), math.inf
            )
        order, limit = self.choices[int(fits.argmax())]
        return Certificate(order, self.epsilon, _with(self.limits, order, limit))

    def lowest(self, orders: Floats, divergences: Floats) -> float:
        """The epsilon at which the first order would be at its limit.

        Guarantee: proved, at any moment, where it is at most the certificate's epsilon. Above, limits
        are moved along with epsilon: exact for C = 0, and near it otherwise.
        """
        if self.choices:
            fixed = self.settled(divergences, self.epsilon)
            if fixed is not self:
                return fixed.lowest(orders, divergences)
        places, ends = _arrays(self.limits + self.choices)
        if len(orders) == 1:
            places = np.zeros(1, dtype=np.int_)
        return self.epsilon + float((divergences[places] - ends).min())


def _with(limits: Pairs, order: float, limit: float) -> Pairs:
    """The limits with one more, in order; an order that has two is held to the larger one."""
    known = dict(limits)
    known[order] = max(limit, known.get(order, limit))
    return tuple(sorted(known.items()))


@lru_cache(maxsize=256)
def _arrays(pairs: Pairs) -> tuple[Integers, Floats]:
    """Where the divergences of some orders are, and their limits."""
    used = np.array([order for order, _ in pairs])
    places = np.abs(ORDERS[:, None] - used).argmin(axis=0)
    return places, np.array([limit for _, limit in pairs])


def limits(orders: Floats, epsilon: float, deltas: Floats) -> Floats:
    """The largest divergence that proves (epsilon, delta)-DP, order by order, each with its delta.

    Guarantee: never above the true limit. Any C gives a certificate, so its search need not be exact;
    what is rounded is that a makes the second condition hold, and that A + B + C <= delta.
    Reference: [Asoodeh2021] (tight for one order); [Canonne2020] Proposition 12 for C = 0.

    >>> round(float(limits(np.array([8.0]), 3.0, np.array([1e-5]))[0]), 4)
    1.7859
    >>> round(float(limits(np.array([8.0]), 1.0, np.array([1e-5]))[0]), 4)
    0.0288
    """
    s = orders - 1
    t = s / orders
    log_k = np.log(orders) - t * np.log(s)  # m(a, c) = k a^(1-t) c^t
    log_delta = np.log(deltas)

    def limit(above: Floats) -> Floats:
        """With C = e^above delta."""
        log_c = log_delta + above
        gap = np.logaddexp(
            0.0, epsilon - log_c
        )  # log(C + e^epsilon) - log C, also where it is tiny
        # m(a, C + e^epsilon) - m(a, C) = 1, a raised by what the logarithms may be off.
        difference = log_k + t * (log_c + gap) + np.log(-np.expm1(-t * gap))
        log_a = orders * (_ROUNDING * (1 + epsilon + np.abs(log_c)) - difference)
        c, m = np.exp(above), np.exp(log_k + log_a / orders + t * log_c - log_delta)
        off = 10 * _ROUNDING * (1 + epsilon + np.abs(log_delta)) * (c + m)
        left = 1 - c + m - off  # of delta, for A
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = np.where(left > 0, np.log(left), -math.inf) + log_delta - log_a
        return np.asarray((whole - _ROUNDING * (1 + np.abs(log_a) + np.abs(log_delta))) / s)

    if epsilon > _MOST_EPSILON:  # no release needs it, and exponents would overflow
        return np.full(len(orders), -math.inf)
    tried = np.array([limit(np.full(len(orders), above)) for above in _CONSTANTS])
    best = tried.argmax(axis=0)
    low = _CONSTANTS[np.maximum(best - 1, 0)]
    high = _CONSTANTS[np.minimum(best + 1, len(_CONSTANTS) - 1)]
    found = tried.max(axis=0)
    for _ in range(24):  # by thirds
        left, right = limit(low + (high - low) / 3), limit(high - (high - low) / 3)
        found = np.maximum(found, np.maximum(left, right))
        up = left < right
        low, high = (
            np.where(up, low + (high - low) / 3, low),
            np.where(up, high, high - (high - low) / 3),
        )
    sure = epsilon - np.log1p(-deltas) - _ROUNDING * (2 + epsilon)  # 1 - e^(epsilon - D) <= delta
    found = np.where(orders * deltas >= 1 + _ROUNDING, np.maximum(found, sure), found)
    return np.asarray(found)


def best_order(cost: Floats, epsilon: float, delta: float) -> int:
    """The place in ORDERS at which most releases of `cost` fit."""
    usable = np.isfinite(cost) & (cost > 0)
    if not usable.any():  # it reveals nothing, or all: as for a Gaussian
        cost, usable = ORDERS, np.ones(len(ORDERS), dtype=bool)
    fits = np.full(len(cost), -math.inf)
    few = np.full(int(usable.sum()), delta)
    fits[usable] = limits(ORDERS[usable], epsilon, few) / cost[usable]
    return int(fits.argmax())


def shared(place: int, hedge: float) -> dict[int, float]:
    """Shares of delta by place in ORDERS: all but `hedge` to `place`, more of it below than above."""
    raw = {place - away: _SHARE_BELOW * _FALL**i for i, away in enumerate(_BELOW)}
    raw |= {place + away: (1 - _SHARE_BELOW) * _FALL**i for i, away in enumerate(_ABOVE)}
    raw = {at: weight for at, weight in raw.items() if 0 <= at < len(ORDERS)}
    whole = sum(raw.values()) * (1 + _ROUNDING)
    return {place: 1 - hedge} | {at: hedge * weight / whole for at, weight in raw.items()}


def certify(
    cost: Floats, epsilon: float, delta: float, hedge: float, waits: bool = False
) -> Certificate:
    """A certificate for releases most of which are of `cost`, or begin with it if the choice `waits`."""
    if delta <= 0 or epsilon < 0:
        return Certificate(2.0)
    return _certify(tuple(cost.tolist()), epsilon, delta, hedge, waits)


@lru_cache(maxsize=256)
def _certify(
    cost: tuple[float, ...], epsilon: float, delta: float, hedge: float, waits: bool
) -> Certificate:
    place = best_order(np.array(cost), epsilon, delta)
    shares = shared(place, hedge)
    favoured = float(ORDERS[place])
    choices, gates = (
        _open(np.array(cost), place, epsilon, shares[place] * delta) if waits else _NONE
    )
    used = sorted(at for at in shares if at != place or not choices)
    found = limits(ORDERS[used], epsilon, np.array([shares[at] * delta for at in used]))
    pairs = tuple(zip(ORDERS[used].tolist(), found.tolist(), strict=True))
    return Certificate(favoured, epsilon, pairs, choices, gates)


def _open(cost: Floats, place: int, epsilon: float, delta: float) -> tuple[Pairs, Pairs]:
    """(choices, gates) for `delta`, where waiting is worth it; see `deferral`."""
    (alone,) = limits(ORDERS[[place]], epsilon, np.array([delta])).tolist()
    classic = one_order(ORDERS, epsilon, delta)
    if not classic[place] > _CLASSIC * alone:  # what waits has C = 0
        return _NONE
    found = defer(ORDERS, cost, place, classic)
    if found is None:
        return _NONE
    orders = ORDERS[list(found.places)]
    ends = one_order(orders, epsilon, delta / found.factor * (1 - _ROUNDING))
    gates = tuple((float(ORDERS[at]), most) for at, most in found.gates)
    return tuple(zip(orders.tolist(), ends.tolist(), strict=True)), gates


def one_order(orders: Floats, epsilon: float, delta: float) -> Floats:
    """The largest divergence that proves (epsilon, delta)-DP, order by order, with C = 0.

    delta <= e^{(a-1)(D - epsilon)} (1 - 1/a)^a / (a - 1) solved for D. It is linear in epsilon,
    which is what lets `epsilon` be lowered after seeing outputs (late plans).

    Guarantee: never above the true limit. Reference: [Canonne2020] Proposition 12.

    >>> round(float(one_order(np.array([8.0]), 3.0, 1e-5)[0]), 4)
    1.7859
    """
    bought = -np.log1p(-1 / orders) + (math.log(delta) + np.log(orders)) / (orders - 1)
    return np.asarray(epsilon + bought - _ROUNDING * (1 + epsilon + np.abs(bought)))


def certify_order(order: float, epsilon: float, delta: float) -> Certificate:
    """A certificate of one order alone."""
    if delta <= 0 or epsilon < 0:
        return Certificate(order)
    limit = float(limits(np.array([order]), epsilon, np.array([delta]))[0])
    return Certificate(order, epsilon, ((order, limit),))
