"""Algorithms 1-3 end to end, encrypted and plain, against one holder of all data; and corrupt parties."""

from dataclasses import replace

import numpy as np
import pytest

from dpcheck.core.errors import (
    DpcheckError,
    InvalidParameter,
    PartiesDisagree,
)
from dpcheck.mechanisms.federated.protocol import messages
from dpcheck.mechanisms.federated.protocol.autoencoder import add, backward, flatten, forward, scale
from dpcheck.mechanisms.federated.protocol.cipher import PlainCipher
from dpcheck.mechanisms.federated.protocol.link import ObjectLink
from dpcheck.mechanisms.federated.protocol.local import converse
from dpcheck.mechanisms.federated.protocol.model import (
    KnownToA,
    KnownToB,
    Objective,
    joint_gradients,
    translator,
)
from dpcheck.mechanisms.federated.protocol.party_a import PartyA
from dpcheck.mechanisms.federated.protocol.party_b import PartyB
from dpcheck.mechanisms.federated.protocol.state import Settings
from dpcheck.mechanisms.federated.protocol.validation import split_folds, weighted_f1
from dpcheck.mechanisms.ftl import FederatedTransfer, Federation

OPTIONS = {"hidden": (3,), "rate": 0.5, "iterations": 3}


def network_of(model, party):
    return flatten(model.parties_["ab".index(party)].networks["train"])


# --- naive twins: one holder of all data, no messages ---------------------------------------------


def twin_training(objective, rate, iterations, networks, X_a, X_b, known_a, known_b):
    for _ in range(iterations):
        traces = forward(networks[0], X_a), forward(networks[1], X_b)
        joint = joint_gradients(objective, networks, traces, known_a, known_b)
        networks = tuple(
            add(net, scale(gradient, -rate))
            for net, gradient in zip(networks, (joint.of_a, joint.of_b), strict=True)
        )
    return networks


def twin_alone(objective, rate, iterations, network, X, y):
    """Taylor-logistic regression on the difference of two units: log 2 - y phi/2 + phi^2/8."""
    for _ in range(iterations):
        trace = forward(network, X)
        phi = trace.hidden[:, 0] - trace.hidden[:, 1]
        slope = objective.label_sign * y / 2 + phi / 4
        gradient = backward(network, trace, np.stack([slope, -slope], axis=1))
        gradient = add(gradient, scale(network, objective.regularization))
        network = add(network, scale(gradient, -rate))
    return network


@pytest.mark.parametrize("variant", ["corrected", "printed"])
@pytest.mark.parametrize("hidden", [(3,), (4, 2)])
def test_training_and_prediction_are_those_of_one_holder(federation, hidden, variant):
    data = federation()
    model = FederatedTransfer(hidden=hidden, rate=0.5, iterations=4, variant=variant)
    model.fit(data, rng=np.random.default_rng(1))
    a, b = model.parties_
    known = (
        KnownToA(data.y_a, data.y_a[data.common_a[:5]], data.common_a),
        KnownToB(data.common_b[:5], data.common_b),
    )
    objective = Objective(variant=variant)
    twin = twin_training(objective, 0.5, 4, (a.initial, b.initial), data.X_a, data.X_b, *known)
    np.testing.assert_allclose(network_of(model, "a"), flatten(twin[0]), rtol=0, atol=1e-12)
    np.testing.assert_allclose(network_of(model, "b"), flatten(twin[1]), rtol=0, atol=1e-12)
    scores = forward(twin[1], data.X_b).hidden @ translator(
        forward(twin[0], data.X_a).hidden, data.y_a
    )
    np.testing.assert_allclose(model.decision_function(), scores, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict([2, 0]), np.where(scores[[2, 0]] >= 0, 1, -1))


