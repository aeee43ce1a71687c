"""The noise of a step: read off its code where that can be followed, else by its variance."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import gammaincinv

from dpcheck.auditing.training.step import Checked, Indices, Outcome, Step, Vector
from dpcheck.core.data import Value
from dpcheck.replay.draws import is_users
from dpcheck.replay.noise import AddedNoise, added_noise
from dpcheck.replay.pair import start_of

ALPHA = 1e-4  # of every statistical check
_ROUNDING = 1e-6


def followed_noise(step: Step, batches: list[Indices]) -> AddedNoise:
    """The least noise over some batches, exact where `least` is a number, and where it is drawn."""

    def update(batch: Value, rng: Value) -> Value:
        return step.update(batch, rng)

    found = [added_noise(update, batch) for batch in batches]
    lines = tuple(dict.fromkeys(line for one in found for line in one.lines))
    known = [one.least for one in found if one.least is not None]
    return AddedNoise(min(known) if known and len(known) == len(found) else None, lines)


def noise_by_code(step: Step, followed: AddedNoise) -> Checked | None:
    """Exact, at no error rate; None where the code could not be followed."""
    if followed.least is None:
        return None
    scale = step.noise_multiplier * step.clip / step.divisor
    seen = (
        f"Followed through the code, the direction with the least has standard deviation "
        f"{followed.least:.4g}; accounted is {scale:.4g}."
    )
    if followed.least < scale * (1 - _ROUNDING):
        return Checked("noise", Outcome.VIOLATED, seen, _remedy(step), _lines(followed))
    return Checked("noise", Outcome.FINE, seen)


def code_of(function: Callable[..., object]) -> str:
    """Name and place of a function of the user's; nothing for a library's."""
    start = start_of(function)
    name = getattr(function, "__name__", "")
    if not is_users(start.path) or start.number == 0:
        return ""
    return f"{name}, {start}" if name.isidentifier() else str(start)


def _lines(followed: AddedNoise) -> str:
    return ", ".join(str(line) for line in followed.lines[:3])


def _remedy(step: Step) -> str:
    return (
        f"draw normal noise of scale noise_multiplier * clip = {step.noise_multiplier * step.clip:g} "
        "for every coordinate of the sum, anew every step; two noises add up as squares."
    )


def _least_square_sum(level: float, free: int) -> float:
    """The quantile of a chi-squared law: sums of so many squared normal draws are seldom below it."""
    return 2 * float(gammaincinv(free / 2, level))


def noise_by_variance(step: Step, runs: Vector, followed: AddedNoise) -> Checked:
    """The noise of repeated updates of one batch against the scale that is accounted."""
    scale = step.noise_multiplier * step.clip / step.divisor
    centred = (runs - runs.mean(axis=0)) / scale
    free = len(runs) - 1
    each = (centred**2).sum(axis=0)
    share = math.sqrt(float(each.mean()) / free)
    shows = math.sqrt(_least_square_sum(ALPHA, free * len(each)) / (free * len(each)))
    seen = (
        f"Its standard deviation is {share:.3g} of the {scale:.4g} accounted; under {shows:.3g} would "
        "be called too little."
    )
    remedy = _remedy(step)
    where = _lines(followed) or code_of(step.code or step.update)
    total = float(each.sum())
    # One noise in all coordinates would make up for its number: neighbours' differences show it.
    between = ((centred[:, 1::2] - centred[:, : centred.shape[1] - 1 : 2]) ** 2).sum() / 2
    if total < _least_square_sum(ALPHA, free * len(each)):
        return Checked("noise", Outcome.VIOLATED, seen, remedy, where)
    low = int(np.argmin(each))
    if each[low] < _least_square_sum(ALPHA / len(each), free):
        text = f"Coordinate {low} has {math.sqrt(each[low] / free):.3g} of the noise accounted."
        return Checked("noise", Outcome.VIOLATED, text, remedy, where)
    pairs = len(each) // 2
    if pairs and between < _least_square_sum(ALPHA, free * pairs):
        shared = "Coordinates share their noise: their differences have less than accounted."
        return Checked("noise", Outcome.VIOLATED, shared, remedy, where)
    twins = _twins(centred)
    if twins is not None:
        text = f"Coordinates {twins[0]} and {twins[1]} have the same noise in every update."
        remedy = f"draw it anew for every parameter, from a key or a call of its own; {remedy}"
        return Checked("noise", Outcome.VIOLATED, text, remedy, where)
    return Checked("noise", Outcome.FINE, seen)


def _twins(centred: Vector) -> tuple[int, int] | None:
    """Two coordinates whose noise is the same number up to a factor, in every update.

    Independent ones of 64 updates have a correlation within 1e-6 of 1 with probability below 1e-150.
    """
    lengths = np.linalg.norm(centred, axis=0)
    found = np.flatnonzero(lengths > 0)
    units = centred[:, found] / lengths[found]
    units = units * np.where(units[0] < 0, -1.0, 1.0)
    # Twins have the same projection onto anything, so they are neighbours in its order.
    order = np.argsort((1.0 + np.arange(len(units)) % 7) @ units)
    for apart in range(1, min(4, len(order))):
        one, other = units[:, order[:-apart]], units[:, order[apart:]]
        near = np.flatnonzero((one * other).sum(axis=0) > 1 - 1e-6)
        if len(near):
            low, high = sorted((order[near[0]], order[near[0] + apart]))
            return int(found[low]), int(found[high])
    return None
