"""The symbols a traced function computes with: private rows and aggregates, noise, released values.

They answer numpy's protocols, so that unmodified code runs on them. What would let a private value
decide anything but another private value is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from dpcheck.core.data import Data
from dpcheck.tracing.facts.boxes import Array, Box, DType
from dpcheck.tracing.facts.norms import NormTag
from dpcheck.tracing.facts.rowsets import RowSet, Sampling
from dpcheck.tracing.facts.sizes import Shape, Size

if TYPE_CHECKING:
    from dpcheck.tracing.releases import Release
    from dpcheck.tracing.tracer import Tracer

_KIND = object.__dict__["__class__"]
PRIVATE = -1  # a length that is not public
BLOCK = 4096  # draws of more numbers than that are one block, used as a whole
Ids = NDArray[np.int64]


class Traced(NDArrayOperatorsMixin):
    """What all symbols share: shape, type, box, and at run time the real array.

    `shape` holds PRIVATE where a length depends on the data.
    """

    __array_priority__ = 1000.0
    what = "a value"

    def __init__(self, tracer: Tracer, dims: Shape, dtype: DType, box: Box) -> None:
        self.tracer = tracer
        self.dims = dims
        self.dtype = np.dtype(dtype)
        self.box = box
        self.value: Data = None
        self.views = False  # whether another symbol shares its memory
        self.is_view = False
        self.coins: frozenset[int] = frozenset()  # random choices of rows it has seen

    @property
    def shape(self) -> tuple[Data, ...]:
        """As of an array; a private length is itself a private count."""
        return tuple(self.tracer.length(self) if n == PRIVATE else n for n in self.dims)

    @property
    def ndim(self) -> int:
        """How many axes."""
        return len(self.dims)

    @property
    def size(self) -> Data:
        """How many numbers."""
        if PRIVATE in self.dims:
            return self.tracer.length(self) * int(np.prod([n for n in self.dims if n != PRIVATE]))
        return int(np.prod(self.dims))

    @property
    def T(self) -> Data:  # noqa: N802 - numpy's name
        """Transposed."""
        return np.transpose(self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Data, **kwargs: Data) -> Data:
        return self.tracer.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self,
        function: Data,
        types: Data,
        args: tuple[Data, ...],
        kwargs: Mapping[str, Data],
    ) -> Data:
        return self.tracer.function(function, args, dict(kwargs))

    def __getattr__(self, name: str) -> Data:
        if name.startswith("__") or name in _INTERNAL:
            raise AttributeError(name)
        return self.tracer.method(self, name)

    def __getitem__(self, key: Data) -> Data:
        return self.tracer.index(self, key)

    def __setitem__(self, key: Data, value: Data) -> None:
        self.tracer.assign(self, key, value)

    def become(self, other: Traced) -> None:
        """Take over what another symbol is: an operation in place."""
        before = self.value
        _KIND.__set__(self, type(other))
        self.__dict__.update(other.__dict__)
        self.views = self.is_view = False  # nobody shares its memory, or it would have been refused
        if other.value is None:
            self.value = before  # until that of the operation is known

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What isinstance() is told: the array or number it stands for, so that code takes the same path."""
        return np.ndarray if self.dims else self.dtype.type

    # What a private value must not become -----------------------------------------------------

    def _leaves(self, how: str, remedy: str = "") -> NoReturn:
        self.tracer.refuse(
            "private-control",
            f"{self.what} {how}",
            remedy or "add noise to it first, or decide by something public",
        )

    def __bool__(self) -> bool:
        self._leaves("decides a branch", "use np.where, or add noise before you compare")

    def __float__(self) -> float:
        self._leaves("is turned into a plain number", "keep it an array until noise is added")

    def __int__(self) -> int:
        self._leaves("is turned into a plain number", "keep it an array until noise is added")

    def __complex__(self) -> complex:
        self._leaves("is turned into a plain number")

    def __index__(self) -> int:
        self._leaves("is an index, a size or the number of times of a loop")

    def __contains__(self, item: object) -> bool:
        self._leaves("is searched with `in`, which decides a branch")

    def __len__(self) -> int:
        if not self.dims:
            raise TypeError("len() of unsized object")
        if self.dims[0] == PRIVATE:
            self._leaves(
                "has a length that depends on the data, and len() asks for it",
                "use x.shape[0], and add noise before it is released",
            )
        return self.dims[0]

    def __iter__(self) -> Iterator[Data]:
        if not self.dims:
            raise TypeError("iteration over a 0-d array")
        if self.dims[0] == PRIVATE:
            self._leaves(
                "is looped over, and how often depends on the data",
                "use array operations on the whole column",
            )
        return iter([self[i] for i in range(self.dims[0])])

    def __array__(self, *_: Data, **__: Data) -> Data:
        self._leaves("is converted to a plain array", "keep to numpy functions that are supported")

    def __repr__(self) -> str:
        return f"<{self.what} of shape {self.dims}, {self.dtype}>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        self._leaves("is formatted as text")

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> str:
        self._leaves("is pickled or copied by the copy module", "use .copy()")

    def __deepcopy__(self, memo: object) -> Data:
        return np.copy(self)

    __copy__ = None


