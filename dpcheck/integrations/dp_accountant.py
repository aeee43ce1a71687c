"""dpcheck behind dp-accounting's accountant interface: for its calibration, and for jax-privacy's.

    from dpcheck.integrations.dp_accountant import DpcheckAccountant

    accountant = DpcheckAccountant()
    accountant.compose(dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0)), 1000)
    accountant.get_epsilon(1e-6)                  # certified upper bound
    accountant.bound(1e-6)                        # both sides

    # Where a library takes a function that makes an accountant (dp_accounting.calibrate_dp_mechanism,
    # jax_privacy's calibration), hand it the class.

Needs `pip install 'dpcheck[interop]'`.
"""

from __future__ import annotations

from dpcheck.accounting.api import delta, epsilon, epsilon_upper
from dpcheck.accounting.compose import profiles
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.errors import DpcheckError, MissingExtra
from dpcheck.core.events.event import Event, Repeated, Sequential
from dpcheck.integrations.dp_accounting import from_dp_event
from dpcheck.integrations.foreign import Foreign

try:
    from dp_accounting import NeighboringRelation, PrivacyAccountant
except ImportError:
    raise MissingExtra(
        "dp-accounting is not installed; run: pip install 'dpcheck[interop]'"
    ) from None

RELATIONS = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: Adjacency.ADD_REMOVE,
    NeighboringRelation.REPLACE_ONE: Adjacency.REPLACE_ONE,
    NeighboringRelation.REPLACE_SPECIAL: Adjacency.ZERO_OUT,
}


class DpcheckAccountant(PrivacyAccountant):  # type: ignore[misc]  # untyped base
    """dpcheck's certified accountant as a dp-accounting PrivacyAccountant.

    Guarantee: `get_epsilon` and `get_delta` are never below what the composed events spend.
    """

    def __init__(
        self, neighboring_relation: Foreign = NeighboringRelation.ADD_OR_REMOVE_ONE
    ) -> None:
        super().__init__(neighboring_relation)
        self._adjacency = RELATIONS[neighboring_relation]
        self._events: list[Event] = []

    def _maybe_compose(self, event: Foreign, count: int, do_compose: bool) -> Foreign:
        try:
            found = from_dp_event(event)
            profiles(found, self._adjacency)
        except DpcheckError as error:
            return self.CompositionErrorDetails(invalid_event=event, error_message=str(error))
        if do_compose:
            self._events.append(found if count == 1 else Repeated(found, count))
        return None

    def event(self) -> Event:
        """All that was composed, as a dpcheck event."""
        return Sequential(tuple(self._events))

    def bound(self, target_delta: float) -> Bound:
        """Both certified sides of epsilon."""
        return epsilon(self.event(), delta=target_delta, adjacency=self._adjacency)

    def get_epsilon(self, target_delta: float) -> float:
        """The certified upper bound on epsilon."""
        return epsilon_upper(self.event(), delta=target_delta, adjacency=self._adjacency)

    def get_delta(self, target_epsilon: float) -> float:
        """The certified upper bound on delta."""
        return delta(self.event(), epsilon=target_epsilon, adjacency=self._adjacency).upper
