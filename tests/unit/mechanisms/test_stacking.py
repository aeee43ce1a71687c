"""The stacking and transfer algorithms: theory's numbers, structure, edge cases, bad input."""

from __future__ import annotations

from dataclasses import fields, replace
from math import lgamma, log, pi

import numpy as np
import pytest
from made_up import blank, blank_transfer, random_labelled, random_transfer
from scipy.stats import chi2

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Parallel, Sequential
from dpcheck.core.events.training import ObjectivePerturbation
from dpcheck.mechanisms import (
    PLR,
    PLRFS,
    PPTLFS,
    PSTF,
    PSTH,
    PSTS,
    Direct,
    Labelled,
    MajorityVote,
    SimComb,
    SourceD,
    WeightedVote,
    exact_loss,
    flip,
    fork,
    fork_zero,
)
from dpcheck.mechanisms.objective.design import distinct

PAIRS = [[2 * k, 2 * k + 1] for k in range(5)]


# The numbers of the theory, n=100 and eps=1 unless said otherwise --------------------------------


@pytest.mark.parametrize(
    ("witness", "expected"),
    [
        (lambda: flip(PLR(1.0, 0.1), blank(100, 1)), 0.475307),
        (lambda: fork(PLR(1.0, 0.1), blank(100, 2)), 0.950567),
        (
            lambda: fork(
                PLRFS(1.0, 0.0015, groups=PAIRS, variant="printed"), blank(100, 10), margin=-1
            ),
            1.120995,
        ),
        (lambda: fork(PLRFS(1.0, 0.0015, groups=PAIRS), blank(100, 10), margin=-1), 0.562422),
        (
            lambda: flip(
                PSTH(1, 1, 0.1, 0.1, variant="printed"), blank_transfer(100, 100, 5), "source"
            ),
            2.376537,
        ),
        (lambda: flip(PSTH(1, 1, 0.1, 0.1), blank_transfer(100, 100, 5), "source"), 0.376537),
        (lambda: fork(PSTF(1.0, 0.1, groups=PAIRS), blank(200, 10)), 0.989955),
        (lambda: fork(PLR(1.0, 0.001), blank(100, 2), margin=-0.57), 0.642487),
        (
            lambda: fork(
                PSTF(1.0, 0.001, groups=1, variant="printed"), blank(200, 2), margin=-0.05
            ),
            1.630421,
        ),
        # The same FORK on PPTL-FS's target, whose centre is the source's release.
        (
            lambda: fork(
                PPTLFS(1, 1, 0.1, 0.0015, groups=PAIRS, variant="printed"),
                blank_transfer(50, 200, 10),
                "target",
                margin=-1,
            ),
            1.120995,
        ),
        (
            lambda: fork(
                PPTLFS(1, 1, 0.1, 0.0015, groups=PAIRS),
                blank_transfer(50, 200, 10),
                "target",
                margin=-1,
            ),
            0.562422,
        ),
        (
            lambda: fork(PSTH(1, 1, 0.1, 0.1, groups=PAIRS), blank_transfer(50, 200, 10), "target"),
            0.989955,
        ),
        (lambda: fork(SimComb(1, 1, 0.1, 0.1), blank_transfer(50, 100, 2), "target"), 0.950567),
    ],
)
def test_exact_loss_is_the_theory_number(witness, expected) -> None:
    assert witness().loss == pytest.approx(expected, abs=5.1e-7)


def test_fork_needs_a_free_centre_and_two_features_per_group() -> None:
    with pytest.raises(InvalidParameter, match="no free centre"):
        fork(SimComb(1, 1, 0.1, 0.1), blank_transfer(50, 100, 2), "source")
    with pytest.raises(InvalidParameter, match="2 features in every group"):
        fork(PLRFS(1.0, 0.1, groups=2), blank(100, 2))


