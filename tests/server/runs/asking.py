"""Asks a server about runs, over real HTTP; and assistants whose tools can be held up, fail, and need approval."""

import asyncio
import json
from collections.abc import AsyncIterator
from concurrent.futures import Future
from typing import Any, NamedTuple

import aiohttp

from server.running import assistant
from treadle import FunctionToolset, ask, tool
from treadle.core.requests import ReplyEnded, Request, TextDelta, Traits, Usage
from treadle.server.limits import RunLimiter
from treadle.stores.accounts import Allowance, User

JSON = {"content-type": "application/json"}


class Told(NamedTuple):
    """One server-sent event."""

    id: str
    data: dict[str, Any]

    @property
    def name(self) -> str:
        return self.data["event"]


class Asking:
    """Requests to one server, in one event loop."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._session = aiohttp.ClientSession()

    async def __aenter__(self) -> "Asking":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        sent = {} if body is None else {"data": json.dumps(body), "headers": JSON}
        async with self._session.request(method, self.url + path, **sent, allow_redirects=False, **more) as answer:
            text = await answer.text()
            return answer.status, json.loads(text) if text else None

    async def stream(self, path: str, body: Any = None, after: str = "", **more: Any) -> AsyncIterator[Told]:
        """The events of an answer, as they come."""
        headers = {"accept": "text/event-stream", **({"last-event-id": after} if after else {}), **({} if body is None else JSON)}
        method, data = ("GET", None) if body is None else ("POST", json.dumps(body))
        async with self._session.request(method, self.url + path, data=data, headers=headers, **more) as answer:
            assert answer.status == 200, await answer.text()
            assert answer.content_type == "text/event-stream"
            seen = ""
            async for line in answer.content:
                if line.startswith(b"id: "):
                    seen = line[4:].strip().decode()
                elif line.startswith(b"data: "):
                    yield Told(seen, json.loads(line[6:]))

    async def events(self, path: str, body: Any = None, after: str = "", **more: Any) -> list[Told]:
        """All events of an answer."""
        return [event async for event in self.stream(path, body, after, **more)]

    async def until(self, path: str, name: str, body: Any = None, after: str = "") -> list[Told]:
        """The events up to the first of this name; then the reader leaves."""
        found = []
        async for event in self.stream(path, body, after):
            found.append(event)
            if event.name == name:
                return found
        raise AssertionError(f"{name} never came: {[event.name for event in found]}")

    async def ended(self, run_id: str, status: str = "answered") -> dict[str, Any]:
        """A run, once it has this status."""
        async with asyncio.timeout(120):
            while True:
                code, said = await self("GET", f"/api/runs/{run_id}")
                if code == 200 and said["run"]["status"] == status:
                    return said
                await asyncio.sleep(0.02)


def with_server(server: Any, work: Any) -> Any:
    """What comes of asking a server."""

    async def asking() -> Any:
        async with Asking(server.url) as ask:
            return await work(ask)

    return asyncio.run(asking())


def names(events: list[Told]) -> list[str]:
    return [event.name for event in events]


def words(events: list[Told]) -> str:
    return "".join([event.data["text"] for event in events if event.name == "text_arrived"])


class Echo:
    """A model that says again what it was told last, word by word, for as often as it is asked."""

    name = "echo"
    traits = Traits()

    async def reply(self, request: Request) -> AsyncIterator[Any]:
        said = request.history[-1].text
        for word in said.split():
            yield TextDelta(f"{word} ")
        yield ReplyEnded("done", Usage(requests=1, input_tokens=len(said), output_tokens=3), self.name)


class Gate:
    """A tool that waits until it is let through."""

    def __init__(self) -> None:
        self._open: Future[None] = Future()

        @tool(effect="read")
        async def wait() -> str:
            """Wait."""
            await asyncio.shield(asyncio.wrap_future(self._open))
            return "waited"

        self.tool = wait

    def let_through(self) -> None:
        """From any thread."""
        self._open.set_result(None)


def run_limiter(runs: int):
    """An ASGI layer through which so many runs may be under way at once."""

    def around(app: Any) -> Any:
        entered = RunLimiter(User("", "admin", Allowance(runs=runs)))

        async def counted(scope: Any, receive: Any, send: Any) -> None:
            scope["run_limiter"] = entered
            await app(scope, receive, send)

        return counted

    return around


@tool(effect="read")
def depth(river: str) -> int:
    """How deep a river is."""
    return len(river)


@tool(effect="write")
def dam(river: str, token: str = "") -> str:
    """Dam a river."""
    return f"{river} is dammed"


def rivers(**more: Any):
    """An assistant that knows rivers, and may dam one if it is allowed to."""
    tools = more.pop("tools", (depth, dam))
    made = {"toolsets": lambda host: [FunctionToolset(tools)], "policy": [ask("dam")], **more}
    return assistant("rivers", **made)
