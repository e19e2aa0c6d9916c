"""A real browser for tests: Chromium, headless, driven over the DevTools protocol with nothing but a websocket.

    async with Browser() as browser:
        page = await browser.open(url, width=390, scheme="dark")
        await page.click("h2 a")
        await page.wait_for("document.title === 'Reading'")
        page.check()                                     # nothing on the console, nothing thrown, nothing failed to load

Tests that need it carry `needs_browser`: where there is no Chromium they are skipped, and say so.
"""

import asyncio
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import aiohttp
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    # pages that were left are not kept, and the next one has no process of its own: that takes a third of the time of a page;
    # the rest is what Chromium does for its user on every page and at its start, which no test looks at
    (
        "--disable-features=BackForwardCache,ProactivelySwapBrowsingInstance,SpareRendererForSitePerProcess,"
        "Translate,OptimizationHints,PageContentAnnotations,HistoryEmbeddings,MediaRouter,AutofillServerCommunication,"
        "InitialWebUI,WebUIReloadButton,WebUIOmniboxPopup,PreloadTopChromeWebUI"
    ),
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-breakpad",
    "--disable-site-isolation-trials",
    "--disable-sync",
    "--hide-scrollbars",
    "--kiosk",  # no toolbar and no tabs, which would be drawn for each page
    "--metrics-recording-only",
    "--mute-audio",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-proxy-server",
    "--remote-debugging-port=0",
)
PATIENCE = 60.0  # seconds: the machine may be busy
SETTLING = 3.0  # seconds that requests of a page are waited for
CODES = {"Backspace": 8, "Tab": 9, "Escape": 27, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36, "Delete": 46} | {
    f"Arrow{way}": 37 + number for number, way in enumerate(("Left", "Up", "Right", "Down"))
}
KEYS = {name: ("", code) for name, code in CODES.items()} | {"Enter": ("\r", 13), " ": (" ", 32)}
# events of the mouse that aren't for the element are stopped, and the first of their targets is remembered
WATCH_CLICK = """(() => {
    const over = new AbortController();
    let other = "";
    for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) window.addEventListener(kind, (event) => {
        if (document.querySelector(SELECTOR)?.contains(event.target)) {
            if (kind !== "click") return;
            over.abort();
            delete window.clickMissed;
        } else {
            other ||= event.target.cloneNode?.().outerHTML ?? "the document";
            event.stopImmediatePropagation();
            event.preventDefault();
        }
    }, {capture: true, signal: over.signal});
    window.clickMissed = () => { over.abort(); delete window.clickMissed; return other; };
})()"""
Scheme = Literal["light", "dark"]


def chromium() -> str | None:
    """The browser's program: TREADLE_CHROMIUM, else whichever is on PATH."""
    chosen = os.environ.get("TREADLE_CHROMIUM")
    return shutil.which(chosen) if chosen else next(filter(None, map(shutil.which, NAMES)), None)


needs_browser = pytest.mark.skipif(chromium() is None, reason="no Chromium on PATH, and TREADLE_CHROMIUM names none")


class BrowserError(AssertionError):
    """The browser, or a page in it, did something else than the test wants."""


class Chromium:
    """The one process of all browsers of these tests, with a profile that is gone at the end, and with tabs that nobody uses."""

    def __init__(self) -> None:
        self.idle: list[str] = []  # a new tab takes as much time as a page
        program = chromium()
        assert program, "mark the test with `needs_browser`"
        self._profile = Path(tempfile.mkdtemp(prefix="treadle-browser-"))
        with (self._profile / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [program, *SWITCHES, f"--user-data-dir={self._profile}", "about:blank"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"], "HOME": str(self._profile), "LANG": "C.UTF-8", "TZ": "UTC"},
                start_new_session=True,
            )

    async def address(self) -> str:
        """Where it can be talked to, which it writes down once it is up."""
        written, deadline = self._profile / "DevToolsActivePort", time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(FileNotFoundError):
                lines = written.read_text().split()
                if len(lines) == 2:
                    return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            await asyncio.sleep(0.02)
        raise BrowserError(f"the browser didn't come up: {(self._profile / 'log').read_text(errors='replace')[-2000:]}")

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # its own group: everything it has started, and nothing else
        self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)


@cache
def started() -> Chromium:
    """The one process, once a test needs it."""
    return Chromium()


def end() -> None:
    """Have it gone, if there is one."""
    if started.cache_info().currsize:
        started().end()


