"""A callback for Lightning: epsilon in its metrics, an end at the budget."""

from __future__ import annotations

from dpcheck.core.errors import MissingExtra
from dpcheck.integrations.foreign import Foreign
from dpcheck.integrations.guards.budget import BudgetGuard

try:
    from lightning.pytorch import Callback
except ImportError:
    raise MissingExtra("lightning is not installed; run: pip install lightning") from None


class BudgetCallback(Callback):  # type: ignore[misc]  # untyped base
    """Counts each optimiser step before it is made; stops the trainer when the budget is used up.

    With `counts=False` the steps are counted elsewhere, by `guard_training` on the optimiser.
    """

    def __init__(self, guard: BudgetGuard, *, counts: bool = True) -> None:
        self.guard, self.counts = guard, counts

    def on_train_start(self, trainer: Foreign, pl_module: Foreign) -> None:
        """A run that goes on from a checkpoint has made its steps; none is left without a budget."""
        self.guard.resume(trainer.global_step)
        trainer.should_stop = trainer.should_stop or self.guard.left <= 0

    def state_dict(self) -> dict[str, object]:
        """What Lightning keeps in its checkpoints."""
        return self.guard.state_dict()

    def load_state_dict(self, state_dict: Foreign) -> None:
        """Go on where the checkpoint was written."""
        self.guard.load_state_dict(state_dict)

    def on_before_optimizer_step(
        self, trainer: Foreign, pl_module: Foreign, optimizer: Foreign
    ) -> None:
        """Before the update: what is refused is not released."""
        if self.counts:
            self.guard.step()

    def on_train_batch_end(
        self, trainer: Foreign, pl_module: Foreign, outputs: Foreign, batch: Foreign, batch_idx: int
    ) -> None:
        """After the last step that fits."""
        if self.guard.left <= 0:
            trainer.should_stop = True

    def on_train_epoch_end(self, trainer: Foreign, pl_module: Foreign) -> None:
        """Among the epoch's metrics."""
        pl_module.log("epsilon", self.guard.epsilon().upper)
