"""A function as somebody wrote it for a job, and as it should have been written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True, slots=True)
class Everyday:
    """`broken` gives away far more than epsilon on the pairs; `corrected` keeps it."""

    name: str
    broken: Callable[..., Any]
    corrected: Callable[..., Any]
    pairs: Sequence[tuple[Any, Any]]
    epsilon: float = 1.0
    delta: float = 0.0
    adjacency: str = "replace-one"


AGES = [34, 51, 29, 62, 45, 38]
AGES_OF_ANOTHER = [34, 51, 29, 62, 45, 90]
NUMBERS = (np.array([0.2, 0.4, 0.1, 0.9]), np.array([0.2, 0.4, 0.1, 0.0]))

PEOPLE = pd.DataFrame(
    {
        "age": [34, 51, 29, 62, 45, 38],
        "city": ["Ulm", "Berlin", "Ulm", "Berlin", "Ulm", "Ulm"],
        "income": [30_000.0, 52_000.0, 27_000.0, 61_000.0, 45_000.0, 20_000.0],
    }
)
CHANGED = PEOPLE.copy()
CHANGED.loc[5] = [90, "Berlin", 90_000.0]
MOVED = PEOPLE.copy()
MOVED.loc[5] = [38, "Bonn", 20_000.0]  # where nobody else lives
FEWER = PEOPLE.iloc[:5]
REPLACED, ALONE, REMOVED = [(PEOPLE, CHANGED)], [(PEOPLE, MOVED)], [(PEOPLE, FEWER)]
