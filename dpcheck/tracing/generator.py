"""The generator a traced function draws from: every draw is a symbol with a known law."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from dpcheck.core.data import Data
from dpcheck.tracing import releases
from dpcheck.tracing.facts.boxes import Array, Box
from dpcheck.tracing.facts.sizes import Shape
from dpcheck.tracing.registry import Family, named
from dpcheck.tracing.rules import coins
from dpcheck.tracing.rules import noise as noise_rules
from dpcheck.tracing.values import PRIVATE, SECRET, Aggregate, Coin, Draw, Noise, Released, Rows

if TYPE_CHECKING:
    from dpcheck.tracing.tracer import Tracer

_REAL = np.random.Generator
# No float sampler gives more than that many scales: beyond it the mass is below the least positive float.
_FARTHEST = {
    releases.GAUSSIAN: 40.0,
    releases.LAPLACE: 800.0,
    releases.GUMBEL: 800.0,
    releases.EXPONENTIAL: 800.0,
}
LEMMA = "fresh numbers of a public law; each may protect one number of one release"


class TracedGenerator(_REAL):
    """Stands for numpy.random.Generator; methods it does not know are refused."""

    tracer: Tracer

    def __init__(self, tracer: Tracer) -> None:
        super().__init__(np.random.PCG64(0))
        self.tracer = tracer

    def _shape(self, size: Data, *parameters: Data) -> Shape:
        """The shape of a draw; its first axis may be as long as there are records."""
        if size is None:
            return np.broadcast_shapes(*(_dims(each) for each in parameters))
        many = size if isinstance(size, tuple | list) else (size,)
        return tuple(self._length(each) for each in many)

    def _length(self, size: Data) -> int:
        if isinstance(size, Aggregate) and size.length_of is not None:
            return PRIVATE
        if isinstance(size, SECRET):
            self.tracer.refuse(
                "private-control",
                "a private value decides how many numbers are drawn",
                "draw a public number of them",
            )
        return int(size)

    def _public(self, name: str, value: Data) -> Array:
        if isinstance(value, Released):
            self.tracer.refuse(
                "released-path",
                f"a released value decides the {name} of the noise",
                "use a public number, or decorate the function with @dpcheck.enforced",
            )
        if isinstance(value, SECRET):
            self.tracer.refuse(
                "private-scale",
                f"the {name} of the noise is computed from the data",
                "use a public number",
            )
        return np.asarray(value, dtype=float)

    def _located(self, family: str, location: Data, scale: Data, size: Data) -> Data:
        spread = self._public("scale", scale)
        if (spread < 0).any() or not np.isfinite(spread).all():
            raise ValueError("scale < 0")
        private = isinstance(location, Rows | Aggregate | Released | Noise)
        dims = self._shape(
            size,
            0.0 if isinstance(location, Rows) and PRIVATE in location.dims else location,
            spread,
        )
        many = math.prod(dims) if PRIVATE not in dims else math.inf
        ids = self.tracer.new_ids(int(min(many, 1 << 40)))
        reach = spread * _FARTHEST.get(family, np.inf)
        low = 0.0 if family == releases.EXPONENTIAL else -reach
        made = Noise(
            self.tracer,
            dims,
            family,
            spread,
            np.asarray(0.0),
            ids,
            Box(np.asarray(low, dtype=float), reach),
        )
        return noise_rules.shifted(self.tracer, location, made) if private else made + location

    def laplace(self, loc: Data = 0.0, scale: Data = 1.0, size: Data = None) -> Data:  # noqa: D102
        return self._located(releases.LAPLACE, loc, scale, size)

    def normal(self, loc: Data = 0.0, scale: Data = 1.0, size: Data = None) -> Data:  # noqa: D102
        return self._located(releases.GAUSSIAN, loc, scale, size)

    def standard_normal(self, size: Data = None, dtype: Data = None, out: Data = None) -> Data:  # noqa: D102
        if dtype not in (None, np.float64, float) or out is not None:
            self._unknown("standard_normal with dtype= or out=")
        return self._located(releases.GAUSSIAN, 0.0, 1.0, size)

    def gumbel(self, loc: Data = 0.0, scale: Data = 1.0, size: Data = None) -> Data:  # noqa: D102
        return self._located(releases.GUMBEL, loc, scale, size)

    def exponential(self, scale: Data = 1.0, size: Data = None) -> Data:  # noqa: D102
        return self._located(releases.EXPONENTIAL, 0.0, scale, size)

    def random(self, size: Data = None, dtype: Data = None, out: Data = None) -> Data:  # noqa: D102
        if dtype not in (None, np.float64, float) or out is not None:
            self._unknown("random with dtype= or out=")
        return self.uniform(0.0, 1.0, size)

    def uniform(self, low: Data = 0.0, high: Data = 1.0, size: Data = None) -> Data:  # noqa: D102
        start, end = self._public("range", low), self._public("range", high)
        dims = self._shape(size, start, end)
        many = math.prod(dims) if PRIVATE not in dims else 1 << 40
        return Noise(
            self.tracer,
            dims,
            releases.UNIFORM,
            end - start,
            start,
            self.tracer.new_ids(int(many)),
            Box(np.minimum(start, end), np.maximum(start, end)),
        )

    def geometric(self, p: Data, size: Data = None) -> Data:  # noqa: D102
        chance = self._public("probability", p)
        if chance.ndim or not 0 < float(chance) < 1:
            self._unknown("geometric with these probabilities")
        dims = self._shape(size)
        return Noise(
            self.tracer,
            dims,
            releases.GEOMETRIC,
            np.asarray(-1 / math.log1p(-float(chance))),
            np.asarray(0.0),
            self.tracer.new_ids(math.prod(dims)),
            Box(np.asarray(1.0), np.asarray(np.inf)),
            dtype=np.dtype(np.int64),
        )

    def binomial(self, n: Data, p: Data, size: Data = None) -> Data:  # noqa: D102
        if isinstance(p, Rows) or (not isinstance(n, SECRET) and np.ndim(n) == 0 and int(n) == 1):
            return coins.bernoulli(self.tracer, self, p, size)
        return self._unknown("binomial with n above 1")

    def integers(  # noqa: D102
        self,
        low: Data,
        high: Data = None,
        size: Data = None,
        dtype: Data = np.int64,
        endpoint: bool = False,
    ) -> Data:
        first, last = (0, low) if high is None else (low, high)
        for each in (first, last):
            self._public("range", each)
        return coins.integers(self.tracer, self, int(first), int(last) + int(endpoint), size, dtype)

    def choice(  # noqa: D102
        self,
        a: Data,
        size: Data = None,
        replace: bool = True,
        p: Data = None,
        axis: int = 0,
        shuffle: bool = True,  # noqa: ARG002 - numpy's signature
    ) -> Data:
        if axis != 0:
            self._unknown("choice along another axis")
        return coins.choice(self.tracer, self, a, size, replace, p)

    def permutation(self, x: Data, axis: int = 0) -> Data:  # noqa: D102
        if axis == 0 and isinstance(x, int | np.integer):
            return Draw(self.tracer, int(x), int(x), self.tracer.new_ids(1))
        return self._unknown("permutation of values")

    def spawn(self, n_children: int) -> list[Data]:  # noqa: D102
        return [TracedGenerator(self.tracer) for _ in range(n_children)]

    def _unknown(self, name: str) -> NoReturn:
        self.tracer.refuse(
            "unknown-noise",
            f"draws by Generator.{name} are not followed",
            "use laplace, normal, random, integers, choice, gumbel, exponential or geometric",
        )

    @property
    def bit_generator(self) -> Data:
        """Whoever takes it can draw unseen."""
        return self._unknown("bit_generator")


def _dims(value: Data) -> Shape:
    return tuple(value.dims) if hasattr(value, "dims") else np.shape(value)


def _refused(name: str) -> Data:
    def method(self: TracedGenerator, *_: Data, **__: Data) -> Data:
        self._unknown(name)

    return method


for _name in dir(_REAL):
    if not _name.startswith("_") and _name not in vars(TracedGenerator):
        setattr(TracedGenerator, _name, _refused(_name))

for _name in (
    "laplace",
    "normal",
    "standard_normal",
    "gumbel",
    "exponential",
    "random",
    "uniform",
    "geometric",
):
    named(f"rng.{_name}", Family.SAMPLING, LEMMA)(getattr(TracedGenerator, _name))

for _name, _lemma in (
    (
        "rng.random(n) < rate, then x[mask] or x * mask",
        "Poisson sampling: one coin for each record",
    ),
    ("rng.choice(n, m, replace=False), rng.permutation(n)[:m]", "a batch of a fixed size"),
    ("np.where(coins, bits, random answers)", "randomized response, one coin for each record"),
    ("np.argmax(aggregate + rng.gumbel(...))", "the exponential mechanism; Laplace: noisy max"),
    ("rng.exponential() - rng.exponential()", "Laplace noise"),
    ("rng.geometric(p) - rng.geometric(p)", "discrete Laplace noise, for whole numbers"),
):
    named(_name, Family.SAMPLING, _lemma)(TracedGenerator)

__all__ = ["Coin", "TracedGenerator"]