def assert_same_models(encrypted, plain):
    for party in "ab":
        np.testing.assert_allclose(
            network_of(encrypted, party), network_of(plain, party), rtol=0, atol=1e-6
        )
    np.testing.assert_allclose(encrypted.losses_, plain.losses_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        encrypted.decision_function(), plain.decision_function(), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("alignment", ["inner", "distance"])
def test_the_encrypted_run_is_the_plain_one(federation, weak_transfer, alignment):
    data = federation()
    options = {**OPTIONS, "alignment": alignment}
    encrypted = weak_transfer(**options).fit(data, rng=np.random.default_rng(1))
    plain = FederatedTransfer(**options).fit(data, rng=np.random.default_rng(1))
    assert_same_models(encrypted, plain)
    assert np.abs(network_of(plain, "b") - flatten(plain.parties_[1].initial)).max() > 0.01


def test_the_encrypted_run_with_1024_bits_on_two_processes(federation):
    data = federation(rows_a=8, rows_b=8, common=6)
    options = {**OPTIONS, "iterations": 2}
    encrypted = FederatedTransfer(transport="in-process", key_bits=1024, jobs=2, **options)
    encrypted.fit(data, rng=np.random.default_rng(1))
    plain = FederatedTransfer(**options).fit(data, rng=np.random.default_rng(1))
    assert_same_models(encrypted, plain)
    sent = encrypted.transcript_.received["b"]
    widths = {m.curvature.width for m in sent if isinstance(m, messages.ComponentsA)}
    assert widths == {256}  # a 1024-bit modulus squared


def test_training_stops_when_the_loss_no_longer_falls(federation):
    data = federation()
    free = FederatedTransfer(**{**OPTIONS, "iterations": 30}).fit(
        data, rng=np.random.default_rng(1)
    )
    falls = -np.diff(free.losses_)
    tolerance = float(np.median(falls))
    model = FederatedTransfer(**{**OPTIONS, "iterations": 30}, tolerance=tolerance)
    model.fit(data, rng=np.random.default_rng(1))
    first = int(np.argmax(falls <= tolerance)) + 2
    assert len(model.losses_) == first < 30


# --- Algorithm 3 -----------------------------------------------------------------------------------


def test_cross_validation_is_that_of_one_holder(federation):
    data = federation(rows_a=20, rows_b=15, common=12, labelled=8)
    model = FederatedTransfer(hidden=(3,), rate=0.5, iterations=10)
    ours = model.cross_validate(data, folds=2, rng=np.random.default_rng(5))

    rng = np.random.default_rng(5)
    a, b = model.parties(data, rng)
    objective, rate, steps = Objective(), 0.5, 10
    scores = []
    for fold in split_folds(20, 2, rng):
        rows = np.setdiff1d(np.arange(20), fold)
        pairs = [i for i in range(12) if data.common_a[i] not in fold]
        place = {row: i for i, row in enumerate(rows)}
        in_use = [i for i in pairs if i < 8]
        common = np.array([place[data.common_a[i]] for i in pairs])
        true = {int(data.common_b[i]): data.y_a[data.common_a[i]] for i in in_use}
        nets = twin_training(
            objective,
            rate,
            steps,
            (a.initial, b.initial),
            data.X_a[rows],
            data.X_b,
            KnownToA(data.y_a[rows], np.array(list(true.values())), common),
            KnownToB(np.array(list(true)), data.common_b[pairs]),
        )
        phi = translator(forward(nets[0], data.X_a[rows]).hidden, data.y_a[rows])
        predicted = np.where(forward(nets[1], data.X_b).hidden @ phi >= 0, 1.0, -1.0)
        labels = np.array([true.get(row, predicted[row]) for row in range(15)])
        nets = twin_training(
            objective,
            rate,
            steps,
            (a.initial, b.initial),
            data.X_a[rows],
            data.X_b,
            KnownToA(data.y_a[rows], labels, common),
            KnownToB(np.arange(15), data.common_b[pairs]),
        )
        phi_b = translator(forward(nets[1], data.X_b).hidden, predicted)
        own = np.where(forward(nets[0], data.X_a[fold]).hidden @ phi_b >= 0, 1, -1)
        scores.append(weighted_f1(data.y_a[fold], own))
    assert ours.transfer == pytest.approx(scores, abs=1e-12)

    alone = []
    y = data.y_a[data.common_a[:8]]
    for fold in split_folds(8, 2, rng):
        kept = np.setdiff1d(np.arange(8), fold)
        net = twin_alone(objective, rate, steps, b.initial_self, data.X_b[kept], y[kept])
        hidden = forward(net, data.X_b[fold]).hidden
        alone.append(weighted_f1(y[fold], np.where(hidden[:, 0] >= hidden[:, 1], 1, -1)))
    assert ours.alone == pytest.approx(alone, abs=1e-12)
    assert ours.transfers == (np.mean(scores) >= np.mean(alone))


def test_cross_validation_runs_encrypted(federation, weak_transfer):
    data = federation(rows_a=10, rows_b=8, common=6, labelled=4)
    options = {"hidden": (2,), "rate": 0.5, "iterations": 2}
    encrypted = weak_transfer(**options)
    plain = FederatedTransfer(**options)
    ours = encrypted.cross_validate(data, folds=2, rng=np.random.default_rng(2))
    theirs = plain.cross_validate(data, folds=2, rng=np.random.default_rng(2))
    assert ours == theirs
    tasks = {
        task: flatten(net) for task, net in plain.parties_[1].networks.items()
    }  # all six trainings
    assert len(tasks) == 6
    for task, network in tasks.items():
        np.testing.assert_allclose(
            flatten(encrypted.parties_[1].networks[task]), network, rtol=0, atol=1e-6
        )


def test_the_safeguard_prefers_b_alone_where_transfer_hurts(federation):
    """A's labels of its other rows are noise; B's features decide the labels of the common ones."""
    rng = np.random.default_rng(0)
    X_b = rng.normal(size=(40, 2))
    y = np.where(X_b[:, 0] > 0, 1.0, -1.0)
    y_a = np.concatenate([y, rng.choice([-1.0, 1.0], size=200)])
    data = Federation(rng.normal(size=(240, 2)), y_a, X_b, np.arange(40), np.arange(40))
    model = FederatedTransfer(hidden=(2,), rate=0.5, iterations=60)
    result = model.cross_validate(data, folds=2, rng=rng)
    assert result.alone_score > 0.8 > 0.65 > result.transfer_score
    assert not result.transfers


# --- what each party sees --------------------------------------------------------------------------


def test_the_transcript_has_what_each_party_reads(federation):
    model = FederatedTransfer(**OPTIONS).fit(federation(), rng=np.random.default_rng(1))
    seen = model.transcript_
    for party, index in (("a", 0), ("b", 1)):
        steps = np.stack(seen.view(party, "gradient", "train"))
        assert len(steps) == 3
        moved = flatten(model.parties_[index].initial) - 0.5 * steps.sum(axis=0)
        np.testing.assert_allclose(moved, network_of(model, party), rtol=0, atol=1e-12)
        np.testing.assert_allclose(seen.view(party, "loss"), model.losses_, rtol=0, atol=0)
    assert not seen.view("a", "scores")
    labels = model.predict()
    np.testing.assert_array_equal(seen.view("b", "labels")[0], labels)
    assert len(seen.view("a", "scores")[0]) == len(labels)
    assert not seen.view("b", "scores")


def test_plain_masks_hide_every_gradient_bit(federation):
    model = FederatedTransfer(**OPTIONS).fit(federation(), rng=np.random.default_rng(1))
    masked = [m for m in model.transcript_.received["b"] if isinstance(m, messages.MaskedGradientA)]
    mine = model.transcript_.view("a", "gradient")
    assert len(masked) == len(mine) == 3
    for message, gradient in zip(masked, mine, strict=True):
        assert message.gradient.dtype == np.uint64
        assert not np.isin(message.gradient, gradient.view(np.uint64)).any()


def test_parties_with_other_settings_do_not_start(federation):
    data = federation()
    a, _ = FederatedTransfer(**OPTIONS).parties(data, np.random.default_rng(0))
    _, b = FederatedTransfer(**{**OPTIONS, "rate": 0.25}).parties(data, np.random.default_rng(0))
    with pytest.raises(PartiesDisagree, match=r"rate \(0.25 here, 0.5 there\)"):
        converse(a.meet(), b.meet(), ObjectLink.pair())


# --- what users get wrong --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"transport": "carrier pigeon"}, "plain or in-process"),
        ({"transport": "in-process", "key_bits": 512}, "1024, 2048, 3072"),
        ({"iterations": 0}, "iterations must be at least 1"),
        ({"rate": -1.0}, "rate must be above 0"),
        ({"hidden": ()}, "at least one width"),
        ({"variant": "private?"}, "corrected, printed"),
    ],
)
def test_wrong_options_are_named(federation, options, words):
    with pytest.raises(InvalidParameter, match=words):
        FederatedTransfer(**options).fit(federation(), rng=np.random.default_rng(0))


