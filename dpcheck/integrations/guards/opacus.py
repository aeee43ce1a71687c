"""A guard for Opacus: sees the loader and the model, refuses what the accountant does not cover."""

from __future__ import annotations

from collections.abc import Sequence

from dpcheck.core.budget import Budget
from dpcheck.core.errors import MissingExtra, NotCovered
from dpcheck.core.events.training import SampledGaussian
from dpcheck.integrations.foreign import Foreign
from dpcheck.integrations.guards.budget import BudgetGuard, Log

_TOLERANCE = 1e-9


def guard_training(
    optimizer: Foreign,
    data_loader: Foreign,
    module: Foreign,
    budget: Budget,
    *,
    log: Sequence[Log] = (),
    log_every: int = 50,
) -> BudgetGuard:
    """Count every step of an Opacus optimiser before its update; BudgetExceeded ends the loop.

    Call it with what `make_private` returned. Refuses, with NotCovered, batches that are not drawn by
    a coin per example, a divisor that is not the expected batch size, and layers that mix examples.
    The adjacency is add-remove, which Opacus's Poisson sampling is accounted under.

    Assumes: the number of rows, and with it the divisor, is public.
    """
    rate = sampling_rate(data_loader)
    check_layers(module)
    expected = rate * len(data_loader.dataset)
    divisor = float(optimizer.expected_batch_size or 0)
    if abs(divisor - expected) > 1 + _TOLERANCE:  # Opacus rounds it down
        raise NotCovered(
            f"the optimiser divides by {divisor:g}, the loader draws {expected:g} rows on average; "
            "pass the optimiser and the loader that one call of make_private returned.",
            divisor=divisor,
        )
    event = SampledGaussian(float(optimizer.noise_multiplier), rate)
    guard = BudgetGuard(event, budget, adjacency="add-remove", log=log, log_every=log_every)
    before = optimizer.step_hook

    def hook(stepping: Foreign) -> None:
        noise = float(stepping.noise_multiplier)
        if abs(noise - event.noise_multiplier) > _TOLERANCE or stepping.accumulated_iterations != 1:
            raise NotCovered(
                f"this step has noise multiplier {noise:g} over {stepping.accumulated_iterations} "
                f"batches; the guard was made for {event.noise_multiplier:g} and one. Make a guard for "
                "each phase, or account a schedule with a ledger."
            )
        guard.step()  # before Opacus updates the parameters: what it refuses is not released
        if before is not None:
            before(stepping)

    optimizer.attach_step_hook(hook)
    return guard


def sampling_rate(data_loader: Foreign) -> float:
    """The rate of a loader that includes every example by a coin of its own; NotCovered otherwise."""
    try:
        from opacus.utils.uniform_sampler import (
            DistributedUniformWithReplacementSampler,
            UniformWithReplacementSampler,
        )
    except ImportError:
        raise MissingExtra("opacus is not installed; run: pip install 'dpcheck[opacus]'") from None
    sampler = getattr(data_loader, "batch_sampler", None)
    if isinstance(
        sampler, UniformWithReplacementSampler | DistributedUniformWithReplacementSampler
    ):
        return float(sampler.sample_rate)
    inner = type(getattr(sampler, "sampler", sampler)).__name__
    why = {
        "WeightedRandomSampler": "draws some examples more often than others, so their rate is larger",
        "RandomSampler": "shuffles: every example is in one batch of each epoch",
        "SequentialSampler": "takes the examples in order: no sampling at all",
    }.get(inner, "is not Opacus's Poisson sampler")
    raise NotCovered(
        f"the loader's sampler ({inner}) {why}; the accountant's bound is for Poisson sampling. Pass "
        "poisson_sampling=True (the default) to make_private and train on the loader it returns.",
        sampler=inner,
    )


def check_layers(module: Foreign) -> None:
    """NotCovered, with its name, for a layer that computes one example's output from others."""
    for name, layer in module.named_modules():
        kind = type(layer).__name__
        mixes = "BatchNorm" in kind or (
            "InstanceNorm" in kind and getattr(layer, "track_running_stats", False)
        )
        if mixes:
            raise NotCovered(
                f"layer {name or kind} is {kind}: an example's gradient depends on the others of its "
                "batch, so clipping does not bound what one of them changes. Use GroupNorm "
                "(opacus.validators.ModuleValidator.fix does).",
                layer=name,
            )
