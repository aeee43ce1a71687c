"""Arrays of torch, jax and scipy.sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.outputs.flat import Flat
from dpcheck.auditing.outputs.kinds.arrays import read_entries, read_shape
from dpcheck.auditing.outputs.registry import reads_named, reads_where
from dpcheck.core.data import Output

if TYPE_CHECKING:
    import scipy.sparse
    import torch


class ArrayLike(Protocol):
    """What numpy can convert."""

    dtype: object
    shape: tuple[int, ...]

    def __array__(self) -> NDArray[np.generic]: ...


@reads_named("torch", "Tensor")
def read_tensor(value: torch.Tensor, path: str, flat: Flat) -> None:
    """The entries; dense, on the CPU, in a dtype numpy knows."""
    flat.token(f"{path}.dtype", str(value.dtype))
    read_shape(tuple(value.shape), path, flat)
    dense = value.detach().cpu()
    dense = dense.to_dense() if dense.is_sparse else dense
    if str(value.dtype) in ("torch.bfloat16", "torch.float16"):
        dense = dense.float()
    read_entries(dense.resolve_conj().numpy(), path, flat)


@reads_named("torch", "Module")
def read_module(value: torch.nn.Module, path: str, flat: Flat) -> None:
    """Its parameters and buffers."""
    flat.child(dict(value.state_dict()), f"{path}.state_dict()")


@reads_named("torch", "Size")
def read_size(value: torch.Size, path: str, flat: Flat) -> None:
    """A tuple of lengths."""
    flat.child(tuple(value), f"tuple({path})")


@reads_named("scipy", "_spbase", "spmatrix", "sparray")
def read_sparse(value: scipy.sparse.sparray, path: str, flat: Flat) -> None:
    """The stored entries by place; all entries where the matrix is small."""
    flat.token(f"{path}.format", str(value.format))
    flat.token(f"{path}.dtype", str(value.dtype))
    read_shape(value.shape, path, flat)
    flat.number(f"{path}.nnz", float(value.nnz))
    if int(np.prod(value.shape)) <= _SMALL:
        read_entries(value.toarray(), f"{path}.toarray()", flat)
        return
    stored = value.tocoo()
    read_entries(np.asarray(stored.data), f"{path}.tocoo().data", flat)
    for axis, places in enumerate(stored.coords):
        read_entries(np.asarray(places), f"{path}.tocoo().coords[{axis}]", flat)


_SMALL = 1 << 14


_OWN_READERS = frozenset(("numpy", "pandas", "polars", "scipy", "torch"))


def _is_array_like(value: Output) -> bool:
    kind = type(value)
    package = str(getattr(kind, "__module__", "")).partition(".")[0]
    if package in _OWN_READERS or not callable(getattr(kind, "__array__", None)):
        return False
    return hasattr(value, "dtype") and hasattr(value, "shape")


@reads_where(_is_array_like)
def read_array_like(value: ArrayLike, path: str, flat: Flat) -> None:
    """Arrays of jax and of others that numpy can convert."""
    array = np.asarray(value)
    flat.token(f"{path}.dtype", str(value.dtype))
    read_shape(array.shape, path, flat)
    if array.dtype.kind == "V":  # jax's small floats
        array = array.astype(np.float32)
    read_entries(array, path, flat)
