"""The entry point: commands that run somebody's code do it in a child, so that it cannot end them.

os._exit(0) in a target, or a crash in compiled code, ends a process before it can say anything, and
with an exit code that would pass for an answer. The child's last deed is to write its exit code into
a pipe; a child that is gone without having done so gave no answer. Code that cannot be interrupted
when its time is over (it catches everything, or never comes back from compiled code) is ended with its
process: the child keeps in shared memory when that time is, and how long to wait from then on.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import select
import signal
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dpcheck.cli.own_time import OwnTime

SUPERVISED = frozenset({"audit", "check", "prove"})
_ERROR = 2  # ExitCode.ERROR; here nothing of the command is imported
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_GRACE = 10.0  # seconds a child that has answered may take to end
_LOOK = 0.25  # seconds between two looks at the time
_ACTS = 1.0  # seconds in which a child that was interrupted together with this process acts upon it
_TIME = struct.Struct(
    "dd"
)  # a limit by time.monotonic(), and seconds of its own to come back after it


def main() -> None:
    """Run the command line."""
    from dpcheck.cli.main import run

    if hasattr(os, "fork") and sys.argv[1:2] and sys.argv[1] in SUPERVISED:
        sys.exit(supervise(run))
    run()


def supervise(command: Callable[[], object]) -> int:
    """Run `command` in a child; its exit code, or 2 and a line about how it ended without one."""
    reader, writer = os.pipe()
    parent = os.getpid()
    due = mmap.mmap(-1, _TIME.size)
    _TIME.pack_into(due, 0, math.inf, 0.0)
    child = os.fork()
    if child == 0:
        os.close(reader)
        _end_with(parent)
        _keep_time(due)
        _answer(command, writer)
    os.close(writer)
    interrupts = _Interrupts(child)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, lambda number, _frame: os.kill(child, number))
    own = OwnTime(child)
    limit = math.inf
    with os.fdopen(reader, "rb") as stream:
        while not select.select([stream], [], [], _LOOK)[0]:
            interrupts.look()
            before, (limit, patience) = limit, _TIME.unpack_from(due)
            if limit != before or time.monotonic() <= limit:
                own.restart()
            elif own.look() > patience:
                _end_all(child)
                print(f"error: DPC404 {_STUCK}", file=sys.stderr)
                return _ERROR
        answer = stream.read(1)
    status = _wait(child) if answer else os.waitpid(child, 0)[1]
    if answer:
        return answer[0]
    print(f"error: DPC430 {_last_words(status)}", file=sys.stderr)
    return _ERROR


_STUCK = (
    "a call of your code ran past its time limit and could not be interrupted, so dpcheck "
    "stopped. There is no verdict. Give it more time (--time-limit, --timeout), let it catch "
    "fewer exceptions, or find out where it hangs."
)


class _Interrupts:
    """Ctrl-C reaches the child by itself; an interrupt for this process alone is passed on."""

    def __init__(self, child: int) -> None:
        self.own = OwnTime(child)
        self.pending = False
        signal.signal(signal.SIGINT, self._note)

    def _note(self, number: int, frame: object) -> None:  # noqa: ARG002 - signal's signature
        self.own.restart()
        self.pending = True

    def look(self) -> None:
        """Pass on what the child has not acted upon: it would have answered by now."""
        if self.pending and self.own.look() > _ACTS:
            self.pending = False
            with suppress(OSError):
                os.kill(self.own.process, signal.SIGINT)


def _keep_time(shared: mmap.mmap) -> None:
    """Keep there when the call of somebody's code that is under way is to be ended with its process."""
    from dpcheck.execution.interrupts import watchers

    watchers.append(lambda limit, patience: _TIME.pack_into(shared, 0, limit, patience))


def _end_all(process: int) -> None:
    """Kill a process and, where the system lists them, all that it started."""
    with suppress(OSError):  # it has ended meanwhile
        os.kill(process, signal.SIGSTOP)  # it must not start others now
        for listed in Path(f"/proc/{process}/task").glob("*/children"):
            for number in listed.read_text().split():
                _end_all(int(number))
        os.kill(process, signal.SIGKILL)


def _end_with(parent: int) -> None:
    """Let the kernel end this process with its parent, where it can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(_ERROR)


def _answer(command: Callable[[], object], writer: int) -> None:
    """Run the command, say its exit code to the parent, and end like any program."""
    code: int = _ERROR
    try:
        command()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(writer, bytes([code & 255]))
    sys.exit(code)


def _wait(child: int) -> int:
    """Give a child that has answered some time, for threads and workers it leaves behind."""
    until = time.monotonic() + _GRACE
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _last_words(status: int) -> str:
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        how = f"was killed by {name}"
        cause = {
            "SIGKILL": "somebody ended it, or memory ran out",
            "SIGTERM": "somebody ended it",
        }.get(name, "the audited code crashed, as compiled code does")
    else:
        how = f"ended with exit code {os.WEXITSTATUS(status)} before it had a result"
        cause = "the audited code ended the process itself, as os._exit does"
    return f"the command {how}: {cause}. There is no verdict."
