"""A guard for Opacus: sees the loader and the model, refuses what the accountant does not cover."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import BudgetExceeded, InvalidParameter, MissingExtra, NotCovered
from dpcheck.core.events.event import Event, Repeated
from dpcheck.core.events.training import SampledGaussian
from dpcheck.integrations.foreign import Foreign
from dpcheck.integrations.guards.budget import BudgetGuard, Log
from dpcheck.ledger.ledger import Dataset, Ledger

_TOLERANCE = 1e-9


class Proved(Protocol):
    """What is used of a proof that `dpcheck.prove_training` made."""

    @property
    def event(self) -> Event:
        """All of the training."""

    @property
    def adjacency(self) -> Adjacency:
        """Between which datasets."""


def guard_training(
    optimizer: Foreign,
    data_loader: Foreign,
    module: Foreign,
    budget: Budget,
    *,
    dataset: Dataset | None = None,
    proof: Proved | None = None,
    log: Sequence[Log] = (),
    log_every: int = 50,
) -> BudgetGuard:
    """Spend every step of an Opacus optimiser before its noise is drawn; BudgetExceeded ends the loop.

    Call it with what `make_private` returned. Refuses, with NotCovered, batches that are not drawn by
    a coin per example, a divisor that is not the expected batch size, layers that mix examples, and a
    step whose batch the loader did not draw. The adjacency is add-remove, which Opacus's Poisson
    sampling is accounted under. Guards of one process on the same dataset share a ledger; with
    `dataset`, of a ledger that is kept say, they share that. With the `proof` that
    `dpcheck.prove_training` made of the same training, a step costs what was proved.

    Guarantee: whatever is refused has drawn no noise, changes no parameter, and leaves no gradient.
    Assumes: the number of rows, and with it the divisor, is public.
    """
    rate = sampling_rate(data_loader)
    check_layers(module)
    check_divisor(optimizer, rate * len(data_loader.dataset))
    noise = float(optimizer.noise_multiplier)
    event = SampledGaussian(noise, rate) if proof is None else proved_step(proof, noise, rate)
    if dataset is None:
        dataset = _shared(data_loader.dataset, budget)
    guard = BudgetGuard(
        event, budget, adjacency="add-remove", dataset=dataset, log=log, log_every=log_every
    )
    _Watched(optimizer, guard, _Draws(data_loader, rate), noise)
    return guard


def proved_step(proof: Proved, noise: float, rate: float) -> SampledGaussian:
    """What one step of a proved training costs; NotCovered if it is of another training.

    Guarantee: never less than the optimiser's own noise says.
    """
    event = proof.event.event if isinstance(proof.event, Repeated) else proof.event
    if (
        not isinstance(event, SampledGaussian)
        or abs(event.sampling_rate - rate) > _TOLERANCE
        or proof.adjacency is not Adjacency.ADD_REMOVE
    ):
        raise NotCovered(
            f"the proof is of {event!r} under {proof.adjacency}, this loader samples at rate {rate:g}; "
            "pass what dpcheck.prove_training proves of this loader under add-remove."
        )
    if event.noise_multiplier > noise + _TOLERANCE:
        raise NotCovered(
            f"the proof has noise multiplier {event.noise_multiplier:g}, this optimiser {noise:g}; prove "
            "the training with this optimiser."
        )
    return event


_LEDGERS: weakref.WeakKeyDictionary[Foreign, Ledger] = weakref.WeakKeyDictionary()


def _shared(rows: Foreign, budget: Budget) -> Dataset:
    """The dataset of the one ledger that guards of this process have for these rows."""
    ledger = _LEDGERS.get(rows)
    if ledger is None:
        ledger = _LEDGERS[rows] = Ledger(budget, "add-remove")
    if ledger.terms.budget != budget:
        raise InvalidParameter(
            f"another guard of this process has the budget {ledger.terms.budget} for the same data; a "
            f"second one, {budget}, would add to it. Use the same, or pass dataset= of a ledger."
        )
    return ledger.dataset("data")


class _Draws:
    """How many batches the sampler has drawn in this epoch that no step has used."""

    def __init__(self, data_loader: Foreign, rate: float) -> None:
        self.left, self.rate = 0, rate
        draws = self
        sampler = data_loader.batch_sampler

        class Watched(type(sampler)):  # type: ignore[misc]  # the sampler's own class
            def __iter__(self) -> Iterator[Foreign]:
                if abs(float(self.sample_rate) - draws.rate) > _TOLERANCE:
                    raise NotCovered(
                        f"the sampler's rate is {float(self.sample_rate):g} now; the guard was made for "
                        f"{draws.rate:g}. Make a guard for each phase."
                    )
                draws.left = 0
                for batch in super().__iter__():
                    draws.left += 1
                    yield batch

        sampler.__class__ = Watched


class _Watched:
    """An optimiser whose noise belongs to the guard.

    Opacus clips, adds noise, then updates. Here noise is added only after the step was spent, and the
    update happens only after noise was added: whoever goes around either has nothing to release.
    """

    def __init__(
        self, optimizer: Foreign, guard: BudgetGuard, draws: _Draws, expected: float
    ) -> None:
        self.optimizer, self.guard, self.draws, self.expected = optimizer, guard, draws, expected
        self.noised = False
        self._add_noise = optimizer.add_noise
        optimizer.add_noise = self.add_noise
        optimizer.original_optimizer.register_step_pre_hook(self.before_update)

    def add_noise(self) -> None:
        """In Opacus's place: spend, then draw."""
        try:
            self._check()
            _once_for_all_ranks(self.optimizer, self.guard.step)
        except BaseException:
            self.forget()
            raise
        self._add_noise()
        self.noised = True

    def _check(self) -> None:
        stepping = self.optimizer
        noise = float(stepping.noise_multiplier)
        if abs(noise - self.expected) > _TOLERANCE or stepping.accumulated_iterations != 1:
            raise NotCovered(
                f"this step has noise multiplier {noise:g} over {stepping.accumulated_iterations} "
                f"batches; the guard was made for {self.expected:g} and one. Make a guard for "
                "each phase, or account a schedule with a ledger."
            )
        if self.draws.left <= 0:
            raise NotCovered(
                "this step's batch was not drawn by the loader that the guard was made with; train on "
                "that loader, one step a batch, or make a guard with the other one."
            )
        self.draws.left -= 1

    def before_update(self, *_: Foreign) -> None:
        """An update without the guard's noise is refused."""
        noised, self.noised = self.noised, False
        if not noised:
            self.forget()
            raise NotCovered(
                "this update has no noise of the guard: the optimiser inside, or pre_step, was called "
                "by something else. Call step() of the optimiser that make_private returned."
            )

    def forget(self) -> None:
        """No gradient stays behind, with noise or without."""
        self.noised = False
        for p in self.optimizer.params:
            p.grad = p.summed_grad = p.grad_sample = None


