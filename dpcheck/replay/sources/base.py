"""What a source of randomness is: something put in place while a run lasts, and taken away after."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import ClassVar

from dpcheck.core.data import Value
from dpcheck.replay.recorder import Recorder

_MISSING = object()


class Source(ABC):
    """Hooks of one package. As a context manager it is removed whatever happens inside."""

    name: ClassVar[str]
    #: The module that must have been imported by somebody else; it is never imported for its hook.
    needs: ClassVar[str]

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._undo: list[tuple[Value, str, Value]] = []

    @classmethod
    def present(cls) -> bool:
        """Whether the package is in use."""
        return sys.modules.get(cls.needs) is not None

    @abstractmethod
    def install(self) -> None:
        """Put the hooks in place, by `replace` only."""

    def replace(self, owner: Value, name: str, value: Value) -> None:
        """Set owner.name until `remove`."""
        known = vars(owner) if hasattr(owner, "__dict__") else {}
        self._undo.append((owner, name, known.get(name, _MISSING)))
        setattr(owner, name, value)

    def remove(self) -> None:
        """Undo everything, last first; one failure does not keep the rest in place."""
        while self._undo:
            owner, name, before = self._undo.pop()
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

    def __enter__(self) -> Source:
        try:
            self.install()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()


SOURCES: dict[str, type[Source]] = {}


def register(source: type[Source]) -> type[Source]:
    """Make a source known by its name."""
    SOURCES[source.name] = source
    return source


Hook = Callable[..., Value]
