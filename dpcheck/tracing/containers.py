"""np.zeros and its kin inside a trace: public arrays that symbols may be written into."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing.facts.boxes import point
from dpcheck.tracing.values import Traced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcheck.tracing.tracer import Tracer


class Container(Traced):
    """A public array; it turns into a symbol of another kind when one is written into it."""

    what = "a public array"

    def __init__(self, tracer: Tracer, array: Data) -> None:
        super().__init__(tracer, array.shape, array.dtype, point(array))
        self.array = array

    def __array__(self, dtype: Data = None, copy: Data = None) -> Data:
        return np.array(self.array, dtype=dtype) if copy else np.asarray(self.array, dtype=dtype)

    def __bool__(self) -> bool:
        return bool(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __index__(self) -> int:
        return int(self.array.__index__())

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Data]:
        return iter(self.array.copy())

    def __contains__(self, item: object) -> bool:
        return item in self.array

    def __format__(self, spec: str) -> str:
        return format(self.array, spec)

    def __repr__(self) -> str:
        return repr(self.array)


def plain(value: Data) -> Data:
    """Containers as the arrays they hold, in nested lists too; copies, so that nobody writes into them."""
    if isinstance(value, Container):
        return value.array.copy()
    if isinstance(value, list | tuple) and any(_holds(each) for each in value):
        items = [plain(each) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _holds(value: Data) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds(each) for each in value)
    return isinstance(value, Container)
