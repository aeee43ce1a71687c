"""G-DPDA: DPDA that protects the source's rows as well as the target's."""

from __future__ import annotations

from typing import ClassVar

from dpcheck.core.budget import Budget
from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms.adaptation.noisy_steps import NoisyGradient, noisy_gradient
from dpcheck.mechanisms.dpda import DPDA


class GDPDA(DPDA):
    """DPDA with noise in both phases: the source gets (epsilon, delta), the target half of each.

    Guarantee ("corrected"): all noisy gradients together are (epsilon, delta)-DP for one source row
    and (epsilon/2, delta/2)-DP for one target row. The source takes part in two batches a step; the
    paper accounts each phase on its own and adds up, (2 eps', 2 delta'), with two blocks clipped
    apart in each.
    Reference: [Wang2020] section IV-D, (19)-(22).
    Assumes: as DPDA, and nobody is in both datasets.
    """

    parts: ClassVar[tuple[str, ...]] = ("source", "target")

    def budget(self, part: str) -> Budget:
        """(epsilon, delta) for the source, half of each for the target."""
        whole = super().budget(part)
        return whole if part == "source" else Budget(whole.epsilon / 2, whole.delta / 2)

    def gradient_rules(self) -> dict[str, NoisyGradient]:
        """Both parts are clipped and noised alike."""
        if self.variant == "printed-algorithm":
            raise InvalidParameter(
                "the paper prints no algorithm for G-DPDA, only equations; take another variant.",
                name="variant",
            )
        source = noisy_gradient(self.variant, self.noise, self.clip, self.batch)
        return {"target": self._rule(), "source": source}

    def phases(self, part: str) -> int:
        """The source is in phase 1 and in phase 2."""
        super().phases(part)
        return 2 if part == "source" else 1
