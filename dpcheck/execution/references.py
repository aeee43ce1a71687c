"""An object by the name of its file or module: what a worker is sent of a target."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dpcheck.core.errors import NothingToAudit
from dpcheck.execution.imports import load


@dataclass(frozen=True, slots=True)
class Reference:
    """An object in a module or file, loaded where it is used: workers get its name only."""

    location: str
    attribute: str

    def load(self) -> Any:
        """The object."""
        found: Any = load(self.location)
        for step in self.attribute.split("."):
            if not hasattr(found, step):
                raise NothingToAudit(
                    f"there is no {self.attribute!r} in {self.location}.{_near(step, found)}"
                )
            found = getattr(found, step)
        return found

    @property
    def __wrapped__(self) -> Any:
        return self.load()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the object."""
        return self.load()(*arguments, **named)


def _near(wanted: str, inside: Any) -> str:
    """What somebody may have meant, and what else there is."""
    names = (
        [
            name
            for name, value in vars(inside).items()
            if not name.startswith("_")
            and callable(value)
            and getattr(value, "__module__", None) == getattr(inside, "__name__", "")
        ]
        if hasattr(inside, "__dict__")
        else []
    )
    close = get_close_matches(wanted, names, n=1)
    if close:
        return f" Did you mean {close[0]!r}?"
    return f" It has {', '.join(names[:10])}." if names else ""


def parse(text: str) -> Reference:
    """`path/file.py:object` or `package.module:object`."""
    location, sign, attribute = text.rpartition(":")
    if not sign or not location or not attribute:
        if text.endswith(".py"):
            raise NothingToAudit(f"{text} is a file. Name the function in it, as {text}:FUNCTION.")
        raise NothingToAudit(
            f"name the function as file.py:function or package.module:function, not {text!r}."
        )
    if location.endswith(".py"):
        location = str(Path(location).resolve())
    return Reference(location, attribute)
