"""Where a file may be: not on a file system whose locks or writes other machines do not see."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# From the kernel's own names; every file system in user space may be one over a network.
NETWORK = frozenset(
    [
        "9p",
        "acfs",
        "afp",
        "afpfs",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "gfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "pvfs2",
        "smb3",
        "smbfs",
        "vboxsf",
        "virtiofs",
        "vmhgfs",
        "webdav",
    ]
)
_MOUNTS = Path("/proc/self/mountinfo")


def network_file_system(path: Path) -> str | None:
    """The kind of network file system that `path` is on; None if it is on none that is known.

    Guarantee: on Linux every mounted file system of a kind in NETWORK, or in user space, is named.
    Elsewhere nothing is known, and the documentation says so.
    """
    kind = file_system(path)
    if kind is None:
        return None
    return kind if kind in NETWORK or kind.startswith("fuse.") or kind == "fuse" else None


def file_system(path: Path) -> str | None:
    """What the kernel calls the file system of a path, by its device; None where it does not say."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        device = os.stat(path).st_dev
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) > 2 and fields[2] == wanted and after:
            return after.split()[0]
    return None
