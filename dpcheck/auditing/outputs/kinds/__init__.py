"""One file per family of types; importing this registers all of them."""

from dpcheck.auditing.outputs.kinds import (
    arrays,
    containers,
    frames,
    learned,
    numbers,
    objects,
    tensors,
    text,
    times,
)

__all__ = [
    "arrays",
    "containers",
    "frames",
    "learned",
    "numbers",
    "objects",
    "tensors",
    "text",
    "times",
]
