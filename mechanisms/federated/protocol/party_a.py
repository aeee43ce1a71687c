"""Party A of federated transfer learning: features and labels; it leads ([Liu2018] Algorithms 1-2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpcheck.core.errors import InvalidParameter, WireError
from dpcheck.mechanisms.federated.protocol.autoencoder import (
    Array,
    Network,
    Trace,
    flatten,
    forward,
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
    TrainRequest,
)
from dpcheck.mechanisms.federated.protocol.model import (
    KnownToA,
    SentByB,
    check_labels,
    gradient_of_a,
    loss_seen_by_a,
    sent_by_a,
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
from dpcheck.mechanisms.federated.protocol.state import Checkpoints, Settings, State

_MOST_ROWS = 10**8


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One training, as A sees it.

    `rows` are the rows of A in use, `pairs` the positions in the list of common rows in use,
    `labelled` the rows of B whose label A uses and `labels` those labels.
    """

    name: str
    rows: Array
    pairs: Array
    labelled: Array
    labels: Array
    model: str = "transfer"


class PartyA(PartyBase):
    """The party with labels: it starts every algorithm, and ends it.

    Reference: [Liu2018] Algorithms 1 and 2. Not differentially private: `Learned` records say what
    A can read. Assumes: B follows the protocol (honest but curious).
    """

    party = "a"

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
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
        self.y = check_labels(y)
        if len(self.y) != len(self.X):
            raise InvalidParameter(f"{len(self.y)} labels for {len(self.X)} rows.", name="y")
        self.tasks: dict[str, Task] = {}
        self.rows_of_b = 0  # known once B is ready

    def whole_task(self, name: str, common_of_b: ArrayLike, labelled: int | None = None) -> Task:
        """All rows and pairs; labels for the first `labelled` pairs (None: all of them)."""
        partners = np.asarray(common_of_b, dtype=np.int64)
        known = slice(None, labelled)
        return Task(
            name,
            np.arange(len(self.X)),
            np.arange(len(self.common)),
            partners[known],
            self.y[self.common[known]],
        )

    # --- Algorithm 1 -----------------------------------------------------------------------------

    def train(self, task: Task, common_of_b: Array) -> Program[Network]:
        """Train with B; both start from the last iteration both have kept."""
        available = np.array(self.checkpoints.available(task.name), dtype=np.int64)
        yield TrainRequest(task.name, task.model, task.labelled, common_of_b[task.pairs], available)
        ready = yield from receive(Ready)
        if ready.task != task.name or ready.start not in (0, *available):
            raise WireError("the other party starts a training this party cannot start.")
        if not len(self.common) <= ready.rows <= _MOST_ROWS:
            raise WireError(f"the other party says it has {ready.rows} rows.")
        self.tasks[task.name], self.rows_of_b = task, ready.rows
        network = self.initial if task.model == "transfer" else ()
        network, state = self.resume(task.name, ready.start, network)
        while True:
            stop = state.stopped or state.iteration == self.settings.iterations
            yield Decision(state.iteration, stop)
            if stop:
                return self.finish_training(state, network)
            network, state = yield from self._iteration(task, network, state)

    def _iteration(
        self, task: Task, network: Network, state: State
    ) -> Program[tuple[Network, State]]:
        t, objective, cipher = state.iteration, self.settings.objective, self.cipher
        trace, known = self._trace(task, network), self._known(task)
        sent = sent_by_a(objective, trace.hidden, known)
        sent = sent._replace(curvature=upper_triangles(sent.curvature))
        # Levels: what is never multiplied again is scaled up now, where it costs nothing.
        yield ComponentsA(
            t,
            cipher.encrypt(sent.curvature, 1),
            cipher.encrypt(sent.slope, 2),
            cipher.encrypt(sent.aligned, 2),
        )
        parameters = flatten(network)
        cipher.prepare(own=0, other=parameters.size + 1)
        got = yield from receive(ComponentsB)
        check_iteration(got, t)
        rows, pairs, d = len(task.labels), len(task.pairs), trace.hidden.shape[1]
        received = SentByB(
            from_triangles(cipher.load(got.products, (rows, d * (d + 1) // 2)), d),
            cipher.load(got.hidden, (rows, d)),
            cipher.load(got.aligned, (pairs, d)),
            cipher.load(got.local_loss, ()),
        )
        loss_sealed, loss_secret = cipher.seal(
            loss_seen_by_a(objective, network, trace.hidden, known, received)
        )
        gradient = (
            flatten(gradient_of_a(objective, network, trace, known, received))
            if network
            else parameters
        )
        masked, secret = cipher.mask(gradient)
        yield MaskedGradientA(t, masked, loss_sealed)
        if t + 1 < self.settings.iterations:  # while B works
            cipher.prepare(own=sum(np.size(part) for part in sent), other=0)
        theirs = yield from receive(MaskedGradientB)
        check_iteration(theirs, t)
        opened = yield from receive(OpenedGradientA)
        check_iteration(opened, t)
        gradient = cipher.unmask(opened.gradient, secret, parameters.shape)
        loss = float(cipher.unmask(opened.loss, loss_secret, ()))
        yield self.learned(task.name, t, "gradient", gradient)
        yield self.learned(task.name, t, "loss", loss)
        yield OpenedGradientB(t, cipher.open(theirs.gradient, tuple(theirs.gradient.shape)))
        if network:
            network = self.step(network, gradient, state)
        return network, self.keep(state, network, loss, self._converged(state, loss))

    def _converged(self, state: State, loss: float) -> bool:
        tolerance = self.settings.tolerance
        if tolerance is None or not len(state.losses):
            return False
        return bool(state.losses[-1] - loss <= tolerance)

    def _trace(self, task: Task, network: Network) -> Trace:
        if task.model == "transfer":
            return forward(network, self.X[task.rows])
        # Self-learning: labels for representations, so that Phi is (1, -1) and B learns alone.
        return Trace((np.stack([task.labels, -task.labels], axis=1),))

    def _known(self, task: Task) -> KnownToA:
        if task.model == "transfer":
            where = np.full(len(self.X), -1)
            where[task.rows] = np.arange(len(task.rows))
            return KnownToA(self.y[task.rows], task.labels, where[self.common[task.pairs]])
        return KnownToA(task.labels, task.labels, np.zeros(0, dtype=np.int64))

    # --- Algorithm 2 -----------------------------------------------------------------------------

    def predict(
        self, task_name: str, rows_of_b: ArrayLike | None = None
    ) -> Program[tuple[Array, Array]]:
        """Scores and labels of rows of B (None: of all); A learns both, B the labels."""
        rows = np.arange(self.rows_of_b) if rows_of_b is None else np.asarray(rows_of_b)
        if not len(rows):
            return np.zeros(0), np.zeros(0, dtype=np.int64)
        yield PredictRequest(task_name, "a", rows.astype(np.int64))
        self.cipher.prepare(own=0, other=len(rows))
        return (yield from self._scored(task_name, self.translator(task_name), len(rows)))

    def translator(self, task_name: str) -> Array:
        """Phi^A of a finished training: all that A needs to score rows of B."""
        task, network = self.tasks[task_name], self.trained(task_name)
        return translator(self._trace(task, network).hidden, self._known(task).y)

    def predict_new(self, phi: Array) -> Program[tuple[Array, Array]]:
        """Scores and labels of all rows B brings, by the translator of an earlier training."""
        yield PredictRequest("train", "a", np.zeros(0, dtype=np.int64))
        return (yield from self._scored("train", phi, None))

    def _scored(self, task_name: str, phi: Array, rows: int | None) -> Program[tuple[Array, Array]]:
        got = yield from receive(HiddenRows)
        number = (got.hidden.shape[0] if len(got.hidden.shape) else 0) if rows is None else rows
        hidden = self.cipher.load(got.hidden, (number, len(phi)))
        masked, secret = self.cipher.mask(hidden @ phi)
        yield MaskedScores(masked)
        opened = yield from receive(OpenedScores)
        scores = self.cipher.unmask(opened.scores, secret, (number,))
        yield self.learned(task_name, -1, "scores", scores)
        labels = sign_labels(scores)
        yield Labels(labels)
        return scores, labels

    def predict_own(self, task_name: str, rows: ArrayLike) -> Program[Array]:
        """(10): B predicts held-out rows of A; A learns the labels, B the scores."""
        network = self.trained(task_name)
        numbers = check_numbers("rows", rows, len(self.X))
        yield PredictRequest(task_name, "b", np.zeros(0, dtype=np.int64))
        yield HiddenRows(self.cipher.encrypt(forward(network, self.X[numbers]).hidden))
        masked = yield from receive(MaskedScores)
        yield OpenedScores(self.cipher.open(masked.scores, (len(numbers),)))
        answer = yield from receive(Labels)
        labels = check_labels(answer.labels, "labels of the other party")
        if len(labels) != len(numbers):
            raise WireError("the other party sent another number of labels than rows.")
        yield self.learned(task_name, -1, "labels", labels)
        return labels

    def finish(self) -> Program[None]:
        """Tell B that nothing more is asked, and wait until it knows."""
        yield Finish()
        yield from receive(Finish)


def sign_labels(scores: Array) -> Array:
    """+1 where the score is at least 0, else -1."""
    return np.where(scores >= 0, 1, -1).astype(np.int64)
