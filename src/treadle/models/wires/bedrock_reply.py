"""Reads the replies of Bedrock: deltas from the events of a Converse stream, or from a complete body.

`stream_splitters` splits the stream into events; `bedrock` writes the requests.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import DecodeError, Raw, Struct

from treadle.core.calls import Opaque, Written
from treadle.core.requests import CallDelta, CallDone, Delta, Finish, ReplyEnded, TextDelta, ThinkingDelta, Usage
from treadle.models.encoding import encode, make_decoder
from treadle.models.server_errors import ServerIdentity, broken_reply_error, error_from_object, unreadable_reply_error
from treadle.models.wires.partial_calls import CallIds, PartialCall, is_object
from treadle.models.wires.tool_names import ArgumentNames, restore_arguments

WIRE = "bedrock"


class _CallStart(Struct, rename="camel"):
    tool_use_id: str | None = None
    name: str | None = None


class _Start(Struct, rename="camel"):
    tool_use: _CallStart | None = None


class _CallDelta(Struct):
    input: str = ""


class _Thought(Struct, rename="camel"):
    text: str | None = None
    signature: str | None = None
    redacted_content: bytes | None = None  # base64 on the way


class _ContentDelta(Struct, rename="camel"):
    text: str | None = None
    tool_use: _CallDelta | None = None
    reasoning_content: _Thought | None = None


class _BlockStart(Struct):
    start: _Start | None = None


class _BlockDelta(Struct):
    delta: _ContentDelta | None = None


class _Usage(Struct, rename="camel"):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None


class _Stop(Struct, rename="camel"):
    stop_reason: str | None = None


class _Metadata(Struct):
    usage: _Usage | None = None


class _Event(Struct, rename="camel"):
    content_block_start: _BlockStart | None = None
    content_block_delta: _BlockDelta | None = None
    content_block_stop: Any = None
    message_stop: _Stop | None = None
    metadata: _Metadata | None = None
    error: Any = None


class _ToolUse(_CallStart, rename="camel"):
    input: Raw = Raw(b"{}")


class _Block(Struct, rename="camel"):
    text: str | None = None
    tool_use: _ToolUse | None = None
    reasoning_content: Raw = Raw(b"null")  # raw, as it is sent back unchanged


class _Reasoning(Struct, rename="camel"):
    reasoning_text: _Thought | None = None
    redacted_content: str | None = None


class _Message(Struct):
    content: list[_Block] | None = None


class _Output(Struct):
    message: _Message | None = None


class _Response(Struct, rename="camel"):
    output: _Output | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


_decode_event = make_decoder(_Event)
_decode_response = make_decoder(_Response)
_decode_reasoning = make_decoder(_Reasoning)

_FINISH: dict[str, Finish] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "window",
    "guardrail_intervened": "filtered",
    "content_filtered": "filtered",
}


class _PartialReasoning:
    """A reasoning block as it streams, to be sent back as one."""

    __slots__ = ("_redacted", "_signature", "_texts")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._signature = ""
        self._redacted = b""

    def add(self, thought: _Thought) -> None:
        """Append to the block."""
        self._texts.append(thought.text or "")
        self._signature += thought.signature or ""
        self._redacted += thought.redacted_content or b""

    def opaque(self) -> Opaque | None:
        """Return the block to send back. Reasoning that is neither signed nor encrypted isn't: some families refuse it."""
        if self._redacted:
            return _to_opaque(encode({"redactedContent": self._redacted}))
        if self._signature:
            return _to_opaque(encode({"reasoningText": {"text": "".join(self._texts), "signature": self._signature}}))
        return None


def _to_opaque(reasoning: bytes) -> Opaque:
    return Opaque(WIRE, (b'{"reasoningContent":%b}' % reasoning).decode())


