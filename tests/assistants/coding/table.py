"""The coding assistant's server for tests of its routes and panel: a real repository, real HTTP, a model written in advance."""

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace
from starlette.routing import Route

from server.running import Serving
from treadle import open_home
from treadle.assistant import Host
from treadle.assistants.coding import assistant
from treadle.jobs.store import Jobs
from treadle.sandbox.probe import check_sandbox
from treadle.stores.accounts import User
from treadle.testing import Scripted

PATIENCE = 90.0  # seconds
_numbers = itertools.count(1)


def must_contain(folder: Path) -> None:
    """Skip a test where commands can't be contained."""
    here = asyncio.run(check_sandbox(folder))
    if not here.sandboxed:
        pytest.skip(here.why)


class Gate:
    """A reply that isn't given before `open`; `reached` says that the model was asked for it."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self._opened = threading.Event()
        self.reached = threading.Event()

    def open(self) -> None:
        self._opened.set()

    def __call__(self, request: Any) -> Any:
        async def deltas() -> Any:
            self.reached.set()
            while not self._opened.is_set():  # noqa: ASYNC110 - another thread opens it
                await asyncio.sleep(0.01)
            async for delta in Scripted(self._answer).reply(request):
                yield delta

        return deltas()


def eventually(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


def named(answer: Any) -> Any:
    """A reply whose calls have ids of their own, wherever in a script it stands."""
    return replace(answer, calls=tuple(replace(call, id=f"own_{next(_numbers)}") for call in answer.calls))


class Table:
    """The server, and what one asks it."""

    def __init__(self, url: str, jobs: Jobs) -> None:
        self.url = url
        self.jobs = jobs

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status, and what was said."""

        async def asked() -> tuple[int, Any]:
            async with aiohttp.ClientSession() as session, session.request(method, self.url + path, json=body) as answer:
                return answer.status, await answer.json(content_type=None)

        return asyncio.run(asked())

    def begin(self, folder: Path | str, kind: str = "debug", what: str = "Prices are off by one", **more: Any) -> str:
        """A job that has begun."""
        status, told = self.ask("POST", "/api/coding/jobs", {"kind": kind, "workspace": str(folder), "what": what, **more})
        assert status == 201, told
        return told["job"]["id"]

    def until(self, job: str, *states: str) -> dict[str, Any]:
        """The job, once it is in one of these states, by the events that tell so."""
        return next(event["job"] for event in self.events(job) if event["event"] == "job" and event["job"]["state"] in states)

    def over(self, job: str) -> dict[str, Any]:
        """The job, once it is over."""
        events = self.events(job)
        assert events[-1] == {"event": "over"}
        return [event["job"] for event in events if event["event"] == "job"][-1]

    def events(self, job: str, into: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        """What is told of a job until it is over, or waits; put `into` a list as it comes."""
        found: list[dict[str, Any]] = [] if into is None else into

        async def heard() -> list[dict[str, Any]]:
            async with aiohttp.ClientSession() as session, session.get(f"{self.url}/api/coding/jobs/{job}/events") as answer:
                async for line in answer.content:
                    if line.startswith(b"data:"):
                        found.append(json.loads(line[5:]))
                        if found[-1].get("job", {}).get("state") == "waiting":
                            break
            return found

        return asyncio.run(asyncio.wait_for(heard(), PATIENCE))


def for_person(person: User) -> Any:
    """The assistant as somebody on a server with users meets it: their own home, and who they are known to the routes."""

    def routes(host: Host) -> list[Route]:
        home = open_home(host.home.folder / "users" / person.name)
        own = replace(host, home=home, user=person.name, folder=home.folder / "workspace", shared=True)
        return [Route(route.path, _known(route.endpoint, person), methods=list(route.methods)) for route in assistant.routes(own)]

    return replace(assistant, routes=routes)


def _known(endpoint: Any, person: User) -> Any:
    async def asked(request: Any) -> Any:
        request.scope["person"] = person
        return await endpoint(request)

    return asked


@contextmanager
def served(place: Path, *replies: Any, person: User | None = None, model: Any = None) -> Iterator[Table]:
    """The server, for as long as the block lasts."""
    made = assistant if person is None else for_person(person)
    home = place / "data" if person is None else place / "data" / "users" / person.name
    with Serving(place, [made], model or Scripted(*replies)) as server:
        yield Table(server.url, Jobs(home))
