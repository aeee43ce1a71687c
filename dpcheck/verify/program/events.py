"""What a release costs: an event is enough for it, and all events together are the claim."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpcheck.verify import events as pairs
from dpcheck.verify.events import fraction, not_negative, positive, share, text, whole
from dpcheck.verify.program.common import Release, State
from dpcheck.verify.program.facts import exclude
from dpcheck.verify.program.numbers import Number, inverse, log_ends, root_up, times
from dpcheck.verify.program.sizes import Size
from dpcheck.verify.result import Refused

# Public constants stand for the real numbers they were rounded from.
SLACK = 1 + Fraction(1, 10**12)
_DISCRETE = {"DiscreteLaplace": "discrete laplace", "DiscreteGaussian": "discrete normal"}
Json = Mapping[str, Any]


def key_of(event: Json) -> str:
    """Equal events have equal keys."""
    return json.dumps(event, sort_keys=True)


def leaves(event: Json, many: int = 1, found: Counter[str] | None = None) -> Counter[str]:
    """The events that a composition is made of, each with how often."""
    found = Counter() if found is None else found
    kind = text(event, "kind")
    if kind == "Sequential":
        for inner in pairs.nodes(event, "events"):
            leaves(inner, many, found)
    elif kind == "Repeated":
        leaves(pairs.node(event, "event"), many * whole(event, "times"), found)
    else:
        found[key_of(event)] += many
    return found


# One release --------------------------------------------------------------------------------------------


def in_units(release: Release, size: Size) -> Size:
    """A shift whose entries are divided by the scale of their noise."""
    below = tuple(inverse(each) for each in release.scale)
    if len(set(below)) == 1:
        return size.tightened(release.count).scaled(below[:1])
    return size.scaled(below).tightened(release.count)


def check_release(state: State, release: Release, event: Json | None, many: int) -> None:
    """`many` times the event is enough for the release; else Refused."""
    if not _enough(state, release, event, many):
        name = "nothing" if event is None else str(event.get("kind"))
        release.node.refuse(f"{name} is not enough for this release")


def _enough(state: State, release: Release, event: Json | None, many: int) -> bool:
    if event is not None and text(event, "kind") == "NotPrivate":
        return True
    if release.response is not None:
        return event is not None and many >= 1 and _responds(release.response, event)
    if event is None:
        return release.size.zero
    if many < 1:
        return False
    kind = text(event, "kind")
    if release.node.id not in state.seen and release.node.id in state.chosen:
        return _selects(state, release, event, kind)
    if kind in ("SampledGaussian", "SampledLaplace", "FixedBatchGaussian"):
        return _amplified(state, release, event, kind)
    unit, moves = in_units(release, release.size), state.moves
    if kind == "Laplace" and release.family == "laplace":
        return (
            unit.changed <= many
            and positive(event, "noise_multiplier") * unit.linf <= moves * SLACK
        )
    if kind == "Gaussian" and release.family == "normal":
        return positive(event, "noise_multiplier") * unit.l2 <= moves * SLACK
    if kind == "PureDP" and release.family in ("laplace", "discrete laplace"):
        all_of_it = unit.l1 <= not_negative(event, "epsilon") * SLACK
        each = unit.changed <= many and unit.linf <= not_negative(event, "epsilon") * SLACK
        return _same_relation(state, event) and (all_of_it or each)
    if kind in _DISCRETE and release.family == _DISCRETE[kind]:
        step = _step(release)
        return (
            unit.changed <= many
            and step <= whole(event, "norm_bound") * moves
            and positive(event, "scale") <= min(release.scale) * SLACK
        )
    if kind == "ZCDP" and release.family == "discrete normal":
        rho = times(Fraction(1, 2), times(_step(release), inverse(min(release.scale))))
        rho = times(rho, times(_step(release), inverse(min(release.scale))))
        return (
            _same_relation(state, event)
            and unit.changed <= many
            and rho <= not_negative(event, "rho") * SLACK
        )
    return False


def _step(release: Release) -> Number:
    """How far a whole number moves, as a whole number."""
    most = release.size.tightened(release.count).linf
    return (
        Fraction(max(1, math.ceil(most - Fraction(1, 10**9))))
        if isinstance(most, Fraction)
        else most
    )


def _same_relation(state: State, event: Json) -> bool:
    return event.get("adjacency") == state.adjacency


def _responds(response: tuple[Number, int], event: Json) -> bool:
    noise, kinds = response
    return (
        text(event, "kind") == "RandomizedResponse"
        and share(event, "noise") <= noise * SLACK
        and whole(event, "categories") == kinds
    )


def _selects(state: State, release: Release, event: Json, kind: str) -> bool:
    """Report noisy max, and the exponential mechanism by Gumbel noise.

    Lemma. With Laplace, exponential or Gumbel noise of scale b the place of the largest costs 2 Linf / b, or
    Linf / b where no entry moves down when a record comes.
    """
    how = state.chosen[release.node.id]
    allowed = {
        "gumbel": ("ExponentialMechanism", "PureDP"),
        "exponential": ("PureDP",),
        "laplace": ("PureDP",),
        "softmax": ("ExponentialMechanism", "PureDP"),
    }
    if kind not in allowed.get(release.family, ()) or (
        how == "argmin" and release.family != "laplace"
    ):
        return False
    if len(set(release.scale)) != 1 or not _same_relation(state, event):
        return False
    one_way = release.rising and state.adjacency == "add-remove"
    moved = times(Fraction(1 if one_way else 2), release.size.tightened(release.count).linf)
    return times(moved, inverse(release.scale[0])) <= not_negative(event, "epsilon") * SLACK


def _amplified(state: State, release: Release, event: Json, kind: str) -> bool:
    """A sum over sampled rows, whose coins nothing else has seen [Mironov2019], [Zhu2022]."""
    sampling, added = release.sampling, release.added
    if sampling is None or added is None or release.shared or state.adjacency == "zero-out":
        return False
    unit, noise = in_units(release, added), positive(event, "noise_multiplier")
    if kind == "FixedBatchGaussian":
        return (
            state.adjacency == "replace-one"
            and release.family == "normal"
            and (whole(event, "rows"), whole(event, "batch")) == (sampling.count, sampling.batch)
            and noise * unit.l2 <= SLACK
        )
    if sampling.batch is not None or sampling.rate > fraction(event, "sampling_rate") * SLACK:
        return False
    if kind == "SampledGaussian":
        return release.family == "normal" and noise * unit.l2 <= SLACK
    return release.family == "laplace" and unit.changed <= 1 and noise * unit.l1 <= SLACK


def mark_shared(state: State) -> None:
    """Sampling amplifies a release only if nothing else saw the same coins."""
    seen: Counter[int] = Counter()
    for release in state.releases.values():
        seen.update(release.coins)
    for release in state.releases.values():
        if release.sampling is not None:
            own = release.sampling.ids
            known = own & (state.spent | state.noise)
            if known or release.coins != own or any(seen[each] > 1 for each in own):
                release.shared = True


# All together -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Member:
    """A release of a group: `times` events are enough for it, and `entering` of them (an event of its own,
    so many times) for a record that enters or leaves it."""

    release: Release
    event: Json
    times: int
    entering: tuple[Json, int] | None


def group_cost(state: State, group: list[Member], covering: Json | None) -> Counter[str]:
    """What releases cost together of which a record is behind one at most.

    Lemma. Their conditions compare records with public numbers, and exclude each other. Add-remove: one
    release has the record, on one side. Else the neighbours decide between two cases: the record stays in
    one release, which costs its event; or it leaves one and enters another, and then each of the two moves by
    what one record adds. An event that is enough for both cases is enough; where nothing is stated of what a
    record adds, a release that it enters counts like one that changes.
    """
    _check_group(state, group)
    first = group[0]
    once = leaves(first.event, first.times)
    if state.adjacency == "add-remove" or len(group) == 1:
        return once
    crossing = leaves(first.event, 2 * first.times)
    if first.entering is not None:
        crossing = leaves(first.entering[0], 2 * first.entering[1])
    if covering is not None:
        for case in (once, crossing):
            if not _covers(covering, case, state.adjacency):
                first.release.node.refuse("the event of this group does not cover both cases")
        return leaves(covering)
    return once | crossing if once <= crossing or crossing <= once else once + crossing


def _check_group(state: State, group: list[Member]) -> None:
    first = group[0]
    for i, each in enumerate(group):
        release = each.release
        alike = (key_of(each.event), each.times) == (key_of(first.event), first.times)
        entering = [
            None if m.entering is None else (key_of(m.entering[0]), m.entering[1])
            for m in (each, first)
        ]
        if (
            not alike
            or entering[0] != entering[1]
            or release.node.when != first.release.node.when
            or release.times != 1
            or release.sampling is not None
            or not release.predicate
        ):
            release.node.refuse("it does not belong to this group of releases")
        if each.entering is not None:
            if release.added is None or release.response is not None:
                release.node.refuse("nothing is known of what one record adds to it")
            check_release(state, replace(release, size=release.added), *each.entering)
        for other in group[:i]:
            if not exclude(other.release.predicate, release.predicate):
                release.node.refuse("a record may be behind two releases of this group")


def _covers(event: Json, case: Counter[str], adjacency: str) -> bool:
    """Whether one event is at least as dear as a composition: pure DP, or Gaussian noise.

    Lemma. Pure losses add up; Gaussian noise of multipliers m_i is that of m with 1/m^2 the sum of 1/m_i^2.
    """
    found = [(json.loads(key), many) for key, many in case.items()]
    kind = text(event, "kind")
    if kind == "PureDP" and event.get("adjacency") == adjacency:
        costs = [(price(each, adjacency).epsilon, many) for each, many in found]
        total = sum(cost * many for cost, many in costs if cost is not None)
        known = all(cost is not None for cost, _ in costs)
        return known and total <= not_negative(event, "epsilon") * SLACK
    if kind == "Gaussian" and all(text(each, "kind") == "Gaussian" for each, _ in found):
        total = sum(many / positive(each, "noise_multiplier") ** 2 for each, many in found)
        return total * positive(event, "noise_multiplier") ** 2 <= SLACK
    return False


@dataclass(frozen=True, slots=True)
class Price:
    """What a composition costs, where the kernel can say: pure epsilon, or rho of zCDP."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None

    def at(self, delta: Fraction) -> Fraction:
        """rho + 2 sqrt(rho ln(1 / delta)) [Bun2016, Proposition 1.3]."""
        assert self.rho is not None
        log = log_ends(1 / delta)[1]
        return self.rho + 2 * Fraction(root_up(times(self.rho, log)))


