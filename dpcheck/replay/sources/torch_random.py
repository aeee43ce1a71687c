"""torch: draws are recorded and replayed; tensors are compiled code and are not followed."""

from __future__ import annotations

import sys

import numpy as np

from dpcheck.core.data import Value
from dpcheck.replay.draws import Family
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.sources.base import Hook, Source, register

_LOCATED = {
    "Laplace": (Family.LAPLACE, "loc", "scale"),
    "Normal": (Family.NORMAL, "loc", "scale"),
    "Gumbel": (Family.GUMBEL, "loc", "scale"),
    "Cauchy": (Family.CAUCHY, "loc", "scale"),
}


@register
class Torch(Source):
    """torch.randn, normal, rand, their _like and in-place kin, and torch.distributions.

    Everything else that draws from the global generator repeats too: it is seeded for the run and
    put back after.
    """

    name = "torch"
    needs = "torch"

    def install(self) -> None:
        """Seed the generator and replace the functions."""
        torch: Value = sys.modules["torch"]
        with self.recorder.quietly():
            self._state = torch.random.get_rng_state()
            torch.random.manual_seed(self.recorder.seed % 2**31)
        for name, hook in self._functions(torch).items():
            self.replace(torch, name, hook)
        tensors = torch.Tensor
        for name, hook in self._methods(torch).items():
            self.replace(tensors, name, hook)
        distributions = sys.modules.get("torch.distributions")
        for name, (family, location, scale) in _LOCATED.items():
            kind = getattr(distributions, name, None)
            if kind is not None:
                self._distribution(torch, kind, family, location, scale)

    def remove(self) -> None:
        """Put the functions and the generator back."""
        super().remove()
        state = self.__dict__.pop("_state", None)
        if state is not None:
            sys.modules["torch"].random.set_rng_state(state)

    def _noise(
        self, torch: Value, name: str, family: Family, shape: Value, like: Value = None
    ) -> Value:
        recorder = self.recorder
        if not recorder.plain:
            recorder.mark(MarkKind.UNFOLLOWED, f"torch.{name}")
        with recorder.quietly():
            atoms = recorder.draw(f"torch.{name}", family, tuple(int(n) for n in shape))
            values = np.array([recorder.values[a] for a in atoms]).reshape(tuple(shape))
            kind = torch.get_default_dtype() if like is None else like.dtype
            device = None if like is None else like.device
            return torch.as_tensor(values, dtype=kind, device=device)

    def _functions(self, torch: Value) -> dict[str, Hook]:
        def sized(name: str, family: Family) -> Hook:
            def hook(*size: Value, **kwargs: Value) -> Value:
                shape = kwargs.get("size", size[0] if len(size) == 1 and np.ndim(size[0]) else size)
                noise = self._noise(torch, name, family, shape)
                if kwargs.get("dtype") is not None:
                    noise = noise.to(kwargs["dtype"])
                return noise.requires_grad_(bool(kwargs.get("requires_grad", False)))

            return hook

        def alike(name: str, family: Family) -> Hook:
            return lambda like, **_: self._noise(torch, name, family, like.shape, like)

        def normal(
            mean: Value = 0.0, std: Value = 1.0, size: Value = None, **kwargs: Value
        ) -> Value:
            shape = size
            if size is None:
                shape = torch.broadcast_tensors(torch.as_tensor(mean), torch.as_tensor(std))[
                    0
                ].shape
            tensors = [x for x in (mean, std) if isinstance(x, torch.Tensor) and x.dim()]
            noise = self._noise(
                torch, "normal", Family.NORMAL, shape, tensors[0] if tensors else None
            )
            del kwargs
            return noise * std + mean

        return {
            "randn": sized("randn", Family.NORMAL),
            "rand": sized("rand", Family.UNIFORM),
            "randn_like": alike("randn_like", Family.NORMAL),
            "rand_like": alike("rand_like", Family.UNIFORM),
            "normal": normal,
        }

    def _methods(self, torch: Value) -> dict[str, Hook]:
        def filled(name: str, family: Family) -> Hook:
            def hook(tensor: Value, one: Value = 0.0, two: Value = 1.0, **kwargs: Value) -> Value:
                one = kwargs.get("mean", kwargs.get("from", one))
                two = kwargs.get("std", kwargs.get("to", two))
                noise = self._noise(torch, name, family, tensor.shape, tensor)
                scale = two if family is Family.NORMAL else two - one
                return tensor.copy_(noise * scale + one)

            return hook

        return {
            "normal_": filled("Tensor.normal_", Family.NORMAL),
            "uniform_": filled("Tensor.uniform_", Family.UNIFORM),
        }

    def _distribution(
        self, torch: Value, kind: Value, family: Family, location: str, scale: str
    ) -> None:
        def rsample(this: Value, sample_shape: Value = ()) -> Value:
            shape = this._extended_shape(torch.Size(sample_shape))
            name = f"distributions.{kind.__name__}"
            noise = self._noise(torch, name, family, shape, getattr(this, location))
            return noise * getattr(this, scale) + getattr(this, location)

        def sample(this: Value, sample_shape: Value = ()) -> Value:
            with torch.no_grad():
                return rsample(this, sample_shape)

        self.replace(kind, "rsample", rsample)
        self.replace(kind, "sample", sample)
