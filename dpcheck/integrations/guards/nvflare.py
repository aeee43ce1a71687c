"""A filter for NVFlare: a site's results leave it only while its budget lasts."""

from __future__ import annotations

from dpcheck.core.errors import MissingExtra
from dpcheck.integrations.foreign import Foreign
from dpcheck.integrations.guards.budget import BudgetGuard

try:
    from nvflare.apis.filter import Filter
    from nvflare.apis.fl_constant import ReturnCode
    from nvflare.apis.shareable import make_reply
except ImportError:
    raise MissingExtra("nvflare is not installed; run: pip install nvflare") from None

HEADER = "dpcheck_epsilon"


class BudgetFilter(Filter):  # type: ignore[misc]  # untyped base
    """A task-result filter: counts a release before it is sent, and withholds it beyond the budget.

    The guard's event is what one result releases, noise included. A withheld result is a reply
    without data, with the return code TASK_ABORTED.
    """

    def __init__(self, guard: BudgetGuard) -> None:
        super().__init__()
        self.guard = guard

    def process(self, shareable: Foreign, fl_ctx: Foreign) -> Foreign:
        """The result with epsilon in its header, or a reply without data."""
        if self.guard.left <= 0:
            self.log_error(fl_ctx, f"the privacy budget {self.guard.budget} is used up")
            return make_reply(ReturnCode.TASK_ABORTED)
        self.guard.step()
        spent = self.guard.record()
        self.log_info(fl_ctx, f"epsilon {spent:.4g} of {self.guard.budget.epsilon:g}")
        shareable.set_header(HEADER, spent)
        return shareable
