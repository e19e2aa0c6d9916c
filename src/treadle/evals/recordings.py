"""A kept run, for a replay: its replies as a model, its results as a toolset, and its user's answers.

A result is found by tool and arguments. Calls that only read may be run again; calls with effects never are.
"""

from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import count
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle.agent.handoff import HANDOFFS
from treadle.core.calls import Call, Opaque, Preview, Result, Written
from treadle.core.context import RunContext
from treadle.core.entries import (
    Approved,
    Called,
    Compacted,
    Entry,
    Finished,
    Informed,
    Judged,
    Opened,
    Refused,
    Replied,
    Returned,
    Said,
    Steered,
)
from treadle.core.errors import RecordingDeparted, ToolProblem
from treadle.core.messages import ContextItem, Text, Thinking
from treadle.core.requests import CallDelta, CallDone, Delta, ReplyEnded, Request, TextDelta, ThinkingDelta, Traits
from treadle.core.seams import Toolset
from treadle.core.tool import Tool, ToolResult
from treadle.engine.setup import Answer
from treadle.guard.policy import digest_arguments
from treadle.toolsets.wrappers import MappedToolset

AGENTS = "agents"  # the toolset of agents that are tools: they read, but their own calls may have effects
FetchResult = Callable[[str, str], Awaitable[str | None]]


class ModelCall(Struct, frozen=True):
    """A call that a model made: in which turn, as which call of it, and how it was judged."""

    turn: int
    position: int
    judged: Judged

    @property
    def key(self) -> str:
        """What it has in common with calls that are the same."""
        return recording_key(self.judged.call)


def recording_key(call: Call) -> str:
    """Return what two calls have in common that are the same: tool and arguments."""
    return f"{call.name} {digest_arguments(call.arguments)}"


def model_calls(entries: Sequence[Entry]) -> list[ModelCall]:
    """Return the calls that the model made, without those that gave a structured answer."""
    others = {entry.call.id for entry in entries if isinstance(entry, Called)}
    others |= {entry.result.call_id for entry in entries if isinstance(entry, Returned) and (entry.final or entry.rejected)}
    turn, positions, found = 0, count(1), list[ModelCall]()
    for entry in entries:
        if isinstance(entry, Said):
            turn, positions = turn + 1, count(1)
        elif isinstance(entry, Judged) and entry.call.id not in others:
            found.append(ModelCall(turn, next(positions), entry))
    return found


class RunRecording:
    """A kept run. `fetch` returns the whole of a result that was too large for the conversation."""

    def __init__(self, run_id: str, entries: Sequence[Entry], fetch: FetchResult | None = None) -> None:
        self.run_id = run_id
        self.entries = entries
        self.fetch = fetch
        self.opened = next((entry for entry in entries if isinstance(entry, Opened)), Opened())
        self.said = [entry for entry in entries if isinstance(entry, Said)]
        self.ends = _ends_of_turns(entries)
        self.calls = model_calls(entries)
        self.results: defaultdict[str, deque[Returned]] = defaultdict(deque)
        self.answers: dict[str, Answer] = {}
        self._index()

    def _index(self) -> None:
        """Index results and answers by their calls."""
        calls = {each.judged.call.id: each.judged.call for each in self.calls}
        for entry in self.entries:
            match entry:
                case Approved() if entry.call_id in calls:
                    call = calls[entry.call_id]
                    self.answers[recording_key(call)] = Answer(approved=True, by=entry.by, arguments=entry.arguments)
                    calls[call.id] = call if entry.arguments is None else replace(call, arguments=entry.arguments)
                case Refused() if entry.call_id in calls:
                    self.answers[recording_key(calls[entry.call_id])] = Answer(approved=False, by=entry.by, reason=entry.reason)
                case Returned() if entry.result.call_id in calls:
                    self.results[recording_key(calls[entry.result.call_id])].append(entry)
                case _:
                    pass

    def why_not(self, *, recorded_replies: bool) -> str:
        """Return why the run can't be replayed; empty where it can."""
        if not self.said or any(end is None or end.interrupted or end.stopped == "waiting" for end in self.ends):
            return "It isn't over."
        if any(said.parts for said in self.said):
            return "Files were attached to its messages."
        if any(isinstance(entry, Steered) for entry in self.entries):
            return "The user sent messages while it was running."
        if any(isinstance(entry, Called) and entry.background for entry in self.entries):
            return "Tools worked in the background."
        if recorded_replies and any(isinstance(entry, Compacted) for entry in self.entries):
            return "Its conversation was compacted; name a model to replay it with."
        return ""

    def take_result(self, call: Call) -> Returned | None:
        """Return the recorded result of a call: for equal calls, one after the other, the last one repeatedly."""
        found = self.results.get(recording_key(call))
        if not found:
            return None
        return found.popleft() if len(found) > 1 else found[0]


