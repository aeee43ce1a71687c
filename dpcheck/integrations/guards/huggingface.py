"""A callback for Hugging Face's Trainer: epsilon in its logs, an end at the budget."""

from __future__ import annotations

from dpcheck.core.errors import MissingExtra
from dpcheck.integrations.foreign import Foreign
from dpcheck.integrations.guards.budget import BudgetGuard

try:
    from transformers import TrainerCallback
except ImportError:
    raise MissingExtra("transformers is not installed; run: pip install transformers") from None


class BudgetCallback(TrainerCallback):  # type: ignore[misc]  # untyped base
    """Counts each optimiser step before it is made; stops the Trainer when the budget is used up.

    With `counts=False` the steps are counted elsewhere, by `guard_training` on the optimiser.
    """

    def __init__(self, guard: BudgetGuard, *, counts: bool = True) -> None:
        self.guard, self.counts = guard, counts

    def on_train_begin(
        self, args: Foreign, state: Foreign, control: Foreign, **_: Foreign
    ) -> Foreign:
        """A run that goes on from a checkpoint has made its steps; nothing is left without a budget."""
        self.guard.resume(state.global_step)
        control.should_training_stop = self.guard.left <= 0
        return control

    def on_pre_optimizer_step(
        self, args: Foreign, state: Foreign, control: Foreign, **_: Foreign
    ) -> None:
        """Before the update: what is refused is not released."""
        if self.counts:
            self.guard.step()

    def on_step_end(self, args: Foreign, state: Foreign, control: Foreign, **_: Foreign) -> Foreign:
        """After the last step that fits."""
        if self.guard.left <= 0:
            control.should_training_stop = True
        return control

    def on_log(
        self, args: Foreign, state: Foreign, control: Foreign, logs: Foreign = None, **_: Foreign
    ) -> None:
        """Beside the loss."""
        if logs is not None:
            logs["epsilon"] = self.guard.epsilon().upper