_INTERNAL = frozenset(
    {
        *("tracer", "dims", "dtype", "box", "value", "views", "is_view"),
        *("_repr_html_", "_ipython_display_"),
    }
)


class Rows(Traced):
    """Row i depends on record i alone, and on what is public or released.

    `rows` says which records, `axis` where they are; boxes have length 1 there. `row` bounds one row as a
    vector. `sampling` if every row is 0 unless its own coin fell on heads.
    """

    what = "a column of private records"

    def __init__(
        self,
        tracer: Tracer,
        dims: Shape,
        dtype: DType,
        box: Box,
        rows: RowSet,
        axis: int,
        row: Size,
        *,
        tag: NormTag | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        super().__init__(tracer, dims, dtype, box)
        self.rows = rows
        self.axis = axis
        self.row = row.both(Size(np.asarray(box.magnitude, dtype=float))).tightened(self.element)
        self.tag = tag
        self.sampling = sampling
        self.kind: Data = None  # public values of a column of categories
        self.identity = object()
        self.complement_of: object = None  # the identity of the answers it is the opposite of

    @property
    def element(self) -> Shape:
        """The shape with length 1 along the records."""
        return (*self.dims[: self.axis], 1, *self.dims[self.axis + 1 :])


class Aggregate(Traced):
    """A private value of public shape; `diff` bounds how it differs between neighbours.

    `contribution` bounds what one record adds to it when its coin, of `sampling`, falls on heads. `records`
    are the places of the records it depends on, where that is not all of them.
    """

    what = "a private aggregate"

    def __init__(
        self,
        tracer: Tracer,
        dims: Shape,
        dtype: DType,
        box: Box,
        diff: Size,
        *,
        sampling: Sampling | None = None,
        contribution: Size | None = None,
        records: frozenset[int] | None = None,
    ) -> None:
        super().__init__(tracer, dims, dtype, box)
        self.diff = diff.both(Size(_within(box.width, dims))).tightened(dims)
        self.sampling = sampling if contribution is not None else None
        self.contribution = contribution
        self.records = records
        self.length_of: RowSet | None = None
        self.direction = "either"  # "up" if all entries move the same way between neighbours


def _within(width: Array, dims: Shape) -> Array:
    return width if width.ndim <= len(dims) else np.asarray(width.max())


class Noise(Traced):
    """Numbers drawn from a generator: location + scale * standard, each with an id of its own."""

    what = "noise"

    def __init__(
        self,
        tracer: Tracer,
        dims: Shape,
        family: str,
        scale: Array,
        location: Array,
        ids: Ids,
        box: Box,
        *,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(tracer, dims, dtype or np.dtype(float), box)
        self.family = family
        self.scale = scale
        self.location = location
        self.ids = ids
        self.line = tracer.line()


class Coin(Traced):
    """Independent coins that fall on heads with a public probability."""

    what = "random coins"

    def __init__(self, tracer: Tracer, dims: Shape, rate: float, ids: Ids, dtype: DType) -> None:
        box = Box(np.asarray(0.0), np.asarray(1.0), False, True)
        super().__init__(tracer, dims, dtype, box)
        self.rate = rate
        self.ids = ids
        self.identity = object()


class Draw(Traced):
    """A public random choice of rows: distinct places out of `count`."""

    what = "a random choice of rows"

    def __init__(self, tracer: Tracer, batch: int, count: int, ids: Ids) -> None:
        box = Box(np.asarray(0.0), np.asarray(float(count)), False, True)
        super().__init__(tracer, (batch,), np.dtype(np.int64), box)
        self.count = count
        self.ids = ids


class Released(Traced):
    """A value computed from releases and public values alone; `example` is one it may have.

    `release` is set while it is the very output of one, so that an argmax may still be told apart from a
    release of all its numbers.
    """

    what = "a released value"

    def __init__(
        self,
        tracer: Tracer,
        example: Data,
        box: Box,
        release: Release | None = None,
    ) -> None:
        found = np.asarray(example)
        super().__init__(tracer, found.shape, found.dtype, box)
        self.example = found
        self.release = release

    def _leaves(self, how: str, remedy: str = "") -> NoReturn:
        self.tracer.refuse(
            "released-path",
            f"{self.what} {how}; the proof would hold for one outcome only",
            remedy
            or "decorate the function with @dpcheck.enforced, which checks each release as it is made",
        )

    def __repr__(self) -> str:
        return f"<a released value of shape {self.dims}>"


SECRET = (Rows, Aggregate, Noise, Coin, Draw)
