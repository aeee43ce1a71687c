"""diffprivlib: its additive mechanisms, as additive noise of the scale they compute.

Their samplers combine several uniforms so that no float leaks; what they promise is put in their
place. A wrong scale, budget or sensitivity is found, a wrong sampler in the library is not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from dpcheck.core.data import Value
from dpcheck.replay import sampling
from dpcheck.replay.draws import Family
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.sources.base import Hook, Source, register


def _laplace_scale(mechanism: Value) -> float:
    return float(mechanism.sensitivity / (mechanism.epsilon - math.log(1 - mechanism.delta)))


def _gaussian_scale(mechanism: Value) -> float:
    return float(mechanism._scale)


def _geometric_scale(mechanism: Value) -> float:
    return float(mechanism.sensitivity / mechanism.epsilon)


_ADDITIVE: dict[str, tuple[Family, Callable[[Value], float]]] = {
    "Laplace": (Family.LAPLACE, _laplace_scale),
    "Gaussian": (Family.NORMAL, _gaussian_scale),
    "GaussianAnalytic": (Family.NORMAL, _gaussian_scale),
    "GaussianDiscrete": (Family.DISCRETE_GAUSSIAN, _gaussian_scale),
    "Geometric": (Family.DISCRETE_LAPLACE, _geometric_scale),
}


@register
class Diffprivlib(Source):
    """randomise of every mechanism: followed where it is additive, a mark where it is not."""

    name = "diffprivlib"
    needs = "diffprivlib.mechanisms"

    def install(self) -> None:
        """Replace `randomise` of every mechanism class."""
        module: Value = sys.modules[self.needs]
        for name in dir(module):
            kind = getattr(module, name)
            if isinstance(kind, type) and "randomise" in vars(kind):
                self.replace(kind, "randomise", self._randomise(kind, vars(kind)["randomise"]))

    def _randomise(self, kind: type, real: Hook) -> Hook:
        recorder = self.recorder

        def randomise(mechanism: Value, value: Value) -> Value:
            known = _ADDITIVE.get(kind.__name__)
            if type(mechanism).__name__ not in _ADDITIVE or known is None:
                recorder.mark(MarkKind.UNFOLLOWED, f"diffprivlib {type(mechanism).__name__}")
                with recorder.quietly():
                    return real(mechanism, value)
            family, scale_of = known
            mechanism._check_all(value)
            scale, name = scale_of(mechanism), f"diffprivlib {kind.__name__}"
            if family in (Family.DISCRETE_LAPLACE, Family.DISCRETE_GAUSSIAN):
                return value + sampling.discrete(recorder, name, family, scale, None)
            return sampling.located(recorder, name, family, value, scale, None)

        return randomise
