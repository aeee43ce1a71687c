"""[Liu2018] Theorem 1 by its own definition: infinitely many inputs of B give A the same output."""

import numpy as np
import pytest

from dpcheck.mechanisms import FederatedTransfer, Federation
from dpcheck.mechanisms.federated.protocol.autoencoder import Layer


class Rotated(FederatedTransfer):
    """The same, but B's first weights are turned back by a rotation of its features."""

    def _network(self, X, rng):
        first, *rest = super()._network(X, rng)
        if X.shape[1] == len(self.turn):  # B's
            first = Layer(self.turn.T @ first.weights, first.bias)
        return (first, *rest)


def federation(turn=None):
    rng = np.random.default_rng(1)
    X_a, X_b = rng.standard_normal((30, 5)), rng.standard_normal((24, 6))
    y = np.where(X_a[:, 0] > 0, 1, -1)
    return Federation(X_a, y, X_b if turn is None else X_b @ turn, np.arange(16), np.arange(16))


def seen_by_a(model, data):
    model.fit(data, rng=np.random.default_rng(2))
    scores = model.decision_function()
    names = sorted({item.name for item in model.transcript_.learned if item.party == "a"})
    return [value for name in names for value in model.transcript_.view("a", name)], scores


@pytest.mark.parametrize("seed", range(3))
def test_rotating_features_and_first_weights_changes_nothing_that_a_sees(seed):
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((6, 6)))[0]
    plain = seen_by_a(FederatedTransfer(iterations=6), federation())
    model = Rotated(iterations=6)
    model.turn = turn
    turned = seen_by_a(model, federation(turn))
    assert len(plain[0]) > 6  # gradients and losses of every step
    for one, other in zip(plain[0], turned[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(plain[1], turned[1], rtol=1e-7, atol=1e-9)
    # Another input indeed, and not one that A could not tell if the weights were left alone.
    assert not np.allclose(federation().X_b, federation(turn).X_b)
    alone = seen_by_a(FederatedTransfer(iterations=6), federation(turn))
    assert not np.allclose(alone[1], plain[1])
