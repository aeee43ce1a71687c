"""Does the auditor find what it should, and stay silent where it should?"""

from __future__ import annotations

import numpy as np
import pytest

import dpcheck
from dpcheck.core.errors import InvalidParameter, NothingToAudit
from dpcheck.core.verdict import Verdict

D, D2 = np.zeros(5), np.array([1.0, 0, 0, 0, 0])
PAIRS = [(D, D2)]
CALLS = []


def laplace(scale):
    @dpcheck.batched
    def mechanism(data, size, rng):
        return data.sum() + rng.laplace(scale=scale, size=size)

    return mechanism


def gamma_difference(rng, size=None):
    """Laplace noise of scale 1 in a way that replay does not follow."""
    return rng.standard_gamma(1.0, size) - rng.standard_gamma(1.0, size)


def unfollowed_laplace(scale):
    @dpcheck.batched
    def mechanism(data, size, rng):
        return data.sum() + scale * gamma_difference(rng, size)

    return mechanism


def gaussian(sigma):
    @dpcheck.batched
    def mechanism(data, size, rng):
        return data.sum() + rng.normal(scale=sigma, size=size)

    return mechanism


def check(mechanism, **changes):
    options = {"neighbours": PAIRS, "adjacency": "replace-one", "epsilon": 1.0, "max_runs": 300_000}
    options |= changes
    return dpcheck.assert_private(mechanism, **options)


@pytest.mark.parametrize("seed", range(4))
def test_correct_laplace_passes(seed):
    entry = check(laplace(1.0), seed=seed)
    assert entry.verdict is Verdict.CONSISTENT
    assert 0.9 < entry.observed.epsilon <= 1.0
    assert 1.0 < entry.observed.detectable < 1.13


@pytest.mark.parametrize("seed", range(4))
def test_laplace_with_a_scale_20_percent_too_small_fails_with_its_witness(seed):
    with pytest.raises(AssertionError, match=r"epsilon >= 1\.2500 at delta 0 ") as caught:
        check(laplace(0.8), seed=seed)
    assert "kind: 'replay'" in str(caught.value)
    assert "Laplace noise moved by 1.25 of its scale" in str(caught.value)  # exactly 1 / 0.8


@pytest.mark.parametrize("seed", range(4))
def test_noise_20_percent_too_small_that_replay_cannot_follow_fails_by_its_runs(seed):
    with pytest.raises(AssertionError, match=r"epsilon >= 1\.[12]") as caught:
        check(unfollowed_laplace(0.8), seed=seed)
    assert "hits_first" in str(caught.value)


def test_noise_that_replay_cannot_follow_passes_by_its_runs():
    entry = check(unfollowed_laplace(1.0))
    assert entry.verdict is Verdict.CONSISTENT
    assert 0.9 < entry.observed.epsilon <= 1.0


def test_one_run_per_call_works_too():
    with pytest.raises(AssertionError, match="not \\(1, 0\\)-private"):
        check(lambda data, rng: data.sum() + rng.laplace(scale=0.7), seed=1)


def test_a_whole_curve_catches_what_it_should():
    claim = dpcheck.Gaussian(3.7307)
    options = {"epsilon": None, "claim": claim, "adjacency": "zero-out", "max_runs": 100_000}
    for seed in range(3):
        with pytest.raises(AssertionError):
            check(gaussian(0.8 * 3.7307), seed=seed, **options)
        entry = check(gaussian(3.7307), seed=seed, tolerance=1.0, **options)
        assert entry.verdict is Verdict.CONSISTENT


def test_a_bare_epsilon_delta_never_assumes_a_noise_family():
    # Laplace(1) is (1, 0)-private and far below the Gaussian curve through (1, 1e-5).
    for seed in range(2):
        entry = check(laplace(1.0), delta=1e-5, seed=seed, adjacency="zero-out")
        assert entry.verdict is Verdict.CONSISTENT


