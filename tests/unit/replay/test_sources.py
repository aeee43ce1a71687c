"""Hooks: in place while a run lasts, gone whatever happens."""

from __future__ import annotations

import gc
import math
import random
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy import stats

from dpcheck.replay import FindingKind, HintKind, Scorer, examine
from dpcheck.replay.recorder import Recorder, active, recording
from dpcheck.replay.run import Observer
from dpcheck.replay.sources import SOURCES, installed
from dpcheck.replay.sources.generators import FollowedGenerator, followed_methods

PAIR = (np.array([0.0, 1.0]), np.array([1.0, 1.0]))


def fingerprint():
    """Everything a hook replaces, as it is now."""
    found = {
        ("np.random", name): id(getattr(np.random, name))
        for name in dir(np.random)
        if callable(getattr(np.random, name))
    }
    found |= {("random", name): id(vars(random)[name]) for name in dir(random)}
    found["scipy"] = id(stats._distn_infrastructure.rv_generic.rvs)
    found["profile"] = id(sys.getprofile())
    found["here"] = (id(np), id(float), "float" in globals(), id(math))
    return found


def raising(error: type[BaseException]) -> Callable:
    def function(data, rng):
        rng.laplace()
        np.random.seed(3)
        random.seed(3)
        raise error("from the function")

    return function


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_hooks_are_removed_after_errors(error):
    before = fingerprint()
    finding = examine(raising(error), PAIR)
    assert fingerprint() == before
    assert finding.kind is FindingKind.HINT
    assert active() is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit])
def test_hooks_are_removed_after_interrupts(error):
    before = fingerprint()
    with pytest.raises(error):
        examine(raising(error), PAIR)
    assert fingerprint() == before
    assert active() is None


def test_nested_runs():
    """A function that examines another one inside."""
    before = fingerprint()
    inner = []

    def function(data, rng):
        inner.append(examine(lambda d, r: d.sum() + r.laplace(scale=0.5), PAIR).kind)
        return data.sum() + rng.laplace()

    examine(function, PAIR)
    assert fingerprint() == before
    assert FindingKind.EXACT in inner or FindingKind.HINT in inner


def test_a_hook_that_fails_to_install_leaves_nothing(monkeypatch):
    before = fingerprint()
    kind = SOURCES["random"]
    real = kind.install

    def half(self):
        real(self)
        raise RuntimeError("half way")

    monkeypatch.setattr(kind, "install", half)
    with pytest.raises(RuntimeError), installed(Recorder(0)):
        pass
    monkeypatch.undo()
    assert fingerprint() == before


def test_nothing_is_imported_for_a_hook():
    missing = [name for name in ("torch", "opendp", "diffprivlib") if name not in sys.modules]
    examine(lambda data, rng: data.sum() + rng.laplace(), PAIR)
    assert not [name for name in missing if name in sys.modules]


def noisy_mean(data, rng):
    return float(np.mean(data) + rng.laplace(scale=0.25))


def _examined(seed):
    finding = examine(noisy_mean, PAIR, seed=seed)
    return finding.epsilon().lower, finding.calls


def test_workers():
    found = Parallel(n_jobs=2, backend="loky")(delayed(_examined)(seed) for seed in (0, 1))
    assert found == [_examined(0), _examined(1)]
    assert found[0][0] == pytest.approx(2.0, rel=1e-6)


def laplace_of_scipy(data, rng):
    return data.sum() + stats.laplace.rvs(scale=0.5)


def laplace_of_scipy_with_rng(data, rng):
    return data.sum() + stats.laplace(scale=0.5).rvs(random_state=rng)


def laplace_of_numpy(data, rng):
    return data.sum() + np.random.laplace(0, 0.5)


def laplace_of_a_new_generator(data, rng):
    return data.sum() + np.random.default_rng().laplace(0, 0.5)


def laplace_of_a_spawned_generator(data, rng):
    return data.sum() + rng.spawn(2)[1].laplace(0, 0.5)


def laplace_of_random_state(data, rng):
    return data.sum() + np.random.RandomState().laplace(0, 0.5)


