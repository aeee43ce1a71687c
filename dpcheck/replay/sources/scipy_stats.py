"""scipy.stats: rvs of any distribution draws from the generator we hand it."""

from __future__ import annotations

import sys

from dpcheck.core.data import Value
from dpcheck.replay import sampling
from dpcheck.replay.draws import Family
from dpcheck.replay.sources.base import Source, register
from dpcheck.replay.sources.generators import FollowedGenerator

# Distributions that scipy samples by inversion, which would lose the noise.
_LOCATED = {"gumbel_r_gen": Family.GUMBEL, "cauchy_gen": Family.CAUCHY}


@register
class ScipyStats(Source):
    """rv_generic.rvs, where no random_state is given; one that is given is followed by itself."""

    name = "scipy.stats"
    needs = "scipy.stats._distn_infrastructure"

    def install(self) -> None:
        """Replace the one method that all distributions share."""
        base: Value = sys.modules[self.needs].rv_generic
        real = base.rvs
        recorder = self.recorder
        own = FollowedGenerator(recorder, 8)

        def rvs(self: Value, *args: Value, **kwargs: Value) -> Value:
            given = kwargs.get("random_state")
            if given is None:
                kwargs["random_state"] = given = own
            kind = type(self).__name__
            if isinstance(given, FollowedGenerator):
                size = kwargs.get("size")
                if kind in _LOCATED and len(args) <= 2:
                    location = args[0] if args else kwargs.get("loc", 0.0)
                    scale = args[1] if len(args) > 1 else kwargs.get("scale", 1.0)
                    size = None if size in (None, 1) else size
                    drawn = sampling.located(
                        recorder, f"scipy.stats.{self.name}", _LOCATED[kind], location, scale, size
                    )
                    if drawn is not None:
                        return drawn
                if kind == "dlaplace_gen" and len(args) == 1 and sampling.plain(args[0]):
                    shape = None if size in (None, 1) else sampling.shape_of(size)
                    noise = sampling.discrete(
                        recorder,
                        "scipy.stats.dlaplace",
                        Family.DISCRETE_LAPLACE,
                        1.0 / float(args[0]),
                        shape,
                    )
                    return noise + kwargs.get("loc", 0)
            return real(self, *args, **kwargs)

        self.replace(base, "rvs", rvs)
