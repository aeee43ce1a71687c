"""What somebody's code did while it ran that a result depends on: files it read, entropy it drew.

Python tells an audit hook of every file that is opened. Reading by compiled code that opens files
itself (pyarrow, HDF5) is not seen; such files are named under `inputs` of a project file.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpcheck.execution.code import digest, is_installed

_MOST_FILES = 5000
_SYSTEM = ("/proc/", "/sys/", "/dev/")
_READ_ONLY_ACCESS = os.O_WRONLY | os.O_RDWR
CHANGED = "changed while it was used"
ENTROPY_NOTE = (
    "the code draws from the operating system (os.urandom, secrets, or a generator without a "
    "seed), which no seed can repeat: run again, the figures will differ a little"
)


@dataclass(slots=True)
class Facts:
    """Files that were read, by path with a digest, and whether OS entropy was drawn."""

    files: dict[str, str] = field(default_factory=dict)
    entropy: bool = False

    def add(self, other: Facts) -> None:
        """Both together; a file that was read in two states has none that can be trusted."""
        for path, seen in other.files.items():
            self.files[path] = seen if self.files.get(path, seen) == seen else CHANGED
        self.entropy |= other.entropy

    def notes(self) -> tuple[str, ...]:
        """What a report has to say about them."""
        return (ENTROPY_NOTE,) if self.entropy else ()


def still_true(files: dict[str, str], root: Path = Path("/")) -> bool:
    """Whether every file still has the content it was read with; paths may be relative to a root."""
    return all(
        seen != CHANGED and (root / path).is_file() and digest(root / path) == seen
        for path, seen in files.items()
    )


def relative_to(files: dict[str, str], root: Path) -> dict[str, str]:
    """Files of a project by their place in it, so that another checkout of it knows them again."""
    home = str(root.resolve()) + os.sep
    return {path.removeprefix(home): seen for path, seen in files.items()}


class _Recorder:
    """One per process; an audit hook cannot be taken off again, only told to look away."""

    def __init__(self) -> None:
        self.depth = 0
        self.installed = False
        self.read: set[str] = set()
        self.counted: set[str] = set()  # of those read, the ones known to be somebody's own
        self.written: set[str] = set()
        self.modules: set[str] = set()
        self.known: dict[str, tuple[tuple[int, int], str]] = {}
        self.entropy = False

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Told by Python of everything; remembers paths."""
        if not self.depth:
            return
        if event == "open":
            path, mode, flags = arguments
            self._opened(path, mode, flags)
        elif event == "sqlite3.connect":
            self._opened(arguments[0], "r", None)

    def _opened(self, path: object, mode: str | None, flags: int | None) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return  # a descriptor: whoever opened it was seen
        name = os.path.abspath(os.fsdecode(path))
        if _only_writes(mode, flags):
            self.written.add(name)
        elif name not in self.written and len(self.read) <= _MOST_FILES:
            self.read.add(name)

    def files(self) -> dict[str, str]:
        """Digests of all files ever read here: a process keeps what it has read."""
        for name in sys.modules.keys() - self.modules:
            self.modules.add(name)
            source = getattr(sys.modules.get(name), "__file__", None)
            if isinstance(source, str):
                self.read.add(os.path.abspath(source))
        found = {}
        for name in list(self.read):
            if name not in self.counted:
                if not _counts(name):
                    self.read.discard(name)
                    continue
                self.counted.add(name)
            try:
                status = os.stat(name)
                stamp = (status.st_mtime_ns, status.st_size)
                if self.known.get(name, (None, ""))[0] != stamp:
                    self.known[name] = (stamp, digest(Path(name)))
            except OSError:  # gone again: nothing to compare with later
                continue
            found[name] = self.known[name][1]
        if len(self.read) > _MOST_FILES:
            found["more files than can be followed"] = CHANGED
        return found


def _only_writes(mode: str | None, flags: int | None) -> bool:
    if isinstance(mode, str):
        return mode[:1] in ("w", "x", "a") or mode[1:2] in ("w", "x", "a")
    if flags is None:
        return False
    return flags & _READ_ONLY_ACCESS == os.O_WRONLY or bool(flags & (os.O_CREAT | os.O_TRUNC))


def _counts(name: str) -> bool:
    if name.startswith(_SYSTEM) or name.endswith((".pyc", ".so")):
        return False
    path = Path(name)
    return path.is_file() and not is_installed(path.resolve())


_RECORDER = _Recorder()


@contextmanager
def watched(*, entropy: bool = True) -> Iterator[None]:
    """Record what the code inside reads and, unless told not to, draws, in this process."""
    recorder = _RECORDER
    if not recorder.installed:
        sys.addaudithook(recorder.hook)
        recorder.installed = True
    before = (os.urandom, getattr(random, "_urandom", None))

    def counted(size: int) -> bytes:
        recorder.entropy |= entropy
        return before[0](size)

    recorder.depth += 1
    os.urandom = counted
    if before[1] is not None:  # what secrets, SystemRandom and numpy's seeds draw from
        random._urandom = counted  # type: ignore[attr-defined]
    try:
        yield
    finally:
        recorder.depth -= 1
        os.urandom = before[0]
        if before[1] is not None:
            random._urandom = before[1]  # type: ignore[attr-defined]


def forget_entropy() -> None:
    """What was drawn so far belonged to an import, not to a run."""
    _RECORDER.entropy = False


def take() -> Facts:
    """What was recorded in this process; entropy is forgotten, files are not."""
    found = Facts(_RECORDER.files(), _RECORDER.entropy)
    _RECORDER.entropy = False
    return found
