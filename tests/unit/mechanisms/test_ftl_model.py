"""The FTL mathematics against a per-sample loop, complex steps, and numbers that only add."""

from __future__ import annotations

import cmath
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms.federated.protocol import autoencoder as nets
from dpcheck.mechanisms.federated.protocol import model

OBJECTIVES = [
    model.Objective(alignment_weight=0.3, regularization=0.07, alignment=alignment, variant=variant)
    for alignment in ("inner", "distance")
    for variant in ("corrected", "printed")
]


@dataclass
class Case:
    objective: model.Objective
    X: tuple[np.ndarray, np.ndarray]
    networks: tuple[nets.Network, nets.Network]
    known_a: model.KnownToA
    known_b: model.KnownToB

    def traces(self) -> tuple[nets.Trace, nets.Trace]:
        a, b = (nets.forward(n, x) for n, x in zip(self.networks, self.X, strict=True))
        return a, b

    def messages(self) -> tuple[model.SentByA, model.SentByB]:
        a, b = (trace.hidden for trace in self.traces())
        return (
            model.sent_by_a(self.objective, a, self.known_a),
            model.sent_by_b(self.objective, self.networks[1], b, self.known_b),
        )


def make(objective: model.Objective, layers: tuple[int, ...], seed: int, labelled: int = 4) -> Case:
    rng = np.random.default_rng(seed)
    rows_a, rows_b = 6, 7
    known_a = model.KnownToA(
        rng.choice([-1.0, 1.0], rows_a), rng.choice([-1.0, 1.0], labelled), rng.permutation(6)[:3]
    )
    known_b = model.KnownToB(rng.permutation(7)[:labelled], rng.permutation(7)[:3])
    networks = (
        nets.initial_network((5, *layers), rng),
        nets.initial_network((4, *layers), rng),
    )
    X = (rng.normal(size=(rows_a, 5)), rng.normal(size=(rows_b, 4)))
    return Case(objective, X, networks, known_a, known_b)


def naive_loss(case: Case, theta: tuple[Any, Any], exact: bool) -> complex:
    """Objective (3) one sample and one number at a time, from the text of the paper."""

    def hidden(network: Any, x: np.ndarray) -> list[complex]:
        values: list[complex] = list(x)
        for weights, bias in network:
            values = [
                1
                / (1 + cmath.exp(-(sum(v * weights[i][o] for i, v in enumerate(values)) + bias[o])))
                for o in range(len(bias))
            ]
        return values

    o, (ka, kb) = case.objective, (case.known_a, case.known_b)
    u_a = [hidden(theta[0], x) for x in case.X[0]]
    u_b = [hidden(theta[1], x) for x in case.X[1]]
    d, printed = len(u_a[0]), o.variant == "printed"
    phi = [sum(ka.y[j] * u_a[j][k] for j in range(len(u_a))) / len(u_a) for k in range(d)]
    total: complex = 0
    for y, row in zip(ka.labels, kb.labelled, strict=True):
        score = sum(phi[k] * u_b[row][k] for k in range(d))
        c = y if printed else -y
        if exact:
            total += cmath.log(1 + cmath.exp(c * score))
        else:
            total += np.log(2) + c * score / 2 + y * y * score**2 / 8
    sign = -1 if printed else 1
    for i, j in zip(ka.common, kb.common, strict=True):
        if o.alignment == "inner":
            loss = -sum(p * q for p, q in zip(u_a[i], u_b[j], strict=True))
        else:
            loss = sum((p - q) ** 2 for p, q in zip(u_a[i], u_b[j], strict=True))
        total += sign * o.alignment_weight * loss
    for network in theta:
        for part in (p for layer in network for p in layer):
            total += o.regularization / 2 * sum(v * v for v in np.ravel(part))
    return total


def complex_step(case: Case, party: int, exact: bool) -> np.ndarray:
    """Every partial derivative, exact to rounding: Im f(x + ih) / h."""
    flat = nets.flatten(case.networks[party]).astype(complex)
    found = []
    for index in range(flat.size):
        moved = flat.copy()
        moved[index] += 1e-30j
        theta = list(case.networks)
        theta[party] = nets.unflatten(moved, case.networks[party])
        found.append(naive_loss(case, (theta[0], theta[1]), exact).imag / 1e-30)
    return np.array(found)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: f"{o.alignment}-{o.variant}")
