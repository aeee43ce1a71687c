"""OpenDP: measurements of one number by Laplace or Gaussian noise, as additive noise of their scale.

OpenDP samples in compiled code. What its documentation promises is put in the place of its sampler:
a wrong scale in the user's code is found, a wrong sampler in the library is not.
"""

from __future__ import annotations

import sys

from dpcheck.core.data import Value
from dpcheck.replay import sampling
from dpcheck.replay.draws import Family
from dpcheck.replay.following.values import is_number
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.sources.base import Hook, Source, register

_FAMILIES = {
    "make_laplace": (Family.LAPLACE, Family.DISCRETE_LAPLACE),
    "make_gaussian": (Family.NORMAL, Family.DISCRETE_GAUSSIAN),
}


@register
class OpenDP(Source):
    """make_laplace and make_gaussian on a number; any other measurement leaves a mark."""

    name = "opendp"
    needs = "opendp.measurements"

    def install(self) -> None:
        """Remember the scale of measurements that are made, and answer for them when called."""
        measurements: Value = sys.modules[self.needs]
        kind: Value = sys.modules["opendp.mod"].Measurement
        self._scales: dict[int, tuple[str, float, Value]] = {}
        for name in _FAMILIES:
            if hasattr(measurements, name):
                self.replace(measurements, name, self._maker(name, getattr(measurements, name)))
        self.replace(kind, "__call__", self._called(kind.__call__))

    def _maker(self, name: str, real: Hook) -> Hook:
        def make(*args: Value, **kwargs: Value) -> Value:
            with self.recorder.quietly():
                made = real(*args, **kwargs)
            scale = kwargs.get("scale", args[2] if len(args) > 2 else None)
            if is_number(scale):
                self._scales[id(made)] = (name, float(scale), made)  # type: ignore[arg-type]
            return made

        return make

    def _called(self, real: Hook) -> Hook:
        recorder = self.recorder

        def call(measurement: Value, value: Value) -> Value:
            known = self._scales.get(id(measurement))
            if known is None or not is_number(value):
                recorder.mark(MarkKind.UNFOLLOWED, "an OpenDP measurement")
                with recorder.quietly():
                    return real(measurement, value)
            name, scale, _ = known
            smooth, whole = _FAMILIES[name]
            if issubclass(type(value), int):
                return value + sampling.discrete(recorder, f"opendp {name}", whole, scale, None)
            return sampling.located(recorder, f"opendp {name}", smooth, value, scale, None)

        return call
