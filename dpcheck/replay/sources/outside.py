"""Randomness that nobody can replay: the system's entropy, clocks, threads, unknown compiled code.

While a run lasts, a profile function sees every call of a builtin function. What is not on the list
of modules known to be deterministic leaves a mark, and the run is exact no more.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from dpcheck.replay.draws import is_users
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.sources.base import Source

# Compiled modules whose functions give the same answer to the same question.
DETERMINISTIC = frozenset(
    {
        "builtins", "math", "cmath", "itertools", "functools", "operator", "collections", "re",
        "_operator", "_functools", "_collections", "_collections_abc", "_abc", "_sre", "_struct", "_json",
        "_warnings", "_weakref", "_weakrefset", "_bisect", "_heapq", "_statistics", "_string", "_codecs",
        "_imp", "_io", "io", "sys", "types", "typing", "_typing", "copy", "copyreg", "enum",
        "marshal", "unicodedata", "_decimal", "decimal", "fractions", "numbers", "_datetime", "datetime",
        "_contextvars", "_ast", "_csv", "_hashlib", "_blake2", "_sha256", "_md5", "_pickle", "array", "gc",
        "numpy", "pandas", "scipy", "sklearn", "dpcheck", "flint", "dateutil", "pytz", "pyarrow", "posix",
        "nt", "errno", "_stat", "stat", "zlib", "binascii", "_tokenize", "_locale", "contextlib", "threading",
        "_thread", "atexit", "traceback", "_tracemalloc", "inspect", "dataclasses", "coverage", "_opcode", "_symtable",
        "statsmodels", "patsy", "_asyncio", "_queue", "mpmath", "gmpy2",
    }
)  # fmt: skip
DENIED = frozenset(
    {
        ("posix", "urandom"), ("posix", "getrandom"), ("nt", "urandom"), ("posix", "times"),
        ("posix", "getpid"), ("posix", "fork"), ("posix", "read"), ("posix", "getloadavg"),
        ("_thread", "start_new_thread"), ("_random", "random"), ("_random", "getrandbits"),
    }
)  # fmt: skip
_DENIED_METHODS = frozenset({"now", "utcnow", "today", "random", "getrandbits", "random_raw"})
_IDENTITIES = frozenset({"id", "hash"})


def _module(function: Any) -> str:
    module = getattr(function, "__module__", None)
    if not isinstance(module, str):
        owner = getattr(function, "__self__", None)
        kind = owner if isinstance(owner, type) else type(owner)
        module = owner.__name__ if isinstance(owner, type(sys)) else kind.__module__
    return str(module)


class Outside(Source):
    """Sees calls of compiled code by sys.setprofile, in the thread of the run."""

    name = "outside"
    needs = "sys"

    def install(self) -> None:
        """Start watching, and keep whoever watched before for later."""
        self._before = sys.getprofile()
        self._known: dict[int, str | None] = {}
        self._kept: list[Any] = []
        sys.setprofile(self._watch)

    def remove(self) -> None:
        """Stop watching."""
        sys.setprofile(self._before)
        super().remove()

    def _watch(self, frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or self.recorder.quiet:
            return
        key = id(function)
        if key not in self._known or getattr(function, "__self__", None) is not None:
            complaint = _complaint(function)
            if getattr(function, "__self__", None) is None:
                self._kept.append(function)  # so that its id is not used again
                self._known[key] = complaint
        else:
            complaint = self._known[key]
        if complaint is not None:
            kind = (
                MarkKind.THREAD
                if "thread" in complaint
                else (MarkKind.ENTROPY if complaint.startswith("!") else MarkKind.NATIVE)
            )
            self.recorder.mark(kind, complaint.lstrip("!"))
        elif getattr(function, "__name__", "") in _IDENTITIES and is_users(
            frame.f_code.co_filename
        ):
            self.recorder.mark(MarkKind.ENTROPY, f"{function.__name__}()")


def _complaint(function: Any) -> str | None:
    """Why a builtin function is not known to be deterministic; `!` where it is known not to be."""
    module, name = _module(function), getattr(function, "__name__", "?")
    top = module.partition(".")[0]
    if (top, name) in DENIED or top in ("time", "_random", "_socket", "select", "_ssl"):
        return f"!{module}.{name}"
    if top in ("datetime", "_datetime", "builtins") and name in _DENIED_METHODS:
        owner = getattr(function, "__self__", None)
        if isinstance(owner, type) or name == "getrandbits":
            return f"!{module}.{name}"
    return None if top in DETERMINISTIC else f"{module}.{name}"
