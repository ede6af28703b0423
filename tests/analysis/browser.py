"""A real browser for tests: a headless Chrome or Chromium, spoken to by its DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import websocket

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--remote-debugging-port=0",
)


def found() -> str | None:
    """Return the path of a Chrome or Chromium, if there is one."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


@contextmanager
def browser() -> Iterator[Page]:
    """Start a browser of one's own, with nobody's settings, and give its page."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        command = [str(found()), *FLAGS, f"--user-data-dir={home}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            yield Page(_address(process))
        finally:
            process.terminate()
            process.wait()


def _address(process: subprocess.Popen[str]) -> str:
    """Return where the browser listens, which it says on standard error."""
    lines = []
    for line in process.stderr or ():
        lines.append(line)
        if "DevTools listening on " in line:
            return line.split("DevTools listening on ")[1].strip()
    raise RuntimeError("the browser ended: " + "".join(lines))


class Page:
    """A page of a browser.

    Attributes
    ----------
    errors : list of str
        What went wrong on the page since it was opened: errors on the console, exceptions.
    requests : list of str
        The addresses that it asked for.
    """

    def __init__(self, address: str):
        self._socket = websocket.create_connection(address, suppress_origin=True, timeout=60)
        self._number, self._session = 0, None
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def open(self, path: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Open a file, and wait until it is loaded and every chart is drawn."""
        self.errors, self.requests = [], []
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=path.resolve().as_uri())
        self.evaluate(
            "new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))"
        )
        self.settle()

    def settle(self) -> None:
        """Wait until every chart is drawn as the page now wants it."""
        self.evaluate(
            """new Promise(done => { const look = () => {
                const late = !window.drawn ? document.getElementById("vega") : Object.entries(drawn)
                    .some(([name, turn]) => Number(document.getElementById(`chart-${name}`).dataset.drawn) !== turn);
                late ? setTimeout(look, 20) : done();
            }; look(); })"""
        )

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression, of its promise if it is one."""
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(json.dumps(answer["exceptionDetails"], indent=1))
        return answer["result"].get("value")

    def hover(self, x: float, y: float) -> None:
        """Move the mouse to a place on the screen."""
        for place in (x - 3, x):
            self._call("Input.dispatchMouseEvent", type="mouseMoved", x=place, y=y)

    def press(self, key: str) -> None:
        """Press a key, whose name is also its code: Enter, Tab."""
        codes = {"Enter": 13, "Tab": 9}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], **text)

    def screenshot(self, path: Path) -> None:
        """Save the whole page as a PNG file."""
        answer = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params} | session))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                answer: dict[str, Any] = message["result"]
                return answer
            self._note(message.get("method"), message.get("params", {}))

    def _note(self, event: str | None, params: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(json.dumps(params["args"]))
        elif event == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(json.dumps(params["entry"]))
        elif event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
