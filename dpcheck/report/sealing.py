"""Reports that can be checked later: a digest inside the file, and a signature beside it.

The digest shows that a file is as dpcheck wrote it. Whoever can change a file can also write a new digest:
who wrote it is shown by the signature alone. Signatures are those of `ssh-keygen -Y`, with a key that the
user has anyway; other programs can check them.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dpcheck.core.errors import MissingExtra, UsageError

NAMESPACE = (
    "dpcheck"  # what a signature is for, so that it cannot be passed off as one for something else
)
_EMPTY = "0" * 64
_MARK = re.compile(r'(<meta name="dpcheck-sha256" content=")([0-9a-f]{64})(">)')


def seal(text: str) -> str:
    """The page with the digest of itself, the digest's own place taken as zeros."""
    page = text.replace("<head>\n", f'<head>\n<meta name="dpcheck-sha256" content="{_EMPTY}">\n', 1)
    return page.replace(_EMPTY, hashlib.sha256(page.encode()).hexdigest(), 1)


def is_unchanged(text: str) -> bool | None:
    """Whether a page is as it was sealed; None for one without a seal.

    >>> page = seal("<head>\\n<p>epsilon 1</p>")
    >>> is_unchanged(page), is_unchanged(page.replace("1</p>", "2</p>")), is_unchanged("<head>")
    (True, False, None)
    """
    found = _MARK.search(text)
    if found is None:
        return None
    page = _MARK.sub(rf"\g<1>{_EMPTY}\g<3>", text, count=1)
    return hashlib.sha256(page.encode()).hexdigest() == found[2]


def signature_path(path: Path) -> Path:
    """Where the signature of a file lies."""
    return path.with_name(path.name + ".sig")


def sign(path: Path, key: Path) -> Path:
    """Sign a file with an SSH key; the path of the signature."""
    signature_path(path).unlink(missing_ok=True)
    done = _keygen("-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(path))
    if done.returncode != 0 or not signature_path(path).is_file():
        raise UsageError(f"{path} could not be signed with {key}: {_last(done)}")
    return signature_path(path)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a signature says: whether it fits the file, and whose it is, if that was checked."""

    fits: bool
    signer: str | None
    words: str


def check_signature(path: Path, signers: Path | None, identity: str | None) -> Signature | None:
    """The signature beside a file, against a list of allowed signers if there is one; None without one."""
    beside = signature_path(path)
    if not beside.is_file():
        return None
    if signers is None:
        done = _keygen("-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(beside), read=path)
        return Signature(done.returncode == 0, None, _last(done))
    if identity is None:
        found = _keygen("-Y", "find-principals", "-s", str(beside), "-f", str(signers))
        identity = found.stdout.strip().splitlines()[0] if found.returncode == 0 else None
        if identity is None:
            return Signature(False, None, "nobody on the list of signers has signed it")
    done = _keygen(
        *("-Y", "verify", "-n", NAMESPACE, "-f", str(signers), "-I", identity, "-s", str(beside)),
        read=path,
    )
    return Signature(done.returncode == 0, identity, _last(done))


def _keygen(*arguments: str, read: Path | None = None) -> subprocess.CompletedProcess[str]:
    program = shutil.which("ssh-keygen")
    if program is None:
        raise MissingExtra(
            "signatures need ssh-keygen, which comes with OpenSSH; install it", package="ssh-keygen"
        )
    if read is None:  # it would ask for a passphrase on the terminal, which is fine
        return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    with read.open("rb") as stream:
        return subprocess.run(
            [program, *arguments], stdin=stream, capture_output=True, text=True, check=False
        )


def _last(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[-1] if lines else f"ssh-keygen ended with {done.returncode}"
