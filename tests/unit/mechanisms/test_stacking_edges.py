"""The stacking and transfer algorithms: edge cases, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import blank, blank_transfer

from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.training import ObjectivePerturbation
from dpcheck.mechanisms import (
    PLR,
    PLRFS,
    PPTLFS,
    PSTF,
    PSTH,
    PSTS,
    Labelled,
    SimComb,
    Transfer,
)


def test_zero_importance_drops_the_block_in_both_branches() -> None:
    X, y = np.eye(6).repeat(5, axis=0), np.arange(30) % 2
    for lam in (0.1, 1e-4):
        model = PSTF(1.0, lam, groups=[[0, 1], [2, 3], [4, 5]], importances=[0.5, 0.0, 0.5])
        model.fit(X, y)
        assert [block.name for block in model.design_.blocks] == ["low0", "low2", "high"]
        assert model.predict(X).shape == (30,)
    # One group left is PLR on that group ([Yao2019] Remark 1).
    alone = PLRFS(1.0, 0.1, groups=[[0, 1], [2, 3, 4, 5]], importances=[1.0, 0.0])
    narrow = Labelled(X[:, :2], np.where(y, 1.0, -1.0))
    w = np.array([[0.3, 0.1]])
    assert alone.log_density(Labelled(X, narrow.y), w) == pytest.approx(
        PLR(1.0, 0.1).log_density(narrow, w)
    )


def test_one_group_and_as_many_groups_as_features() -> None:
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    assert PSTF(groups=1).fit(X, y).release_.shape == (4,)
    assert PSTF(groups=3).fit(X, y).release_.shape == (6,)
    assert PLRFS(groups=3).fit(X, y).release_.shape == (3,)


def test_branch_two_gives_half_the_budget_and_extra_regularisation() -> None:
    for model in (PLR(0.1, 1e-4), PLRFS(0.1, 1e-4, groups=2), PSTF(0.1, 1e-4, groups=2)):
        event = model.design(blank(40, 4)).blocks[0].event
        assert event.noise_epsilon == pytest.approx(0.05)
        assert event.extra_regularization > 0


def test_printed_and_corrected_differ_only_where_the_paper_slips() -> None:
    data = blank(100, 4)
    transfer = blank_transfer(100, 100, 4)

    def events(model, where) -> list[ObjectivePerturbation]:
        return [block.event for block in model.design(where).blocks]

    for lam in (0.1, 1e-4):
        for kind in (PLR, PSTS):
            assert events(kind(1.0, lam), data) == events(kind(1.0, lam, variant="printed"), data)
    printed, corrected = (
        [e.noise_epsilon for e in events(PLRFS(1.0, 0.01, groups=2, variant=v), data)]
        for v in ("printed", "corrected")
    )
    assert printed == [1.0, 1.0]
    assert corrected == pytest.approx([1 - 4 * np.log1p(0.25 / 4)] * 2)
    # Yao's slip shows in branch 2 only.
    assert events(PSTF(1.0, 0.1, groups=2), data) == events(
        PSTF(1.0, 0.1, groups=2, variant="printed"), data
    )
    slip = events(PSTF(1.0, 1e-4, groups=2, variant="printed"), data)[0]
    assert (slip.noise_epsilon, slip.extra_regularization) == (0.5, 0.0)
    for variant, expected in (("printed", 1.0), ("corrected", 0.5)):
        source = PSTH(1, 1, 0.1, 0.1, groups=2, variant=variant).design(transfer).blocks[0].event
        assert source.noise_epsilon == pytest.approx(expected - 2 * np.log1p(1 / 40))


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "argument"),
    [
        ({"importances": [0.5, 0.4]}, "importances must add up to 1"),
        ({"importances": [1.5, -0.5]}, "importances must be finite and not negative"),
        ({"importances": [1.0]}, "importances must be one number for each"),
        ({"groups": [[0, 1], [1, 2, 3]]}, "groups must not overlap"),
        ({"groups": [[0, 1], [2]]}, "groups must cover every feature"),
        ({"groups": [[0, 1], [2, 3, 9]]}, "groups name feature 9"),
        ({"groups": [[0, 1, 2, 3], []]}, "groups must be at least one non-empty"),
        ({"groups": 5}, "groups must not exceed"),
        ({"groups": 0}, "groups"),
        ({"groups": "many"}, "groups must be a whole number"),
        ({"feature_importances": [1.0, 2.0]}, "feature_importances must be one number per"),
        ({"feature_importances": [1, 1, -1, 1]}, "feature_importances must be finite"),
        ({"regularization": [0.1, 0.1, 0.1]}, "regularization must be one number, or one for each"),
        ({"regularization": [0.1, 0.0]}, "regularization must be above 0"),
        ({"norm_bound": [1.0]}, "norm_bound must be one number, or one for each"),
        ({"norm_bound": "auto"}, "norm_bound must be a public number"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"high_share": 1.0}, "high_share"),
        ({"high_regularization": 0.0}, "high_regularization"),
        ({"meta_features": "labels"}, "meta_features"),
        ({"center": [1.0]}, "center must be 4 finite numbers"),
    ],
)
def test_bad_parameters_of_stacking_name_the_argument(keywords, argument) -> None:
    model = PSTF(**{"groups": 2, **keywords})
    with pytest.raises(InvalidParameter, match=argument):
        model.fit(np.random.default_rng(0).standard_normal((20, 4)), np.arange(20) % 2)


def test_bad_transfer_data_names_the_argument() -> None:
    X, y = np.random.default_rng(0).standard_normal((20, 4)), np.arange(20) % 2
    with pytest.raises(InvalidParameter, match="X_source and X_target must have the same features"):
        PSTH(groups=2).fit(X, y, X[:, :3], y)
    with pytest.raises(InvalidParameter, match=r"target data.*NaN"):
        PSTH(groups=2).fit(X, y, np.full_like(X, np.nan), y)
    with pytest.raises(InvalidParameter, match="two classes, got 3"):
        PSTH(groups=2).fit(X, y, X, y + 1)
    with pytest.raises(InvalidParameter, match="regularization_target"):
        PPTLFS(groups=2, regularization_target=-1.0).fit(X, y, X, y)
    with pytest.raises(InvalidParameter, match="epsilon_source"):
        SimComb(epsilon_source=0.0).fit(X, y, X, y)
    with pytest.raises(InvalidParameter, match="eta"):
        SimComb(eta=2.0).fit(X, y, X, y)
    with pytest.raises(InvalidParameter, match="source_blocks"):
        PSTH(groups=2, source_blocks="pca").fit(X, y, X, y)
    with pytest.raises(InvalidParameter, match=r"y_target must hold -1 and"):
        Transfer(X, np.where(y, 1.0, -1.0), X, y)


def test_too_few_rows_for_a_split_is_an_error_that_says_what_to_use() -> None:
    with pytest.raises(InvalidParameter, match="use PLR or PLRFS"):
        PSTF(groups=1, classes=(0, 1)).fit([[1.0]], [1])
    with pytest.raises(InvalidParameter, match="partitions must not exceed"):
        PSTS(partitions=5).fit(np.eye(4), [0, 1, 0, 1])
    single = PLRFS(groups=2, classes=(0, 1)).fit([[1.0, 0.0]], [1])
    assert np.isfinite(single.release_).all()


def test_wrong_kind_of_data_is_an_error() -> None:
    with pytest.raises(InvalidParameter, match=r"takes Transfer"):
        PSTH().sample_releases(blank(10, 5), 1)
    with pytest.raises(InvalidParameter, match=r"takes Labelled"):
        PSTF().log_density(blank_transfer(10, 10, 5), np.zeros(10))
    with pytest.raises(InvalidParameter, match="data must be Labelled"):
        PLR().sample_releases(np.eye(3), 1)  # type: ignore[arg-type]
