"""Certificates of bounds, `dpcheck.bound/1`: an event is (epsilon, delta)-DP under an adjacency.

The file states the claim, the pairs that dominate the event, and for every composition one person can be
in one of the proofs below. Any choice of theirs (orders, lattices, digits) is sound: a bad one only fails
to prove the claim. Numbers are the floats they are read as, everything else is exact or enclosed.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from dpcheck.verify.composition import Composer, divergence
from dpcheck.verify.events import (
    Json,
    compositions,
    describe,
    fraction,
    node,
    nodes,
    not_negative,
    positive,
    text,
    whole,
)
from dpcheck.verify.intervals import NOTHING, UP, WHOLE, Interval, number
from dpcheck.verify.lattice import Measure, check_domination, read_measure
from dpcheck.verify.pairs import GaussianPair, Pair, TablePair
from dpcheck.verify.parts import Part, covers, read_parts
from dpcheck.verify.result import Accepted, Refused

SCHEMA = "dpcheck.bound/1"
# Decimal digits of masses, and combinations of outcomes that are listed.
MOST_DIGITS, MOST_OUTCOMES = 200, 4096


def check_bound(data: Json) -> Accepted:
    """Check a certificate; `Refused` unless every step holds."""
    claim = node(data, "claim")
    event, adjacency = node(claim, "event"), text(claim, "adjacency")
    epsilon, delta = not_negative(claim, "epsilon"), not_negative(claim, "delta")
    proofs = [(proof, read_parts(proof)) for proof in nodes(data, "proofs")]
    steps = 0
    for way in compositions(event, adjacency):
        covering = [both for both in proofs if covers(both[1], way)]
        if not covering:
            raise Refused("no proof covers all that was released")
        leaks = [(needed.leak, times) for needed, times in way.items() if needed.leak]
        steps += len(way) + _check_proof(*covering[0], epsilon, _room(delta, leaks))
    statement = f"{describe(event)} is ({float(epsilon)!r}, {float(delta)!r})-DP under {adjacency}"
    return Accepted(statement, claim, steps)


def _room(delta: Fraction, leaks: list[tuple[Fraction, int]]) -> Interval:
    """What is left beside leaks: with D in all, delta = D + (1 - D) room [Kairouz2017, Theorem 3.3]."""
    kept = WHOLE
    for leak, times in leaks:
        kept *= number(1 - leak).power(times)
    room = (number(delta) - (WHOLE - kept)) / kept if leaks else number(delta)
    if room.low < 0:
        raise Refused("delta is smaller than the probability that everything is revealed")
    return room


def _check_proof(proof: Json, parts: list[Part], epsilon: Fraction, room: Interval) -> int:
    """Check one proof that the parts need no more than `room` at epsilon; the number of its steps."""
    method = node(proof, "by")
    kind = text(method, "kind")
    if kind not in _PROOFS:
        raise Refused(f"{kind!r} is no proof that is checked")
    parts = [part for part in parts if part.times]
    return len(parts) + _PROOFS[kind](method, parts, epsilon, room)


def _require(have: Decimal, room: Interval, what: str) -> None:
    if not have <= room.low:
        raise Refused(f"{what} needs delta {have:.6e}, and there is {room.low:.6e}")


def _largest(part: Part) -> Fraction:
    found = part.pair.largest()
    if found is None:
        raise Refused(f"the losses of a {part.kind} pair have no bound")
    return found


def _pure(_: Json, parts: list[Part], epsilon: Fraction, room: Interval) -> int:
    """Largest losses add up; nothing of delta is needed."""
    del room
    total = sum((part.times * _largest(part) for part in parts), Fraction(0))
    if total > epsilon:
        raise Refused(f"the largest losses add up to {float(total)!r}")
    return 1


def _variation(_: Json, parts: list[Part], epsilon: Fraction, room: Interval) -> int:
    """Total variation distances, F at 1, add up at most, and bound every later delta."""
    del epsilon
    total = Decimal(0)
    for part in parts:
        distance = max(part.pair.curve(Fraction(0)), part.pair.reversed().curve(Fraction(0)))
        total = UP.add(total, UP.multiply(Decimal(part.times), distance))
    _require(total, room, "the total variation")
    return 1


def _gaussian(by: Json, parts: list[Part], epsilon: Fraction, room: Interval) -> int:
    """Gaussians compose to one with the root of the sum of their squared shifts [Dong2022, Corollary 3.3]."""
    shift, total = positive(by, "shift"), Fraction(0)
    for part in parts:
        if part.shift_squared is None:
            raise Refused(
                f"a {part.kind} pair that is sampled, or no Gaussian, does not add up to one"
            )
        total += part.times * part.shift_squared
    if shift**2 < total:
        raise Refused("the shift of the composed Gaussian is too small")
    _require(GaussianPair(shift, Fraction(1)).curve(epsilon), room, "the Gaussian")
    return 1


def _together(parts: list[Part]) -> Pair:
    """One pair used once, or all combinations of the outcomes of several."""
    if len(parts) == 1 and parts[0].times == 1:
        return parts[0].pair
    outcomes = [(WHOLE, WHOLE)]
    for part in parts:
        if not isinstance(part.pair, TablePair):
            raise Refused(f"the outcomes of a {part.kind} pair are not listed")
        for _ in range(part.times):
            if len(outcomes) * len(part.pair.outcomes) > MOST_OUTCOMES:
                raise Refused(f"more than {MOST_OUTCOMES} combinations of outcomes")
            outcomes = [(p * a, q * b) for p, q in outcomes for a, b in part.pair.outcomes]
    return TablePair(outcomes)


def _curve(_: Json, parts: list[Part], epsilon: Fraction, room: Interval) -> int:
    """What is known outcome by outcome: its own curve, in both directions."""
    pair = _together(parts)
    for way in (pair, pair.reversed()):
        _require(way.curve(epsilon), room, "the pair")
    return 2


def _optimal(_: Json, parts: list[Part], epsilon: Fraction, room: Interval) -> int:
    """The optimal composition of pure mechanisms, all as bad as the worst [Kairouz2017, Theorem 3.3].

    delta = sum over l of C(k, l) (e^((k-l) e0) - e^(epsilon + l e0))+ / (1 + e^e0)^k.
    """
    worst = max((_largest(part) for part in parts), default=Fraction(0))
    times = sum(part.times for part in parts)
    if times > 200_000:
        raise Refused(f"{times} mechanisms are too many to enumerate")
    unit = number(worst)
    shrink, y = (-unit).exp(), number(epsilon).exp()
    norm = (WHOLE / (WHOLE + shrink)).power(times)
    p, q, ways, total = norm, norm * shrink.power(times), WHOLE, Decimal(0)
    grow = unit.exp()
    for k in range(times + 1):
        gain = UP.subtract(p.high, (y * q).low)
        if gain <= 0:  # ratios fall with every k
            break
        total = UP.add(total, UP.multiply(ways.high, gain))
        ways = ways * number(Fraction(times - k, k + 1)) if k < times else ways
        p, q = p * shrink, q * grow
    _require(total, room, "the optimal composition")
    return 1


def _renyi(by: Json, parts: list[Part], epsilon: Fraction, room: Interval) -> int:
    """Log moments add up, and a majorant turns them into epsilon [Asoodeh2021].

    For likelihood ratios x with E_Q x = 1 and E_Q x^a <= M, a > 1, any lam x^a + mu x + nu that is
    nowhere below (x - e^eps)+ proves that delta = lam M + mu + nu is enough. The one that touches 0 at t
    = 1/(1 + e^odds) and the line x - e^eps at y has lam = delta / (M - a t^(a-1) + (a-1) t^a), y^(a-1) =
    t^(a-1) + 1/(a lam) and e^eps = y (1 - 1/a) + lam (a-1) t^(a-1) (y - t). Without odds t is 0:
    [Canonne2020] Proposition 12.
    """
    if fraction(by, "order") <= 1 or room.low <= 0:
        raise Refused("a Renyi proof needs an order and a delta above 0")
    order, total = number(fraction(by, "order")), NOTHING
    for part in parts:
        moment = part.pair.log_moment(order)
        if moment is None:
            raise Refused(f"the Renyi divergence of a sampled {part.kind} pair is not checked")
        total += number(part.times) * moment
    less, delta = order - WHOLE, Interval(room.low, room.low)
    t = power = NOTHING
    if by.get("odds") is not None:
        t = WHOLE / (WHOLE + number(fraction(by, "odds")).exp())
        power = (less * t.ln()).exp()
    left = total.exp() - power * (order - less * t)
    if left.low <= 0:
        raise Refused("the odds of a Renyi proof leave nothing of the moment")
    y = ((power + left / (order * delta)).ln() / less).exp()
    found = (y * less / order + delta / left * less * power * (y - t)).ln()
    if not found.high <= epsilon:
        raise Refused(f"the Renyi bound proves epsilon {found.high:.8g} only")
    return 1


def _lattice(by: Json, parts: list[Part], epsilon: Fraction, room: Interval) -> int:
    """A measure on one lattice dominates each pair, in both directions, and their losses are added up."""
    digits = whole(by, "digits")
    if not 1 <= digits <= MOST_DIGITS:
        raise Refused(f"digits must be between 1 and {MOST_DIGITS}")
    composer = Composer(digits, not_negative(by, "tails"))
    directions = {"forward": False}
    if not all(part.pair.symmetric for part in parts):
        directions["backward"] = True
    return sum(
        _one_way(node(by, name), parts, (epsilon, room), composer, backwards=backwards)
        for name, backwards in directions.items()
    )


def _one_way(
    way: Json,
    parts: list[Part],
    claim: tuple[Fraction, Interval],
    composer: Composer,
    *,
    backwards: bool,
) -> int:
    """One direction; the parts that no measure names cost their largest loss each.

    With losses L <= l of these, (1 - e^(epsilon + l - L - R))+ <= (1 - e^(epsilon - R))+ for the loss R
    of the others.
    """
    step, (epsilon, room) = positive(way, "step"), claim
    laid: list[tuple[Measure, int]] = []
    left = set(range(len(parts)))
    for entry in nodes(way, "measures"):
        chosen = entry.get("parts")
        if not isinstance(chosen, list) or not chosen:
            raise Refused("every measure names its parts")
        for i in chosen:
            if type(i) is not int or i not in left:
                raise Refused("no part has two measures, and no measure a part that is not there")
            left.remove(i)
        group = [parts[i] for i in chosen]
        measure = read_measure(entry)
        pair, times = (group[0].pair, group[0].times) if len(group) == 1 else (_together(group), 1)
        check_domination(measure, pair.reversed() if backwards else pair, step)
        laid.append((measure, times))
    for i in left:
        epsilon -= parts[i].times * _largest(parts[i])
    if epsilon < 0:
        raise Refused("the parts that pay their largest loss cost more than epsilon")
    origin = sum((measure.offset * times for measure, times in laid), Fraction(0))
    law = composer.composed(laid)
    found = divergence(law, composer.scale, origin, step, epsilon)
    _require(found, room, "the composition" + (" backwards" if backwards else ""))
    return 1 + sum(len(measure.points) for measure, _ in laid)


_PROOFS: dict[str, Callable[[Json, list[Part], Fraction, Interval], int]] = {
    "pure": _pure,
    "variation": _variation,
    "gaussian": _gaussian,
    "curve": _curve,
    "optimal": _optimal,
    "renyi": _renyi,
    "lattice": _lattice,
}
