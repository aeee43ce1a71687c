"""What a fitted model carries with it when it is saved: its release, and nothing else of the data."""

import pickle

import numpy as np
import pytest

from dpcheck import mechanisms
from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms import DPHTL, DPIW, FederatedTransfer, Federation, Source

ONE_SET = ("PLR", "PLRFS", "PSTF", "PSTS", "MajorityVote", "WeightedVote", "OutputLogistic")
TRANSFER = ("SimComb", "PPTLFS", "PSTH", "Direct", "SourceD")


def rows(number, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((number, 10)) / 5
    return X, (X[:, 0] > 0).astype(int)


def fitted(name, number):
    X, y = rows(number)
    if name == "DPIW":
        return DPIW().fit(abs(X), public=abs(rows(40, 1)[0]))
    if name == "DPHTL":
        sources = [Source(*rows(number, seed), rows(number, seed + 2)[0]) for seed in (0, 1)]
        return DPHTL().fit(*rows(40, 5), sources=sources, public=rows(40, 6)[0])
    model = getattr(mechanisms, name)()
    return model.fit(X, y, *rows(number, 1)) if name in TRANSFER else model.fit(X, y)


@pytest.mark.parametrize("name", [*ONE_SET, *TRANSFER, "DPIW", "DPHTL"])
def test_a_saved_model_does_not_grow_with_the_rows(name):
    small, large = (len(pickle.dumps(fitted(name, number))) for number in (200, 2000))
    # A number of rows may take a byte more; ten times as many rows may not.
    assert large - small < 64


@pytest.mark.parametrize("name", [*ONE_SET, *TRANSFER])
def test_a_saved_model_has_no_diagnostic_of_the_private_rows(name):
    """The gradient the solver left is a function of the data without noise."""
    X, y = rows(200)
    others = rows(200, 1) if name in TRANSFER else ()
    model = getattr(mechanisms, name)()

    def public_state(X):
        # The same noise on other data: what differs is the release, and nothing but the release.
        model.fit(X, y, *others, rng=np.random.default_rng(0))
        state = dict(vars(model))
        state.pop("release_")
        return pickle.dumps(state)

    assert public_state(X) == public_state(X[::-1].copy())


def test_a_loaded_model_predicts_the_same():
    X = rows(200)[0]
    for name in (*ONE_SET, *TRANSFER):
        model = fitted(name, 200)
        again = pickle.loads(pickle.dumps(model))
        assert (again.predict_proba(X) == model.predict_proba(X)).all(), name
        assert not hasattr(model, "gradient_norm_")


def test_a_federation_in_one_process_is_not_saved():
    X, y = rows(30)
    data = Federation(X, 2 * y - 1, rows(30, 1)[0], np.arange(20), np.arange(20))
    model = FederatedTransfer(iterations=2)
    assert pickle.loads(pickle.dumps(model)).iterations == 2
    model.fit(data, rng=np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="both parties' rows"):
        pickle.dumps(model)
