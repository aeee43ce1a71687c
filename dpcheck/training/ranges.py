"""What `records=` declares: the range of each leaf of a batch."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from dpcheck.core.errors import InvalidParameter

Range = tuple[float, float]


def name_of(path: str) -> str:
    """A leaf's name: its keys, joined by dots.

    >>> name_of("['image']"), name_of("['inputs'][0]")
    ('image', 'inputs.0')
    """
    return ".".join(re.findall(r"[^\[\]'\".]+", path))


def declared(records: object, seen: Mapping[str, Range]) -> dict[str, Range]:
    """The declared range of each leaf that has one; `seen` is what the example's leaves hold.

    >>> declared({"age": (0, 120)}, {"age": (17.0, 90.0), "label": (0.0, 1.0)})
    {'age': (0.0, 120.0)}
    """
    if records is None:
        return {}
    if not isinstance(records, Mapping):
        raise _wrong('takes a range for each leaf, such as {"image": (0, 1)}')
    found = {}
    for name, ends in records.items():
        if name not in seen:
            raise _wrong(f"names {name!r}, which is no leaf of the batch. It has {', '.join(seen)}")
        try:
            low, high = (float(end) for end in ends)
        except (TypeError, ValueError):
            raise _wrong(f"takes two numbers for {name!r}, the least and the greatest") from None
        if not low <= high or math.isinf(low) or math.isinf(high):
            raise _wrong(f"has no numbers between {low:g} and {high:g} for {name!r}")
        least, most = seen[name]
        if not (low <= least and most <= high):
            raise _wrong(f"says {low:g} to {high:g} for {name!r}; the example goes beyond that")
        found[name] = (low, high)
    return found


def assumption(ranges: Mapping[str, Range]) -> str:
    """The condition in words."""
    listed = ", ".join(f"{name} in [{low:g}, {high:g}]" for name, (low, high) in ranges.items())
    return f"records lie in the declared ranges: {listed}"


def _wrong(what: str) -> InvalidParameter:
    return InvalidParameter(f"records= {what}.", name="records")