class BedrockReply:
    """Reads one reply: deltas from the payloads of a stream, or from a complete body."""

    def __init__(self, server: ServerIdentity, ids: CallIds, names: ArgumentNames | None = None) -> None:
        self._server = server
        self._ids = ids
        self._names = names or {}
        self._reason: str | None = None
        self._counts: _Usage | None = None
        self._called = False
        self._call: PartialCall | None = None  # being written, or written but no JSON: cut off, perhaps
        self._thinking: _PartialReasoning | None = None

    @property
    def ended(self) -> bool:
        """Whether the stream is over: the usage comes last, after the stop reason."""
        return self._reason is not None and self._counts is not None

    @property
    def finished(self) -> bool:
        """Whether the model has stated why it stopped."""
        return self._reason is not None

    @property
    def usage(self) -> Usage:
        """Token counts; everything read is input, cached or not."""
        counts = self._counts or _Usage()
        read, written = counts.cache_read_input_tokens or 0, counts.cache_write_input_tokens or 0
        return Usage(
            requests=1,
            input_tokens=(counts.input_tokens or 0) + read + written,
            output_tokens=counts.output_tokens or 0,
            cache_read_tokens=read,
            cache_write_tokens=written,
        )

    def read(self, payloads: Iterable[bytes]) -> Iterator[Delta]:
        """Return the deltas in some payloads of a stream."""
        for payload in payloads:
            event = self._decode(payload)
            change = event.content_block_delta and event.content_block_delta.delta
            if change and change.text and self._call is None and self._thinking is None:  # most are like that
                yield TextDelta(change.text)
            else:
                yield from self._handle(event)

    def whole(self, body: bytes) -> Iterator[Delta]:
        """Return the deltas of a reply that wasn't streamed."""
        try:
            reply = _decode_response(body)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable_reply_error(self._server, body) from error
        if reply.output is None or reply.output.message is None:
            raise unreadable_reply_error(self._server, body)
        self._set_reason(reply.stop_reason or "end_turn")
        self._counts = reply.usage
        blocks = reply.output.message.content or []
        for block in blocks:
            yield from self._read_block(block, last=block is blocks[-1])
        yield from self.end()

    def end(self) -> Iterator[Delta]:
        """Return the deltas left at the end of the stream."""
        if self._reason is None:
            raise broken_reply_error(self._server, "it ended without saying why")
        yield from self._close_thinking()
        yield from self._close_call(cut=self._reason in _FINISH)
        yield ReplyEnded(self._finish(), self.usage, self._server.model)

    def _decode(self, payload: bytes) -> _Event:
        try:
            event = _decode_event(payload)
        except (DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable_reply_error(self._server, payload) from error
        if event.error is not None:
            raise error_from_object(self._server, event.error)
        return event

    def _handle(self, event: _Event) -> Iterator[Delta]:
        if event.content_block_delta is not None:
            yield from self._continue_block(event.content_block_delta.delta or _ContentDelta())
        elif event.content_block_start is not None:
            yield from self._start_block(event.content_block_start.start or _Start())
        elif event.content_block_stop is not None:
            yield from self._end_block()
        elif event.message_stop is not None:
            self._set_reason(event.message_stop.stop_reason or "end_turn")
        elif event.metadata is not None:
            self._counts = event.metadata.usage or _Usage()

    def _start_block(self, start: _Start) -> Iterator[Delta]:
        yield from self._close_thinking()
        yield from self._close_call(cut=False)  # another block after it: nothing was cut off
        if start.tool_use is not None:
            self._call = PartialCall(self._ids.unique(start.tool_use.tool_use_id), start.tool_use.tool_use_id or "")
            yield self._call.set_name(start.tool_use.name or "")

    def _continue_block(self, change: _ContentDelta) -> Iterator[Delta]:
        """Handle a delta of a block. Only calls have a start event; text and reasoning begin with their first delta."""
        if change.tool_use is not None:
            if self._call is not None:
                self._call.add(change.tool_use.input)
        elif change.reasoning_content is not None:
            yield from self._close_call(cut=False)
            self._thinking = self._thinking or _PartialReasoning()
            self._thinking.add(change.reasoning_content)
            if change.reasoning_content.text:
                yield ThinkingDelta(change.reasoning_content.text)
        elif change.text:
            yield from self._close_thinking()
            yield from self._close_call(cut=False)
            yield TextDelta(change.text)

    def _end_block(self) -> Iterator[Delta]:
        """End a block. A reply that hits its token limit says so only later: a call that isn't valid JSON has to wait."""
        yield from self._close_thinking()
        if self._call is not None and (self._call.complete or is_object(self._call.text)):
            yield from self._close_call(cut=False)

    def _set_reason(self, reason: str) -> None:
        if reason.startswith("malformed_"):
            raise broken_reply_error(self._server, f"the model stopped with {reason!r}")
        self._reason = reason

    def _close_thinking(self) -> Iterator[Delta]:
        thinking, self._thinking = self._thinking, None
        if thinking is not None and (opaque := thinking.opaque()) is not None:
            yield opaque

    def _close_call(self, *, cut: bool) -> Iterator[Delta]:
        call, self._call = self._call, None
        if call is not None:
            self._called = True
            yield self._restore(call.to_call(cut=cut))

    def _restore(self, done: CallDone) -> CallDone:
        return CallDone(restore_arguments(done.call, self._names)) if self._names else done

    def _read_block(self, block: _Block, *, last: bool) -> Iterator[Delta]:
        """Read a block of a complete reply. Arguments are an object even if they were cut off, so the last one isn't trusted."""
        if block.tool_use is not None:
            self._called = True
            call_id, name = self._ids.unique(block.tool_use.tool_use_id), block.tool_use.name or ""
            yield CallDelta(call_id, name)
            written = Written(call_id, name, bytes(block.tool_use.input).decode(), last and self._reason in _FINISH)
            yield self._restore(CallDone(written))
        elif block.text:
            yield TextDelta(block.text)
        elif (content := bytes(block.reasoning_content)) != b"null":
            yield from self._read_reasoning(content)

    def _read_reasoning(self, content: bytes) -> Iterator[Delta]:
        """Return the text of a reasoning block, and the block itself, unchanged, if it has to be sent back."""
        try:
            reasoning = _decode_reasoning(content)
        except (DecodeError, UnicodeDecodeError) as error:
            raise unreadable_reply_error(self._server, content) from error
        thought = reasoning.reasoning_text or _Thought()
        if thought.text:
            yield ThinkingDelta(thought.text)
        if thought.signature or reasoning.redacted_content:
            yield _to_opaque(content)

    def _finish(self) -> Finish:
        finish = _FINISH.get(self._reason or "", "done")
        return "calls" if self._called and finish == "done" else finish
