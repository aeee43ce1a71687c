"""Opacus: dpcheck as its accountant, and its training steps as audit targets.

    import dpcheck.integrations.opacus            # registers the accountant
    from opacus import PrivacyEngine

    engine = PrivacyEngine(accountant="dpcheck")
    ...
    engine.get_epsilon(delta=1e-5)                # certified upper bound
    engine.accountant.bound(delta=1e-5)           # both sides

Needs `pip install 'dpcheck[opacus]'`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from dpcheck.accounting.api import epsilon
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.errors import MissingExtra, NotCovered
from dpcheck.core.events.event import Event, Sequential
from dpcheck.core.events.guarantee import NotPrivate
from dpcheck.core.events.training import SampledGaussian
from dpcheck.integrations.foreign import Foreign

try:
    from opacus.accountants import IAccountant
    from opacus.accountants.registry import register_accountant
except ImportError:
    raise MissingExtra("opacus is not installed; run: pip install 'dpcheck[opacus]'") from None


ASSUMES = (
    "batches are drawn by Poisson sampling, every example by an independent coin, as "
    "make_private(poisson_sampling=True) does",
    "the number of rows is public, and with it the divisor: the expected batch size, not the drawn one",
)


class DpcheckAccountant(IAccountant):  # type: ignore[misc]  # untyped base
    """dpcheck's certified accountant behind Opacus's interface.

    Guarantee: `get_epsilon` is never below what the recorded steps spend under the adjacency asked
    for, add-remove unless stated.
    Assumes: Poisson sampling, as `make_private(poisson_sampling=True)` does.
    """

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Foreign], None]:
        """As every accountant's; refuses to account batches that `make_private` does not sample."""
        # Opacus hands the rate alone; how batches are drawn stands in the arguments of its caller.
        caller = sys._getframe(1).f_locals
        if caller.get("poisson_sampling") is False:
            raise NotCovered(
                "make_private(poisson_sampling=False) takes each example once an epoch, and the "
                "accountant's bound is for Poisson sampling; leave poisson_sampling=True, or account "
                "the epochs with dpcheck.Gaussian and no sampling.",
            )
        hook: Callable[[Foreign], None] = super().get_optimizer_hook_fn(sample_rate)
        return hook

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one optimiser step."""
        last = self.history[-1] if self.history else None
        if last is not None and last[:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, last[2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def event(self) -> Event:
        """What was released so far, for ledgers, audits and other accountants."""
        return Sequential(tuple(_step(noise, rate) * n for noise, rate, n in self.history))

    def bound(self, delta: float, *, adjacency: Adjacency | str = Adjacency.ADD_REMOVE) -> Bound:
        """Both certified sides of epsilon at `delta`, and what they assume of the training."""
        found = epsilon(self.event(), delta=delta, adjacency=adjacency)
        return replace(found, assumes=(*found.assumes, *ASSUMES))

    def get_epsilon(
        self, delta: float, *, adjacency: Adjacency | str = Adjacency.ADD_REMOVE, **_: object
    ) -> float:
        """The certified upper bound; arguments of other accountants are ignored."""
        return self.bound(delta, adjacency=adjacency).upper

    def __len__(self) -> int:
        """As Opacus's own: the number of different settings recorded."""
        return len(self.history)

    @classmethod
    def mechanism(cls) -> str:
        """Its name in Opacus's registry."""
        return "dpcheck"


def _step(noise_multiplier: float, sample_rate: float) -> Event:
    if noise_multiplier == 0:
        return NotPrivate("noise multiplier 0")
    return SampledGaussian(noise_multiplier, sample_rate)


register_accountant(DpcheckAccountant.mechanism(), DpcheckAccountant, force=True)
