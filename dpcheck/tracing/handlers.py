"""Code that catches errors takes a path no trace has seen: it is refused.

A traced run follows one path. An operation on a released value may raise for other noise, and what a
handler then does (fall back to the data, say) was never traced. So no function of the user's that runs may
have an `except` or `finally`, nor a context manager of its own that could swallow an error.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from dpcheck.core.data import Data
from dpcheck.replay.draws import is_users

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

_SWALLOWS = ("suppress.__enter__",)  # of contextlib


@contextmanager
def no_handlers(tracer: Tracer) -> Iterator[None]:
    """Refuse when a function that catches errors is called inside."""

    # By identity, and kept alive: the hash of a code object is one of all that is in it.
    harmless: dict[int, CodeType] = {}

    def look(frame: FrameType, event: str, _: Data) -> None:
        if event != "call":
            return
        code = frame.f_code
        if id(code) in harmless:
            return
        if _catches(code):
            tracer.refuse(
                "caught-error",
                f"{code.co_name} (line {code.co_firstlineno}) catches errors, and which "
                "values raise one is not known before noise is drawn",
                "take the try statement, or the context manager that swallows errors, out of what is proved",
            )
        else:
            harmless[id(code)] = code

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)


def _catches(code: CodeType) -> bool:
    """Whether a handler of this code may swallow an error.

    A `with` statement has a handler too, which asks its context manager (WITH_EXCEPT_START) and raises again
    unless that says otherwise; only a manager written by the user or contextlib.suppress would.
    """
    name = getattr(code, "co_qualname", code.co_name)
    if name in _SWALLOWS and code.co_filename.endswith("contextlib.py"):
        return True
    if not is_users(code.co_filename):
        return False
    if code.co_name in ("__exit__", "__aexit__"):
        return True
    names = [instruction.opname for instruction in dis.get_instructions(code)]
    return names.count("PUSH_EXC_INFO") > names.count("WITH_EXCEPT_START")
