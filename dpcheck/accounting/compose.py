"""From a tree of events to the compositions one person can be in, flat and in a canonical order.

A sequential node adds, a parallel node is a choice (a person is in one branch), repetition multiplies;
each is done here once. The result does not depend on how the tree was written.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, product
from typing import NamedTuple

from dpcheck.accounting import batches, selection  # noqa: F401 - they register worst cases
from dpcheck.accounting.assumptions import ARITHMETIC
from dpcheck.accounting.domination import Profile as Profile
from dpcheck.accounting.domination import in_order, undominated
from dpcheck.accounting.limits import drawn, limit
from dpcheck.accounting.losses import (
    GroupedLoss,
    Loss,
    LossBounds,
    Parts,
    PoissonSelectedLoss,
    SampledLoss,
    SelectedLoss,
    UnboundedLoss,
    WorstLoss,
    one_run,
)
from dpcheck.accounting.streams import refuse_groups, sampled_turns
from dpcheck.accounting.worst_case import stated_under, worst_case
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import InvalidParameter, UnsupportedAdjacency
from dpcheck.core.events.event import (
    Event,
    Grouped,
    Moved,
    Parallel,
    PoissonStopping,
    RandomStopping,
    Repeated,
    Sampled,
    Sequential,
    Under,
    leaves,
)
from dpcheck.core.events.noise import Gaussian, Laplace, RandomizedResponse
from dpcheck.core.events.training import (
    BandedMatrix,
    MatrixMechanism,
    SampledGaussian,
    SampledLaplace,
)
from dpcheck.numerics.enclose import enclose_root

# Why the two sides of such an answer do not meet, however finely they are computed.
KNOWN_BY_DIVERGENCES = (
    "not an assumption but a gap: of what is sampled only Renyi divergences are known; the upper bound holds "
    "for every mechanism that has them, the lower one is reached by Gaussian noise, and which of the "
    "mechanisms is the worst is not known"
)
# Up to this many compositions are accounted one by one; beyond, choices are bounded by their worst.
MOST_PROFILES = 32


class _Task(NamedTuple):
    event: Event
    times: int
    adjacency: Adjacency
    group: int
    stated: Adjacency | None = None

    def inside(self, event: Event, times: int = 1) -> _Task:
        """The same view of an event inside this one."""
        return _Task(event, self.times * times, self.adjacency, self.group, self.stated)


def profiles(
    event: Event, adjacency: Adjacency, group: int = 1, stated: Adjacency | None = None
) -> tuple[Profile, ...]:
    """Every composition of leaves one person may see, without those another dominates.

    Guarantee: the cost of `event` is the largest cost of these.
    """
    fixed: Counter[LossBounds] = Counter()
    choices: Counter[tuple[Profile, ...]] = Counter()
    stack = [_Task(event, 1, adjacency, group, stated)]
    while stack:
        task = stack.pop()
        node, times = task.event, task.times
        if times == 0:
            continue
        if (known := limit(node, task.adjacency, task.group)) is not None:
            fixed[known] += times
        elif isinstance(node, Sequential):
            stack += [task.inside(inner) for inner in node.events]
        elif (inner := _stands_for(task)) is not None:
            stack.append(inner)
        elif isinstance(node, MatrixMechanism) and node.sampling_rate is not None:
            for turn in sampled_turns(node, task.adjacency, task.group):
                fixed[turn] += times
        elif isinstance(node, Parallel):
            options = [
                profile
                for branch in _branches(node)
                for profile in profiles(branch, task.adjacency, task.group, task.stated)
            ]
            choices[undominated(options)] += times
        elif isinstance(node, RandomStopping | PoissonStopping):
            fixed.update(_selected(node, task))
        elif isinstance(node, Sampled):
            choices[tuple(((found, 1),) for found in _sampled(node, task))] += times
        else:
            fixed[_bounds(node, task)] += times
    return _either_side(_expand(fixed, choices))


def _stands_for(task: _Task) -> _Task | None:
    """The one event that a node says how to see; None for other nodes."""
    node = task.event
    if isinstance(node, Repeated):
        return task.inside(node.event, node.times)
    if isinstance(node, Under):
        return task.inside(node.event)._replace(stated=node.adjacency)
    if isinstance(node, Moved):
        return task.inside(node.event)._replace(adjacency=Adjacency.ADD_REMOVE)
    if isinstance(node, Grouped):
        return task.inside(node.event)._replace(group=task.group * node.size)
    if isinstance(node, RandomizedResponse) and task.group > 1:
        # Every record has an answer of its own: a person's records compose.
        return task.inside(node, task.group)._replace(group=1)
    if isinstance(node, BandedMatrix) and node.sampling_rate is not None:
        # [ChoquetteChoo2023] Theorem 4: a group's turn comes every `bands` steps.
        refuse_groups(node, task.group)
        step = SampledGaussian(node.noise_multiplier, node.sampling_rate)
        return task.inside(step, -(-node.steps // node.bands))
    if isinstance(node, RandomStopping) and node.stop == 1:  # one run, and it is the best
        return task.inside(node.event)
    return None


def _bounds(leaf: Event, task: _Task) -> LossBounds:
    """What a leaf costs as the task sees it."""
    leaf = leaf if task.stated is None else stated_under(leaf, task.stated)
    return _worst_case(leaf, task.adjacency, task.group)


@lru_cache(maxsize=1024)  # a training loop asks for the same step after every step
def _worst_case(leaf: Event, adjacency: Adjacency, group: int) -> LossBounds:
    return worst_case(leaf, adjacency, group)


def _branches(node: Parallel) -> list[Event]:
    """The branches of nested parallel nodes as one list."""
    found: list[Event] = []
    stack: list[Event] = [node]
    while stack:
        event = stack.pop()
        if isinstance(event, Parallel):
            stack += event.events
        else:
            found.append(event)
    return found


def _sampled(node: Sampled, task: _Task) -> tuple[LossBounds, ...]:
    """What each composition one person can see inside costs on a sample; exact where the inside is
    Gaussian noise, any number of times, or Laplace noise once.
    """
    together = _gaussians_together(node.event) if node.rate < 1 else None
    if together is not None:
        # The sum is rounded: less noise above, more below.
        least, most = (_bounds(SampledGaussian(sigma, node.rate), task) for sigma in together)
        return (replace(least, lower=most.lower),)
    if node.rate == 1 or isinstance(node.event, Laplace):
        leaf = node.event
        if isinstance(leaf, Laplace) and node.rate < 1:
            leaf = SampledLaplace(leaf.noise_multiplier, node.rate)
        found = profiles(leaf, task.adjacency, task.group, task.stated)
        if all(len(profile) == 1 and profile[0][1] == 1 for profile in found):
            return tuple(profile[0][0] for profile in found)
    result = []
    inside, assumed = _sampled_inside(node, task)
    for profile in dict.fromkeys((*inside, *map(_turned, inside))):
        if any(b.upper.objection is not None for b, _ in profile):
            result.append(_drawn(node.rate, task.group, profile))
            continue
        upper: Loss = SampledLoss(tuple((b.upper, times) for b, times in profile), node.rate)
        if task.group > 1:
            upper = GroupedLoss(upper, task.group)
        known = _known(profile)
        lower = SampledLoss(known, node.rate) if known else None
        assumes = tuple(dict.fromkeys(text for b, _ in profile for text in b.assumes))
        if node.rate < 1 and any(b.upper.by_curve for b, _ in profile):
            assumes = (*assumes, KNOWN_BY_DIVERGENCES)
        result.append(LossBounds(upper, lower, assumes=(*assumes, *assumed)))
    return tuple(result)


def _sampled_inside(node: Sampled, task: _Task) -> tuple[tuple[Profile, ...], tuple[str, ...]]:
    """What is seen on the sample by a record that is added, removed or nulled, and what that assumes.

    A null record that is drawn must be as good as none: what is inside is then the pair of a record and none.
    That is taken for granted of concentrated guarantees only.
    """
    if node.rate < 1:
        _refuse_rows(node)
    if task.adjacency is not Adjacency.REPLACE_ONE:
        inside = profiles(node.event, task.adjacency, 1, task.stated)
        known = all(
            b.upper.by_curve and b.upper.linear_renyi() for option in inside for b, _ in option
        )
        if task.adjacency is Adjacency.ADD_REMOVE:
            return inside, ()
        if known:
            return inside, ("a null record in the sample changes no more than if it was not drawn",)
    raise UnsupportedAdjacency(
        "sampling any event has a proved bound for a record that is added or removed only; account it "
        "under add-remove (Gaussian and Laplace noise have the others too).",
        adjacency=task.adjacency,
    )


def _refuse_rows(node: Sampled) -> None:
    """Refuse an event that is described by the number of rows: a sample has any number of them."""
    for leaf in leaves(node.event):
        rows = getattr(leaf, "rows", None)
        if rows is not None:
            raise InvalidParameter(
                f"{type(leaf).__name__} says {rows} rows, but a Poisson sample has a random number of them, "
                "and with fewer it may cost more; describe the step without a count of rows, or sample once.",
                rows=rows,
            )


def _drawn(rate: float, group: int, profile: Profile) -> LossBounds:
    """What is not private at all, on a sample: whoever is drawn is seen."""
    found = drawn(rate, Adjacency.ADD_REMOVE, group)
    shown = any(b.lower is not None and b.lower.objection is not None for b, _ in profile)
    told = [b.upper.objection for b, _ in profile if b.upper.objection is not None]
    assumes = (f"not private for those who are drawn: {told[0]}",)
    return replace(found, lower=found.lower if shown else None, assumes=assumes)


def _gaussians_together(event: Event) -> tuple[float, float] | None:
    """Around the noise of one Gaussian answer that tells as much as all of `event`; None for other events.

    Answers with noise sigma_i about the same people are their mean, weighted by 1/sigma_i^2, and what does
    not depend on the data: one answer with 1/sigma^2 = sum 1/sigma_i^2.
    """
    total, stack = Fraction(0), [(event, 1)]
    while stack:
        node, times = stack.pop()
        if isinstance(node, Sequential):
            stack += [(inner, times) for inner in node.events]
        elif isinstance(node, Repeated):
            stack.append((node.event, times * node.times))
        elif isinstance(node, Gaussian) and node.noise_multiplier:
            total += times / Fraction(node.noise_multiplier) ** 2
        else:
            return None
    if not total:
        return None
    least, most = enclose_root(1 / total)
    return (least, most) if least > 0 and most < math.inf else None


def _selected(node: RandomStopping | PoissonStopping, task: _Task) -> Counter[LossBounds]:
    """The selection among the pairs that dominate a run, and among those a run contains."""
    options = profiles(node.event, task.adjacency, task.group, task.stated)
    inner: tuple[tuple[Loss, int], ...] = ((_worst(options), 1),)
    if len(options) == 1:
        inner = tuple((bounds.upper, times) for bounds, times in options[0])
    if _failure(options):
        reason = "selection over runs that may fail with positive probability is not accounted"
        return Counter({LossBounds(UnboundedLoss(reason), None): task.times})
    assumes = tuple(dict.fromkeys(text for o in options for b, _ in o for text in b.assumes))
    known = _known(options[0]) if len(options) == 1 else ()
    if isinstance(node, PoissonStopping):
        # Its Renyi divergences are bounded from the curve of one run, which a lattice may prove.
        assumes = (*assumes, ARITHMETIC)
        return Counter(
            {_both_sides(PoissonSelectedLoss(inner, node.mean), known, assumes): task.times}
        )
    best = SelectedLoss(inner, node.shape, node.stop)
    return Counter({_both_sides(best, known, assumes): task.times})


def _both_sides(
    best: SelectedLoss | PoissonSelectedLoss, known: Parts, assumes: tuple[str, ...]
) -> LossBounds:
    return LossBounds(best, replace(best, inner=known) if known else None, assumes=assumes)


def _known(profile: Profile) -> Parts:
    """What the runs of a composition contain."""
    return one_run((b.lower, times) for b, times in profile if b.lower is not None)


def _expand(
    fixed: Counter[LossBounds], choices: Counter[tuple[Profile, ...]]
) -> tuple[Profile, ...]:
    """All ways to resolve the choices, or their worst where there are too many ways."""
    if not choices:
        return (_canonical(fixed),)
    ways: list[list[Counter[LossBounds]]] = []
    total = 1
    for options, times in in_order(choices.items()):
        if len(options) == 1:
            ways.append([_times(options[0], times)])
            continue
        count = _multisets(len(options), times)
        if total * count > MOST_PROFILES:
            every = _either_side(options)
            sided = any(bounds.sided for option in options for bounds, _ in option)
            worst = LossBounds(_worst(every), None, failure=_failure(options), sided=sided)
            found = [Counter({worst: times})]
            if total * (1 + len(options)) <= MOST_PROFILES:
                # The same choice every time is one of the ways, with a lower bound of its own.
                found += [_times(option, times) for option in options]
            total *= len(found)
            ways.append(found)
            continue
        total *= count
        ways.append(
            [
                sum((_times(o, 1) for o in picked), Counter())
                for picked in combinations_with_replacement(options, times)
            ]
        )
    seen = [sum(combination, Counter(fixed)) for combination in product(*ways)]
    return undominated([_canonical(profile) for profile in seen])


def _turned(profile: Profile) -> Profile:
    """The composition with the record on the other side of every pair that leaves open which has it."""
    return tuple((bounds if bounds.sided else _swapped(bounds), times) for bounds, times in profile)


def _swapped(bounds: LossBounds) -> LossBounds:
    lower = None if bounds.lower is None else bounds.lower.reversed()
    return replace(bounds, upper=bounds.upper.reversed(), lower=lower)


def _either_side(options: tuple[Profile, ...]) -> tuple[Profile, ...]:
    """With both sides of pairs that leave open which has the record, beside pairs that do not.

    Alone they need not be turned: both directions of a whole composition are accounted.
    """
    if not any(bounds.sided for option in options for bounds, _ in option):
        return options
    return tuple(dict.fromkeys((*options, *map(_turned, options))))


def _times(profile: Profile, times: int) -> Counter[LossBounds]:
    return Counter({bounds: count * times for bounds, count in profile})


def _multisets(kinds: int, size: int) -> int:
    """Number of multisets, capped: C(size + kinds - 1, kinds - 1)."""
    count = 1
    for i in range(1, kinds):
        count = count * (size + i) // i
        if count > MOST_PROFILES:
            break
    return count


def _worst(options: Iterable[Profile]) -> WorstLoss:
    return WorstLoss(
        tuple(tuple((bounds.upper, times) for bounds, times in option) for option in options)
    )


def _failure(options: Iterable[Profile]) -> float:
    return max(sum(bounds.failure * times for bounds, times in option) for option in options)


def _canonical(profile: Counter[LossBounds]) -> Profile:
    return tuple(in_order(profile.items()))
