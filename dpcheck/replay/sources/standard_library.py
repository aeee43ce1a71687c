"""The random module of the standard library."""

from __future__ import annotations

import random

from dpcheck.core.data import Value
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.sources.base import Hook, Source, register
from dpcheck.replay.sources.generators import FollowedGenerator
from dpcheck.replay.sources.legacy import note_seed

_UNFOLLOWED = (
    "betavariate",
    "choices",
    "gammavariate",
    "getrandbits",
    "lognormvariate",
    "paretovariate",
    "randbytes",
    "sample",
    "shuffle",
    "triangular",
    "vonmisesvariate",
    "weibullvariate",
    "getstate",
    "setstate",
)


def _hooks(generator: FollowedGenerator) -> dict[str, Hook]:
    def randrange(start: Value, stop: Value = None, step: int = 1) -> Value:
        values = range(start) if stop is None else range(start, stop, step)
        return generator.choice(list(values))

    return {
        "random": lambda: generator.random(),
        "uniform": lambda a, b: generator.uniform(a, b),
        "gauss": lambda mu=0.0, sigma=1.0: generator.normal(mu, sigma),
        "normalvariate": lambda mu=0.0, sigma=1.0: generator.normal(mu, sigma),
        "expovariate": lambda lambd=1.0: generator.exponential(1.0 / lambd),
        "randint": lambda a, b: generator.integers(a, b + 1),
        "randrange": randrange,
        "choice": lambda seq: generator.choice(list(seq)),
    }


@register
class StandardLibrary(Source):
    """random.random, random.gauss, ... and random.Random objects."""

    name = "random"
    needs = "random"

    def install(self) -> None:
        """Replace the module's functions and the class."""
        recorder = self.recorder
        real = random.Random
        hooks = _hooks(FollowedGenerator(recorder, 5))
        own = real(recorder.seed)

        def unknown(name: str) -> Hook:
            def hook(*args: Value, **kwargs: Value) -> Value:
                recorder.mark(MarkKind.UNFOLLOWED, f"random.{name}")
                return getattr(own, name)(*args, **kwargs)

            return hook

        hooks |= {name: unknown(name) for name in _UNFOLLOWED if hasattr(own, name)}
        for name, hook in hooks.items():
            self.replace(random, name, hook)

        def seed(value: Value = None, version: int = 2) -> None:  # noqa: ARG001 - as in random
            if value is None:
                return
            note_seed(recorder, value)
            with recorder.quietly():
                fixed = real(value)
            for name in hooks:
                setattr(random, name, getattr(fixed, name))

        self.replace(random, "seed", seed)

        class Random(real):  # type: ignore[misc, valid-type]
            """Followed when made without a seed, constant with one."""

            def __init__(self, x: Value = None) -> None:
                with recorder.quietly():
                    super().__init__(0 if x is None else x)
                if x is None:
                    self.__dict__.update(_hooks(FollowedGenerator(recorder, 6)))
                    self.__dict__.update({n: unknown(n) for n in _UNFOLLOWED})
                else:
                    note_seed(recorder, x)

        self.replace(random, "Random", Random)
