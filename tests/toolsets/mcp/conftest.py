"""The odd server: as a program that the toolset starts, or as one that is there already, over HTTP."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cli.forkserver import Forked, launched
from treadle import RunContext
from treadle.core.calls import Call
from treadle.core.errors import ToolProblem
from treadle.toolsets.mcp import McpServer, McpTools

ODD = str(Path(__file__).with_name("odd.py"))
PATIENCE = 60  # seconds that anything may take


def new(*words: str) -> tuple[str, ...]:
    return (sys.executable, *words)


class Odd:
    """The server, and the folder in which it says what has happened to it."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self._serving: list[subprocess.Popen[str]] = []

    def program(self, *words: str, **more: Any) -> McpServer:
        """As a program: forked off a process that has the SDK imported, or a new one where processes are what it is about."""
        start = new if {"new", "stubborn"} & {*words} else launched
        return McpServer(**{"name": "odd", "command": start(ODD, *words, str(self.state)), "timeout": 30, **more})

    def serve(self, kind: str = "http") -> None:
        """Begin to serve over HTTP, at the port it had before if it had one."""
        serving = Forked([ODD, kind, str(self.state)], stdout=subprocess.PIPE, text=True)
        self._serving.append(serving)
        assert serving.stdout is not None
        assert serving.stdout.readline() == "listening\n"

    def address(self, path: str = "/mcp", **more: Any) -> McpServer:
        """As one that is there already."""
        port = (self.state / "port").read_text()
        return McpServer(**{"name": "odd", "url": f"http://127.0.0.1:{port}{path}", "timeout": 20, **more})

    def stop(self) -> None:
        for serving in self._serving:
            serving.kill()
            serving.communicate()
        self._serving.clear()

    @property
    def pid(self) -> int:
        return int((self.state / "pid").read_text())

    @property
    def is_alive(self) -> bool:
        with suppress(ProcessLookupError):
            os.kill(self.pid, 0)
            return True
        return False

    async def has(self, name: str) -> bool:
        """Whether something happens to it, soon."""
        return await self.until((self.state / name).exists)

    async def until(self, happened: Callable[[], object]) -> bool:
        """Wait for what another process does, which can't tell us."""
        async with asyncio.timeout(PATIENCE):
            while not happened():  # noqa: ASYNC110 - no event of ours can be set from there
                await asyncio.sleep(0.01)
        return True


@pytest.fixture
def odd(tmp_path: Path):
    server = Odd(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def within() -> Callable[[McpTools, Callable[[], Coroutine[Any, Any, Any]]], Any]:
    """Does something while a toolset is entered, and never for ever."""

    def run(toolset: McpTools, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        async def inside() -> Any:
            async with asyncio.timeout(PATIENCE), toolset:
                return await work()

        return asyncio.run(inside())

    return run


@pytest.fixture
def call() -> Callable[..., Coroutine[Any, Any, str]]:
    """What a call brings: its text, or the words of its problem."""

    async def made(toolset: McpTools, name: str, context: RunContext[Any] | None = None, **arguments: Any) -> str:
        try:
            return str(await toolset.call(Call("c", name, arguments), context or RunContext()))
        except ToolProblem as problem:
            return f"PROBLEM {problem}"

    return made
