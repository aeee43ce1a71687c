"""A progress line on standard error: runs, the bound so far, the evidence so far."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from types import TracebackType


class Progress(AbstractContextManager["Progress"]):
    """Silent unless standard error is a terminal (or `always`); never touches standard output."""

    def __init__(self, *, always: bool = False, quiet: bool = False) -> None:
        self._on = not quiet and (always or sys.stderr.isatty())
        self._status = None
        if self._on:
            from rich.console import Console

            self._status = Console(stderr=True).status("starting")

    @property
    def on(self) -> bool:
        """Whether anybody is watching."""
        return self._on

    def __enter__(self) -> Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def stage(self, text: str) -> None:
        """Say what is being done."""
        if self._status is not None:
            self._status.update(text)

    def testing(self, part: str, runs: int, most: int, epsilon: float, log_e: float) -> None:
        """Say how far the test is."""
        if self._status is not None:
            self._status.update(
                f"{part}: {runs:,} of at most {most:,} runs a side, "
                f"epsilon >= {epsilon:.4g}, log e-value {log_e:.1f}"
            )