def price(event: Json, adjacency: str) -> Price:
    """The epsilon of pure mechanisms, or the rho of these and Gaussians [Bun2016, Propositions 1.4, 1.6]."""
    try:
        ways = pairs.compositions(event, adjacency)
    except Refused:
        return Price()
    found = [_of_composition(way) for way in ways]
    if all(each.epsilon is not None for each in found):
        return Price(max(each.epsilon for each in found if each.epsilon is not None))
    if all(each.rho is not None for each in found):
        return Price(rho=max(each.rho for each in found if each.rho is not None))
    return Price()


def _of_composition(way: pairs.Composition) -> Price:
    epsilon: Fraction | None = Fraction(0)
    rho: Fraction | None = Fraction(0)
    for needed, many in way.items():
        numbers, exact = dict(needed.up), dict(needed.same)
        pure = square = None
        if needed.leak or numbers.get("rate", Fraction(1)) != 1:
            return Price()
        if needed.kind == "laplace":
            pure = numbers["shift"]
        elif needed.kind == "response":
            pure = numbers["epsilon"]
        elif needed.kind == "discrete-laplace":
            pure = numbers["shift"] / exact["scale"]
        elif needed.kind == "gaussian":
            square = numbers["shift"] ** 2 / 2
        elif needed.kind == "discrete-gaussian":
            square = (numbers["shift"] / exact["scale"]) ** 2 / 2
        elif needed.kind == "concentrated" and not numbers["offset"]:
            square = numbers["rho"]
        if pure is not None:
            square = pure**2 / 2
        epsilon = None if pure is None or epsilon is None else epsilon + many * pure
        rho = None if square is None or rho is None else rho + many * square
    return Price(epsilon, rho)
