"""A browser that does as it is told: Chromium's DevTools protocol over a pipe, no driver, no port."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0


def find_chromium() -> str:
    for name in NAMES:
        path = shutil.which(name)
        if path is not None:
            return path
    raise RuntimeError("no Chromium found; `make test-browser` installs Debian's as root")


class Browser:
    """One Chromium with a fresh profile; messages are JSON, ended by a zero byte."""

    def __init__(self) -> None:
        self._profile = tempfile.mkdtemp(prefix="dpcheck-chromium-")
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        # Chromium reads file descriptor 3 and writes 4; keep ours clear of those numbers.
        read, write = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_child, from_child))

        def place() -> None:
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._log = open(Path(self._profile) / "stderr.txt", "w+b")  # noqa: SIM115 - lives on
        self._process = subprocess.Popen(
            [find_chromium(), *FLAGS, f"--user-data-dir={self._profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            preexec_fn=place,
            pass_fds=(3, 4),
        )
        for fd in (to_child, from_child, read, write):
            os.close(fd)
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, RuntimeError, TimeoutError):
            self.call("Browser.close")
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for fd in (self._in, self._out):
            os.close(fd)
        self._log.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("Chromium did not answer in time")
            data = os.read(self._in, 1 << 16)
            if not data:
                self._log.seek(0)
                raise RuntimeError("Chromium ended: " + self._log.read().decode()[-2000:])
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events on the way are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            found = self._read(deadline)
            if found.get("id") == self._number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                result: dict[str, Any] = found["result"]
                return result
            self.events.append(found)

    def wait_for(self, method: str, session: str) -> None:
        """Wait for an event of a session, unless it has come already."""
        deadline = time.monotonic() + PATIENCE
        while not any(
            e.get("method") == method and e.get("sessionId") == session for e in self.events
        ):
            self.events.append(self._read(deadline))


class Page:
    """A tab of a given width and theme, showing one file."""

    def __init__(self, browser: Browser, path: Path, width: int, scheme: str) -> None:
        self._browser = browser
        browser.events.clear()
        self._target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=self._target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, 900)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        browser.events.clear()
        self.url = path.resolve().as_uri()
        self.call("Page.navigate", url=self.url)
        browser.wait_for("Page.loadEventFired", self._session)

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def evaluate(self, expression: str) -> Any:
        """The JSON value of a JavaScript expression."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **extra,
            )

    def complaints(self) -> list[str]:
        """Errors and warnings on the console, and exceptions."""
        self.evaluate("1")  # whatever was said before this has now arrived
        found = []
        for event in self._browser.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"]["text"])
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Runtime.consoleAPICalled":
                found.append(f"console.{params['type']}")
        return found

    def requests(self) -> list[str]:
        """Every address asked for, but the file itself and what it holds."""
        self.evaluate("1")
        urls = [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in urls if url != self.url and not url.startswith("data:")]

    def screenshot(self, path: Path) -> None:
        """The whole page as PNG."""
        height = self.evaluate("document.documentElement.scrollHeight")
        self.resize(self.evaluate("innerWidth"), height)
        picture = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(picture))
