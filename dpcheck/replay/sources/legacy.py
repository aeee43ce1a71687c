"""np.random.laplace and its kin: the global state, and RandomState objects."""

from __future__ import annotations

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.draws import users_line
from dpcheck.replay.following.arrays import concrete
from dpcheck.replay.marks import Mark, MarkKind
from dpcheck.replay.recorder import Recorder
from dpcheck.replay.sources.base import Hook, Source, register
from dpcheck.replay.sources.generators import FollowedGenerator

_RealState = np.random.RandomState
# Legacy name -> the generator's method with the same arguments.
SAME = {
    name: name
    for name in (
        "laplace",
        "normal",
        "uniform",
        "exponential",
        "gumbel",
        "logistic",
        "standard_cauchy",
        "standard_normal",
        "standard_exponential",
        "binomial",
        "choice",
        "multivariate_normal",
        "geometric",
        "random",
    )
} | {"random_sample": "random", "ranf": "random", "sample": "random"}
UNFOLLOWED = (
    "beta",
    "bytes",
    "chisquare",
    "dirichlet",
    "f",
    "gamma",
    "hypergeometric",
    "lognormal",
    "logseries",
    "multinomial",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rayleigh",
    "shuffle",
    "standard_gamma",
    "standard_t",
    "triangular",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
)


def _hooks(generator: FollowedGenerator) -> dict[str, Hook]:
    """Followed versions of the legacy functions."""
    hooks: dict[str, Hook] = {old: getattr(generator, new) for old, new in SAME.items()}
    hooks |= {name: getattr(generator, name) for name in UNFOLLOWED if hasattr(generator, name)}
    hooks["rand"] = lambda *shape: generator.random(shape or None)
    hooks["randn"] = lambda *shape: generator.standard_normal(shape or None)

    def randint(low: Value, high: Value = None, size: Value = None, dtype: Value = int) -> Value:
        return generator.integers(low, high, size, dtype)

    def random_integers(low: Value, high: Value = None, size: Value = None) -> Value:
        first, last = (1, low) if high is None else (low, high)
        return generator.integers(first, last + 1, size)

    hooks["randint"], hooks["random_integers"] = randint, random_integers
    return hooks


@register
class Legacy(Source):
    """The functions of np.random, np.random.seed and np.random.RandomState."""

    name = "numpy legacy"
    needs = "numpy.random"

    def install(self) -> None:
        """Replace the module's functions; after a constant seed draws are constants."""
        recorder = self.recorder
        generator = FollowedGenerator(recorder, 3)
        hooks = _hooks(generator)
        for name, hook in hooks.items():
            self.replace(np.random, name, hook)

        def seed(value: Value = None) -> None:
            if value is None:
                return
            note_seed(recorder, value)
            with recorder.quietly():
                fixed = _RealState(concrete(value))
            for name in hooks:
                if hasattr(fixed, name):
                    setattr(np.random, name, getattr(fixed, name))

        self.replace(np.random, "seed", seed)
        for name in ("get_state", "set_state"):
            self.replace(np.random, name, _unknown(recorder, name, getattr(np.random, name)))

        class RandomState(_RealState):
            """Followed when made without a seed, constant with one."""

            def __init__(self, seed: Value = None) -> None:
                with recorder.quietly():
                    super().__init__(0 if seed is None else concrete(seed))
                if seed is None:
                    for name, hook in _hooks(FollowedGenerator(recorder, 4)).items():
                        setattr(self, name, hook)
                else:
                    note_seed(recorder, seed)

        self.replace(np.random, "RandomState", RandomState)


def note_seed(recorder: Recorder, value: Value) -> None:
    """A seed in the code: constant if it is a number, unknown otherwise."""
    if issubclass(type(value), int | np.integer):
        recorder.fixed_seeds.append(Mark(MarkKind.GENERATOR, users_line(), f"seed {value!r:.40}"))
    else:
        recorder.mark(MarkKind.GENERATOR, f"seeded by {type(value).__name__}")


def _unknown(recorder: Recorder, name: str, real: Hook) -> Hook:
    def hook(*args: Value, **kwargs: Value) -> Value:
        recorder.mark(MarkKind.GENERATOR, f"np.random.{name}")
        return real(*args, **kwargs)

    return hook