@pytest.mark.parametrize("layers", [(3,), (4, 3), (3, 4, 2)], ids=str)
def test_messages_give_the_loss_and_gradients_of_the_naive_loop(
    objective: model.Objective, layers: tuple[int, ...]
) -> None:
    case = make(objective, layers, seed=len(layers))
    (trace_a, trace_b), (from_a, from_b) = case.traces(), case.messages()
    loss = model.loss_seen_by_a(objective, case.networks[0], trace_a.hidden, case.known_a, from_b)
    of_a = model.gradient_of_a(objective, case.networks[0], trace_a, case.known_a, from_b)
    of_b = model.gradient_of_b(objective, case.networks[1], trace_b, case.known_b, from_a)
    assert loss == pytest.approx(naive_loss(case, case.networks, exact=False).real, rel=1e-13)
    np.testing.assert_allclose(nets.flatten(of_a), complex_step(case, 0, False), atol=1e-13)
    np.testing.assert_allclose(nets.flatten(of_b), complex_step(case, 1, False), atol=1e-13)


@pytest.mark.parametrize("exact", [False, True], ids=["taylor", "logistic"])
@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: f"{o.alignment}-{o.variant}")
def test_joint_gradients_are_those_of_the_naive_loop(
    objective: model.Objective, exact: bool
) -> None:
    case = make(objective, (4, 3), seed=5)
    joint = model.joint_gradients(
        objective,
        case.networks,
        case.traces(),
        case.known_a,
        case.known_b,
        loss="logistic" if exact else "taylor",
    )
    assert joint.loss == pytest.approx(naive_loss(case, case.networks, exact).real, rel=1e-13)
    np.testing.assert_allclose(nets.flatten(joint.of_a), complex_step(case, 0, exact), atol=1e-13)
    np.testing.assert_allclose(nets.flatten(joint.of_b), complex_step(case, 1, exact), atol=1e-13)


