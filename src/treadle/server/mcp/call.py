"""One call of a client, from its name and arguments to its result: a run of its own, whose model makes that call and ends.

So it is parsed, judged, journaled and audited like any other. `elicitation` asks the user about it.
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

from treadle.agent.agent import Agent, ResultOptions
from treadle.core.calls import Ask, Media, Result
from treadle.core.events import CallProgressed, Event
from treadle.core.seams import Situation, Watcher
from treadle.engine.engine import new_run_id
from treadle.engine.result import CallRecord, RunResult
from treadle.engine.setup import Answer, Approval
from treadle.guard.redaction import Redactor
from treadle.guard.trust import result_to_prompt
from treadle.models.calling.one_call import one_call
from treadle.models.media import encode_base64
from treadle.server.mcp.offering import PreparedOffering
from treadle.tools.text import to_text

MAX_TEXT = 100_000  # characters of a result; there is no second call here that could read the rest
CANCEL_TIMEOUT = 5.0  # seconds in which a cancelled call has to end

OnProgress = Callable[[str], None]
Answers = Sequence[tuple[Approval, Answer]]


class McpCall:
    """An active call: started, and resumed after each answer of the user. `tell` is called with its progress."""

    def __init__(self, shop: PreparedOffering, name: str, arguments: dict[str, Any], *, attended: bool) -> None:
        offering = shop.offering
        self.name = name
        self.arguments = arguments
        self.run_id = new_run_id()
        self._shop = shop
        self._attended = attended
        self._journal = False if offering.services is None else replace(offering.services, results=None)
        self._agent = Agent(
            one_call(name, arguments, "mcp"),
            toolsets=(shop.toolset,),
            policy=shop.policy,
            name=offering.name,
            approver=offering.approver,
            attended=attended,
            results=ResultOptions(limit=MAX_TEXT),
            redactor=offering.redactor,
        )

    async def begin(self, tell: OnProgress) -> "RunResult[str]":
        """Start the call and run it as far as possible."""
        offering = self._shop.offering
        origin = offering.origin(self.name, self.arguments) if offering.origin is not None else None
        return await self._run(
            self._agent.run(
                f"Call {self.name} with {to_text(Redactor().value(self.arguments))}",
                run_id=self.run_id,
                journal=self._journal,
                user=offering.user,
                watchers=self._watchers(tell),
                origin=origin,
            )
        )

    async def go_on(self, answers: Answers, tell: OnProgress) -> "RunResult[str]":
        """Record the user's answers, bound to what they were shown, and resume."""
        for each, answer in answers:
            if answer.approved:
                how: dict[str, Any] = {"by": answer.by, "digest": each.digest, "journal": self._journal}
                await self._agent.approve(each.run_id, each.call_id, **how)
            else:
                await self._agent.deny(each.run_id, each.call_id, answer.reason, by=answer.by, journal=self._journal)
        user = self._shop.offering.user
        return await self._run(self._agent.resume(self.run_id, journal=self._journal, user=user, watchers=self._watchers(tell)))

    def _watchers(self, tell: OnProgress) -> Sequence[Watcher]:
        watch = self._shop.offering.watch
        return (_progress_watcher(tell), *(() if watch is None else (watch(self.run_id),)))

    async def withdraw(self, approvals: Sequence[Approval]) -> None:
        """End a call whose question won't be answered any more, also during cancellation."""
        with anyio.move_on_after(CANCEL_TIMEOUT, shield=True):
            await self.go_on([(each, Answer(False, reason="The question was withdrawn.")) for each in approvals], _ignore)

    async def _run(self, work: "Coroutine[Any, Any, RunResult[str]]") -> "RunResult[str]":
        """Await the run's result. Cancelling this cancels the run, which ends as cancelled."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            with anyio.move_on_after(CANCEL_TIMEOUT, shield=True):
                if not await self._agent.cancel(self.run_id):
                    task.cancel()
                await asyncio.wait([task])
            raise
        return task.result()

    def told(self, result: "RunResult[str]") -> CallToolResult:
        """Return the result for the client."""
        record = next((record for record in result.calls if not record.within), None)
        if record is None or record.result is None:
            return error_result(result.reason or f"{self.name} was not called.")
        # a text is for the client's model; data is for its code, which may decode the text instead
        read = result_to_prompt(record.result) if record.result.data is None else record.result
        if read.problem is None:
            content: list[ContentBlock] = [TextContent(text=read.content), *self._media_blocks(read)]
            return CallToolResult(content=content, structured_content=_structured_content(read.data))
        return error_result(f"{read.content or 'A person said no.'}{self._advice(record)}")

    def _media_blocks(self, result: Result) -> list[ContentBlock]:
        """Return the media of a result, where their bytes are stored."""
        blobs = None if isinstance(self._journal, bool) else self._journal.blobs
        return [] if blobs is None else [_content_block(media, blobs.get(media.sha256)) for media in result.media]

    def _advice(self, record: CallRecord) -> str:
        """Return what a user may do where a call was denied only because no person could be asked."""
        tool = next((tool for tool in self._shop.toolset.tools() if tool.name == record.name), None)
        if record.problem != "denied" or self._attended or tool is None:
            return ""
        if not isinstance(self._shop.policy.judge(record.call, tool, Situation(self._shop.offering.user)), Ask):
            return ""
        return self._shop.offering.advice.replace("{tool}", tool.name)


def _structured_content(data: Any) -> dict[str, Any] | None:
    """Return data as MCP's structured content: an object."""
    return cast("dict[str, Any] | None", data) if data is None or isinstance(data, dict) else {"result": data}


def _content_block(media: Media, data: bytes) -> ContentBlock:
    match media.kind:
        case "image":
            return ImageContent(data=encode_base64(media, data), mime_type=media.media_type)
        case "audio":
            return AudioContent(data=encode_base64(media, data), mime_type=media.media_type)
        case "document":
            uri = f"treadle:{media.sha256}"
            inside = BlobResourceContents(uri=uri, blob=encode_base64(media, data), mime_type=media.media_type)
            return EmbeddedResource(resource=inside)
        case _:
            assert_never(media.kind)


def _progress_watcher(tell: OnProgress) -> Watcher:
    def hear(event: Event) -> None:
        if isinstance(event, CallProgressed):
            tell(event.text)

    return hear


def _ignore(text: str) -> None:
    """Ignore progress: for calls whose client doesn't wait any more."""


def error_result(words: str) -> CallToolResult:
    """Return an error result, for the client's model."""
    return CallToolResult(content=[TextContent(text=words)], is_error=True)


def pending_approvals(result: "RunResult[str]") -> tuple[Approval, ...]:
    """Return the approvals that the run is waiting for."""
    return result.approvals if result.stopped == "waiting" else ()
