"""One library of the catalogue, and one mechanism of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Target:
    """A mechanism of a library: how it is called, on which neighbours, and what is claimed of it.

    `claim` is epsilon, (epsilon, delta), {"ZCDP": rho}, or a function that asks the library for one of
    these. `says` quotes the documentation word for word ("…" where words are left out), `place` says
    where the words are; `reading` is in our own words what they leave open and we took them to mean.
    `note` is what a reader must know to be fair, and is shown beside a violation.
    """

    def __init__(
        self,
        name: str,
        call: Callable[..., Any],
        *,
        claim: Any,
        adjacency: str,
        neighbours: Sequence[Any],
        says: str = "",
        place: str = "",
        reading: str = "",
        note: str = "",
    ) -> None:
        self.name, self.call, self.claim = name, call, claim
        self.adjacency, self.neighbours = adjacency, neighbours
        self.says, self.place, self.reading, self.note = says, place, reading, note

    @property
    def stated(self) -> Any:
        """The claim; asked of the library where it computes its own."""
        return self.claim() if callable(self.claim) else self.claim

    @property
    def __dpcheck_declared__(self) -> dict[str, Any]:
        """What another interpreter is told when it asks."""
        return {
            "claim": self.stated,
            "adjacency": self.adjacency,
            "neighbours": list(self.neighbours),
        }

    def __call__(self, data: Any, rng: Any) -> Any:
        """Run the mechanism once."""
        return self.call(data, rng)


class Library:
    """A library, where its environment comes from, and its mechanisms by name."""

    def __init__(
        self,
        name: str,
        *,
        module: str,
        requires: Sequence[str],
        without: Sequence[str] = (),
        tried: str,
        says: str = "",
        place: str = "",
        reading: str = "",
    ) -> None:
        self.name = name  # as it is named on PyPI
        self.module = module  # what is imported
        self.requires = tuple(requires)  # what its own environment installs
        self.without = tuple(without)  # of that, what it works without, and not with
        self.tried = tried  # the version that results were made with
        # The claim of targets that quote nothing themselves.
        self.says, self.place, self.reading = says, place, reading
        self.targets: dict[str, Target] = {}

    def target(self, name: str, **declared: Any) -> Callable[[Callable[..., Any]], Target]:
        """Add a function (data, rng) -> output under a name."""
        if "says" not in declared:  # our reading belongs to the words that are read
            declared.setdefault("reading", self.reading)
        declared.setdefault("says", self.says)
        declared.setdefault("place", self.place)

        def add(call: Callable[..., Any]) -> Target:
            if name in self.targets:
                raise ValueError(f"{self.name} has two targets {name}.")
            self.targets[name] = Target(name, call, **declared)
            return self.targets[name]

        return add

    def find(self, name: str) -> Target:
        """The target of that name: the attributes of a library's file."""
        try:
            return self.targets[name]
        except KeyError:
            raise AttributeError(name) from None