def test_wrong_data_is_named(federation):
    good = federation()
    rows = np.arange(3)
    for change, words in (
        ({"common_a": good.common_a[:3]}, "same, non-zero number"),
        ({"labelled": 99}, "between 1 and the 7"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            replace(good, **change)
    for change, words in (
        ({"y_a": good.y_a * 2}, r"\+1 and -1"),
        ({"y_a": good.y_a[:5]}, "5 labels for 14 rows"),
        ({"X_b": np.full_like(good.X_b, np.nan)}, "NaN"),
        ({"common_b": good.common_b + 50}, "row numbers below 12"),
        ({"common_b": np.zeros(7, dtype=int)}, "twice"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            FederatedTransfer(**OPTIONS).fit(replace(good, **change), rng=np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="at least 2 folds"):
        FederatedTransfer(**OPTIONS).cross_validate(good, folds=1, rng=np.random.default_rng(0))
    a = PartyA(
        good.X_a,
        good.y_a,
        good.common_a,
        FederatedTransfer(**OPTIONS).parties(good, np.random.default_rng(0))[0].initial,
        settings=Settings(hidden=(3,)),
        cipher=PlainCipher("a"),
    )
    assert a.whole_task("t", good.common_b).labels.shape == (7,)
    with pytest.raises(InvalidParameter, match="3 features to 3 hidden"):
        PartyB(
            good.X_a,
            rows,
            FederatedTransfer(**OPTIONS).parties(good, np.random.default_rng(0))[1].initial,
            settings=Settings(hidden=(3,)),
            cipher=PlainCipher("b"),
        )
    assert issubclass(InvalidParameter, DpcheckError)