class OnlyAdds:
    """Like a ciphertext: it can be added and multiplied by a plain number, and nothing else."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __add__(self, other: object) -> OnlyAdds:
        return OnlyAdds(self.value + (other.value if isinstance(other, OnlyAdds) else float(other)))  # type: ignore[arg-type]

    __radd__ = __add__

    def __sub__(self, other: object) -> OnlyAdds:
        assert isinstance(other, OnlyAdds)
        return OnlyAdds(self.value - other.value)

    def __mul__(self, other: object) -> OnlyAdds:
        assert not isinstance(other, OnlyAdds), "two ciphertexts cannot be multiplied"
        return OnlyAdds(self.value * float(other))  # type: ignore[arg-type]

    __rmul__ = __mul__


def sealed(values: Any) -> Any:
    return np.vectorize(OnlyAdds, otypes=[object])(values)


def opened(values: Any) -> np.ndarray:
    return np.vectorize(lambda c: c.value, otypes=[float])(values)


@pytest.mark.parametrize("layers", [(3,), (4, 3)], ids=str)
@pytest.mark.parametrize("labels", [None, 1.0, -1.0], ids=["mixed", "all +1", "all -1"])
def test_both_gradients_and_the_loss_can_be_computed_under_encryption(
    layers: tuple[int, ...], labels: float | None
) -> None:
    case = make(OBJECTIVES[2], layers, seed=8)
    if labels is not None:
        case.known_a = case.known_a._replace(labels=np.full(4, labels))
    o, (trace_a, trace_b), (from_a, from_b) = case.objective, case.traces(), case.messages()
    hidden_a = model.SentByA(*(sealed(part) for part in from_a))
    hidden_b = model.SentByB(*(sealed(p) for p in from_b[:3]), OnlyAdds(from_b.local_loss))
    arguments_a = (o, case.networks[0], trace_a, case.known_a)
    arguments_b = (o, case.networks[1], trace_b, case.known_b)
    for function, arguments, plain, cipher in (
        (model.gradient_of_a, arguments_a, from_b, hidden_b),
        (model.gradient_of_b, arguments_b, from_a, hidden_a),
    ):
        expected = nets.flatten(function(*arguments, plain))  # type: ignore[operator]
        found = nets.flatten(function(*arguments, cipher))  # type: ignore[operator]
        assert found.dtype == object
        np.testing.assert_allclose(opened(found), expected, rtol=1e-12, atol=1e-14)
    loss = model.loss_seen_by_a(o, case.networks[0], trace_a.hidden, case.known_a, hidden_b)
    plain_loss = model.loss_seen_by_a(o, case.networks[0], trace_a.hidden, case.known_a, from_b)
    assert loss.value == pytest.approx(plain_loss, rel=1e-13)


def test_corrected_taylor_is_close_to_the_logistic_loss_and_printed_is_not() -> None:
    gaps = {}
    for variant in ("corrected", "printed"):
        case = make(model.Objective(0.0, 0.0, variant=variant), (3,), seed=2)
        taylor = naive_loss(case, case.networks, exact=False).real
        margins = case.known_a.labels * (
            case.traces()[1].hidden[case.known_b.labelled]
            @ model.translator(case.traces()[0].hidden, case.known_a.y)
        )
        gaps[variant] = abs(taylor - np.logaddexp(0, -margins).sum())
        # The next Taylor term of log(1+e^-m) is -m^4/192, and it bounds the error.
        bound = (margins**4).sum() / 192
        assert (gaps[variant] <= bound) == (variant == "corrected")


def test_gradient_descent_lowers_the_loss() -> None:
    case = make(OBJECTIVES[0], (3,), seed=4)
    first = last = 0.0
    for step in range(200):
        joint = model.joint_gradients(
            case.objective, case.networks, case.traces(), case.known_a, case.known_b
        )
        first, last = (joint.loss if step == 0 else first), joint.loss
        case.networks = (
            nets.add(case.networks[0], nets.scale(joint.of_a, -0.1)),
            nets.add(case.networks[1], nets.scale(joint.of_b, -0.1)),
        )
    assert last < first - 0.1


def test_pretraining_lowers_the_reconstruction_error_and_its_gradient_is_exact() -> None:
    rng = np.random.default_rng(0)
    # Two of six features carry 8/9 of the spread, hidden behind a rotation.
    X = (
        rng.normal(size=(60, 6))
        * [1, 1, 0.25, 0.25, 0.25, 0.25]
        @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    )
    W, b, V, c = (rng.normal(size=s) for s in ((6, 3), 3, (3, 6), 6))

    def error(parts: list[np.ndarray]) -> Any:
        hidden = 1 / (1 + np.exp(-(X @ parts[0] + parts[1])))
        return ((hidden @ parts[2] + parts[3] - X) ** 2).sum() / (2 * len(X))

    gradients = nets.reconstruction_gradient([W, b, V, c], X)
    for index, gradient in enumerate(gradients):
        for place in np.ndindex(gradient.shape):
            parts = [p.astype(complex) for p in (W, b, V, c)]
            parts[index][place] += 1e-30j
            assert gradient[place] == pytest.approx(error(parts).imag / 1e-30, abs=1e-12)

    def best_error(network: nets.Network) -> float:
        hidden = np.column_stack([nets.forward(network, X).hidden, np.ones(60)])
        return float(((hidden @ np.linalg.lstsq(hidden, X, rcond=None)[0] - X) ** 2).mean())

    untrained = nets.pretrained_network(X, (2,), np.random.default_rng(1), nets.Pretraining(0))
    trained = nets.pretrained_network(X, (2,), np.random.default_rng(1), nets.Pretraining(2000))
    # The best linear summary by two numbers: what is left after two principal components.
    left = (np.linalg.svd(X - X.mean(axis=0))[1][2:] ** 2).sum() / X.size
    assert best_error(trained) < 1.5 * left < 2 * left < best_error(untrained)


def test_wrong_input_is_named() -> None:
    with pytest.raises(InvalidParameter, match="labels"):
        model.check_labels(np.array([0.0, 1.0]))
    with pytest.raises(InvalidParameter, match="variant must be one of"):
        model.Objective(variant="fixed")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="alignment_weight"):
        model.Objective(alignment_weight=-1.0)
    with pytest.raises(InvalidParameter, match="widths"):
        nets.initial_network((3,), np.random.default_rng(0))
    network = nets.initial_network((3, 2), np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="8 parameters"):
        nets.unflatten(np.zeros(9), network)