def test_approximate_claims_are_refuted_on_the_event_that_breaks_them():
    @dpcheck.batched
    def leaks_sometimes(data, size, rng):  # (0, 0.05)-private: tells the truth once in twenty
        return np.where(rng.random(size) < 0.05, data.sum(), -1.0)

    with pytest.raises(AssertionError):
        check(leaks_sometimes, epsilon=0.5, delta=0.01)
    assert check(leaks_sometimes, epsilon=0.5, delta=0.05).verdict is Verdict.CONSISTENT


def randomized_response(keep):
    @dpcheck.batched
    def mechanism(data, size, rng):
        truth = bool(data.sum() > 0)
        return np.where(rng.random(size) < keep, truth, not truth)

    return mechanism


def test_randomized_response():
    keep = np.e / (1 + np.e)
    assert check(randomized_response(keep)).verdict is Verdict.CONSISTENT
    with pytest.raises(AssertionError):
        check(randomized_response(0.78))  # epsilon 1.266


def test_words_and_transcripts_are_audited():
    def word(data, rng):
        flip = rng.random() < 0.2
        return "yes" if (data.sum() > 0) != flip else "no"

    def transcript(data, rng):
        stop = 3 if data.sum() > 0 and rng.random() < 0.5 else 2
        return list(range(stop))

    with pytest.raises(AssertionError):
        check(word)
    with pytest.raises(AssertionError):
        check(transcript)


def test_a_constant_output_is_judged_by_whether_it_differs():
    def seven(data, rng):
        CALLS.append(1)  # what outlives the call is not read
        return 7.0

    # Nothing told the datasets apart: that is no promise, so the answer is not "consistent".
    with pytest.raises(dpcheck.Undecided, match="could not have caught any leak on the given pair"):
        check(seven, max_runs=20_000)
    assert check(lambda data, rng: 7.0).verdict is Verdict.HOLDS  # by reading it
    with pytest.raises(AssertionError, match=r"epsilon >= inf at delta 0 .*replay") as caught:
        check(lambda data, rng: float(data.sum()), max_runs=20_000)
    assert "output is 0 on D and 1 on D', without noise" in str(caught.value)  # a proof


def test_what_was_counted_is_never_called_infinite():
    def given_away(data, rng):  # always, but whoever only counts calls cannot know
        return float(data.sum()) if rng.standard_gamma(1.0) >= 0 else -1.0

    with pytest.raises(AssertionError, match=r"epsilon >= \d+\.\d+ at delta 0 \(confidence 0\.99"):
        check(given_away, max_runs=20_000)


def test_too_few_runs_are_undecided_not_wrong():
    with pytest.raises(dpcheck.Undecided, match="give it more runs"):
        check(laplace(1.0), max_runs=50)


def test_an_exact_density_is_used():
    class Shift:
        def __call__(self, data, rng):
            return float(data.sum() + 0.9 * gamma_difference(rng))

        def log_density(self, data, output):
            return -abs(output - data.sum()) / 0.9

    with pytest.raises(AssertionError, match=r"exact loss of an output") as caught:
        check(Shift())
    assert "epsilon >= 1.1111" in str(caught.value)


def test_the_best_of_many_pairs_is_found():
    def last_only(data, rng):
        return data[-1] + rng.laplace(scale=0.5)

    pairs = [(np.eye(6)[i], np.zeros(6)) for i in range(6)]
    with pytest.raises(AssertionError, match="pair 5"):
        check(last_only, neighbours=pairs)


def test_misuse_is_explained():
    with pytest.raises(InvalidParameter, match="either epsilon"):
        dpcheck.assert_private(laplace(1), neighbours=PAIRS, adjacency="replace-one")
    with pytest.raises(NothingToAudit, match="neighbouring datasets"):
        check(laplace(1), neighbours=[])
    with pytest.raises(InvalidParameter, match="pair of datasets"):
        check(laplace(1), neighbours=[D])
    with pytest.raises(NothingToAudit, match="not callable"):
        check(3.0)
    with pytest.raises(InvalidParameter, match="confidence"):
        check(laplace(1), confidence=1.0)