def test_fork_with_centre_zero_refutes_printed_plr_fs_without_a_free_centre() -> None:
    """The theory's searches found 1.268 for n=1000, K=1, lam=4e-4; this one is a little better."""
    model = PLRFS(1.0, 4e-4, groups=1, variant="printed")
    witness = fork_zero(model, blank(1000, 2), angle=0.04945, along=156.27, across=7.0954)
    assert witness.loss == pytest.approx(1.26983, abs=1e-4)
    corrected = PLRFS(1.0, 4e-4, groups=1)
    assert exact_loss(corrected, witness.data, witness.neighbour, witness.release) <= 1


# Densities ---------------------------------------------------------------------------------------

MODELS = [
    (PLRFS(1.0, 0.1, groups=2), 3, 0),
    (PSTS(1.0, 0.1, partitions=2), 2, 0),
    (PSTF(1.0, 0.1, groups=2, importances=[0.7, 0.3]), 3, 0),
    (PSTF(0.5, 0.001, groups=2, variant="printed", meta_features="probability"), 3, 0),
    (SimComb(1.0, 2.0, 0.1, 0.2, eta=0.4), 2, 1),
    (PPTLFS(1.0, 0.5, 0.1, 0.05, groups=2, eta=0.2), 3, 1),
    (PSTH(1.0, 0.5, 0.1, 0.05, groups=2, importances=[0.25, 0.75]), 3, 1),
    (PSTH(1.0, 0.5, 0.1, 0.05, groups=2, source_blocks="plr-fs"), 3, 1),
    (Direct(1.0, 0.1), 2, 1),
    (SourceD(1.0, 0.1), 2, 1),
]


def make(rng: np.random.Generator, features: int, transfer: int):
    if transfer:
        return random_transfer(rng, 15, 12, features)
    return random_labelled(rng, 20, features)


def naive_blocks(model, data, release: np.ndarray) -> list[tuple[float, np.ndarray, float]]:
    """(eps', b, log det A) of each block, written out row by row with no shared code."""
    design, found = model.design(data), []
    weights = {name: release[place] for name, place in design.slices().items()}

    def seen(block, x: np.ndarray) -> np.ndarray:
        if block.stacks:
            p = []
            for name in block.stacks:
                low = next(b for b in design.blocks if b.name == name)
                z = np.tanh(seen(low, x) @ weights[name] / 2)
                p.append(z if block.centred else (z + 1) / 2)
            return np.array(p) / len(p) ** 0.5
        v = x[block.columns]
        return v * min(1.0, block.clip / np.linalg.norm(v)) * block.event.norm_bound / block.clip

    for block in design.blocks:
        X = (
            getattr(data, "X", None)
            if isinstance(data, Labelled)
            else getattr(data, f"X_{block.part}")
        )
        y = data.y if isinstance(data, Labelled) else getattr(data, f"y_{block.part}")
        w, e = weights[block.name], block.event
        d, n = len(w), len(block.rows)
        assert n == e.rows
        center = np.zeros(d)
        if block.center:
            center = block.center_scale * weights[block.center]
        b = -n * e.regularization * (w - center) - n * e.extra_regularization * w
        A = n * (e.regularization + e.extra_regularization) * np.eye(d)
        for i in block.rows:
            x = seen(block, X[i])
            s = (1 - np.tanh(y[i] * (w @ x) / 2)) / 2
            b = b + y[i] * s * x
            A = A + s * (1 - s) * np.outer(x, x)
        found.append((e.noise_epsilon, b, float(np.log(np.linalg.det(A)))))
    return found


def naive_log_density(model, data, release: np.ndarray) -> float:
    total = 0.0
    for noise_epsilon, b, log_det in naive_blocks(model, data, release):
        d = len(b)
        total += d * log(noise_epsilon / 2) - lgamma(d) + lgamma(d / 2) - log(2) - d / 2 * log(pi)
        total += -noise_epsilon / 2 * float(np.linalg.norm(b)) + log_det
    return total


