"""Chromium by its DevTools protocol over a pipe: no driver and no package, only what the browser itself offers."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

FOUND = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
SECONDS = 60.0
# Chromium reads commands from descriptor 3 and answers on 4.
_HAND_OVER = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
)
_KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35}


class Chromium:
    """A browser with one page."""

    def __init__(self) -> None:
        assert FOUND is not None
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._in = _high_pipe()
        self._out, answers = _high_pipe()
        flags = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-extensions",
            "--disable-sync",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
            f"--user-data-dir={self._profile.name}",
            "about:blank",
        ]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _HAND_OVER, str(commands), str(answers), FOUND, *flags],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(commands)
        os.close(answers)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command, and wait for its answer; events that come before are kept."""
        self._number += 1
        said: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            said["sessionId"] = self._session
        os.write(self._in, json.dumps(said).encode() + b"\0")
        until = time.monotonic() + SECONDS
        while True:
            found = self._next(until)
            if found.get("id") == self._number:
                if "error" in found:
                    raise AssertionError(found["error"])
                result: dict[str, Any] = found["result"]
                return result
            self.events.append(found)

    def go(self, url: str) -> None:
        """Open an address, and wait until it is there."""
        self.send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.protocol !== 'about:'")

    def js(self, expression: str) -> Any:
        """Evaluate JavaScript in the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = 20.0) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + seconds
        while not self.js(f"Boolean({expression})"):
            assert time.monotonic() < until, f"not within {seconds:g} s: {expression}\n{self.text('body')}"
            time.sleep(0.05)

    def text(self, selector: str) -> str:
        """Read what an element shows."""
        return str(self.js(f"(document.querySelector({json.dumps(selector)}) || {{}}).innerText || ''"))

    def click(self, selector: str) -> None:
        """Click into the middle of an element, as a mouse does."""
        box = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); "
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2, b.width]; })()"
        )
        assert box[2] > 0, f"{selector} is not to be seen"
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def key(self, key: str, *, ctrl: bool = False, shift: bool = False, alt: bool = False) -> None:
        """Press a key, by its name or its character."""
        modifiers = (1 if alt else 0) | (2 if ctrl else 0) | (8 if shift else 0)
        code = f"Digit{key}" if key.isdigit() else key
        text = "\r" if key == "Enter" else key if len(key) == 1 and not (ctrl or alt) else ""
        how = {"key": key, "code": code, "modifiers": modifiers, "windowsVirtualKeyCode": _KEYS.get(key, ord(key[0]))}
        self.send(
            "Input.dispatchKeyEvent",
            type="keyDown" if text else "rawKeyDown",
            **how,
            **({"text": text} if text else {}),
        )
        self.send("Input.dispatchKeyEvent", type="keyUp", **how)

    def write(self, selector: str, text: str) -> None:
        """Write into a field in place of what is there."""
        self.click(selector)
        self.js(f"document.querySelector({json.dumps(selector)}).select()")
        if text:
            self.send("Input.insertText", text=text)
        else:
            self.key("Delete")

    def choose(self, selector: str, value: str) -> None:
        """Choose from a list; a headless browser shows none to click into."""
        self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
            "for (const kind of ['input', 'change']) e.dispatchEvent(new Event(kind, {bubbles: true})); })()"
        )

    def look(self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Take a picture of what is seen at a size."""
        self.size(width, height)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)
        time.sleep(0.3)
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))

    def size(self, width: int, height: int) -> None:
        """Make the window so wide and high."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def complaints(self) -> list[str]:
        """List what the browser complained of: exceptions, errors of its log, and what the policy kept out."""
        self.js("0")
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            if event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        return found

    def fetched(self) -> list[str]:
        """List the addresses that were asked for."""
        sent = (event for event in self.events if event.get("method") == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def close(self) -> None:
        """End the browser."""
        with suppress(OSError, AssertionError):
            self._session = None
            self.send("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = until - time.monotonic()
            ready, _, _ = select.select([self._out], [], [], max(left, 0))
            assert ready, "the browser does not answer"
            some = os.read(self._out, 1 << 16)
            assert some, "the browser has ended"
            self._buffer += some
        first, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(first)
        return found


def _high_pipe() -> tuple[int, int]:
    """Make a pipe whose descriptors are not those that Chromium is given."""
    import fcntl

    ends = []
    for end in os.pipe():
        ends.append(fcntl.fcntl(end, fcntl.F_DUPFD, 10))
        os.close(end)
    return ends[0], ends[1]
