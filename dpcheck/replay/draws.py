"""What one run drew: each call of a source of randomness, and the independent numbers it is made of."""

from __future__ import annotations

import sys
import sysconfig
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import FrameType


class Family(StrEnum):
    """The law of one standard number; location and scale are arithmetic on it."""

    LAPLACE = "Laplace"
    NORMAL = "normal"
    UNIFORM = "uniform"
    EXPONENTIAL = "exponential"
    GUMBEL = "Gumbel"
    LOGISTIC = "logistic"
    CAUCHY = "Cauchy"
    DISCRETE_LAPLACE = "discrete Laplace"
    DISCRETE_GAUSSIAN = "discrete Gaussian"
    FINITE = "finite"

    @property
    def continuous(self) -> bool:
        """Whether it has a density and no parameter of its own."""
        return self in _CONTINUOUS


_CONTINUOUS = frozenset(
    {
        Family.LAPLACE,
        Family.NORMAL,
        Family.UNIFORM,
        Family.EXPONENTIAL,
        Family.GUMBEL,
        Family.LOGISTIC,
        Family.CAUCHY,
    }
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the user's code."""

    path: str
    number: int

    @property
    def relative(self) -> str:
        """The path from where the command was started, with slashes; the name alone if outside."""
        here, path = Path.cwd(), Path(self.path)
        return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.name

    def __str__(self) -> str:
        return f"{Path(self.path).name}:{self.number}"


UNKNOWN = Line("?", 0)


@dataclass(frozen=True, slots=True)
class Atom:
    """One independent number: its family, its parameter where the family has one, where drawn.

    `parameter` is the scale of a discrete family, and the masses of a finite one.
    """

    family: Family
    draw: int
    parameter: float | tuple[float, ...] = 1.0


@dataclass(frozen=True, slots=True)
class Draw:
    """One call: what was asked of which source, and how many numbers came of it."""

    source: str
    family: Family
    shape: tuple[int, ...]
    line: Line
    first: int
    count: int


def _roots() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    found = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found.add(str(Path(__file__).parents[1]))  # dpcheck itself
    return tuple(sorted(str(Path(path).resolve()) for path in found))


_LIBRARIES = _roots()


def is_users(path: str | None) -> bool:
    """Whether a file is the audited project's own rather than a library's, Python's or ours."""
    if not path or path.startswith("<frozen"):
        return False
    return not path.startswith(_LIBRARIES) and "site-packages" not in path


def users_line() -> Line:
    """The innermost line of the user's code on the stack."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return Line(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return UNKNOWN
