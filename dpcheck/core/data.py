"""What dpcheck passes along without looking inside: names for it, and a digest of it."""

from __future__ import annotations

import functools
import hashlib
import io
import pickle
from typing import Any, TypeAlias

Data: TypeAlias = object  # a dataset, in the form its mechanism takes it
Output: TypeAlias = object  # what a mechanism returns
Plain: TypeAlias = Any
Value: TypeAlias = Any  # whatever somebody's code holds while it runs


def fingerprint(data: Data) -> str | None:
    """A digest of `data`; None where it cannot be taken.

    What an object works out once and keeps (a `functools.cached_property`, of which the graphs of
    networkx are full) is no part of it: reading such an object changes nothing.
    """
    content = _bytes(data)
    return None if content is None else hashlib.blake2b(content[0], digest_size=16).hexdigest()


def keeps_results(data: Data) -> bool:
    """Whether reading `data` leaves results inside it, so that a later reader finds them there."""
    content = _bytes(data)
    return content is not None and content[1]


def _bytes(data: Data) -> tuple[bytes, bool] | None:
    stream = io.BytesIO()
    try:
        pickler = _WithoutResults(stream, protocol=5)
        pickler.dump(data)
    except Exception:  # an object that cannot be pickled is compared no further
        return None
    return stream.getvalue(), pickler.met


class _WithoutResults(pickle.Pickler):
    """Leaves out what objects have worked out and kept."""

    met = False

    def reducer_override(self, value: Value) -> Value:
        names = () if isinstance(value, type) else _kept_names(type(value))  # type: ignore[arg-type]
        if not names:
            return NotImplemented
        reduced = value.__reduce_ex__(5)
        if not isinstance(reduced, tuple) or len(reduced) < 3 or not isinstance(reduced[2], dict):
            return NotImplemented
        self.met = True
        state = {name: kept for name, kept in reduced[2].items() if name not in names}
        return (*reduced[:2], state, *reduced[3:])


@functools.lru_cache(maxsize=1024)
def _kept_names(kind: type) -> tuple[str, ...]:
    return tuple(
        name
        for each in kind.__mro__
        for name, member in vars(each).items()
        if isinstance(member, functools.cached_property)
    )
