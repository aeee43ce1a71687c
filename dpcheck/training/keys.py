"""Keys by how they were derived: noise needs one that nothing else can repeat, look at or derive from.

A path is the steps from the step's own key: ("split", i), ("fold", number), and for the rounds of a loop
("carried", loop, ...) or ("slice", loop). jax gives the i-th child of a split and the key folded with i the same
bits, so that both together are a repetition.

**Lemma.** A draw's key is used for nothing else and every key above it only to derive children by one
means, with different numbers. Then the draw is independent of all else that the step draws.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dpcheck.replay.draws import Line
from dpcheck.training.facts import Keys

Path = tuple[Any, ...]
CARRIED = "carried to the next round"


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a key: "draw", "split", "fold", "carry" or "look"; `what` tells uses of one mode apart."""

    mode: str
    what: Any
    line: Line


@dataclass(slots=True)
class KeyBook:
    """All uses of all keys of a step."""

    uses: dict[Path, list[Use]] = field(default_factory=dict)
    returned: list[tuple[Path, str]] = field(default_factory=list)

    def copy(self) -> KeyBook:
        """A copy to go back to."""
        return KeyBook({k: list(v) for k, v in self.uses.items()}, list(self.returned))

    def use(self, path: Path, mode: str, what: Any, line: Line) -> None:
        """Note a use."""
        self.uses.setdefault(path, []).append(Use(mode, what, line))

    def look(self, keys: Keys, line: Line) -> None:
        """The bits of the keys are read as numbers."""
        for path in keys.paths.flat:
            self.use(path, "look", None, line)

    def trouble(self, path: Path, loops: tuple[int, ...]) -> tuple[str, str] | None:
        """Why a draw with this key, in these loops, is no noise: reason and remedy; None if it is."""
        root = path[0]
        if root[0] != "key":
            return (
                f"its key is {root[1]}, which is known or can repeat",
                "derive it from the step's own key argument (jax.random.split)",
            )
        for loop in loops:
            if not any(_tied(step, loop) for step in path):
                return (
                    "every round of the loop draws the same noise, since the key does not change",
                    "split the key in each round, or loop over jax.random.split(key, rounds)",
                )
        own = self.uses.get(path, [])
        if len(own) != 1:
            return (
                f"its key is used {len(own)} times",
                "give each use a key of its own (jax.random.split)",
            )
        for end in range(1, len(path)):
            above = self.uses.get(path[:end], [])
            means = {
                (use.mode, use.what if use.mode in ("split", "carry") else None) for use in above
            }
            folded = {use.what for use in above if use.mode == "fold"}
            unsure = any(isinstance(what, tuple) for what in folded) and len(folded) > 1
            if len(means) > 1 or unsure:
                return (
                    "a key above it is used again after keys were derived from it",
                    "never use a key that was split: split off one more and use that",
                )
            if path[end][0] == "slice" and self._sliced_again(path[:end], path[end]):
                return (
                    "the keys that a loop goes through are used a second time",
                    "give each use a key of its own (jax.random.split)",
                )
            if any(use.mode in ("draw", "look") for use in above):
                return (
                    "a key above it is used itself",
                    "never use a key that was split: split off one more and use that",
                )
        for back, place in self.returned:
            if place == CARRIED and any(other[: len(back)] == back for other in self.uses):
                return (
                    "a round of the loop uses a child of the key that it hands to the next round",
                    "split once in each round: one child to hand on, the others to use",
                )
            if back == path[: len(back)] or path == back[: len(path)]:
                return (
                    f"the key it comes from leaves the step ({place})",
                    "return another child of a split, not the key that the noise comes from",
                )
        return None

    def _sliced_again(self, above: Path, step: Any) -> bool:
        """Whether children that a loop goes through are used elsewhere, too."""
        end = len(above)
        for other in self.uses:
            if other[:end] != above or len(other) == end or other[end] == step:
                continue
            mode, name = other[end][0], other[end][1]
            children = other[end][2] if mode == "slice" else {name}
            if mode in ("split", "slice") and not children & step[2]:
                continue
            return True
        return False


def _tied(step: Any, loop: int) -> bool:
    return (
        isinstance(step, tuple)
        and len(step) > 1
        and (
            (step[0] in ("carried", "slice") and step[1] == loop)
            or (step[0] == "fold" and step[1] == ("round", loop))
        )
    )


def children(paths: Any, step: str, names: Iterable[Any]) -> list[Path]:
    """Paths one step further."""
    return [(*paths, (step, name)) for name in names]
