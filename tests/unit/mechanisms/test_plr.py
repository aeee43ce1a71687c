"""PLR against the theory's numbers, quadrature, and its own samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import chi2

from dpcheck.core.errors import CannotCertify, InvalidParameter
from dpcheck.mechanisms import PLR, Labelled, Ridge, SmoothRegularizer, exact_loss, mixture
from dpcheck.mechanisms.objective.noise import draw_noise


def ones(rows: int, flipped: int = 0) -> Labelled:
    y = np.ones(rows)
    y[:flipped] = -1
    return Labelled(np.ones((rows, 1)), y)


def random_data(rng: np.random.Generator, rows: int, features: int) -> Labelled:
    X = rng.standard_normal((rows, features))
    X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    return Labelled(X, rng.choice([-1.0, 1.0], rows))


def test_flip_loss_is_the_theory_number() -> None:
    loss = exact_loss(PLR(1.0, 0.1), ones(100), ones(100, 1), np.array([5.0]))
    assert loss == pytest.approx(0.475307, abs=5e-7)


def test_samples_are_the_minimisers_scipy_finds_for_the_same_noise() -> None:
    rng = np.random.default_rng(3)
    data = random_data(rng, 40, 3)
    center = np.array([0.3, -0.2, 0.1])
    model = PLR(0.2, 0.01, center=center)
    event = model.release_event(data=data)
    assert event.extra_regularization > 0
    sampled = model.sample_releases(data, 5, np.random.default_rng(9))
    noise = draw_noise(event.noise_epsilon, 5, 3, np.random.default_rng(9))
    signed = data.X * data.y[:, None]
    for w, b in zip(sampled, noise, strict=True):

        def objective(v: np.ndarray, b: np.ndarray = b) -> float:
            ridge = 40 * 0.01 * np.sum((v - center) ** 2) / 2
            extra = 40 * event.extra_regularization * np.sum(v**2) / 2
            return float(np.sum(np.logaddexp(0, -signed @ v)) + ridge + extra + b @ v)

        found = minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-4})
        np.testing.assert_allclose(found.x, w, atol=1e-4)


def test_density_integrates_to_one_in_one_dimension() -> None:
    rng = np.random.default_rng(0)
    data = Labelled(rng.uniform(-1, 1, (12, 1)), rng.choice([-1.0, 1.0], 12))
    for model in (PLR(1.0, 0.1), PLR(0.3, 0.02, calibration="tight"), PLR(4.0, 0.5, center=[2.0])):
        scale = 2 / model.release_event(data=data).noise_epsilon / (12 * model.regularization)
        total = sum(
            quad(lambda w, m=model: np.exp(m.log_density(data, np.array([w]))), a, b, limit=200)[0]
            for a, b in ((-60 * scale, 0), (0, 2), (2, 60 * scale))
        )
        assert total == pytest.approx(1, abs=1e-6)


def test_density_integrates_to_one_in_two_dimensions() -> None:
    """Importance sampling: E_Q[p/q] = 1 with q the density of a model with half the budget."""
    rng = np.random.default_rng(1)
    data = random_data(rng, 30, 2)
    model, wider = PLR(2.0, 0.1), PLR(1.0, 0.1)
    w = wider.sample_releases(data, 40_000, rng)
    ratio = np.exp(model.log_density(data, w) - wider.log_density(data, w))
    error = ratio.std() / np.sqrt(len(ratio))
    assert error < 0.01
    assert abs(ratio.mean() - 1) < 5 * error


def _histogram_p_value(sampled: PLR, described: PLR, data: Labelled, size: int, seed: int) -> float:
    """Pearson's test of sampled releases against the described density, 20 equal-mass bins."""
    grid = np.linspace(-80, 80, 40_001)
    density = np.exp(described.log_density(data, grid[:, None]))
    cdf = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
    assert cdf[-1] == pytest.approx(1, abs=1e-5)
    edges = np.interp(np.arange(1, 20) / 20, cdf / cdf[-1], grid)
    w = sampled.sample_releases(data, size, np.random.default_rng(seed))[:, 0]
    observed = np.bincount(np.searchsorted(edges, w), minlength=20)
    expected = size / 20
    return float(chi2.sf(np.sum((observed - expected) ** 2) / expected, 19))


def test_histogram_matches_density_with_stated_power() -> None:
    """At level 1e-4 with 20,000 draws: no false alarm in 50 runs of the right density (by the
    level, 0.5% chance of one), and a noise scale wrong by 10% is caught in all 20 runs.
    """
    rng = np.random.default_rng(5)
    data = Labelled(rng.uniform(-1, 1, (20, 1)), rng.choice([-1.0, 1.0], 20))
    model = PLR(1.0, 0.1)
    true = model.release_event(data=data).noise_epsilon
    louder = WithNoise(0.9 * true)
    right = [_histogram_p_value(model, model, data, 20_000, seed) for seed in range(50)]
    wrong = [_histogram_p_value(louder, model, data, 20_000, seed) for seed in range(20)]
    assert min(right) > 1e-4
    assert max(wrong) < 1e-4
    # The p-values of the right density are spread out, so the test is not merely blind.
    assert np.mean(np.array(right) < 0.5) == pytest.approx(0.5, abs=0.25)


