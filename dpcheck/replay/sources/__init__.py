"""One file per source of randomness; `installed` puts those in place whose package is in use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from dpcheck.replay.recorder import Recorder
from dpcheck.replay.sources import (  # noqa: F401 - each registers itself
    bystanders,
    diffprivlib_samplers,
    generators,
    jax_random,
    legacy,
    opendp_samplers,
    scipy_stats,
    standard_library,
    torch_random,
)
from dpcheck.replay.sources.base import SOURCES, Source


@contextmanager
def installed(recorder: Recorder) -> Iterator[list[Source]]:
    """Every source whose package is imported already, for the time of the block."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(source(recorder)) for source in SOURCES.values() if source.present()
        ]


__all__ = ["SOURCES", "Source", "installed"]
