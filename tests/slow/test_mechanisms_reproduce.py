"""The code behind the stacking tables: loaders, splits without overlap, one small table."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dpcheck.core.errors import UsageError
from dpcheck.mechanisms import PSTF
from dpcheck.reproduce.stacking import bounds, figures, hospitals
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


def test_other_groups_and_other_importances_are_of_the_same_features() -> None:
    trial = _digit_trial(toy_digits(), (0, 8), 0, public=None)
    other = figures._regrouped(trial, 10).space
    assert sorted(column for group in other.sorted_groups for column in group) == list(range(100))
    assert len(other.random_groups) == len(other.importances) == 10
    # The same features, ten to a group: two groups of the old ones in one of the new.
    assert sorted(other.sorted_groups[0] + other.sorted_groups[1]) == sorted(
        trial.space.sorted_groups[0]
    )
    assert other.importances[0] + other.importances[1] == pytest.approx(trial.space.importances[0])
    for alpha in (0.9, 1.0, 1.1):
        q = np.array(figures._reweighted(trial, alpha).space.importances)
        naive = [sum(alpha**i for i in range(20 * k, 20 * k + 20)) for k in range(5)]
        np.testing.assert_allclose(q, np.array(naive) / sum(naive))


def test_votes_and_single_models_are_those_of_the_release() -> None:
    trial = _digit_trial(toy_digits(200), (0, 8), 0, public=None)
    model = PSTF(500.0, 1e-3, **trial.space.weighted())
    model.fit(*trial.train, rng=np.random.default_rng(0))
    X, y = trial.test
    found = figures.combined(model, X, y)
    slices = model.design_.slices()
    margins = np.column_stack(
        [
            model.design_.block(f"low{k}").low_features(X) @ model.release_[slices[f"low{k}"]]
            for k in range(5)
        ]
    )
    for k in range(5):
        assert found[f"C-{k}"] == roc_auc_score(y, margins[:, k])
    weighted = (margins > 0) @ np.array(trial.space.importances)
    assert found["C-wmv"] == pytest.approx(roc_auc_score(y, weighted))
    assert found["C-hl"] == roc_auc_score(y, model.decision_function(X))
    assert figures.plain_auc(trial) > 0.95


def test_the_excess_loss_of_a_learning_bound_is_that_of_labels() -> None:
    world, rng = bounds.World(6), np.random.default_rng(0)
    weights = np.array([2.0, 0.5, -1.0, 0.0, 0.3, 0.0])
    X, y = world.draw(400_000, rng)
    assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-12
    signs = 2 * y - 1
    naive = np.logaddexp(0, -signs * (X @ weights)) - np.logaddexp(0, -signs * 5 * X[:, 0])
    assert world.excess(weights, 1) == pytest.approx(naive.mean(), abs=5 * naive.std() / 600)
    best = np.zeros(6)
    best[0] = bounds.MARGIN
    assert world.excess(best, 1) == 0
    assert bounds.bound_groups(20, 0.1) < bounds.bound_plr(20, 0.1)
    # The weights of a group come back in the scale of the raw rows.
    X, y = world.draw(20_000, rng)
    found = bounds.of_group(1e6, 6)(X, y, rng)
    assert found[0] == pytest.approx(bounds.MARGIN, rel=0.2)
    assert (found[2:] == 0).all()


def hospital_rows(tmp_path, rows):
    names = [
        *hospitals.NUMBERS,
        *("age", "gender", "race", "change", "diabetesMed", "A1Cresult", "max_glu_serum"),
        *("admission_type_id", "discharge_disposition_id", "diag_1", "patient_nbr", "readmitted"),
        "medical_specialty",
        *hospitals.DRUGS,
    ]
    usual = dict.fromkeys(names, "No") | dict.fromkeys(hospitals.NUMBERS, "3")
    usual |= {"age": "[60-70)", "gender": "Female", "diag_1": "250.83", "readmitted": "NO"}
    (tmp_path / "diabetes130").mkdir()
    with gzip.open(tmp_path / hospitals.FILE, "wt") as file:
        table = csv.DictWriter(file, names)
        table.writeheader()
        table.writerows({**usual, **row} for row in rows)


def test_hospitals_keep_the_first_stay_and_scale_by_what_can_be(tmp_path) -> None:
    hospital_rows(
        tmp_path,
        [
            {"patient_nbr": "1", "medical_specialty": "A", "time_in_hospital": "14"},
            {"patient_nbr": "1", "medical_specialty": "B", "readmitted": "<30"},
            {"patient_nbr": "2", "medical_specialty": "?", "readmitted": ">30", "diag_1": "V57"},
            {"patient_nbr": "3", "medical_specialty": "A", "num_medications": "500"},
        ],
    )
    data = hospitals.load(tmp_path)
    assert data.centre.tolist() == ["A", "?", "A"]
    assert data.y.tolist() == [0.0, 1.0, 0.0]
    assert data.X.min() >= 0
    assert data.X.max() == 1
    assert data.X[0, 0] == 1
    assert data.largest() == ["A"]
    # 250 lies in the chapter from 240 to 279, the third; a code with a letter in the last group.
    assert data.X[0, -18:].argmax() == 2
    assert data.X[1, -18:].argmax() == 17
    with pytest.raises(UsageError, match="--data-dir"):
        hospitals.load(None)


def test_the_protocol_runs_on_hospitals(tmp_path, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for patient in range(900):
        back = rng.random() < 0.5
        rows.append(
            {
                "patient_nbr": str(patient),
                "medical_specialty": "?AABC"[patient % 5],
                "readmitted": "<30" if back else "NO",
                **{name: str(rng.integers(0, 5)) for name in hospitals.NUMBERS},
                "number_inpatient": "5" if back else "0",
                "race": rng.choice(["Caucasian", "AfricanAmerican", "Hispanic"]),
                "A1Cresult": rng.choice([">7", ">8", "Norm"]),
                "max_glu_serum": rng.choice([">200", "None"]),
                "admission_type_id": str(rng.integers(1, 4)),
                "discharge_disposition_id": rng.choice(["1", "3", "6"]),
                "diag_1": str(rng.integers(1, 999)),
                "insulin": rng.choice(["Up", "Down", "No"]),
                **{name: rng.choice(["No", "Steady"]) for name in hospitals.DRUGS[:-1]},
            }
        )
    hospital_rows(tmp_path, rows)
    monkeypatch.setattr(hospitals, "REHEARSED", (80, 60))
    monkeypatch.setattr(hospitals, "EPSILONS", (50.0,))
    one = dict.fromkeys(("source", "target", "high", "lam"), (0.01,))
    monkeypatch.setattr(
        hospitals,
        "pptl_methods",
        lambda: [
            replace(m, grid={name: one[name] for name in m.grid})
            for m in reproduce_stacking.pptl_methods()
        ],
    )
    lines: list[str] = []
    hospitals.pptl_fs_hospitals(tmp_path, lines.append, repetitions=2, centres=3)
    text = "\n".join(lines)
    assert "Source: A and B" in text
    (target,) = [line for line in lines if line.startswith("| C |")]
    assert len(target.split("|")) == 3 + 7 + 1
    (direct,) = [line for line in lines if line.startswith("| Direct |")]
    assert float(direct.split("|")[2].split()[0]) > 0.9  # at epsilon 50 it is learned
