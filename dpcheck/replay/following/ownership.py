"""Whether `array += noise` may give a new array: only where nobody else can see the old one."""

from __future__ import annotations

import dis
import itertools
import sys
from functools import lru_cache
from types import CodeType, FrameType

import numpy as np

from dpcheck.core.data import Value


class _Probe:
    """Counts the references to an array in `array += probe` where only one variable holds it."""

    seen = 0

    def __array_ufunc__(
        self, _ufunc: Value, _method: str, *inputs: Value, **keywords: Value
    ) -> Value:
        return _probe(inputs, keywords)


def _probe(inputs: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
    out = keywords.pop("out", None)
    _Probe.seen = sys.maxsize if out is None else sys.getrefcount(out[0])
    return inputs[0]


def _calibrate() -> int:
    probe: Value = _Probe()
    array = np.zeros(1)
    array += probe
    alone = _Probe.seen
    other = array
    array += probe
    return alone if _Probe.seen == alone + 1 and other is array else -1


_STORES = frozenset({"STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF"})


@lru_cache(maxsize=256)
def _rebinding(code: CodeType) -> frozenset[int]:
    """Offsets of `name += value` whose result goes straight back into the name."""
    steps = list(dis.get_instructions(code))
    return frozenset(
        one.offset
        for one, following in itertools.pairwise(steps)
        if following.opname in _STORES
        and (one.opname.startswith("INPLACE_") or one.argrepr.endswith("="))
        and (one.opname != "COMPARE_OP")
    )


def sole_owner(target: Value, count: int, frame: FrameType) -> bool:
    """Whether `array += noise` may rebind instead of write: nobody else can see the array.

    The reference count is compared with that of a local variable known to be alone; a view, a
    second name or a container would raise it. And the result must go straight back into the name.
    """
    if type(target) is not np.ndarray or target.base is not None or target.dtype != np.float64:
        return False
    return count <= _ALONE and frame.f_lasti in _rebinding(frame.f_code)


_ALONE = _calibrate()
