"""What DPDA and G-DPDA release per step, as public facts: no jax, no data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcheck.accounting.calibrate import calibrate_epochs, calibrate_steps, steps_in
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import CannotCalibrate, InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.events.training import SampledGaussian
from dpcheck.core.validate import count, positive, rate
from dpcheck.mechanisms.adaptation.batch_noise import batch_noise_pair

VARIANTS = ("corrected", "blocks-apart", "printed-algorithm", "noise-in-sum")


FORMER_NAMES = {"printed-equations": "blocks-apart"}


def read_variant(variant: str) -> str:
    """The variant, checked; a former name stands for its present one."""
    variant = FORMER_NAMES.get(variant, variant)
    if variant not in VARIANTS:
        raise InvalidParameter(
            f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}.", name="variant"
        )
    return variant


@dataclass(frozen=True, slots=True)
class NoisyGradient:
    """How one batch's gradients become one release: what is clipped, where the noise goes.

    `joint` clips the two blocks (extractor and head) together to norm `clip`; otherwise each on its
    own. `use_features` is False where the batch does not touch the extractor. `noise_per_example`
    draws noise for every example of the batch, as (14) is printed, instead of once.
    """

    noise: float
    clip: float
    batch: int
    joint: bool = True
    use_features: bool = True
    noise_per_example: bool = False

    def __post_init__(self) -> None:
        positive("noise", self.noise)
        positive("clip", self.clip)
        count("batch", self.batch)

    def sampling_rate(self, rows: int) -> float:
        """batch / rows, a probability."""
        return rate("batch / rows", self.batch / count("rows", rows))

    def claimed_step(self, rows: int) -> Event:
        """A step as the paper accounts it: noise sigma, sensitivity 1."""
        return SampledGaussian(self.noise, self.sampling_rate(rows))

    def true_step(self, rows: int) -> Event:
        """A step as it is: two blocks of norm C each are one release of sensitivity sqrt(2) C.

        Noise drawn per example has a variance that tells the batch size, so it is not a sampled
        Gaussian: the pair of `batch_noise_pair` bounds it, for `rows` rows against one less.
        """
        reach = math.sqrt(2 if self.use_features and not self.joint else 1)
        if self.noise_per_example:
            rate = self.sampling_rate(rows)
            return batch_noise_pair(rows - 1, rate, self.noise, 2 * reach)
        return SampledGaussian(self.noise / reach, self.sampling_rate(rows))


def noisy_gradient(
    variant: str, noise: float, clip: float, batch: int, *, extractor: bool = True
) -> NoisyGradient:
    """The release of a variant; `extractor` is whether this batch trains the feature extractor."""
    variant = read_variant(variant)
    return NoisyGradient(
        noise,
        clip,
        batch,
        joint=variant == "corrected",
        use_features=extractor and variant != "printed-algorithm",
        noise_per_example=variant == "noise-in-sum",
    )


def epochs_for(
    step: Event, steps_per_epoch: float, budget: Budget, method: str, name: str = "epsilon"
) -> int:
    """The most whole epochs of `step` within the budget by one accountant."""
    epochs = calibrate_epochs(
        step, steps_per_epoch, budget, adjacency=Adjacency.ADD_REMOVE, method=method
    ).value
    if epochs < 1:
        within = calibrate_steps(step, budget, adjacency=Adjacency.ADD_REMOVE, method=method).value
        raise CannotCalibrate(
            f"{budget} allows {within} steps, less than one epoch of {steps_per_epoch:.1f}; raise "
            f"{name} or the noise.",
            budget=budget,
        )
    return epochs


def epochs_to_steps(epochs: int, rows: int, batch: int) -> int:
    """Steps in whole epochs over `rows`."""
    return steps_in(count("epochs", epochs), rows / batch)


def nu_schedule(progress: float) -> float:
    """The adaptation parameter at a share of training in [0, 1]: 0 to 1, steep at first.

    Reference: [Ganin2016] section 5.2: 2 / (1 + exp(-10 p)) - 1.

    >>> round(nu_schedule(0.5), 4)
    0.9866
    """
    if not 0 <= progress <= 1:
        raise InvalidParameter(f"progress must be in [0, 1], got {progress:g}.", name="progress")
    return 2 / (1 + math.exp(-10 * progress)) - 1