class WithNoise(PLR):
    """PLR with a given noise parameter in place of the calibrated one."""

    def __init__(self, noise_epsilon: float) -> None:
        super().__init__(1.0, 0.1)
        self.noise_epsilon = noise_epsilon

    def _design(self, rows, features):
        from dataclasses import replace

        from dpcheck.mechanisms.objective.design import ReleaseDesign

        (block,) = super()._design(rows, features).blocks
        return ReleaseDesign(
            (replace(block, event=replace(block.event, noise_epsilon=self.noise_epsilon)),)
        )


def test_log_density_takes_one_or_many() -> None:
    data = random_data(np.random.default_rng(0), 10, 3)
    model = PLR()
    w = model.sample_releases(data, 4, np.random.default_rng(1))
    many = model.log_density(data, w)
    assert many.shape == (4,)
    assert [model.log_density(data, row) for row in w] == pytest.approx(list(many), rel=1e-12)
    with pytest.raises(InvalidParameter, match="3 columns"):
        model.log_density(data, np.zeros(2))


def test_mixture_is_a_ridge_and_smooth_regularizers_work() -> None:
    data = random_data(np.random.default_rng(0), 25, 2)
    center = np.array([1.0, -2.0])
    w = np.random.default_rng(1).standard_normal((6, 2))
    by_hand = SmoothRegularizer(
        lambda v: 0.3 * v + 0.7 * (v - center), lambda v: np.broadcast_to(np.eye(2), (len(v), 2, 2))
    )
    expected = PLR(regularizer=by_hand).log_density(data, w)
    np.testing.assert_allclose(PLR(center=center, eta=0.3).log_density(data, w), expected)
    np.testing.assert_allclose(PLR(regularizer=mixture(0.3, center)).log_density(data, w), expected)
    np.testing.assert_allclose(PLR(regularizer=Ridge(0.7 * center)).log_density(data, w), expected)


def test_non_quadratic_regularizer_is_sampled_and_its_density_integrates() -> None:
    smooth = SmoothRegularizer(lambda v: v + v**3, lambda v: (1 + 3 * v**2)[:, :, None])
    data = Labelled(np.linspace(-1, 1, 9)[:, None], np.array([1, -1, 1] * 3))
    model = PLR(1.0, 0.1, regularizer=smooth)
    total = quad(lambda w: np.exp(model.log_density(data, np.array([w]))), -30, 30, limit=300)[0]
    assert total == pytest.approx(1, abs=1e-6)
    w = model.sample_releases(data, 4_000, np.random.default_rng(0))[:, 0]
    below = quad(lambda v: np.exp(model.log_density(data, np.array([v]))), -30, 0.5, limit=300)[0]
    assert np.mean(w < 0.5) == pytest.approx(below, abs=5 * 0.5 / np.sqrt(4_000))


@pytest.mark.parametrize(
    ("keywords", "argument"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"regularization": 0.0}, "regularization"),
        ({"regularization": -0.1}, "regularization"),
        ({"norm_bound": None}, "norm_bound"),
        ({"norm_bound": "max"}, "norm_bound"),
        ({"regularizer": "l1"}, "regularizer"),
        ({"center": [1.0]}, "center"),
        ({"variant": "fixed"}, "variant"),
        ({"calibration": "loose"}, "calibration"),
        ({"variant": "printed", "calibration": "tight"}, "calibration"),
        ({"classes": (1, 1)}, "classes"),
    ],
)
def test_bad_parameters_name_the_argument(keywords, argument) -> None:
    with pytest.raises(InvalidParameter, match=argument):
        PLR(**keywords).fit(np.eye(4), [0, 1, 0, 1])


def test_bad_data_names_the_argument() -> None:
    with pytest.raises(InvalidParameter, match=r"(?s)X.*NaN"):
        PLR().fit([[np.nan], [1.0]], [0, 1])
    with pytest.raises(InvalidParameter, match="y must hold two classes, got 3"):
        PLR().fit(np.eye(3), [0, 1, 2])
    with pytest.raises(InvalidParameter, match="pass classes="):
        PLR().fit(np.eye(3), [1, 1, 1])
    with pytest.raises(InvalidParameter, match="not among classes"):
        PLR(classes=(0, 1)).fit(np.eye(3), [1, 1, 2])
    with pytest.raises(InvalidParameter, match="-1 and"):
        Labelled(np.eye(2), np.array([0.0, 1.0]))