class Browser:
    """A connection to the process, and the pages that were opened through it."""

    async def __aenter__(self) -> Self:
        self._wire = await Wire.to(await started().address())
        self._pages: list[Page] = []
        return self

    async def __aexit__(self, *_: object) -> None:
        with suppress(BrowserError, ConnectionError, TimeoutError):
            for page in self._pages:
                await page.close()
        await self._wire.close()

    async def open(self, url: str, *, width: int = 1280, height: int = 800, scheme: Scheme = "light") -> "Page":
        """A new page at this address, once it is loaded. Nothing is left of what others have kept: neither cookies nor storage."""
        idle = started().idle
        tab = idle.pop() if idle else (await self._wire.send("Target.createTarget", url="about:blank"))["targetId"]
        await self._wire.send("Target.activateTarget", targetId=tab)  # one in the background draws no frames
        session = (await self._wire.send("Target.attachToTarget", targetId=tab, flatten=True))["sessionId"]
        page = Page(self._wire, tab, session)
        self._pages.append(page)
        for domain in ("Page", "Runtime", "Log", "Network"):
            await page.send(f"{domain}.enable")
        await page.send("Page.setLifecycleEventsEnabled", enabled=True)
        await page.send("Network.clearBrowserCookies")
        await page.send("Storage.clearDataForOrigin", origin=_origin(url), storageTypes="local_storage")
        await page.resize(width, height)
        await page.prefer(scheme)
        await page.go(url)
        return page


class Page:
    """A page, and what went wrong in it: `problems`."""

    def __init__(self, wire: "Wire", tab: str, session: str) -> None:
        self.problems: list[str] = []
        self._wire = wire
        self._tab = tab
        self._is_open = True
        self._session = session
        self._loaded: set[str] = set()
        self._has_loaded = asyncio.Event()
        self._requests: set[str] = set()  # under way
        self._is_settled = asyncio.Event()
        self._is_settled.set()
        wire.hearers[session] = self._hear

    async def send(self, method: str, **params: Any) -> dict[str, Any]:
        """A command of the protocol, for what isn't here."""
        return await self._wire.send(method, session=self._session, **params)

    async def go(self, url: str) -> None:
        """Open another address, and wait until it is loaded: it, and not what was there before."""
        said = await self.send("Page.navigate", url=url)
        if said.get("errorText"):
            raise BrowserError(f"{url} can't be opened: {said['errorText']}")
        async with asyncio.timeout(PATIENCE):
            while said["loaderId"] not in self._loaded:
                self._has_loaded.clear()
                await self._has_loaded.wait()

    async def close(self) -> None:
        """Have it gone, with all that was set in it; its tab is for the next."""
        if not self._is_open:
            return
        self._is_open = False
        with suppress(BrowserError):
            await self.evaluate("sessionStorage.clear()")
        with suppress(BrowserError):  # by the page itself, so that the next page at the same host has its process
            await self.evaluate("void location.replace('about:blank')")
        await self.wait_for("location.href === 'about:blank'")
        await self.send("Page.resetNavigationHistory")
        await self._wire.send("Target.detachFromTarget", sessionId=self._session)
        del self._wire.hearers[self._session]
        started().idle.append(self._tab)

    async def evaluate(self, script: str) -> Any:
        """The value of an expression; a promise's value where it is one."""
        said = await self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True, timeout=PATIENCE * 1000
        )
        if "exceptionDetails" in said:
            raise BrowserError(f"{script} failed: {_thrown(said['exceptionDetails'])}")
        return said["result"].get("value")

    async def wait_for(self, condition: str, seconds: float = PATIENCE) -> Any:
        """Look until an expression is true; its value. What it throws meanwhile counts as not yet.

        What the page asks for at that time is waited for, too, so that what a test looks at next isn't being drawn.
        """
        deadline, last = time.monotonic() + seconds, "it was never true"
        while time.monotonic() < deadline:
            try:
                value = await self.evaluate(condition)
            except BrowserError as error:  # the page may be between two addresses
                last = str(error)
            else:
                if value:
                    await self._settle()
                    return value
            await asyncio.sleep(0.02)
        raise BrowserError(f"waited {seconds:g} s for {condition}: {last}; the page says: {await self.text()}; {self.problems}")

    async def becomes(self, expression: str, value: Any, seconds: float = PATIENCE) -> None:
        """Look until an expression has this value. What it throws meanwhile counts as not yet."""
        deadline, last = time.monotonic() + seconds, object()
        while last != value:
            if time.monotonic() > deadline:
                raise BrowserError(f"waited {seconds:g} s for {expression} to be {value!r}; it is {last!r}; {self.problems}")
            with suppress(BrowserError):  # the page may be between two addresses
                last = await self.evaluate(expression)
            await asyncio.sleep(0 if last == value else 0.02)
        await self._settle()

    async def _settle(self) -> None:
        """Wait until no request is under way, unless one is held up; streams of events don't count."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLING):
                await self._is_settled.wait()

    async def text(self, selector: str = "body") -> str:
        """What can be read in the first such element."""
        return await self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    async def click(self, selector: str) -> None:
        """Click in the middle of the first such element, as a mouse does, until it has the click.

        A page that is being drawn may move the element, or put another over it, between a look and a click: the other gets nothing.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            x, y = await self._middle(selector)
            await self.evaluate(WATCH_CLICK.replace("SELECTOR", json.dumps(selector)))
            for kind in ("mousePressed", "mouseReleased"):
                await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
            try:
                missed = await self.evaluate("window.clickMissed?.()")
            except BrowserError:  # the click has led to another page
                return
            if missed is None:
                return
            if time.monotonic() > deadline:
                raise BrowserError(f"a click on {selector} can't reach it: {missed or 'nothing'} gets it; {self.problems}")

    async def hover(self, selector: str) -> None:
        """Put the mouse over the first such element."""
        await self._middle(selector)

    async def press(self, key: str) -> None:
        """Press a key by its name, such as Enter, Tab, ArrowDown or a."""
        assert key in KEYS or len(key) == 1, f"{key} is no key that is known here"
        text, code = KEYS[key] if key in KEYS else (key, ord(key.upper()) if key.isalnum() else 0)
        named = {"key": key, "code": key if len(key) > 1 else "", "windowsVirtualKeyCode": code}
        await self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **named)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **named)

    async def write(self, text: str) -> None:
        """Write into whatever has the focus."""
        await self.send("Input.insertText", text=text)

    async def resize(self, width: int, height: int = 800) -> None:
        """How large the window is, in CSS pixels."""
        await self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    async def prefer(self, scheme: Scheme, *, still: bool = False) -> None:
        """What the person prefers: light or dark, and `still` where they want no motion."""
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce" if still else "no-preference"}
        await self.send("Emulation.setEmulatedMedia", features=[{"name": name, "value": value} for name, value in features.items()])

    async def screenshot(self, path: Path, *, whole: bool = True) -> Path:
        """What it looks like, as a PNG; `whole` is the page to its end, otherwise what the window shows."""
        shown = await self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        await asyncio.to_thread(path.write_bytes, base64.b64decode(shown["data"]))
        return path

    def check(self) -> None:
        """Nothing went wrong so far."""
        assert self.problems == [], self.problems

    async def _middle(self, selector: str) -> tuple[float, float]:
        """Where the middle of the first such element is, scrolled into view and with the mouse over it."""
        quoted = json.dumps(selector)
        script = f"""(() => {{
            const found = document.querySelector({quoted});
            if (!found) return null;
            found.scrollIntoView({{block: "center", inline: "center", behavior: "instant"}});
            const box = found.getClientRects()[0];
            return box ? [box.x + box.width / 2, box.y + box.height / 2] : null;
        }})()"""
        place: list[float] = []
        while place != (place := await self.wait_for(script)):  # a page that is being drawn may move it away from under the mouse
            await self.send("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
        return place[0], place[1]

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "Page.lifecycleEvent" if params["name"] == "load":
                self._loaded.add(params["loaderId"])
                self._has_loaded.set()
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "assert"):
                said = [str(value.get("value", value.get("description"))) for value in params["args"]]
                self.problems.append(f"console: {' '.join(said)}")
            case "Runtime.exceptionThrown":
                self.problems.append(f"thrown: {_thrown(params['exceptionDetails'])}")
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.problems.append(f"{params['entry']['source']}: {params['entry']['text']} {params['entry'].get('url', '')}")
            case "Page.javascriptDialogOpening" if not self._is_open:  # whether to leave what isn't saved
                self._leaving = asyncio.create_task(self.send("Page.handleJavaScriptDialog", accept=True))
            case "Network.requestWillBeSent" if params.get("type") in ("Fetch", "XHR"):
                self._requests.add(params["requestId"])
                self._is_settled.clear()
            case "Network.responseReceived" if params["response"]["mimeType"] == "text/event-stream":
                self._end_requests(params["requestId"])
            case "Network.loadingFinished":
                self._end_requests(params["requestId"])
            case "Network.loadingFailed":
                self._end_requests(params["requestId"])
                if not params.get("canceled"):
                    self.problems.append(f"network: {params['errorText']}")
            case "Page.frameNavigated" if "parentId" not in params["frame"]:
                self._end_requests(*self._requests)
            case _:
                pass

    def _end_requests(self, *numbers: str) -> None:
        self._requests.difference_update(numbers)
        if not self._requests:
            self._is_settled.set()


