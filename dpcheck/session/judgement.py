"""What is to be said of a paper's claim: a grade, and two readings of its text side by side."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Grade(StrEnum):
    """How a published claim fares; the worst that may fairly be said of it."""

    HOLDS = "holds"
    MISPRINT = "misprint"
    GAP = "gap in a proof"
    FALSE = "false claim"
    NO_CLAIM = "no claim"

    @property
    def meaning(self) -> str:
        """In one sentence, for a reader of the board."""
        return _MEANINGS[self]


# Supplied by us where a paper only says that neighbours "differ by one element".
REPLACED = (
    "neighbours: one record is replaced and the number of rows is public. 'Differ by one element' may "
    "also mean adding or removing a record, and under that no finite epsilon holds, as the noise depends "
    "on the number of rows"
)

_MEANINGS = {
    Grade.HOLDS: "The text can be followed to the letter, and the claim is true.",
    Grade.MISPRINT: "A letter or a sign is wrong; what evidently was meant keeps the claim.",
    Grade.GAP: "The claim is true under a condition the paper does not state, or for another reason "
    "than the one it gives.",
    Grade.FALSE: "What is printed, in the algorithm and in the text beside it, breaks the claim; to keep "
    "it, a step has to be taken from elsewhere.",
    Grade.NO_CLAIM: "The paper claims no differential privacy; what is tested is what its readers may "
    "hope for.",
}


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A reading that is run: its variant, what there is to say, the arguments of `dpcheck audit`."""

    variant: str
    finding: str
    arguments: str = "--eps 1"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A claim of a paper: its grade and why, the literal reading beside the most favourable one.

    A reading that cannot be run (a density that is none) is a sentence. `others` are further readings
    and corrections. `inferred` lists what the paper does not say and we supplied; `places` where in
    the paper it was looked up.
    """

    grade: Grade
    why: str
    literal: Exhibit | str
    favourable: Exhibit | str
    others: tuple[Exhibit, ...] = ()
    inferred: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    @property
    def exhibits(self) -> tuple[Exhibit, ...]:
        """All readings that are run, each once."""
        readings = (self.literal, self.favourable, *self.others)
        return tuple(dict.fromkeys(each for each in readings if isinstance(each, Exhibit)))
