"""What the second proof says where it cannot be made, and where it contradicts the first."""

from __future__ import annotations

from dpcheck.core.errors import CannotCertify, DpcheckError


def too_much(why: str) -> CannotCertify:
    """Nothing is known to be wrong; the proof is out of reach."""
    return CannotCertify(
        f"ball arithmetic cannot verify this: {why}; the certified floating-point bounds and the Renyi bound "
        "(method='rdp') hold without verification."
    )


def contradiction(what: str) -> DpcheckError:
    """The fast path would be wrong."""
    return DpcheckError(f"internal error: ball arithmetic contradicts {what}; please report it.")
