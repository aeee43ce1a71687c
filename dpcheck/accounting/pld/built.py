"""From a loss to the pair its lattice is built from, once."""

from __future__ import annotations

from functools import lru_cache

from dpcheck.accounting.pairs.pair import Loss
from dpcheck.accounting.pld.pairs.pair import LossPair
from dpcheck.core.errors import CannotCertify
from dpcheck.numerics.side import Side

# Shifts of more noise scales than this are refused: their losses leave the range where a lattice of
# any size resolves them.
STEEPEST = 1e5


def build(loss: Loss, side: Side) -> LossPair:
    """The pair of a loss that has a lattice on that side.

    >>> from dpcheck.accounting.losses import LaplaceLoss
    >>> round(build(LaplaceLoss(0.5), Side.UPPER).top, 12)
    0.5
    """
    return _built(loss, Side.UPPER if loss.sideless else side)


def _words(loss: Loss) -> str:
    """What a loss is, for people: the first sentence of its description."""
    sentence = (type(loss).__doc__ or type(loss).__name__).split("\n", 1)[0].rstrip(".")
    return f"this part ({sentence[:1].lower()}{sentence[1:]})"


@lru_cache(maxsize=512)
def _built(loss: Loss, side: Side) -> LossPair:
    if loss.steepness > STEEPEST:
        raise CannotCertify(
            f"a shift of {loss.steepness:.3g} noise scales is too steep for a lattice; the Renyi bound "
            "still holds: ask for it with method='rdp'.",
            loss=loss,
        )
    if not loss.on_lattice(side):
        raise CannotCertify(
            f"there is no certified privacy-loss distribution of {_words(loss)}; other accountants may bound "
            "it: ask for the best of all, or for the Renyi bound with method='rdp'.",
            loss=loss,
        )
    return loss.lattice(side)