def _once_for_all_ranks(optimizer: Foreign, step: Callable[[], None]) -> None:
    """Rank 0, which draws the noise, spends; all others learn whether it could."""
    ranks = int(getattr(optimizer, "world_size", 1))
    if ranks == 1:
        step()
        return
    import torch

    answer: list[Foreign] = [None]
    refusal: BaseException | None = None
    if torch.distributed.get_rank() == 0:
        try:
            step()
        except BaseException as error:
            refusal, answer = error, [str(error)]
    torch.distributed.broadcast_object_list(answer, src=0)
    if refusal is not None:
        raise refusal
    if answer[0] is not None:
        raise BudgetExceeded(f"rank 0 could not spend this step: {answer[0]}")


def check_divisor(optimizer: Foreign, expected: float) -> None:
    """NotCovered unless the optimiser divides by its share of the expected batch."""
    ranks = int(getattr(optimizer, "world_size", 1))
    divisor = float(optimizer.expected_batch_size or 0) * ranks
    if abs(divisor - expected) > ranks + _TOLERANCE:  # Opacus rounds it down
        raise NotCovered(
            f"the optimiser divides by {divisor:g}, the loader draws {expected:g} rows on average; "
            "pass the optimiser and the loader that one call of make_private returned.",
            divisor=divisor,
        )


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