def discrete_laplace_of_scipy(data, rng):
    return int(data.sum()) + stats.dlaplace.rvs(2.0)


def parameter_of_the_draw(data, rng):
    return rng.laplace(data.sum(), 0.5)


SAME = [
    laplace_of_scipy,
    laplace_of_scipy_with_rng,
    laplace_of_numpy,
    laplace_of_a_new_generator,
    laplace_of_a_spawned_generator,
    laplace_of_random_state,
    discrete_laplace_of_scipy,
    parameter_of_the_draw,
]


@pytest.mark.parametrize("function", SAME, ids=lambda f: f.__name__)
def test_the_same_law_from_every_source(function):
    finding = examine(function, PAIR)
    assert finding.kind is FindingKind.EXACT, finding.hints
    assert finding.epsilon().lower == pytest.approx(2.0, rel=1e-6)


def gauss(data, rng):
    return data.sum() + random.gauss(0, 2)


def gauss_of_an_object(data, rng):
    return data.sum() + random.Random().gauss(0, 2)


def normal(data, rng):
    return data.sum() + rng.normal(0, 2)


def multivariate(data, rng):
    return data + rng.multivariate_normal([0.0, 0.0], [[4.0, 0.0], [0.0, 4.0]])


@pytest.mark.parametrize("function", [gauss, gauss_of_an_object, multivariate])
def test_normal_noise_from_every_source(function):
    expected = examine(normal, PAIR).epsilon(1e-4).lower
    assert examine(function, PAIR).epsilon(1e-4).lower == pytest.approx(expected, rel=1e-6)


def test_generators_in_the_users_module_are_followed():
    finding = examine(module_level, PAIR)
    assert finding.epsilon().lower == pytest.approx(2.0, rel=1e-6)


RNG = np.random.default_rng(4)


def module_level(data, rng):
    return data.sum() + RNG.laplace(scale=0.5)


def test_a_run_moves_no_generator():
    before = repr(np.random.get_state()), random.getstate(), repr(RNG.bit_generator.state)
    for function in (laplace_of_numpy, gauss, module_level):
        examine(function, PAIR)
    after = repr(np.random.get_state()), random.getstate(), repr(RNG.bit_generator.state)
    assert before == after


def test_followed_methods_accept_what_numpy_accepts():
    """Each method on shapes and parameters, against the shapes numpy gives."""
    real = np.random.default_rng(0)
    calls = {
        "laplace": [((), {}), ((0.0, 1.0, 3), {}), ((), {"loc": np.zeros(2), "scale": 1.0})],
        "normal": [((), {"size": (2, 3)}), ((np.zeros((2, 1)), np.ones(3)), {})],
        "uniform": [((), {}), ((-1, 1, 4), {})],
        "random": [((), {}), ((5,), {}), (((2, 2),), {})],
        "exponential": [((2.0,), {}), ((), {"scale": [1.0, 2.0]})],
        "integers": [((5,), {}), ((2, 9), {"size": 3}), ((3,), {"endpoint": True})],
        "choice": [
            ((4,), {}),
            ((["a", "b"],), {"size": 2}),
            (([1, 2, 3],), {"p": [0.2, 0.3, 0.5]}),
        ],
        "binomial": [((1, 0.5), {}), ((3, [0.1, 0.9]), {}), ((1, 0.3, 4), {})],
        "standard_normal": [((), {}), ((3,), {})],
        "gumbel": [((), {"size": 2})],
        "logistic": [((), {})],
        "standard_cauchy": [((2,), {})],
        "standard_exponential": [((2,), {})],
        "permutation": [((3,), {})],
    }
    assert set(followed_methods()) - {"moved", "spawn"} <= {
        *calls,
        "geometric",
        "multivariate_normal",
    }
    for plain in (False, True):
        recorder = Recorder(0, plain=plain)
        with recording(recorder):
            rng = FollowedGenerator(recorder)
            for name, several in calls.items():
                for args, kwargs in several:
                    assert np.shape(getattr(rng, name)(*args, **kwargs)) == np.shape(
                        getattr(real, name)(*args, **kwargs)
                    ), (name, args, kwargs)


