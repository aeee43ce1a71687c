"""Secure federated transfer learning [Liu2018]: two parties, real encryption, no differential privacy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms.federated.crypto.cipher import PaillierCipher
from dpcheck.mechanisms.federated.crypto.paillier import generate_key
from dpcheck.mechanisms.federated.protocol.autoencoder import (
    Array,
    Network,
    Pretraining,
    initial_network,
    pretrained_network,
)
from dpcheck.mechanisms.federated.protocol.cipher import Cipher, PlainCipher
from dpcheck.mechanisms.federated.protocol.link import BytesLink, ObjectLink
from dpcheck.mechanisms.federated.protocol.local import Transcript, converse
from dpcheck.mechanisms.federated.protocol.messages import Party
from dpcheck.mechanisms.federated.protocol.model import Objective
from dpcheck.mechanisms.federated.protocol.party import Program, check_numbers
from dpcheck.mechanisms.federated.protocol.party_a import PartyA
from dpcheck.mechanisms.federated.protocol.party_b import PartyB
from dpcheck.mechanisms.federated.protocol.state import Settings
from dpcheck.mechanisms.federated.protocol.validation import Validation, cross_validate

T = TypeVar("T")
Transport = Literal["plain", "in-process"]


@dataclass(frozen=True, slots=True, eq=False)
class Federation:
    """The data of two parties; row `common_a[i]` of A and row `common_b[i]` of B are one person.

    Labels are +1 and -1. A's labels of the first `labelled` common rows (None: of all) are used to
    train B.
    """

    X_a: Array
    y_a: Array
    X_b: Array
    common_a: Array
    common_b: Array
    labelled: int | None = None

    def __post_init__(self) -> None:
        if len(self.common_a) != len(self.common_b) or not len(self.common_a):
            raise InvalidParameter(
                "common_a and common_b must pair up the same, non-zero number of rows.",
                name="common",
            )
        if self.labelled is not None and not 1 <= self.labelled <= len(self.common_a):
            raise InvalidParameter(
                f"labelled must be between 1 and the {len(self.common_a)} common rows.",
                name="labelled",
            )


def state_without_rows(model: BaseEstimator) -> dict[str, object]:
    """The parameters of a model, for pickling and copying; a fitted one is refused.

    A fitted model plays both parties and holds the rows, keys and networks of both.
    """
    if hasattr(model, "parties_"):
        raise InvalidParameter(
            f"a fitted {type(model).__name__} holds both parties' rows and cannot be pickled or "
            "copied; each party saves its own files, see 'dpcheck ftl --help'.",
            name="model",
        )
    state: dict[str, object] = BaseEstimator.__getstate__(model)
    return state


class FederatedTransfer(BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Both parties in one process; they exchange messages only.

    `transport` "in-process" encrypts everything with Paillier keys of `key_bits` and passes encoded
    bytes; "plain" skips encryption and gives the same model to rounding. `transcript_` has all that
    reached each party. Two processes over TLS: `dpcheck ftl`.

    Guarantee: none of differential privacy. Party A's gradients are functions of B's rows and the
    other way round; see `dpcheck audit ftl`.
    Reference: [Liu2018] Algorithms 1, 2 and 3.
    Assumes: honest-but-curious parties that know which rows they have in common.
    """

    def __init__(
        self,
        *,
        hidden: tuple[int, ...] = (16,),
        alignment_weight: float = 0.05,
        regularization: float = 0.005,
        alignment: Literal["inner", "distance"] = "inner",
        variant: Literal["corrected", "printed"] = "corrected",
        rate: float = 0.05,
        iterations: int = 20,
        tolerance: float | None = None,
        pretraining: Pretraining | None = None,
        transport: Transport = "plain",
        key_bits: int = 2048,
        jobs: int = 1,
    ) -> None:
        self.hidden = hidden
        self.alignment_weight = alignment_weight
        self.regularization = regularization
        self.alignment = alignment
        self.variant = variant
        self.rate = rate
        self.iterations = iterations
        self.tolerance = tolerance
        self.pretraining = pretraining
        self.transport = transport
        self.key_bits = key_bits
        self.jobs = jobs

    def __getstate__(self) -> dict[str, object]:
        return state_without_rows(self)

    def settings(self) -> Settings:
        """What both parties agree on."""
        objective = Objective(
            self.alignment_weight, self.regularization, self.alignment, self.variant
        )
        return Settings(objective, tuple(self.hidden), self.rate, self.iterations, self.tolerance)

    def parties(self, data: Federation, rng: np.random.Generator) -> tuple[PartyA, PartyB]:
        """The two parties on this data, before they have met."""
        settings = self.settings()
        rng_a, rng_b = rng.spawn(2)
        a = PartyA(
            data.X_a,
            data.y_a,
            data.common_a,
            self._network(data.X_a, rng_a),
            settings=settings,
            cipher=self._cipher("a"),
        )
        b = PartyB(
            data.X_b,
            data.common_b,
            self._network(data.X_b, rng_b),
            settings=settings,
            cipher=self._cipher("b"),
        )
        return a, b

    def _network(self, X: Array, rng: np.random.Generator) -> Network:
        if self.pretraining is None:
            return initial_network([np.shape(X)[1], *self.hidden], rng)
        return pretrained_network(X, self.hidden, rng, self.pretraining)

    def _cipher(self, party: Party) -> Cipher:
        if self.transport == "plain":
            return PlainCipher(party)
        if self.transport == "in-process":
            return PaillierCipher(party, generate_key(self.key_bits), jobs=self.jobs)
        raise InvalidParameter(
            f"transport must be plain or in-process, got {self.transport!r}; for two processes see "
            "'dpcheck ftl --help'.",
            name="transport",
        )

    def _converse(self, program: Callable[[PartyA], Program[T]]) -> T:
        """Run a program of A against B's service, recording what each receives."""
        a, b = self.parties_

        def of_a() -> Program[T]:
            yield from a.meet()
            result = yield from program(a)
            yield from a.finish()
            return result

        def of_b() -> Program[None]:
            yield from b.meet()
            yield from b.serve()

        links = ObjectLink.pair() if self.transport == "plain" else BytesLink.pair()
        return converse(of_a(), of_b(), links, self.transcript_)

    def fit(self, data: Federation, *, rng: np.random.Generator | None = None) -> FederatedTransfer:
        """Algorithm 1 on all rows."""
        generator = np.random.default_rng() if rng is None else rng
        self.transcript_ = Transcript()
        self.parties_ = self.parties(data, generator)
        self.data_ = data
        a, b = self.parties_
        common_of_b = check_numbers("common_b", data.common_b, len(b.X))
        task = a.whole_task("train", common_of_b, data.labelled)
        self._converse(lambda party: party.train(task, common_of_b))
        self.losses_ = a.losses["train"]
        return self

    def predict(self, rows_of_b: ArrayLike | None = None) -> Array:
        """Algorithm 2: labels of these rows of B (None: of all)."""
        return self.decision_function(rows_of_b, _labels=True)

    def decision_function(
        self, rows_of_b: ArrayLike | None = None, *, _labels: bool = False
    ) -> Array:
        """Algorithm 2: the scores A learns for these rows of B (None: of all)."""
        check_is_fitted(self, "losses_")
        scores, labels = self._converse(lambda party: party.predict("train", rows_of_b))
        answer: Array = labels if _labels else scores
        return answer

    def cross_validate(
        self, data: Federation, *, folds: int = 5, rng: np.random.Generator | None = None
    ) -> Validation:
        """Algorithm 3: transfer cross-validation, and the self-learning safeguard beside it."""
        generator = np.random.default_rng() if rng is None else rng
        self.transcript_ = Transcript()
        self.parties_ = self.parties(data, generator)
        common_of_b = np.asarray(data.common_b)
        answer: Validation = self._converse(
            lambda party: cross_validate(
                party, common_of_b, folds=folds, rng=generator, labelled=data.labelled
            )
        )
        return answer
