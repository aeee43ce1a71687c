"""The DPHTL tables on made-up domains: the datasets are disjoint and every row is filled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from dpcheck.core.errors import UsageError
from dpcheck.reproduce.dphtl import data as dphtl_data
from dpcheck.reproduce.dphtl import table as reproduce_dphtl
from dpcheck.reproduce.dphtl.data import Domain, Sizes, draw

SIZES = Sizes(unlabelled=40, labelled=40, public=60, target=100, test=50)


def _domains(number, rows=400, features=60):
    """Rows of norm 1 without negative entries; the first column is the number of the row."""
    rng = np.random.default_rng(0)
    made = []
    for k in range(number):
        X = 0.1 * rng.random((rows, features)) * (rng.random((rows, features)) < 0.3)
        X[:, k * 8 : k * 8 + 8] += rng.random((rows, 8))
        y = np.where(X[:, k * 8] > X[:, k * 8 + 1], 1.0, -1.0)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        made.append(Domain(sparse.csr_matrix(X), y))
    return made


def test_nobody_is_in_two_data_sets():
    domains = _domains(4)
    found = draw(domains, (0.5, 0.0, 0.5, 0.0), SIZES, np.random.default_rng(1))
    blocks = [found.public, found.target[0], found.test[0]]
    blocks += [X for source in found.sources for X in (source[0], source[2])]
    everything = sparse.vstack(blocks).toarray()
    assert len(np.unique(everything, axis=0)) == len(everything) == 4 * 80 + 60 + 100 + 50
    # The target is half of domain 1, half of domain 3, whatever order it is in.
    known = {tuple(row): k for k, d in enumerate(domains) for row in d.X.toarray()}
    origin = [known[tuple(row)] for row in found.target[0].toarray()]
    assert np.bincount(origin, minlength=4).tolist() == [50, 0, 50, 0]


def test_too_small_a_domain_is_an_error():
    with pytest.raises(UsageError, match="rows where"):
        draw(_domains(2, rows=90), (1.0, 0.0), SIZES, np.random.default_rng(0))


def test_noise_is_what_its_name_says():
    rng = np.random.default_rng(2)
    center = np.zeros((4000, 3))
    assert reproduce_dphtl.noisy(center, math.inf, "printed", rng) is center
    printed = np.linalg.norm(reproduce_dphtl.noisy(center, 2.0, "printed", rng), axis=1)
    assert 2 * printed.mean() == pytest.approx(3, abs=5 * math.sqrt(3 / 4000))
    laplace = np.abs(reproduce_dphtl.noisy(center, 2.0, "coordinate", rng))
    assert 2 * laplace.mean() == pytest.approx(1, abs=5 / math.sqrt(12_000))


def test_the_table_has_a_row_for_every_epsilon_and_noise(monkeypatch):
    monkeypatch.setattr(reproduce_dphtl, "load_reviews", lambda folder: _domains(4))
    monkeypatch.setattr(reproduce_dphtl, "REVIEW_SIZES", SIZES)
    lines: list[str] = []
    reproduce_dphtl.reviews(None, lines.append, 1)
    text = "\n".join(lines)
    assert "1 repetitions (the paper: 20)" in text
    rows = [line for line in lines if line.lstrip().startswith(("printed ", "none "))]
    assert len([line for line in rows if "the paper" not in line]) == 2 * 6
    exact = [line.split() for line in rows if line.lstrip().startswith("none ")]
    for row in exact:  # no noise: the mixture is found, and DPHTL learns
        assert float(row[-1]) < 0.02
        assert float(row[5]) > 0.6


def test_without_data_the_error_says_what_to_give():
    for load in (dphtl_data.load_news, dphtl_data.load_reviews):
        with pytest.raises(UsageError, match="--data-dir"):
            load(None)
