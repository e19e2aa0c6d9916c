"""One call of a client, from its name and arguments to its result: a run of its own, whose model makes that call and ends.

So it is read, judged, journaled and audited like any other. Asking a person about it is `asking`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, assert_never, cast

import anyio
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
)
from msgspec.structs import replace

from treadle.app.agent import Agent, Results
from treadle.core.calls import Ask, Media, Result
from treadle.core.events import CallProgressed, Event
from treadle.core.seams import Situation, Watcher
from treadle.engine.engine import new_run_id
from treadle.engine.result import CallRecord, RunResult
from treadle.engine.setup import Answer, Approval
from treadle.guard.redaction import Redactor
from treadle.guard.trust import result_to_prompt
from treadle.models.media import base64_of
from treadle.models.one_call import one_call
from treadle.server.mcp.offering import Shop
from treadle.tools.text import to_text

LONGEST = 100_000  # characters of a result; there is no second call here that could read the rest
STOPPING = 5.0  # seconds in which a cancelled call has to end

Tell = Callable[[str], None]
Answers = Sequence[tuple[Approval, Answer]]


class Calling:
    """A call under way: begun, and gone on with for as long as a person is needed. `tell` hears how far it has come."""

    def __init__(self, shop: Shop, name: str, arguments: dict[str, Any], *, attended: bool) -> None:
        offering = shop.offering
        self.name = name
        self.arguments = arguments
        self.run_id = new_run_id()
        self._shop = shop
        self._attended = attended
        self._journal = False if offering.services is None else replace(offering.services, results=None)
        self._agent: Agent[str] = Agent(
            one_call(name, arguments, "mcp"),
            toolsets=(shop.toolset,),
            policy=shop.policy,
            name=offering.name,
            approver=offering.approver,
            attended=attended,
            results=Results(limit=LONGEST),
        )

    async def begin(self, tell: Tell) -> "RunResult[str]":
        """Make the call, as far as it goes."""
        offering = self._shop.offering
        origin = offering.origin(self.name, self.arguments) if offering.origin is not None else None
        return await self._carried(
            self._agent.run(
                f"Call {self.name} with {to_text(Redactor().value(self.arguments))}",
                run_id=self.run_id,
                journal=self._journal,
                user=offering.user,
                watchers=self._watchers(tell),
                origin=origin,
            )
        )

    async def go_on(self, answers: Answers, tell: Tell) -> "RunResult[str]":
        """Write down what a person said about each call that waited, bound to what they were shown, and go on."""
        for each, answer in answers:
            if answer.approved:
                how: dict[str, Any] = {"by": answer.by, "digest": each.digest, "journal": self._journal}
                await self._agent.approve(each.run_id, each.call_id, **how)
            else:
                await self._agent.deny(each.run_id, each.call_id, answer.reason, by=answer.by, journal=self._journal)
        user = self._shop.offering.user
        return await self._carried(self._agent.resume(self.run_id, journal=self._journal, user=user, watchers=self._watchers(tell)))

    def _watchers(self, tell: Tell) -> Sequence[Watcher]:
        watch = self._shop.offering.watch
        return (_progress(tell), *(() if watch is None else (watch(self.run_id),)))

    async def withdraw(self, approvals: Sequence[Approval]) -> None:
        """End a call whose question nobody will answer any more, whoever is being cancelled."""
        with anyio.move_on_after(STOPPING, shield=True):
            await self.go_on([(each, Answer(False, reason="The question was withdrawn.")) for each in approvals], _ignore)

    async def _carried(self, work: "Coroutine[Any, Any, RunResult[str]]") -> "RunResult[str]":
        """The work's result. Whoever stops waiting stops the run, and it ends as cancelled."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            with anyio.move_on_after(STOPPING, shield=True):
                if not await self._agent.cancel(self.run_id):
                    task.cancel()
                await asyncio.wait([task])
            raise
        return task.result()

    def told(self, result: "RunResult[str]") -> CallToolResult:
        """What came of it, for the client."""
        record = next((record for record in result.calls if not record.within), None)
        if record is None or record.result is None:
            return problem(result.reason or f"{self.name} was not called.")
        # a text is for the client's model; data is for its code, which may decode the text instead
        read = result_to_prompt(record.result) if record.result.data is None else record.result
        if read.problem is None:
            content: list[ContentBlock] = [TextContent(text=read.content), *self._shown(read)]
            return CallToolResult(content=content, structured_content=_structured(read.data))
        return problem(f"{read.content or 'A person said no.'}{self._advice(record)}")

    def _shown(self, result: Result) -> list[ContentBlock]:
        """The images and the like of a result, where their bytes are kept."""
        blobs = None if isinstance(self._journal, bool) else self._journal.blobs
        return [] if blobs is None else [_block(media, blobs.get(media.sha256)) for media in result.media]

    def _advice(self, record: CallRecord) -> str:
        """What a person may do where a call was refused only because nobody could be asked."""
        tool = next((tool for tool in self._shop.toolset.tools() if tool.name == record.name), None)
        if record.problem != "denied" or self._attended or tool is None:
            return ""
        if not isinstance(self._shop.policy.judge(record.call, tool, Situation(self._shop.offering.user)), Ask):
            return ""
        return self._shop.offering.advice.replace("{tool}", tool.name)


def _structured(data: Any) -> dict[str, Any] | None:
    """Data as MCP has it: an object."""
    return cast("dict[str, Any] | None", data) if data is None or isinstance(data, dict) else {"result": data}


def _block(media: Media, data: bytes) -> ContentBlock:
    match media.kind:
        case "image":
            return ImageContent(data=base64_of(media, data), mime_type=media.media_type)
        case "audio":
            return AudioContent(data=base64_of(media, data), mime_type=media.media_type)
        case "document":
            uri = f"treadle:{media.sha256}"
            inside = BlobResourceContents(uri=uri, blob=base64_of(media, data), mime_type=media.media_type)
            return EmbeddedResource(resource=inside)
        case _:
            assert_never(media.kind)


def _progress(tell: Tell) -> Watcher:
    def hear(event: Event) -> None:
        if isinstance(event, CallProgressed):
            tell(event.text)

    return hear


def _ignore(text: str) -> None:
    """For calls that nobody waits for any more."""


def problem(words: str) -> CallToolResult:
    """What went wrong, for the client's model."""
    return CallToolResult(content=[TextContent(text=words)], is_error=True)


def waiting(result: "RunResult[str]") -> tuple[Approval, ...]:
    """What a person has to answer first."""
    return result.approvals if result.stopped == "waiting" else ()