def equal_rows(data):
    """The same shape, where only two different rows occur: they are counted, not gone through."""
    changed = {}
    for field in fields(data):
        value = getattr(data, field.name)
        changed[field.name] = value[np.arange(len(value)) % 2]
    return replace(data, **changed)


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize(("model", "features", "transfer"), MODELS)
def test_density_of_the_whole_release_matches_a_naive_twin(
    model, features, transfer, equal
) -> None:
    rng = np.random.default_rng(11)
    data = make(rng, features, transfer)
    if equal:
        data = equal_rows(data)
        first = model.design(data).blocks[0]
        assert len(distinct(first, data).X) <= 2 < len(first.rows)
    releases = model.sample_releases(data, 4, rng)
    expected = [naive_log_density(model, data, release) for release in releases]
    np.testing.assert_allclose(model.log_density(data, releases), expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("model", "features", "transfer", "equal"),
    [(*each, False) for each in MODELS] + [(*each, True) for each in MODELS[3:6]],
)
def test_samples_are_made_with_the_noise_the_density_describes(
    model, features, transfer, equal
) -> None:
    """The noise behind 600 sampled releases, recovered block by block, has the described law.

    eps' |b| is chi2 with 2d degrees of freedom and b has no preferred direction. False alarms: each
    of at most 2 x 5 tests has level 1e-5 a side. Power: a noise scale wrong by 40% either way is
    rejected on the same draws, for every block (1,200 degrees of freedom or more: power above
    99.9%).
    """
    rng = np.random.default_rng(5)
    data = make(rng, features, transfer)
    data = equal_rows(data) if equal else data
    draws = [naive_blocks(model, data, w) for w in model.sample_releases(data, 600, rng)]
    for blocks in zip(*draws, strict=True):
        noise = np.array([b for _, b, _ in blocks])
        norms = np.linalg.norm(noise, axis=1)
        degrees = 2 * noise.size
        low, high = chi2.ppf([1e-5, 1 - 1e-5], degrees)
        statistic = float(np.sum(blocks[0][0] * norms))
        assert low < statistic < high
        assert not low < 1.4 * statistic < high
        assert not low < statistic / 1.4 < high
        mean = (noise / norms[:, None]).mean(axis=0)
        assert noise.size * float(mean @ mean) < chi2.ppf(1 - 1e-5, noise.shape[1])


def test_two_layer_density_integrates_to_one() -> None:
    """PST-F with one feature and K=1: the release is (low, high), integrated on a grid."""
    data = Labelled(np.array([[0.9], [-0.4], [0.7], [-0.8]]), np.array([1.0, -1.0, 1.0, 1.0]))
    model = PSTF(4.0, 0.5, groups=1)
    grid = np.linspace(-16, 16, 1281)
    low, high = np.meshgrid(grid, grid)
    density = np.exp(model.log_density(data, np.column_stack([low.ravel(), high.ravel()])))
    total = density.sum() * (grid[1] - grid[0]) ** 2
    assert total == pytest.approx(1, abs=1e-3)


# Structure ---------------------------------------------------------------------------------------


def test_events_say_who_is_where() -> None:
    data = blank(100, 10)
    assert isinstance(PLR().release_event(data=data), ObjectivePerturbation)
    blocks = PLRFS(groups=5).release_event(data=data)
    assert isinstance(blocks, Sequential)
    by_rows = PSTS(partitions=3).release_event(data=data)
    assert isinstance(by_rows, Parallel)
    low, high = PSTF(groups=2).release_event(data=data).events
    assert isinstance(low, Sequential)
    assert isinstance(high, ObjectivePerturbation)
    transfer = blank_transfer(60, 40, 10)
    for model in (PPTLFS(groups=2), PSTH(groups=2)):
        assert isinstance(model.release_event("source", transfer), Sequential)
        assert isinstance(model.release_event("target", transfer), Parallel)
    with pytest.raises(InvalidParameter, match="part must be one of source, target"):
        PSTH().release_event("data", transfer)


