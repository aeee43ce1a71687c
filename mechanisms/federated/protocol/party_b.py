"""Party B of federated transfer learning: other features of some of the same people, no labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.core.errors import InvalidParameter, WireError
from dpcheck.mechanisms.federated.protocol.autoencoder import (
    Array,
    Network,
    flatten,
    forward,
    initial_network,
)
from dpcheck.mechanisms.federated.protocol.cipher import Cipher
from dpcheck.mechanisms.federated.protocol.messages import (
    ComponentsA,
    ComponentsB,
    Decision,
    Finish,
    HiddenRows,
    Labels,
    MaskedGradientA,
    MaskedGradientB,
    MaskedScores,
    OpenedGradientA,
    OpenedGradientB,
    OpenedScores,
    PredictRequest,
    Ready,
    Receive,
    TrainRequest,
)
from dpcheck.mechanisms.federated.protocol.model import (
    KnownToB,
    SentByA,
    check_labels,
    gradient_of_b,
    sent_by_b,
    translator,
)
from dpcheck.mechanisms.federated.protocol.party import (
    PartyBase,
    Program,
    check_iteration,
    check_numbers,
    from_triangles,
    receive,
    upper_triangles,
)
from dpcheck.mechanisms.federated.protocol.party_a import sign_labels
from dpcheck.mechanisms.federated.protocol.state import Checkpoints, Settings, State


class PartyB(PartyBase):
    """The party without labels: it answers what A asks until A has finished.

    Reference: [Liu2018] Algorithms 1 and 2. Not differentially private: `Learned` records say what
    B can read. Assumes: A follows the protocol (honest but curious).
    """

    party = "b"

    def __init__(
        self,
        X: ArrayLike,
        common: ArrayLike,
        network: Network,
        *,
        settings: Settings,
        cipher: Cipher,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        super().__init__(
            X, common, network, settings=settings, cipher=cipher, checkpoints=checkpoints
        )
        # Self-learning puts two more units on top; their difference is the score.
        head = initial_network([self.settings.hidden[-1], 2], np.random.default_rng(0))
        self.initial_self = (*network, *head)
        self.predicted: tuple[Array, Array] | None = None  # rows and the labels last told

    def serve(self) -> Program[None]:
        """Answer requests until A says it has finished."""
        while True:
            request = yield Receive((TrainRequest, PredictRequest, Finish))
            if isinstance(request, TrainRequest):
                yield from self._train(request)
            elif isinstance(request, PredictRequest):
                yield from self._predict(request)
            else:
                yield Finish()
                return

    # --- Algorithm 1 -----------------------------------------------------------------------------

    def _train(self, request: TrainRequest) -> Program[None]:
        if request.model not in ("transfer", "self"):
            raise WireError(f"unknown kind of training {request.model[:20]!r}.")
        known = self._known(request)
        mine = self.checkpoints.available(request.task)
        start = max({0, *mine} & {0, *request.available.tolist()})
        yield Ready(request.task, start, len(self.X))
        network = self.initial if request.model == "transfer" else self.initial_self
        network, state = self.resume(request.task, start, network)
        while True:
            decision = yield from receive(Decision)
            check_iteration(decision, state.iteration)
            if decision.stop:
                self.finish_training(state, network)
                return
            network, state = yield from self._iteration(known, network, state)

    def _known(self, request: TrainRequest) -> KnownToB:
        try:
            labelled = check_numbers("labelled", request.labelled, len(self.X))
            common = check_numbers("common", request.common, len(self.X))
        except InvalidParameter as error:
            raise WireError(
                f"the other party asks for rows that are none: {error.message}"
            ) from None
        if not np.isin(common, self.common).all():
            raise WireError("the other party aligns rows that are not common to both.")
        return KnownToB(labelled, common)

    def _iteration(
        self, known: KnownToB, network: Network, state: State
    ) -> Program[tuple[Network, State]]:
        t, objective, cipher = state.iteration, self.settings.objective, self.cipher
        trace = forward(network, self.X)
        sent = sent_by_b(objective, network, trace.hidden, known)
        sent = sent._replace(products=upper_triangles(sent.products))
        got = yield from receive(ComponentsA)
        check_iteration(got, t)
        # Levels: what is never multiplied again is scaled up now, where it costs nothing.
        yield ComponentsB(
            t,
            cipher.encrypt(sent.products, 1),
            cipher.encrypt(sent.hidden, 1),
            cipher.encrypt(sent.aligned, 2),
            cipher.encrypt(np.asarray(sent.local_loss), 3),
        )
        rows, pairs, d = len(known.labelled), len(known.common), trace.hidden.shape[1]
        received = SentByA(
            from_triangles(cipher.load(got.curvature, (rows, d * (d + 1) // 2)), d),
            cipher.load(got.slope, (rows, d)),
            cipher.load(got.aligned, (pairs, d)),
        )
        gradient = flatten(gradient_of_b(objective, network, trace, known, received))
        masked, secret = cipher.mask(gradient)
        more = t + 1 < self.settings.iterations
        if more:  # while A works
            cipher.prepare(own=sum(np.size(part) for part in sent), other=0)
        theirs = yield from receive(MaskedGradientA)
        check_iteration(theirs, t)
        yield MaskedGradientB(t, masked)
        opened_loss = cipher.open(theirs.loss, ())
        loss = float(cipher.read(opened_loss))
        yield self.learned(state.task, t, "loss", loss)
        yield OpenedGradientA(
            t, cipher.open(theirs.gradient, tuple(theirs.gradient.shape)), opened_loss
        )
        if more:
            cipher.prepare(own=0, other=gradient.size)
        opened = yield from receive(OpenedGradientB)
        check_iteration(opened, t)
        change = cipher.unmask(opened.gradient, secret, tuple(gradient.shape))
        yield self.learned(state.task, t, "gradient", change)
        network = self.step(network, change, state)
        return network, self.keep(state, network, loss, False)

    # --- Algorithm 2 -----------------------------------------------------------------------------

    def _predict(self, request: PredictRequest) -> Program[None]:
        if request.by == "a":
            yield from self._predicted_by_a(request)
        elif request.by == "b":
            yield from self._predict_for_a(request)
        else:
            raise WireError(f"unknown kind of prediction {request.by[:20]!r}.")

    def _predicted_by_a(self, request: PredictRequest) -> Program[None]:
        try:
            # None named: all there are, which A does not know where it did not train with them.
            rows = (
                check_numbers("rows", request.rows, len(self.X))
                if len(request.rows)
                else np.arange(len(self.X))
            )
        except InvalidParameter as error:
            raise WireError(
                f"the other party asks for rows that are none: {error.message}"
            ) from None
        hidden = forward(self.trained(request.task), self.X[rows]).hidden
        yield HiddenRows(self.cipher.encrypt(hidden))
        masked = yield from receive(MaskedScores)
        yield OpenedScores(self.cipher.open(masked.scores, (len(rows),)))
        answer = yield from receive(Labels)
        labels = check_labels(answer.labels, "labels of the other party")
        if len(labels) != len(rows):
            raise WireError("the other party sent another number of labels than rows.")
        self.predicted = rows, labels
        yield self.learned(request.task, -1, "labels", labels)

    def _predict_for_a(self, request: PredictRequest) -> Program[None]:
        """(10), with Phi^B made of the labels B was told."""
        if self.predicted is None:
            raise WireError("the other party asks for predictions before it gave any labels.")
        rows, labels = self.predicted
        network = self.trained(request.task)
        phi = translator(forward(network, self.X[rows]).hidden, labels)
        got = yield from receive(HiddenRows)
        shape = (got.hidden.shape[0] if len(got.hidden.shape) else 0, len(phi))
        masked, secret = self.cipher.mask(self.cipher.load(got.hidden, shape) @ phi)
        yield MaskedScores(masked)
        opened = yield from receive(OpenedScores)
        scores = self.cipher.unmask(opened.scores, secret, shape[:1])
        yield self.learned(request.task, -1, "scores", scores)
        yield Labels(sign_labels(scores))
