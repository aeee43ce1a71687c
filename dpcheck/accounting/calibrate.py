"""The other way round: noise, steps or epochs for a budget, on the safe side and verified."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from scipy.optimize import brentq

from dpcheck.accounting.api import epsilon, epsilon_upper
from dpcheck.accounting.certify.bound import known
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.budget import Budget
from dpcheck.core.errors import CannotCalibrate, InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.validate import count, positive

Number = TypeVar("Number", float, int)

_LEAST_NOISE, _MOST_NOISE = 1e-6, 1e9
_MOST_STEPS = 10**12


@dataclass(frozen=True, slots=True)
class Calibrated(Generic[Number]):
    """A parameter and what it spends; `spent.upper` is at most the budget's epsilon."""

    value: Number
    spent: Bound


@overload
def calibrate(
    target: Callable[[float], Event],
    budget: Budget,
    *,
    steps_per_epoch: None = None,
    adjacency: Adjacency | str | None = None,
    method: str = "best",
) -> Calibrated[float]: ...
@overload
def calibrate(
    target: Event,
    budget: Budget,
    *,
    steps_per_epoch: float | None = None,
    adjacency: Adjacency | str | None = None,
    method: str = "best",
) -> Calibrated[int]: ...
def calibrate(
    target: Callable[[float], Event] | Event,
    budget: Budget,
    *,
    steps_per_epoch: float | None = None,
    adjacency: Adjacency | str | None = None,
    method: str = "best",
) -> Calibrated[float] | Calibrated[int]:
    """The least noise, or the most steps or epochs, within the budget.

    A function of the noise asks for noise (`calibrate_noise`), an event for how often it may be
    repeated (`calibrate_steps`), an event with `steps_per_epoch` for whole epochs
    (`calibrate_epochs`).

    Guarantee: the returned value was checked: its certified upper bound is within the budget.

    >>> from dpcheck import Gaussian, PureDP
    >>> round(calibrate(Gaussian, Budget(1.0, 1e-5)).value, 3)
    3.731
    >>> calibrate(PureDP(0.25), Budget(1.0)).value
    4
    """
    if not isinstance(budget, Budget):
        raise InvalidParameter(f"expected a Budget, got {budget!r}.", value=budget)
    if isinstance(target, Event):
        if steps_per_epoch is None:
            return calibrate_steps(target, budget, adjacency=adjacency, method=method)
        return calibrate_epochs(target, steps_per_epoch, budget, adjacency=adjacency, method=method)
    if steps_per_epoch is not None or not callable(target):
        raise InvalidParameter(
            "calibrate takes a function of the noise that returns an event, or an event to repeat; "
            "steps_per_epoch belongs to an event.",
            value=target,
        )
    return calibrate_noise(target, budget, adjacency=adjacency, method=method)


def calibrate_noise(
    event_for: Callable[[float], Event],
    budget: Budget,
    *,
    adjacency: Adjacency | str | None = None,
    tolerance: float = 1e-5,
    method: str = "best",
) -> Calibrated[float]:
    """The least noise with which `event_for(noise)` stays within the budget.

    Guarantee: the returned noise was checked: its certified upper bound is within the budget. It is
    at most (1 + tolerance)^2 above the least noise this accountant accepts.
    Assumes: more noise never costs more.

    >>> from dpcheck import Gaussian
    >>> round(calibrate_noise(Gaussian, Budget(1.0, 1e-5)).value, 3)
    3.731
    """
    positive("budget.epsilon", budget.epsilon)

    def spent(noise: float) -> Bound:
        return epsilon(event_for(noise), delta=budget.delta, adjacency=adjacency, method=method)

    def excess_by(name: str) -> Callable[[float], float]:
        def excess(log_noise: float) -> float:
            event = event_for(math.exp(log_noise))
            upper = epsilon_upper(event, delta=budget.delta, adjacency=adjacency, method=name)
            # Unbounded costs count as a large finite excess so that the search can step away.
            return math.log(max(min(upper, 1e300), 1e-300) / budget.epsilon)

        return excess

    start = 0.0
    if method == "best" and budget.delta > 0:
        # A cheap accountant says where to look; the best one needs a few steps from there.
        cheap = excess_by("rdp-optimal")
        low, high = _bracket(cheap, start, 1.0)
        if low is not None and math.isfinite(high):
            start = float(brentq(cheap, low, high, xtol=1e-3))
    excess = excess_by(method)
    low, high = _bracket(excess, start, 1.0 if start == 0.0 else 0.03)
    if math.isinf(high):
        advice = (
            "look whether the noise is used wherever something is released, and whether more of it "
            "costs less."
            if budget.delta > 0
            else "with delta 0 only pure mechanisms (Laplace, PureDP) can: give a delta above 0 or "
            "another mechanism."
        )
        raise CannotCalibrate(
            f"no noise up to {_MOST_NOISE:g} meets {budget}; {advice}", budget=budget
        )
    if low is not None:
        root = float(brentq(excess, low, high, xtol=tolerance / 4, rtol=1e-15))
        for nudge in range(40):
            candidate = root + nudge * tolerance / 4
            if excess(candidate) <= 0:
                bound = spent(math.exp(candidate))
                if bound.upper <= budget.epsilon:
                    return Calibrated(math.exp(candidate), bound)
    return Calibrated(math.exp(high), spent(math.exp(high)))  # the bracket checked it


