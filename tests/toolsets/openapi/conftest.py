"""Small documents, and a server on loopback that answers by path and remembers what it was sent."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from treadle import RunContext
from treadle.core.calls import Call
from treadle.core.errors import ToolProblem
from treadle.toolsets.openapi import openapi_tools

PATIENCE = 60


def document(paths: dict[str, Any] | None = None, version: str = "3.0.3", **more: Any) -> dict[str, Any]:
    """A whole document around some paths."""
    return {"openapi": version, "info": {"title": "Small", "version": "1"}, "paths": {} if paths is None else paths, **more}


class Serving:
    """What a server saw; `answers` is by path: text, JSON, or a whole response."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.requests: list[web.BaseRequest] = []
        self.bodies: list[bytes] = []
        self.origin = ""

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(await request.read())
        found = self.answers.get(request.raw_path, self.answers.get(request.path, {"ok": True}))
        if callable(found):
            found = await found(request)
        if isinstance(found, web.StreamResponse):
            return found
        return web.Response(text=found) if isinstance(found, str) else web.json_response(found)


@asynccontextmanager
async def serving(answers: dict[str, Any] | None = None) -> AsyncIterator[Serving]:
    ours = Serving(answers or {})
    server = web.Server(ours.answer, access_log=None)  # it would show what is sent
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    ours.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield ours
    finally:
        await runner.cleanup()


class Made:
    """The result of some calls."""

    def __init__(self, server: Serving, results: list[str], tools: tuple[Any, ...], came: list[Any]) -> None:
        self.came = came  # what was returned or raised
        self.server = server
        self.results = results
        self.tools = {tool.name: tool for tool in tools}

    @property
    def result(self) -> str:
        return self.results[-1]

    @property
    def request(self) -> web.BaseRequest:
        return self.server.requests[-1]


@pytest.fixture
def call() -> Callable[..., Made]:
    """Makes calls of a document's tools at a real server: `call(document, ("name", {…}), answers={…})`."""

    def made(root: Any, *asked: tuple[str, dict[str, Any]], answers: Any = None, context: Any = None, **how: Any) -> Made:
        async def work() -> Made:
            async with asyncio.timeout(PATIENCE), serving(answers) as server:
                toolset = openapi_tools(root, **{"base_url": server.origin, "private": True, **how})
                results, came = [], []
                async with toolset:
                    for name, arguments in asked:
                        try:
                            came.append(await toolset.call(Call("c", name, arguments), context or RunContext(key="the-key")))
                            results.append(str(came[-1]))
                        except ToolProblem as problem:
                            came.append(problem)
                            results.append(f"PROBLEM {problem}")
                return Made(server, results, toolset.tools(), came)

        return asyncio.run(work())

    return made