def _origin(url: str) -> str:
    scheme, host, *_ = urlsplit(url)
    return f"{scheme}://{host}"


def _thrown(details: dict[str, Any]) -> str:
    return details.get("exception", {}).get("description") or details["text"]


class Wire:
    """The websocket: commands out, answers and events in."""

    def __init__(self, http: aiohttp.ClientSession, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.hearers: dict[str, Any] = {}
        self._http, self._socket = http, socket
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = 0
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def to(cls, address: str) -> "Wire":
        http = aiohttp.ClientSession()
        try:
            return cls(http, await http.ws_connect(address, max_msg_size=0))
        except BaseException:
            await http.close()
            raise

    async def send(self, method: str, *, session: str | None = None, **params: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json(
            {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        )
        try:
            said = await asyncio.wait_for(answer, PATIENCE + 5)
        finally:
            self._waiting.pop(number, None)
        if "error" in said:
            raise BrowserError(f"{method}: {said['error']['message']}")
        return said.get("result", {})

    async def close(self) -> None:
        await self._socket.close()
        await self._reader
        await self._http.close()

    async def _read(self) -> None:
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                waiting = self._waiting.get(said["id"])
                if waiting and not waiting.done():
                    waiting.set_result(said)
            elif said.get("sessionId") in self.hearers:
                self.hearers[said["sessionId"]](said["method"], said["params"])
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(BrowserError("the browser is gone"))
