"""The code behind the stacking tables: loaders, splits without overlap, one small table."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from dpcheck.core.errors import UsageError
from dpcheck.reproduce.stacking import table as reproduce_stacking
from dpcheck.reproduce.stacking import trials as stacking_trials
from dpcheck.reproduce.stacking.data import Digits, load_digits, load_posts
from dpcheck.reproduce.stacking.table import (
    _digit_trial,
    _public_digits,
    _transfer_trial,
    pst_news20,
)


def toy_digits(per_digit: int = 60) -> Digits:
    """Random images with a bright pixel that gives the digit away; every image is unique."""
    rng = np.random.default_rng(0)
    digits = np.repeat(np.arange(10), per_digit)
    images = rng.random((len(digits), 120)) / 4
    images[np.arange(len(digits)), digits] = 1
    return Digits(images, digits, "toys")


def test_loaders_read_the_layout_and_name_what_is_missing(tmp_path) -> None:
    with pytest.raises(UsageError, match=r"mnist\.npz is missing"):
        load_digits(tmp_path)
    with pytest.raises(UsageError, match="20newsgroups"):
        load_posts(tmp_path)
    (tmp_path / "mnist").mkdir()
    np.savez(
        tmp_path / "mnist" / "mnist.npz",
        x_train=np.full((2, 28, 28), 255, np.uint8),
        y_train=np.array([0, 8], np.uint8),
        x_test=np.zeros((1, 28, 28), np.uint8),
        y_test=np.array([9], np.uint8),
    )
    digits = load_digits(tmp_path)
    assert digits.images.shape == (3, 784)
    assert digits.images.max() == 1
    assert digits.digits.tolist() == [0, 8, 9]
    (tmp_path / "20newsgroups").mkdir()
    with gzip.open(tmp_path / "20newsgroups" / "20news_bydate.jsonl.gz", "wt") as file:
        post = {"split": "train", "group": "sci.med", "id": "1", "text": "From: a\n\nbody\n\nmore"}
        file.write(json.dumps(post) + "\n")
    posts = load_posts(tmp_path)
    assert posts.texts == ["body\n\nmore"]
    assert posts.train.tolist() == [True]


def test_bundled_digits_load() -> None:
    digits = load_digits(None)
    assert digits.images.shape == (5000, 784)
    assert np.bincount(digits.digits).tolist() == [500] * 10


def test_splits_do_not_overlap_and_differ_between_repetitions() -> None:
    digits = toy_digits()
    trial = _transfer_trial(digits, (0, 8, 9), 0, public=None)
    X_source, _, X_target, y_target = trial.train
    everything = np.concatenate([X_source, X_target, trial.test[0]])
    assert len(np.unique(everything.round(9), axis=0)) == len(everything)
    assert len(X_target) == 4 * len(trial.test[0])
    assert set(y_target) == {0.0, 1.0}
    again = _transfer_trial(digits, (0, 8, 9), 0, public=None)
    other = _transfer_trial(digits, (0, 8, 9), 1, public=None)
    np.testing.assert_array_equal(again.train[0], X_source)
    assert not np.array_equal(other.train[1], trial.train[1])


def test_rows_without_a_leak_know_nothing_of_the_private_digits() -> None:
    """Changing the private images changes neither the public projection nor the bounds."""
    digits = toy_digits()
    changed = Digits(digits.images.copy(), digits.digits, "toys")
    changed.images[np.isin(digits.digits, (0, 8, 9))] *= 0.5
    (pca, space), (pca2, space2) = _public_digits(digits), _public_digits(changed)
    np.testing.assert_array_equal(pca.components_, pca2.components_)
    assert space.importances == space2.importances
    assert space.sorted_bounds == space2.sorted_bounds
    leaky = [_digit_trial(d, (0, 8), 0, public=None).space.bound for d in (digits, changed)]
    assert leaky[0] != leaky[1]


def test_a_small_table_has_every_row_and_learns(monkeypatch) -> None:
    monkeypatch.setattr(reproduce_stacking, "load_digits", lambda _: toy_digits(200))
    monkeypatch.setattr(reproduce_stacking, "EPSILONS", (50.0,))
    monkeypatch.setattr(reproduce_stacking, "REPETITIONS", 2)
    monkeypatch.setattr(reproduce_stacking, "LAMBDAS", (1e-2,))
    monkeypatch.setattr(stacking_trials, "DRAWS", 1)
    lines: list[str] = []
    pst_news20(None, lines.append)
    assert "not bundled" in lines[0]
    rows = [line.split("|") for line in lines if line.startswith("| P")]
    assert [(row[1].strip(), row[2].strip()) for row in rows] == [
        *(("PST-F(W)", r) for r in ("printed", "corrected", "tight", "same lam", "no leak")),
        *(("PST-F(U)", r) for r in ("printed", "corrected", "tight", "same lam", "no leak")),
        *(("PST-S", r) for r in ("corrected", "tight", "same lam", "no leak")),
        *(("PLR", r) for r in ("corrected", "tight", "same lam", "no leak")),
    ]
    best = {row[1].strip(): float(row[3].split()[0]) for row in rows if "tight" in row[2]}
    assert best["PLR"] > 0.95
