"""Groups of datasets that may share a person."""

from __future__ import annotations

from collections.abc import Iterable


def connected(names: Iterable[str], edges: set[frozenset[str]]) -> set[str]:
    """Everything that can be reached from `names`."""
    near: dict[str, set[str]] = {}
    for edge in edges:
        for name in edge:
            near.setdefault(name, set()).update(edge)
    found, stack = set(names), list(names)
    while stack:
        for name in near.get(stack.pop(), set()) - found:
            found.add(name)
            stack.append(name)
    return found


def maximal_cliques(names: list[str], edges: set[frozenset[str]]) -> list[frozenset[str]]:
    """Every largest group whose members pairwise overlap [Bron1973].

    >>> maximal_cliques(["a", "b", "c"], {frozenset("ab"), frozenset("bc")}) == [
    ...     frozenset("ab"), frozenset("bc")]
    True
    """
    near = {a: {b for b in names if frozenset((a, b)) in edges and a != b} for a in names}
    found: list[frozenset[str]] = []

    def extend(clique: set[str], candidates: set[str], done: set[str]) -> None:
        if not candidates and not done:
            found.append(frozenset(clique))
            return
        pivot = max(candidates | done, key=lambda name: len(near[name] & candidates))
        for name in sorted(candidates - near[pivot]):
            extend(clique | {name}, candidates & near[name], done & near[name])
            candidates = candidates - {name}
            done = done | {name}

    extend(set(), set(names), set())
    return sorted(found, key=sorted)
