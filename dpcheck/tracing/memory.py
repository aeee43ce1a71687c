"""Which symbols share memory: a view that is written to changes what it is a view of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpcheck.core.data import Data
from dpcheck.tracing.values import Traced

# Functions and methods whose result may share the memory of their first operand.
VIEWS = frozenset(
    {
        *("transpose", "reshape", "ravel", "squeeze", "expand_dims", "broadcast_to", "view"),
        *("swapaxes", "moveaxis", "rollaxis", "diagonal", "flip", "fliplr", "flipud", "rot90"),
        *("atleast_1d", "atleast_2d", "atleast_3d", "real", "imag", "split", "array_split"),
        *("hsplit", "vsplit", "asarray", "asanyarray", "ascontiguousarray", "require"),
        *("permute_dims", "matrix_transpose", "unstack", "broadcast_arrays"),
    }
)


def remembered(name: str, args: Sequence[Data], kwargs: Mapping[str, Data], found: Data) -> Data:
    """The result of an operation, as a symbol that knows whether its memory is its own.

    Lemma: an operation in place is followed only if no other symbol shares the memory. Where numpy gives
    a copy the result is another symbol, or an operation in place on it would change its operand too.
    """
    operands = [each for each in (*args, *kwargs.values()) if isinstance(each, Traced)]
    if name in VIEWS or kwargs.get("copy", True) is not True:
        for each in found if isinstance(found, list | tuple) else (found,):
            if isinstance(each, Traced):
                each.is_view = True
        for each in operands:
            each.views = True
        return found
    if isinstance(found, Traced) and any(found is each for each in operands):
        own: Traced = object.__new__(type(found))
        own.__dict__.update(found.__dict__)
        own.views = own.is_view = False
        return own
    return found
