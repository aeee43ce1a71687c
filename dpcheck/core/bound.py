"""A number that is known only to lie between two proved values."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.card import Card, Displayed, number
from dpcheck.core.data import Plain
from dpcheck.core.errors import DpcheckError, InvalidParameter, NotOneNumber


@dataclass(frozen=True, slots=True)
class Bound(Displayed):
    """`lower` <= truth <= `upper`; `method` names the proof of `upper`, `assumes` what it needs.

    `lower` belongs to the worst mechanism the event describes: some mechanism that fits the
    description spends at least that much.

    >>> Bound(1.0, 1.5, "rdp-optimal").gap
    0.5
    """

    lower: float
    upper: float
    method: str
    adjacency: Adjacency | None = None
    assumes: tuple[str, ...] = field(default=(), compare=False)
    question: Callable[[], object] | None = field(default=None, compare=False, repr=False)
    proof: Callable[[float], dict[str, Plain]] | None = field(
        default=None, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        # A crossed or NaN bound would be a wrong proof; better no answer than that one.
        if not self.lower <= self.upper:
            raise DpcheckError(
                f"internal error: {self.method} gave lower {self.lower!r} above upper "
                f"{self.upper!r}; please report it with the event that caused it.",
                lower=self.lower,
                upper=self.upper,
            )

    def explain(self) -> object:
        """Who proved the bound, what drives it and how it moves; `print` it.

        Answers of `dpcheck.epsilon` can be explained; of numbers computed in between nothing is known.
        """
        if self.question is None:
            raise InvalidParameter(
                "only answers of dpcheck.epsilon can be explained; ask it about the event."
            )
        return self.question()

    def certificate(self) -> dict[str, Plain]:
        """The proof of `upper` as plain data that `dpcheck verify` checks from a file of it alone.

        Answers of `dpcheck.epsilon` and `dpcheck.delta` have one; CannotCertify where none is written yet.
        """
        if self.proof is None:
            raise InvalidParameter(
                "only answers of dpcheck.epsilon and dpcheck.delta have a certificate; ask one of them."
            )
        return self.proof(self.upper)

    @property
    def gap(self) -> float:
        """Upper minus lower; 0 where both are infinite."""
        return 0.0 if self.lower == self.upper else self.upper - self.lower

    def to_json(self) -> str:
        """The bound as one line of JSON; infinity is the string "inf".

        >>> Bound(1.0, 1.5, "rdp-optimal", Adjacency.ADD_REMOVE).to_json()
        '{"lower": 1.0, "upper": 1.5, "method": "rdp-optimal", "adjacency": "add-remove", "assumes": []}'
        """
        ends = {"lower": self.lower, "upper": self.upper}
        data = {name: "inf" if math.isinf(end) else end for name, end in ends.items()}
        relation = None if self.adjacency is None else self.adjacency.value
        found = {
            **data,
            "method": self.method,
            "adjacency": relation,
            "assumes": list(self.assumes),
        }
        return json.dumps(found, allow_nan=False)

    def __float__(self) -> float:
        raise NotOneNumber(
            "a bound is two numbers: take .upper, which the truth never exceeds, to promise privacy, or "
            ".lower, which some mechanism reaches, to refute a claim."
        )

    def __str__(self) -> str:
        return format(self, ".6g")

    def __format__(self, spec: str) -> str:
        """Both ends in the same format.

        >>> f"{Bound(1.0, 1.5, 'rdp-optimal'):.2f}"
        '[1.00, 1.50] (rdp-optimal)'
        """
        spec = spec or ".6g"
        return f"[{self.lower:{spec}}, {self.upper:{spec}}] ({self.method})"

    def cards(self) -> tuple[Card, ...]:
        """What a notebook shows."""
        row = [number(self.lower), number(self.upper), self.method, str(self.adjacency or "–")]
        columns = ("at least", "at most", "proved by", "adjacency")
        card = Card("Proved bound", columns, [row], heading="assumes", lines=self.assumes)
        return (card,)
