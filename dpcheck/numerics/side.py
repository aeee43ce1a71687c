"""Which side of the truth a number is proved to lie on."""

from __future__ import annotations

from enum import Enum


class Side(Enum):
    """UPPER: certainly at or above the truth. LOWER: certainly at or below it."""

    UPPER = "upper"
    LOWER = "lower"

    # Members are singletons; Enum hashes their names, in Python, at every look into a cache.
    __hash__ = object.__hash__
