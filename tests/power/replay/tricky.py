"""Functions that try to make replay claim what it does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

PAIR = (np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0]))


@dataclass(frozen=True)
class Tricky:
    function: Any
    true: float
    never_exact: bool = True

    @property
    def __name__(self) -> str:
        return self.function.__name__


TRICKY: list[Tricky] = []


def tricky(true: float, *, never_exact: bool = True):
    def note(function):
        TRICKY.append(Tricky(function, true, never_exact))
        return function

    return note
