"""Runs agents in processes of their own and kills them: a process that has everything imported and forks for each run.

Told by lines of JSON on stdin, answers with a line on stdout. No threads and no event loop live in the parent, so that forking
is safe.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from typing import Any

from treadle import Agent, Limits, Model, RunContext, allow, open_home, resolve_model, tool
from treadle.core.entries import Entry
from treadle.core.requests import CallDelta
from treadle.engine.setup import Services
from treadle.models import Delta, Request
from treadle.models.wires.openai import OpenAI

TAIL = 0.015  # seconds a tool goes on after its effect: the moment at which other engines repeat it


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def tools_for(effects: Path, deadly: str = "") -> list[Any]:
    """One tool of each retry class. An effect is a line in a file, on the disk before the tool goes on. `deadly` ends us."""

    def happened(line: str) -> bool:
        return effects.exists() and f"{line}\n" in effects.read_text()

    def happen(line: str) -> None:
        file = os.open(effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{line}\n".encode())
        os.fsync(file)
        os.close(file)
        if line == deadly:
            die()

    @tool
    async def once(number: int) -> str:
        """An effect that may happen once."""
        happen(f"once {number}")
        await asyncio.sleep(TAIL)
        return f"once {number}"

    @tool(retry="keyed")
    async def keyed(ctx: RunContext, number: int) -> str:
        """An effect whose receiver knows the keys it has seen."""
        if not happened(f"keyed {number} {ctx.key}"):
            happen(f"keyed {number} {ctx.key}")
        await asyncio.sleep(TAIL)
        return f"keyed {number}"

    def look(number: int) -> str | None:
        return f"checkable {number}" if happened(f"checkable {number}") else None

    @tool(retry="checkable", reconcile=look)
    async def checkable(number: int) -> str:
        """An effect that can be looked up."""
        happen(f"checkable {number}")
        await asyncio.sleep(TAIL)
        return f"checkable {number}"

    @tool(retry="idempotent")
    async def idempotent(number: int) -> str:
        """An effect that may happen any number of times."""
        happen(f"idempotent {number}")
        await asyncio.sleep(TAIL)
        return f"idempotent {number}"

    @tool(effect="read")
    async def read(number: int) -> str:
        """No effect."""
        await asyncio.sleep(TAIL)
        return f"read {number}"

    return [once, keyed, checkable, idempotent, read]


class Deadly:
    """A journal after whose n-th write, or that of an entry of a kind with these words, once it is safe, the process is killed."""

    def __init__(self, inner: Any, deadly: int, kind: str, words: str) -> None:
        self._inner = inner
        self._left = deadly
        self._kind = kind
        self._words = words
        self.writes = 0
        self.dying: asyncio.Future[None] | None = None  # over when we are

    def append(self, run_id: str, position: int, entries: Sequence[Entry]) -> Awaitable[None]:
        ticket = self._inner.append(run_id, position, entries)
        self.writes += 1
        self._left -= 1
        dies = self._left == 0 or any(type(entry).__name__ == self._kind and self._words in str(entry) for entry in entries)
        if not dies:
            return ticket
        self.dying = asyncio.ensure_future(self._die(ticket))
        return self.dying

    async def _die(self, ticket: Awaitable[None]) -> None:
        await ticket
        die()

    async def read(self, run_id: str) -> list[Entry]:
        return await self._inner.read(run_id)

    async def children(self, run_id: str) -> list[str]:
        return await self._inner.children(run_id)


class DeadlyModel:
    """A model in whose n-th reply the process is killed, when a call in it has begun. It isn't asked while the journal kills us."""

    def __init__(self, model: Model, deadly: int, journal: Deadly) -> None:
        self.name, self.traits = model.name, model.traits
        self._model = model
        self._left = deadly
        self._journal = journal

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        if self._journal.dying is not None:
            await self._journal.dying
        self._left -= 1
        async for delta in self._model.reply(request):
            if self._left == 0 and isinstance(delta, CallDelta):
                die()
            yield delta


def model_for(order: dict[str, Any], journal: Deadly) -> Model:
    """The model of an order: by its name, else one of chat completions."""
    if "model" not in order:
        return OpenAI("wired", base_url=order["url"], api_key="k", stream=order["stream"])
    model = resolve_model(order["model"], base_url=order["url"], api_key=order["key"], stream=order["stream"])
    return DeadlyModel(model, order.get("kill_in_reply", 0), journal)


async def live(order: dict[str, Any]) -> dict[str, Any]:
    """Run, or take up, the run of this order to its end."""
    home = open_home(order["home"])
    journal = Deadly(home.journal, order.get("kill_after", 0), order.get("kill_after_kind", ""), order.get("kill_after_words", ""))
    services = Services(journal, home.audit, home.cache, home.results)
    model = model_for(order, journal)
    tools, attended = tools_for(Path(order["effects"]), order.get("kill_in_tool", "")), order.get("attended", False)
    agent = Agent(model, tools=tools, policy=[allow("*")], limits=Limits(backoff=0.01), attended=attended)
    if "settle" in order:
        await agent.settle("r", *order["settle"], by="Ann", journal=services)
    if order["resume"]:
        result = await agent.resume("r", journal=services)
    else:
        result = await agent.run("Do it all.", run_id="r", journal=services)
    problems = [record.result.content for record in result.calls if record.problem]
    interrupted = [f"{record.name} {record.arguments['number']}" for record in result.calls if record.problem == "interrupted"]
    verified = await home.audit.verify()
    return {
        "stopped": result.stopped,
        "text": result.text,
        "problems": problems,
        "interrupted": interrupted,
        "unclear": [approval.call_id for approval in result.approvals if approval.unclear],
        "writes": journal.writes,
        "audit": verified.broken_at is None,
    }


def give_birth(order: dict[str, Any]) -> dict[str, Any]:
    """One life: fork, perhaps kill, and say how it ended."""
    report = Path(order["home"]) / "report.json"
    report.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            report.write_text(json.dumps(asyncio.run(live(order))))
            status = 0
        except BaseException as error:  # noqa: BLE001 - told to the parent, whatever it is
            report.write_text(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        finally:
            os._exit(status)
    if order.get("kill_at") is not None:
        time.sleep(order["kill_at"])
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status)
    said = json.loads(report.read_text()) if report.exists() and not killed else {}
    return {"killed": killed, **said}


def main() -> None:
    import aiohttp  # noqa: F401 - imported once here instead of in every child

    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(give_birth(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
