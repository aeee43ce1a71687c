"""Where a function of one number is lowest; for searching, never part of a proof."""

from __future__ import annotations

import math
from collections.abc import Callable

Point = tuple[float, float]
Cost = Callable[[float], float]

# The logarithms of order - 1 that are searched: closer to 1, and beyond, divergences are lost in rounding.
LOG_ORDERS = (-14.0, 20.0)
STEPS = 60
STRIDE = 0.6
FLAT = 1e-5
_GOLDEN = 0.381966


def lowest_by_slopes(
    cost: Callable[[float], Point], start: float, bend: float, close: float, ends: Point
) -> float:
    """About where a function that has one minimum between `ends` is lowest, from its values and slopes.

    Newton's steps from the lowest point, with the bend between the last two; `bend` is the first. A step
    that leaves the points known to be higher, or follows two to higher ones, goes half the way to them, and
    none further than STRIDE, which doubles on the way down. The search ends where less than a share `close`
    of the value, or of 1, is promised.
    """
    (low, high), where, stride, missed = ends, start, STRIDE, 0
    value, slope = cost(where)
    for _ in range(STEPS):
        edge = high if slope < 0 else low
        promised = abs(slope) * min(abs(slope) / (2 * bend), abs(edge - where))
        if not promised > close * min(abs(value), 1.0):
            break
        new = where - math.copysign(min(abs(slope) / bend, stride), slope)
        if not low < new < high or missed > 1:
            new = (where + edge) / 2
        if new == where:  # no float lies between
            break
        found, tilt = cost(new)
        between = (tilt - slope) / (new - where)
        if found < value:
            bend = max(bend / 4, between)
            low, high = (where, high) if new > where else (low, where)
            where, value, slope, stride, missed = new, found, tilt, 2 * stride, 0
        else:
            bend = min(max(bend, between), 8 * bend)
            low, high = (low, new) if new > where else (new, high)
            missed += 1
    return where


def lowest_near(cost: Cost, around: tuple[Point, Point, Point], close: float, ends: Point) -> Point:
    """(where, value): about the minimum, from three points in order.

    Downhill by steps that double until the lowest point lies between two higher ones, then parabolas through
    the three; where two do not halve the interval, a point on its longer side. The search ends where a
    parabola promises less than a share `close` of the value, or of 1, or where the three hardly differ, as
    they do not soon at a kink.
    """

    def at(where: float) -> Point:
        where = min(max(where, ends[0]), ends[1])
        return where, cost(where)

    low, middle, high = around
    step = high[0] - low[0]
    while low[1] < middle[1]:
        low, middle, high = at(low[0] - step), low, middle
        step *= 2
    while high[1] < middle[1]:
        low, middle, high = middle, high, at(high[0] + step)
        step *= 2
    older = before = math.inf
    for _ in range(STEPS):
        width, (where, gain) = high[0] - low[0], _vertex(low, middle, high)
        # Of a curve that varies by a share v between the points a parabola misses about v^2.
        varies, scale = max(low[1], high[1]) - middle[1], min(abs(middle[1]), 1.0)
        if scale == 0 or (gain <= close * scale and varies <= 10 * math.sqrt(close) * scale):
            break
        inside = low[0] < where < high[0]
        if varies <= FLAT * scale:
            return min(middle, at(where), key=lambda point: point[1]) if inside else middle
        if width > older / 2 or not inside:
            left, right = middle[0] - low[0], high[0] - middle[0]
            further = min(2 * min(left, right), _GOLDEN * max(left, right))
            where = middle[0] + (further if right > left else -further)
        older, before, new = before, width, at(where)
        if new[1] < middle[1]:
            low, middle, high = (low, new, middle) if where < middle[0] else (middle, new, high)
        elif where < middle[0]:
            low = new
        else:
            high = new
    return middle


def _vertex(low: Point, middle: Point, high: Point) -> Point:
    """Where the parabola through three points is lowest, and how far below the middle one."""
    left, right = middle[0] - low[0], high[0] - middle[0]
    if not (left > 0 and right > 0 and math.isfinite(low[1] + high[1])):
        return math.nan, math.inf
    down, up = (middle[1] - low[1]) / left, (high[1] - middle[1]) / right
    bend = (up - down) / (left + right)
    if not bend > 0:
        return math.nan, 0.0
    slope = (down * right + up * left) / (left + right)  # of the parabola at the middle
    return middle[0] - slope / (2 * bend), slope * slope / (4 * bend)
