"""One program that is asked in JSON lines: started, asked, and ended whatever it does.

It may die, hang, answer garbage, answer without end or grow without bound: each is an error that says
so, the program is ended with all its children, and nothing that was finished is lost.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpcheck.core.errors import BadOutput, MechanismFailed, NothingToAudit, RunTimedOut

MOST_BYTES = 1 << 28  # of one answer
MOST_WORDS = 1 << 26  # bytes of standard error that are kept on disk
_TAIL = 600  # characters of the program's own words that an error quotes
_CHECK = 0.5  # seconds between two looks at its memory


class Process:
    """A running program; not shared between processes."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = tuple(command)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the program
        try:
            self._program = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError as error:
            raise NothingToAudit(
                f"cannot start {self.command[0]!r}: {error.strerror}. Name a program that can run."
            ) from None
        assert self._program.stdin is not None
        os.set_blocking(self._program.stdin.fileno(), False)
        self._rest = b""
        self._looked = time.monotonic()
        atexit.register(self.end)

    def ask(self, request: dict[str, Any], limit: float | None) -> dict[str, Any]:
        """The answer to one request; the program is ended if there is none."""
        try:
            return self._ask(request, limit)
        except BaseException:
            self.end()
            raise

    def _ask(self, request: dict[str, Any], limit: float | None) -> dict[str, Any]:
        deadline = None if limit is None else time.monotonic() + limit
        self._send(json.dumps(request).encode() + b"\n", deadline, limit)
        line = self._line(deadline, limit)
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise BadOutput(
                f"{self._name} answered something that is not JSON: {line[:80]!r}. It must write one "
                "line for each line it reads, and nothing else, to its standard output."
            ) from None
        if not isinstance(answer, dict):
            raise BadOutput(f"{self._name} answered {line[:80]!r}, which is not a JSON object.")
        return answer

    def _send(self, line: bytes, deadline: float | None, limit: float | None) -> None:
        """Write without waiting for ever: it may not read, or answer before it has read all."""
        assert self._program.stdin is not None
        handle, rest = self._program.stdin.fileno(), memoryview(line)
        while rest:
            self._check(deadline, limit)
            readable, writable, _ = select.select(self._answers, [handle], [], _CHECK)
            if readable:
                self._receive()
            if writable:
                try:
                    rest = rest[os.write(handle, rest) :]
                except OSError:
                    raise self._died() from None

    def _line(self, deadline: float | None, limit: float | None) -> bytes:
        while b"\n" not in self._rest:
            self._check(deadline, limit)
            if select.select(self._answers, [], [], _CHECK)[0]:
                self._receive()
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    @property
    def _answers(self) -> list[int]:
        assert self._program.stdout is not None
        return [self._program.stdout.fileno()]

    def _receive(self) -> None:
        part = os.read(self._answers[0], 1 << 20)
        if not part:
            raise self._died()
        self._rest += part
        if len(self._rest) > MOST_BYTES:
            raise BadOutput(f"{self._name} answered more than {MOST_BYTES >> 20} MiB in one line.")

    def _check(self, deadline: float | None, limit: float | None) -> None:
        """Time, memory and what it wrote to standard error; looked at twice a second."""
        now = time.monotonic()
        if deadline is not None and now > deadline:
            raise RunTimedOut(
                f"{self._name} did not answer within {limit:g} s. Find out where it hangs, or "
                "raise --timeout. Finished batches are kept.",
                timeout=limit,
            )
        if now - self._looked < _CHECK:
            return
        self._looked = now
        if os.fstat(self._errors.fileno()).st_blocks * 512 > MOST_WORDS:
            self._errors.truncate(0)
        allowed, used = _memory_limit(), _memory_of(self._program.pid)
        if used > allowed:
            raise MechanismFailed(
                f"{self._name} uses {used >> 20} MiB of memory and was ended; it may use "
                f"{allowed >> 20} MiB on this machine.",
            )

    def _died(self) -> MechanismFailed:
        code = self._program.wait()
        how = (
            f"was ended by signal {signal.Signals(-code).name}"
            if code < 0
            else f"ended with exit code {code}"
        )
        said = self._said()
        return MechanismFailed(
            f"{self._name} {how} instead of answering" + (f"; it said: {said}" if said else "."),
            code=code,
        )

    def _said(self) -> str:
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 4 * _TAIL))
        return " ".join(self._errors.read().decode(errors="replace").split())[-_TAIL:]

    @property
    def _name(self) -> str:
        return f"the program {Path(self.command[0]).name!r}"

    @property
    def is_alive(self) -> bool:
        """Whether it can still be asked."""
        return self._program.poll() is None

    def end(self) -> None:
        """End it and all its children."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._program.pid, signal.SIGKILL)
        self._program.wait()
        for stream in (self._program.stdin, self._program.stdout, self._errors):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        atexit.unregister(self.end)


def _memory_limit() -> int:
    return int(0.6 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def _memory_of(session: int) -> int:
    """Bytes that a program and its children hold; 0 where that cannot be seen."""
    pages = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):  # gone meanwhile, or not Linux
            if os.getsid(int(entry.name)) == session:
                pages += int((entry / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
