"""Privacy-loss distributions of dp-accounting (and of riskcal, which uses them), in and out.

from dpcheck.integrations.loss_distributions import from_pld, to_pld

event = from_pld(pld)                                   # composes with every other event
pld = to_pld(event, adjacency="add-remove")             # for riskcal.analysis, or to compose there
"""

from __future__ import annotations

import math

from dpcheck.accounting.curves import lattice_measures
from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.errors import InvalidParameter
from dpcheck.core.events.event import Event
from dpcheck.core.events.guarantee import LossDistribution
from dpcheck.core.extras import need
from dpcheck.integrations.foreign import Foreign


def from_pld(pld: Foreign, *, adjacency: Adjacency | str | None = None) -> LossDistribution:
    """A dp-accounting PrivacyLossDistribution as an event.

    Guarantee: an upper bound where `pld` is one (dp-accounting's are, with pessimistic estimates).
    """
    try:
        ways = [pld._pmf_remove.to_dense_pmf(), pld._pmf_add.to_dense_pmf()]
    except AttributeError:
        raise InvalidParameter(
            f"expected a dp-accounting PrivacyLossDistribution, got {type(pld).__name__}.",
            value=pld,
        ) from None
    step = float(ways[0]._discretization)
    found = [
        (int(way._lower_loss), tuple(float(p) for p in way._probs), float(way._infinity_mass))
        for way in ways
    ]
    # Their tails may be cut without being counted; what is missing is counted here.
    remove, add = (
        (first, masses, max(infinite, 1.0 - math.fsum(masses))) for first, masses, infinite in found
    )
    relation = None if adjacency is None else as_adjacency(adjacency)
    return LossDistribution(step, *remove, None if remove == add else add, relation)


def to_pld(event: Event, *, adjacency: Adjacency | str, step: float = 1e-3) -> Foreign:
    """The certified upper curves of `event` as a dp-accounting PrivacyLossDistribution.

    Guarantee: its delta is at or above the true one at every epsilon, in both directions, up to the float
    arithmetic of dp-accounting itself.
    """
    pmf = need("dp_accounting.pld.pld_pmf", "interop")
    distribution = need("dp_accounting.pld.privacy_loss_distribution", "interop")
    made = []
    for first, masses, infinite in lattice_measures(event, as_adjacency(adjacency), step):
        losses = {first + i: mass for i, mass in enumerate(masses) if mass > 0}
        made.append(pmf.create_pmf(losses, step, infinite, pessimistic_estimate=True))
    return distribution.PrivacyLossDistribution(*made)
