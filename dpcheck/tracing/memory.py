"""What symbols remember: whose memory they share, and which random choices of rows they have seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpcheck.core.data import Data
from dpcheck.tracing.postprocessing import flattened
from dpcheck.tracing.tables import Column
from dpcheck.tracing.values import Aggregate, Rows, Traced

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


def coins_of(values: tuple[Data, ...]) -> frozenset[int]:
    """The random choices of rows that operands have seen."""
    found: frozenset[int] = frozenset()
    for value in flattened(values):
        if isinstance(value, Traced):
            found |= value.coins
            for sampling in (
                getattr(value, "sampling", None),
                getattr(getattr(value, "rows", None), "sampling", None),
            ):
                found |= sampling.ids if sampling is not None else frozenset()
    return found


def with_coins(found: Data, inputs: tuple[Data, ...]) -> Data:
    """Whatever an operation gives has seen what its operands have; of columns it is a column."""
    seen = coins_of(inputs)
    if type(found) is Rows and any(isinstance(value, Column) for value in inputs):
        found = Column.of(found)
    if seen:
        for value in flattened([found]):
            if isinstance(value, Rows | Aggregate):
                value.coins |= seen
    return found
