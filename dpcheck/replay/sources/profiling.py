"""The profile function of a thread: taken for a while, and given back to whoever had it."""

from __future__ import annotations

import sys

from dpcheck.core.data import Value


def give_back(before: Value) -> None:
    """Make `before`, which `sys.getprofile()` returned, watch again.

    A profiler in compiled code (cProfile before Python 3.12) is an object that `sys.getprofile` returns
    and `sys.setprofile` does not take: it is started again by its own method.
    """
    sys.setprofile(None)
    if callable(before):
        sys.setprofile(before)
    elif before is not None:
        before.enable()
