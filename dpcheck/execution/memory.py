"""Memory that arrays leave behind is kept for the next ones, also in workers told to give it back."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

# dask gives its workers this variable, 65536. glibc then returns what an array of more bytes leaves to the
# system at once, and takes it again for the next: two thirds of a batch of numpy code are page faults.
_TOLD = "MALLOC_TRIM_THRESHOLD_"
_TRIM, _MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
_KEPT = 1 << 28  # bytes of free memory that a worker keeps while it runs batches
_LARGEST = 1 << 25  # bytes; the largest M_MMAP_THRESHOLD there is
_USUAL = 1 << 17  # M_MMAP_THRESHOLD where nobody says another


@contextmanager
def memory_kept() -> Iterator[None]:
    """While batches run; afterwards the worker gives memory back as it was told to."""
    told = os.environ.get(_TOLD, "")
    library = ctypes.CDLL(None) if told.isdigit() and os.name == "posix" else None
    if library is None or not hasattr(library, "mallopt") or not hasattr(library, "malloc_trim"):
        yield
        return
    library.mallopt(_MMAP, _LARGEST)
    library.mallopt(_TRIM, _KEPT)
    try:
        yield
    finally:
        library.mallopt(_MMAP, _USUAL)
        library.mallopt(_TRIM, int(told))
        library.malloc_trim(0)
