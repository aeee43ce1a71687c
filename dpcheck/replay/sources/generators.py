"""numpy.random.Generator: the one handed in, and those the code makes."""

from __future__ import annotations

import gc
import inspect
import math
import pickle

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay import sampling
from dpcheck.replay.draws import Family, users_line
from dpcheck.replay.following.arrays import concrete
from dpcheck.replay.following.values import Followed
from dpcheck.replay.marks import Mark, MarkKind
from dpcheck.replay.recorder import Recorder
from dpcheck.replay.sources.base import Source, register

_REAL = np.random.Generator
_BITS_OF_OUR_OWN = np.random.PCG64


class FollowedGenerator(_REAL):
    """A generator whose draws are followed; methods it does not know leave a mark."""

    recorder: Recorder
    _start: str

    def __init__(self, recorder: Recorder, key: int = 0) -> None:
        # Draws that are not followed come from here, the same in every run of one seed.
        with recorder.quietly():
            super().__init__(_BITS_OF_OUR_OWN([recorder.seed & 0xFFFFFFFF, key]))
        self.recorder = recorder
        self._start = repr(_REAL.bit_generator.__get__(self).state)
        recorder.generators.append(self)

    def _located(self, family: Family, location: Value, scale: Value, size: Value) -> Value:
        name = f"Generator.{_NAMES[family]}"
        drawn = sampling.located(self.recorder, name, family, location, scale, size)
        if drawn is not None:
            return drawn
        args = sampling.unfollowed(self.recorder, f"{name}, too many numbers", location, scale)
        real = getattr(_REAL, _NAMES[family])
        if family is Family.CAUCHY:
            return real(self, size) * args[1] + args[0]
        if family is Family.EXPONENTIAL:
            return real(self, args[1], size)
        low, width = args
        return real(self, low, low + width if family is Family.UNIFORM else width, size)

    def laplace(self, loc: Value = 0.0, scale: Value = 1.0, size: Value = None) -> Value:  # noqa: D102
        return self._located(Family.LAPLACE, loc, scale, size)

    def normal(self, loc: Value = 0.0, scale: Value = 1.0, size: Value = None) -> Value:  # noqa: D102
        return self._located(Family.NORMAL, loc, scale, size)

    def standard_normal(self, size: Value = None, dtype: Value = None, out: Value = None) -> Value:  # noqa: ARG002, D102
        return self._into(out, self._located(Family.NORMAL, 0.0, 1.0, _size(size, out)))

    def uniform(self, low: Value = 0.0, high: Value = 1.0, size: Value = None) -> Value:  # noqa: D102
        return self._located(Family.UNIFORM, low, np.subtract(high, low), size)

    def random(self, size: Value = None, dtype: Value = None, out: Value = None) -> Value:  # noqa: ARG002, D102
        return self._into(out, self._located(Family.UNIFORM, 0.0, 1.0, _size(size, out)))

    def exponential(self, scale: Value = 1.0, size: Value = None) -> Value:  # noqa: D102
        return self._located(Family.EXPONENTIAL, 0.0, scale, size)

    def standard_exponential(  # type: ignore[override]  # noqa: D102
        self, size: Value = None, out: Value = None, **_: Value
    ) -> Value:
        return self._into(out, self._located(Family.EXPONENTIAL, 0.0, 1.0, _size(size, out)))

    def gumbel(self, loc: Value = 0.0, scale: Value = 1.0, size: Value = None) -> Value:  # noqa: D102
        return self._located(Family.GUMBEL, loc, scale, size)

    def logistic(self, loc: Value = 0.0, scale: Value = 1.0, size: Value = None) -> Value:  # noqa: D102
        return self._located(Family.LOGISTIC, loc, scale, size)

    def standard_cauchy(self, size: Value = None) -> Value:  # noqa: D102
        return self._located(Family.CAUCHY, 0.0, 1.0, size)

    def _into(self, out: Value, drawn: Value) -> Value:
        if out is None:
            return drawn
        self.recorder.mark(MarkKind.LEFT, "out=")
        out[...] = concrete(drawn)
        return out

    def multivariate_normal(  # type: ignore[override]  # noqa: D102
        self, mean: Value, cov: Value, size: Value = None, **kwargs: Value
    ) -> Value:
        if size is not None or not sampling.plain(cov):
            mean, cov = sampling.unfollowed(self.recorder, "multivariate_normal", mean, cov)
            return _REAL.multivariate_normal(self, mean, cov, size, **kwargs)
        spread, scales, _ = np.linalg.svd(np.asarray(concrete(cov), dtype=float))
        noise = self.normal(size=len(scales))
        return np.asarray(mean) + (spread * np.sqrt(scales)) @ noise

    def binomial(self, n: Value, p: Value, size: Value = None) -> Value:  # noqa: D102
        if sampling.plain(n, p) and np.size(n) == 1 and int(np.ravel(concrete(n))[0]) < 64:
            trials, chance = int(np.ravel(concrete(n))[0]), np.asarray(concrete(p), dtype=float)
            shape = sampling.shape_of(size, chance, np.asarray(n))
            rows = np.broadcast_to(chance, shape or ()).ravel()
            if math.prod(shape or ()) <= sampling.MOST_VALUES:
                tables = sampling.bernoulli_tables(trials, rows)
                return sampling.finite(
                    self.recorder, "Generator.binomial", tables, range(trials + 1), shape
                )
        n, p = sampling.unfollowed(self.recorder, "Generator.binomial", n, p)
        return _REAL.binomial(self, n, p, size)

    def integers(  # noqa: D102
        self,
        low: Value,
        high: Value = None,
        size: Value = None,
        dtype: Value = np.int64,
        endpoint: bool = False,
    ) -> Value:
        first, last = (0, low) if high is None else (low, high)
        if sampling.plain(low, high) and np.ndim(low) == 0 and np.ndim(high or 0) == 0:
            count = int(last) - int(first) + int(endpoint)
            shape = sampling.shape_of(size)
            if 0 < count * math.prod(shape or ()) <= 4 * sampling.MOST_VALUES:
                values = range(int(first), int(first) + count)
                masses = np.full(count, 1 / count)
                return sampling.finite(self.recorder, "Generator.integers", masses, values, shape)
        low, high = sampling.unfollowed(self.recorder, "Generator.integers", low, high)
        return _REAL.integers(self, low, high, size, dtype, endpoint)

    def choice(  # noqa: D102
        self,
        a: Value,
        size: Value = None,
        replace: bool = True,
        p: Value = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Value:
        values = list(range(int(a))) if np.ndim(a) == 0 else list(a)
        simple = all(np.ndim(x) == 0 and not isinstance(x, Followed) for x in values)
        shape = sampling.shape_of(size)
        once = math.prod(shape or ()) == 1
        if sampling.plain(p) and (replace or once) and simple and 0 < len(values) <= 1024:
            masses = np.full(len(values), 1 / len(values)) if p is None else np.asarray(p, float)
            if len(masses) != len(values) or not abs(masses.sum() - 1) < 1e-7 or (masses < 0).any():
                _REAL.choice(self, a, size, replace, p, axis, shuffle)  # raises as numpy does
            picked = [x.item() if isinstance(x, np.generic) else x for x in values]
            return sampling.finite(self.recorder, "Generator.choice", masses, picked, shape)
        a, p = sampling.unfollowed(self.recorder, "Generator.choice", a, p)
        return _REAL.choice(self, a, size, replace, p, axis, shuffle)

    def geometric(self, p: Value, size: Value = None) -> Value:  # noqa: D102
        (p,) = sampling.unfollowed(self.recorder, "Generator.geometric", p)
        return _REAL.geometric(self, p, size)

    def spawn(self, n_children: int) -> list[Value]:  # noqa: D102
        return [FollowedGenerator(self.recorder, 2 + i) for i in range(n_children)]

    @property
    def bit_generator(self) -> Value:
        """Whoever takes it can draw unseen."""
        self.recorder.mark(MarkKind.GENERATOR, "bit_generator")
        return super().bit_generator

    @property
    def _bit_generator(self) -> Value:
        return self.bit_generator

    def moved(self) -> bool:
        """Whether somebody drew from it past the methods above."""
        return repr(_REAL.bit_generator.__get__(self).state) != self._start

    def __reduce__(self) -> Value:
        self.recorder.mark(MarkKind.GENERATOR, "a copied generator")
        return (np.random.default_rng, (self.recorder.seed,))


def _size(size: Value, out: Value) -> Value:
    return np.shape(out) if size is None and out is not None else size


_NAMES = {
    Family.LAPLACE: "laplace",
    Family.NORMAL: "normal",
    Family.UNIFORM: "uniform",
    Family.EXPONENTIAL: "exponential",
    Family.GUMBEL: "gumbel",
    Family.LOGISTIC: "logistic",
    Family.CAUCHY: "standard_cauchy",
}


def _forward(name: str) -> Value:
    def method(self: FollowedGenerator, *args: Value, **kwargs: Value) -> Value:
        args = sampling.unfollowed(self.recorder, f"Generator.{name}", *args)
        kwargs = {k: concrete(x) for k, x in kwargs.items()}
        return getattr(_REAL, name)(self, *args, **kwargs)

    return method


for _name in dir(_REAL):
    if not _name.startswith("_") and _name not in vars(FollowedGenerator):
        setattr(FollowedGenerator, _name, _forward(_name))


def _constant_seed(recorder: Recorder, seed: Value) -> Value:
    """The plain seed of a generator made inside; notes whether its draws are constants."""
    if isinstance(seed, Followed):
        recorder.mark(MarkKind.GENERATOR, "a seed made of noise")
        return int(seed.concrete())
    if issubclass(type(seed), int | np.integer | list | tuple):
        note = Mark(MarkKind.GENERATOR, users_line(), f"seed {seed!r:.40}")
        recorder.fixed_seeds.append(note)
        return seed
    recorder.mark(MarkKind.GENERATOR, f"seeded by {type(seed).__name__}")
    return seed


def _watched(kind: type[Value], recorder: Recorder) -> type[Value]:
    """A bit generator or seed sequence that says when it is made from something unknown."""

    def __init__(self: Value, seed: Value = None, *args: Value, **kwargs: Value) -> None:  # noqa: N807
        plain = _constant_seed(recorder, seed)
        with recorder.quietly():
            kind.__init__(self, plain, *args, **kwargs)

    return type(kind.__name__, (kind,), {"__init__": __init__})


@register
class Generators(Source):
    """np.random.default_rng and bit generators made inside the code."""

    name = "numpy generators"
    needs = "numpy.random"

    def install(self) -> None:
        """Replace the makers."""
        recorder = self.recorder

        def default_rng(seed: Value = None) -> Value:
            if isinstance(seed, FollowedGenerator):
                return seed
            if seed is None:
                return FollowedGenerator(recorder, 1)
            plain = _constant_seed(recorder, seed)
            with recorder.quietly():
                return _real_default_rng(plain)

        self.replace(np.random, "default_rng", default_rng)
        for kind in _BITS:
            self.replace(np.random, kind.__name__, _watched(kind, recorder))


_real_default_rng = np.random.default_rng
_BITS = (
    np.random.PCG64,
    np.random.PCG64DXSM,
    np.random.MT19937,
    np.random.Philox,
    np.random.SFC64,
    np.random.SeedSequence,
)
_KINDS = (_REAL, np.random.RandomState)


def living_generators() -> list[Value]:
    """Every generator somebody holds now; one that moves in a run was used unseen."""
    everything = gc.get_objects()
    try:
        return [found for found in everything if type(found) in _KINDS]
    finally:
        # Should a time limit ring in here, its traceback must not hold every object: Python refuses to
        # finish a tuple that somebody else holds.
        everything.clear()


def state_of(generator: Value) -> bytes:
    """Where a generator stands."""
    if isinstance(generator, _KINDS[1]):
        return pickle.dumps(generator.get_state(legacy=False))
    return pickle.dumps(generator.bit_generator.state)


def followed_methods() -> list[str]:
    """The methods of a generator whose draws are followed."""
    return sorted(
        name
        for name, member in vars(FollowedGenerator).items()
        if inspect.isfunction(member) and not name.startswith("_") and member.__name__ != "method"
    )