def test_weak_hessian_is_refused() -> None:
    weak = SmoothRegularizer(lambda v: v / 2, lambda v: np.full((len(v), 1, 1), 0.5))
    with pytest.raises(InvalidParameter, match="below 1"):
        PLR(regularizer=weak).fit([[0.5], [1.0]], [0, 1])


def test_small_and_degenerate_data_work() -> None:
    one_class = PLR(classes=("no", "yes")).fit(np.eye(3), ["yes"] * 3)
    assert set(one_class.predict(np.eye(3))) <= {"no", "yes"}
    single = PLR(classes=(0, 1)).fit([[2.0, 0.0]], [1])
    assert single.release_.shape == (2,)
    doubled = PLR().fit(np.ones((10, 2)), [0, 1] * 5)
    assert np.isfinite(doubled.release_).all()


def test_a_fit_reports_its_release_and_spends_it_first() -> None:
    class Refusing:
        def spend(self, dataset: object, event: object) -> None:
            raise RuntimeError(f"{dataset} {event}")

    class Recording:
        spent: list

        def __init__(self) -> None:
            self.spent = []

        def spend(self, dataset: object, event: object) -> None:
            self.spent.append((dataset, event))

    ledger = Recording()
    model = PLR(1.0, 0.1).fit(np.eye(4), [0, 1, 0, 1], ledger=ledger, dataset="patients")
    assert ledger.spent == [("patients", model.release_event())]
    (release,) = model.releases_
    assert (release.part, release.event, release.claimed_epsilon) == (
        "data",
        model.release_event(),
        1,
    )
    assert "exact minimiser" in release.assumes[0]
    untouched = PLR()
    with pytest.raises(RuntimeError):
        untouched.fit(np.eye(4), [0, 1, 0, 1], ledger=Refusing(), dataset="patients")
    assert not hasattr(untouched, "release_")
    with pytest.raises(InvalidParameter, match="ledger"):
        PLR().fit(np.eye(4), [0, 1, 0, 1], ledger=ledger)


def test_no_seed_is_stored_and_an_rng_repeats_the_fit() -> None:
    X, y = np.eye(4), [0, 1, 0, 1]
    first = PLR().fit(X, y, rng=np.random.default_rng(7)).release_
    again = PLR().fit(X, y, rng=np.random.default_rng(7)).release_
    other = PLR().fit(X, y).release_
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not any(
        isinstance(value, np.random.Generator | np.random.SeedSequence)
        for value in vars(PLR().fit(X, y, rng=np.random.default_rng(7))).values()
    )


def test_approximate_minima_add_output_noise_within_the_budget() -> None:
    data = random_data(np.random.default_rng(0), 30, 2)
    model = PLR(1.0, 0.1, approximate_minima=0.1)
    event = model.release_event(data=data)
    objective, output = event.events
    assert output.rate * output.sensitivity <= 0.1
    assert objective.noise_epsilon < PLR(1.0, 0.1).release_event(data=data).noise_epsilon
    w = model.sample_releases(data, 3, np.random.default_rng(0))
    with pytest.raises(CannotCertify, match="closed-form"):
        model.log_density(data, w)


def test_norm_bound_clips_and_rescales() -> None:
    """Rows in other units with a bound in those units give the same density."""
    data = random_data(np.random.default_rng(0), 20, 3)
    tenfold = Labelled(10 * data.X, data.y)
    w = np.random.default_rng(2).standard_normal((5, 3))
    np.testing.assert_allclose(
        PLR(norm_bound=10.0).log_density(tenfold, w), PLR().log_density(data, w), rtol=1e-12
    )
    wild = Labelled(np.array([[300.0, 400.0]]), np.array([1.0]))
    tame = Labelled(np.array([[0.6, 0.8]]), np.array([1.0]))
    np.testing.assert_allclose(
        PLR().log_density(wild, w[:, :2]), PLR().log_density(tame, w[:, :2]), rtol=1e-12
    )


def test_snapped_weights_are_on_the_grid_and_have_no_density() -> None:
    data = random_data(np.random.default_rng(0), 20, 3)
    model = PLR(snap=0.25)
    w = model.sample_releases(data, 5, np.random.default_rng(1))
    np.testing.assert_array_equal(w, np.round(4 * w) / 4)
    plain = PLR().sample_releases(data, 5, np.random.default_rng(1))
    assert np.abs(w - plain).max() <= 0.125
    fitted = model.fit(data.X, data.y).release_
    np.testing.assert_array_equal(fitted, np.round(4 * fitted) / 4)
    with pytest.raises(CannotCertify, match="snap=None"):
        model.log_density(data, w)
    with pytest.raises(InvalidParameter, match="snap"):
        PLR(snap=-1.0).fit(data.X, data.y)
