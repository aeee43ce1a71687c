"""Certificates of upper bounds: what `dpcheck verify` needs to check one on its own.

Written from what the accountants compute anyway: shifts, orders, lattices. Nothing here is trusted: a
certificate that does not prove its claim is refused by `dpcheck.verify`, which shares no code with this
room.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from dpcheck.accounting.accountants.distribution import has_lattice, without_negligible
from dpcheck.accounting.accountants.optimal import OptimalAccountant
from dpcheck.accounting.assumptions import ARITHMETIC, PLAIN_ARITHMETIC
from dpcheck.accounting.certify.gaussian import gaussian_mu
from dpcheck.accounting.certify.lattice import at_one, in_cell
from dpcheck.accounting.compose import profiles
from dpcheck.accounting.losses import Loss, Parts, reverse_parts
from dpcheck.accounting.pairs.pair import composed_largest_loss, composed_variation
from dpcheck.accounting.pld.distribution import ComposedLoss, compose
from dpcheck.accounting.renyi.closed_forms import concentration
from dpcheck.accounting.renyi.conversion import (
    Conversion,
    Converted,
    linear_rdp_epsilon,
    rdp_epsilon,
)
from dpcheck.accounting.renyi.divergence import composed_renyi
from dpcheck.accounting.sides import upper_side
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Plain
from dpcheck.core.errors import CannotCertify
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import to_dict
from dpcheck.numerics.enclose import enclose
from dpcheck.numerics.lattice import LatticeLoss
from dpcheck.numerics.search import cell
from dpcheck.numerics.side import Side
from dpcheck.verify.bound import SCHEMA
from dpcheck.verify.events import compositions
from dpcheck.verify.result import Refused

# Decimal digits beyond delta and counts, and the share of delta that windows may leave out: any is sound.
SPARE_DIGITS, TAILS = 22, 1e-15


def certificate(
    event: Event, adjacency: Adjacency, epsilon: float, delta: float, assumes: tuple[str, ...] = ()
) -> dict[str, Plain]:
    """The certificate that `event` is (epsilon, delta)-DP, one of our upper bounds, as plain data."""
    if math.isinf(epsilon):
        raise CannotCertify("an infinite epsilon says nothing, so there is nothing to certify.")
    data = to_dict(event)
    try:
        compositions(data, str(adjacency))
    except Refused as reason:
        raise CannotCertify(
            f"no certificate can be written for this event yet: {reason}."
        ) from None
    return {
        "schema": SCHEMA,
        "claim": {
            "event": data,
            "adjacency": str(adjacency),
            "epsilon": epsilon,
            "delta": delta,
        },
        # What floats do is not assumed any more.
        "assumes": [text for text in assumes if text not in (ARITHMETIC, PLAIN_ARITHMETIC)],
        "proofs": [
            _proof(upper_side(profile).parts, epsilon, _room(upper_side(profile).leak, delta))
            for profile in profiles(event, adjacency)
        ],
    }


def _room(leak: Fraction, delta: float) -> float:
    return max(0.0, enclose((Fraction(delta) - leak) / (1 - leak))[0]) if leak else delta


def _proof(parts: Parts, epsilon: float, room: float) -> dict[str, Plain]:
    """The simplest proof that reaches epsilon."""
    stated = [(_stated(loss), times) for loss, times in parts]
    by: dict[str, Plain] | None = None
    if composed_largest_loss(parts)[1] <= epsilon:
        by = {"kind": "pure"}
    elif (mu := gaussian_mu(parts)) is not None:
        by = {"kind": "gaussian", "shift": mu[1]}
    elif composed_variation(parts) <= room and all(
        pair["kind"] != "concentrated" for pair, _ in stated
    ):
        by = {"kind": "variation"}
    elif OptimalAccountant().epsilon(parts, room) <= epsilon:
        by = {"kind": "optimal"}
    elif not has_lattice(parts):
        by = _renyi(parts, room)
    if by is None:
        return _lattice(parts, epsilon, room)
    return {"parts": _listed(stated), "by": by}


def _listed(stated: Iterable[tuple[dict[str, Plain], int]]) -> list[Plain]:
    return [{"pair": pair, "times": times} for pair, times in stated]


def _stated(loss: Loss) -> dict[str, Plain]:
    """The pair in the words of `dpcheck.verify`."""
    found = loss.stated()
    if found is None:
        raise CannotCertify(f"no certificate can be written for {type(loss).__name__} yet.")
    return found


def _renyi(parts: Parts, room: float) -> dict[str, Plain]:
    for loss, _ in parts:
        if not loss.moments_checked:
            raise CannotCertify(
                f"no certificate can be written here yet: the Renyi divergence of {type(loss).__name__} is "
                "not checked."
            )
    linear = concentration(parts)
    found: Converted | None = None
    if linear:
        found = linear_rdp_epsilon(*linear, room, Conversion.OPTIMAL)
    if found is None:
        found = rdp_epsilon(lambda orders: composed_renyi(parts, orders), room)
    odds = None if math.isinf(found.u) else found.u
    return {"kind": "renyi", "order": found.order, "odds": odds}


def _lattice(parts: Parts, epsilon: float, room: float) -> dict[str, Plain]:
    """Lattice measures in both directions; what is too small for one pays its largest loss."""
    kept, _ = without_negligible(parts)
    small = [part for part in parts if part not in set(kept) and part[0].normal_shift is None]
    merged = compose(kept, Side.UPPER)
    flat = [*_flat(merged.losses, merged.counts), *small]
    stated = [(_stated(loss), times) for loss, times in flat]
    if merged.counts == (1,) and not small:
        return {"parts": _listed(stated), "by": {"kind": "curve"}}
    back = reverse_parts(kept)
    ways = {"forward": kept} if back == kept else {"forward": kept, "backward": back}
    by: dict[str, Plain] = {
        "kind": "lattice",
        "digits": SPARE_DIGITS
        + math.ceil(-math.log10(room))
        + math.ceil(math.log10(sum(times for _, times in flat))),
        "tails": room * TAILS,
    }
    names = [loss for loss, _ in flat]
    for name, way in ways.items():
        if name == "backward":
            names = [loss.reversed() for loss in names]
        by[name] = _measures(compose(way, Side.UPPER), names, epsilon, room)
    return {"parts": _listed(stated), "by": by}


def _flat(found: Iterable[Loss], counts: Iterable[int]) -> Parts:
    """Compositions whose outcomes are listed, part by part."""
    flat: list[tuple[Loss, int]] = []
    for loss, times in zip(found, counts, strict=True):
        flat += [(inner, count * times) for inner, count in loss.flat()]
    return tuple(flat)


def _measures(
    whole: ComposedLoss, names: list[Loss], epsilon: float, room: float
) -> dict[str, Plain]:
    lean, added = whole.lean(room)
    layers = _proving(lean, epsilon - added, room)
    return {
        "step": float(layers[0][0].lattice.step),
        "measures": [
            {
                "parts": [names.index(inner) for inner, _ in _flat((loss,), (1,))],
                **_measure(measure),
            }
            for loss, (measure, _) in zip(lean.losses, layers, strict=True)
        ],
    }


def _proving(whole: ComposedLoss, epsilon: float, room: float) -> list[tuple[LatticeLoss, int]]:
    """Measures that prove divergence at most `room` at epsilon."""
    for law in whole.laws(epsilon, room):
        place = cell(law.sums, room)
        found = in_cell(law, place.point, room) if place else None
        told = at_one(law, epsilon)
        if (found and found.epsilon <= epsilon) or (told and told.delta <= room):
            measures = law.transformed.lattices.measures
            return list(zip(measures, whole.counts, strict=True))
    raise CannotCertify(
        f"no lattice at hand proves epsilon {epsilon:.6g} at delta {room:.3g} by itself; ask for the "
        "certificate of epsilon at that delta."
    )


def _measure(found: LatticeLoss) -> dict[str, Plain]:
    seen = np.flatnonzero(found.masses > 0)
    points = zip((seen + found.first).tolist(), found.masses[seen].tolist(), strict=True)
    return {
        "offset": float(found.lattice.offset),
        "infinite": float(found.infinite),
        "points": [[index, mass] for index, mass in points],
    }