def _bracket(
    excess: Callable[[float], float], start: float, step: float
) -> tuple[float | None, float]:
    """(low, high) with excess(low) > 0 >= excess(high), around `start`, in steps that double.

    low is None if even the least noise fits, high infinite if the most does not.
    """
    if excess(start) > 0:
        low, high = start, start + step
        while excess(high) > 0:
            if high >= math.log(_MOST_NOISE):
                return None, math.inf
            step *= 2
            low, high = high, min(high + step, math.log(_MOST_NOISE))
        return low, high
    low, high = start - step, start
    while excess(low) <= 0:
        if low <= math.log(_LEAST_NOISE):
            return None, low
        step *= 2
        low, high = max(low - step, math.log(_LEAST_NOISE)), low
    return low, high


def calibrate_steps(
    event: Event,
    budget: Budget,
    *,
    adjacency: Adjacency | str | None = None,
    method: str = "best",
) -> Calibrated[int]:
    """The most repetitions of `event` within the budget; 0 if not even one fits.

    Guarantee: the returned number was checked against the budget.

    >>> from dpcheck import PureDP
    >>> calibrate_steps(PureDP(0.25), Budget(1.0)).value
    4
    """

    def spent(steps: int) -> Bound:
        return epsilon(event * steps, delta=budget.delta, adjacency=adjacency, method=method)

    def fits(steps: int) -> bool:
        upper = epsilon_upper(event * steps, delta=budget.delta, adjacency=adjacency, method=method)
        return upper <= budget.epsilon

    low, high = 0, 1
    while fits(high):
        low, high = high, high * 2
        if high > _MOST_STEPS:
            raise CannotCalibrate(
                f"more than {_MOST_STEPS:g} steps fit {budget}; the event costs almost nothing.",
                budget=budget,
            )
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return Calibrated(low, spent(low))


def calibrate_epochs(
    event: Event,
    steps_per_epoch: float,
    budget: Budget,
    *,
    adjacency: Adjacency | str | None = None,
    method: str = "best",
) -> Calibrated[int]:
    """The most whole epochs of `steps_per_epoch` repetitions within the budget.

    `steps_per_epoch` may be fractional (1/rate); E epochs are then ceil(E * steps_per_epoch) steps.
    """
    per_epoch = positive("steps_per_epoch", steps_per_epoch)
    steps = calibrate_steps(event, budget, adjacency=adjacency, method=method).value
    epochs = math.floor(steps / per_epoch)
    while epochs > 0 and steps_in(epochs, per_epoch) > steps:
        epochs -= 1
    total = steps_in(epochs, per_epoch)
    bound = epsilon(event * total, delta=budget.delta, adjacency=adjacency, method=method)
    return Calibrated(epochs, bound)


def calibrate_batch_size(
    event_for: Callable[[int], Event],
    rows: int,
    budget: Budget,
    *,
    adjacency: Adjacency | str | None = None,
    method: str = "best",
) -> Calibrated[int]:
    """The largest batch size up to `rows` whose training, `event_for(size)`, is within the budget.

    0 if not even one row a step fits. Written as a function so that what hangs on the size does too:
    at a fixed number of epochs a larger batch means fewer steps.

    Guarantee: the returned size was checked against the budget. Assumes, for it to be the largest,
    that a training with larger batches costs no less.

    >>> from dpcheck import SampledGaussian
    >>> calibrate_batch_size(
    ...     lambda size: SampledGaussian(1.0, size / 60_000) * 1000, 60_000, Budget(1.0, 1e-5)
    ... ).value
    343
    """

    def upper(size: int) -> float:
        return epsilon_upper(
            event_for(size), delta=budget.delta, adjacency=adjacency, method=method
        )

    low, high = 0, count("rows", rows) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if upper(middle) <= budget.epsilon:
            low = middle
        else:
            high = middle
    if low == 0:
        return Calibrated(0, known(0.0, "nothing is released"))
    spent = epsilon(event_for(low), delta=budget.delta, adjacency=adjacency, method=method)
    return Calibrated(low, spent)


def steps_in(epochs: int, steps_per_epoch: float) -> int:
    """Steps in whole epochs, rounded up, forgiving the last digit of 1/rate.

    >>> steps_in(353, 539 / 32)
    5946
    """
    count("epochs", epochs, at_least=0)
    exact = epochs * steps_per_epoch
    return math.ceil(exact - 1e-9 * exact)