def _ends_of_turns(entries: Sequence[Entry]) -> list[Finished | None]:
    """Return how each turn ended; None for one that hasn't."""
    ends: list[Finished | None] = []
    for entry in entries:
        if isinstance(entry, Said):
            ends.append(None)
        elif isinstance(entry, Finished) and ends:
            ends[-1] = entry
    return ends


class RecordedModel:
    """Gives the replies of a kept run again, in their order."""

    def __init__(self, recording: RunRecording, traits: Traits) -> None:
        self.name = recording.opened.model or "recorded"
        self.traits = replace(traits, native_calls=True, streams=False)
        self._replies = deque(_group_replies(recording.entries))

    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Yield the next recorded reply."""
        if not self._replies:
            raise RecordingDeparted("The journal has no further reply: the run went on longer than the recorded one.")
        pieces = self._replies.popleft()
        for piece in pieces:
            for part in piece.parts:
                for delta in _to_deltas(part):
                    yield delta
        yield ReplyEnded(pieces[-1].finish, pieces[-1].usage, self.name)


def _group_replies(entries: Sequence[Entry]) -> list[list[Replied]]:
    """Return the replies, each with all of its pieces."""
    replies: list[list[Replied]] = []
    is_open = False
    for entry in entries:
        if isinstance(entry, Replied):
            if is_open:
                replies[-1].append(entry)
            else:
                replies.append([entry])
            is_open = entry.more
    return replies


def _to_deltas(part: Text | Thinking | Opaque | Written) -> list[Delta]:
    match part:
        case Text():
            return [TextDelta(part.text)]
        case Thinking():
            return [ThinkingDelta(part.text, part.signature)]
        case Written():
            return [CallDelta(part.id, part.name), CallDone(part)]
        case Opaque():
            return [part]


class RecordedToolset(MappedToolset):
    """The tools of an agent, whose results come from a kept run.

    missing    is called for a call that has none
    run_again  gets the recorded results of calls that only read, by the calls' ids: these are run again; None runs none
    """

    def __init__(
        self, inner: Toolset, recording: RunRecording, missing: Callable[[Call], str], run_again: dict[str, Result] | None
    ) -> None:
        super().__init__(inner, _plain_tool)
        self._recording = recording
        self._missing = missing
        self._run_again = run_again

    async def provide_context(self, context: RunContext[Any]) -> Sequence[ContextItem] | None:
        """Return what the model read from the start in the kept run."""
        items = [entry.items for entry in self._recording.entries if isinstance(entry, Informed)]
        return items[0] if items else None

    async def call(self, call: Call, context: RunContext[Any]) -> Any:
        """Return the recorded result, or run a call that only reads."""
        tool = next(tool for tool in self.tools() if tool.name == call.name)
        if tool.toolset == HANDOFFS:
            return await self._inner.call(call, context)
        recorded = self._recording.take_result(call)
        if self._run_again is not None and tool.toolset != AGENTS and tool.effect_of(call.arguments) == "read":
            if recorded is not None:
                self._run_again[call.id] = recorded.result
            return await self._inner.call(call, context)
        return self._missing(call) if recorded is None else await self._give(recorded, tool)

    async def preview(self, call: Call, context: RunContext[Any]) -> Preview:
        """Return an empty preview: a replay asks no user."""
        return Preview("")

    async def _give(self, recorded: Returned, tool: Tool) -> Any:
        result, recording = recorded.result, self._recording
        if result.problem is not None:
            own = len(result.content) - result.quoted
            raise ToolProblem(result.content[:own], result.content[own:], data=result.data)
        content = result.content
        if recorded.kept and recording.fetch is not None:
            content = await recording.fetch(recording.run_id, recorded.kept) or content
        if result.structured and result.data is not None and (tool.trust == "untrusted" or not result.untrusted):
            return result.data
        return ToolResult(content, result.data, result.untrusted, result.about)


def _plain_tool(tool: Tool) -> Tool:
    """Return a tool without what only matters where it is run."""
    return replace(tool, retries=None, cache=0, timeout=None, background=False)