def test_every_record_is_in_exactly_one_set_of_people_of_the_stack() -> None:
    for model in (PSTS(partitions=3), PSTF(groups=2), PSTF(groups=2, high_share=0.2)):
        design = model.design(blank(101, 6))
        people = {block.people: block.rows for block in design.blocks}
        together = np.concatenate(list(people.values()))
        np.testing.assert_array_equal(np.sort(together), np.arange(101))
        for block in design.blocks:
            np.testing.assert_array_equal(block.rows, people[block.people])
            assert block.event.rows == len(block.rows)


def test_the_split_depends_on_the_seed_and_the_number_of_rows_only() -> None:
    rng = np.random.default_rng(0)
    one, two = random_labelled(rng, 50, 4), random_labelled(rng, 50, 4)
    for model in (PSTF(groups=2), PSTS(partitions=2)):
        for a, b in zip(model.design(one).blocks, model.design(two).blocks, strict=True):
            np.testing.assert_array_equal(a.rows, b.rows)
    other = PSTF(groups=2, split_seed=1).design(one).blocks[0].rows
    assert not np.array_equal(other, PSTF(groups=2).design(one).blocks[0].rows)


def test_stacking_features_have_norm_at_most_one() -> None:
    data = random_labelled(np.random.default_rng(0), 40, 6)
    for meta in ("centred", "probability"):
        model = PSTF(groups=3, meta_features=meta)
        design = model.design(data)
        weights = {name: np.full((2, 2), 1e6) for name in ("low0", "low1", "low2")}
        seen = design.features(design.block("high"), data.X, weights)
        assert np.linalg.norm(seen, axis=-1).max() <= 1


def test_blocks_are_clipped_to_their_own_bound_and_scaled_to_their_importance() -> None:
    data = random_labelled(np.random.default_rng(0), 30, 4)
    model = PLRFS(groups=[[0, 1], [2, 3]], importances=[0.9, 0.1], norm_bound=[0.5, 2.0])
    for block, q, bound in zip(model.design(data).blocks, (0.9, 0.1), (0.5, 2.0), strict=True):
        seen = block.low_features(data.X)
        assert np.linalg.norm(seen, axis=1).max() <= q
        short = np.linalg.norm(data.X[:, block.columns], axis=1) < bound
        np.testing.assert_allclose(seen[short], data.X[short][:, block.columns] * q / bound)


def test_feature_importances_sort_the_groups() -> None:
    model = PSTF(groups=2, feature_importances=[1.0, 4.0, 2.0, 3.0])
    low = model.design(blank(10, 4)).blocks[:2]
    assert [sorted(block.columns) for block in low] == [[1, 3], [0, 2]]
    assert [block.event.norm_bound for block in low] == pytest.approx([0.7, 0.3])


def test_psth_corrected_centre_is_in_the_targets_unit() -> None:
    """A source block on rows of norm 1 and a target block on rows of norm q predict alike."""
    data = random_transfer(np.random.default_rng(0), 30, 30, 4)
    design = PSTH(groups=2, importances=[0.8, 0.2]).design(data)
    w = np.array([0.3, -0.7])
    for k in (0, 1):
        source, target = design.block(f"source{k}"), design.block(f"target{k}")
        np.testing.assert_allclose(
            source.low_features(data.X_target) @ w,
            target.low_features(data.X_target) @ (target.center_scale * w),
        )


def test_votes() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6)) / 3
    y = np.where(X[:, 0] > 0, "b", "a")
    keywords = {"groups": [[0, 1], [2, 3], [4, 5]], "importances": [0.6, 0.2, 0.2]}
    fair = MajorityVote(50.0, 0.1, **keywords).fit(X, y, rng=np.random.default_rng(1))
    heavy = WeightedVote(50.0, 0.1, **keywords).fit(X, y, rng=np.random.default_rng(1))
    votes = fair.block_margins(X) > 0
    np.testing.assert_array_equal(fair.predict(X), np.where(votes.sum(1) >= 2, "b", "a"))
    np.testing.assert_array_equal(heavy.predict(X), np.where(votes[:, 0], "b", "a"))