def test_bad_parameters_raise_as_numpys_do():
    recorder = Recorder(0)
    rng = FollowedGenerator(recorder)
    for call in (
        lambda: rng.laplace(scale=-1),
        lambda: rng.choice(2, p=[0.5, 0.6]),
        lambda: rng.binomial(1, 2),
    ):
        with pytest.raises(ValueError, match=r".+"):
            call()


@pytest.mark.parametrize(("drawn", "words"), [(False, "a fixed seed"), (True, "unless that is")])
def test_a_seed_that_may_be_drawn_is_not_called_fixed(drawn, words):
    def seeded(data, rng):
        seed = int(rng.integers(1 << 62)) if drawn else 1
        return data.sum() + np.random.default_rng(seed).laplace()

    found = [h for h in examine(seeded, PAIR).hints if h.kind is HintKind.FIXED_SEED]
    assert len(found) == 1
    assert words in str(found[0])


def test_hints():
    def kinds(function):
        return {hint.kind for hint in examine(function, PAIR).hints}

    assert HintKind.NO_DRAW in kinds(lambda data, rng: data.sum())
    assert HintKind.FIXED_SEED in kinds(
        lambda data, rng: data.sum() + np.random.default_rng(1).laplace()
    )
    assert HintKind.PATH in kinds(
        lambda data, rng: data.sum() + rng.laplace(size=1 + int(data[0])).sum()
    )
    assert HintKind.SCALE in kinds(lambda data, rng: data.sum() + rng.laplace(scale=1 + data[0]))
    assert HintKind.UNUSED in kinds(lambda data, rng: (rng.laplace(), data.sum())[1])
    assert HintKind.REUSED in kinds(lambda data, rng: data + rng.laplace())
    assert HintKind.SHIFT in kinds(lambda data, rng: data.sum() + rng.laplace())
    assert HintKind.NOT_FOLLOWED in kinds(lambda data, rng: data.sum() + rng.gamma(1.0))


def test_hint_of_additive_noise_that_was_not_followed():
    def written(data, rng):
        total = [np.array([data.sum()])]
        for array in total:
            array += rng.laplace(scale=0.25, size=1)
        return total

    finding = examine(written, PAIR)
    assert finding.kind is FindingKind.HINT
    told = next(h for h in finding.hints if h.kind is HintKind.ADDITIVE)
    assert "epsilon is 4" in told.words or "epsilon is 3.99" in told.words
    assert not finding.exceeds(0.0)


def test_lines_of_the_users_code():
    finding = examine(laplace_of_numpy, PAIR)
    assert finding.lines[0].path == __file__
    assert finding.lines[0].number == laplace_of_numpy.__code__.co_firstlineno + 1


def test_a_hundred_pairs_cost_a_few_hundred_calls():
    base = np.linspace(0, 1, 10)
    pairs = []
    for k in range(100):
        changed = base.copy()
        changed[k % 10] = 3.0 * (k / 100)
        pairs.append((base, changed))
    pairs.append((base, np.where(np.arange(10) == 4, np.nan, base)))

    def clipped(data, rng):
        return np.clip(data, 0, 1).sum() + rng.laplace()

    scorer = Scorer(clipped)
    (best,) = scorer.best(pairs)
    assert scorer.calls <= 2 * len(pairs)
    assert np.isnan(best[1]).any()
    assert scorer.score(best) == math.inf


def test_calls_are_counted():
    observer = Observer(noisy_mean)
    observer.run(PAIR[0], 0)
    observer.check(PAIR[0], 0)
    assert observer.calls == 2


def test_a_collection_of_garbage_is_not_the_functions_doing():
    """Others watch collections with a clock (hypothesis does, jax runs code of its own)."""
    threshold = gc.get_threshold()
    gc.callbacks.append(_look_at_the_clock)
    gc.set_threshold(1)
    try:
        assert examine(noisy_mean, PAIR).kind is FindingKind.EXACT
        assert gc.isenabled()
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(_look_at_the_clock)


def _look_at_the_clock(phase, info):
    time.perf_counter()
