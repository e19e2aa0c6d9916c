"""Replays kept runs with another model, prompt, tool set or policy, and reports where and why each departs.

The results of calls come from the journal where tool and arguments are the same (`recordings`). Without a model, so do the replies.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.core.calls import Call, Deny, Result
from treadle.core.context import RunContext
from treadle.core.entries import Entry, Finished, Judged, Returned
from treadle.core.errors import ToolProblem, TreadleError
from treadle.core.tool import Tool
from treadle.engine.engine import Engine
from treadle.engine.setup import Answer, Approval, Caller, Services, Setup
from treadle.evals.recordings import (
    FetchResult,
    ModelCall,
    RecordedModel,
    RecordedToolset,
    RunRecording,
    model_calls,
    recording_key,
)
from treadle.evals.verdicts import VerdictChange, change_of, recorded_decision
from treadle.guard.redaction import Redactor
from treadle.stores.memory import PROCESS_BLOBS, MemoryJournal, MemoryResults
from treadle.tools.values import shorten_json_text

_redactor = Redactor()

DepartureKind = Literal["call", "tool", "verdict", "result", "answer", "end"]
ReplayStatus = Literal["same", "departed", "skipped"]


class Departure(Struct, frozen=True):
    """The first place where a replay differs from the run. `position` counts the calls of a turn; it is 0 for an answer or an end.

    call     another call, or one more or less
    tool     the tool isn't there any more, or the arguments don't fit it
    verdict  the policy's verdict is another one, so that the call runs, or doesn't
    result   a call has no recorded result, or was run again and returned something else
    answer   another answer
    end      the turn ended otherwise
    """

    kind: DepartureKind
    turn: int
    position: int
    recorded: str
    now: str
    reason: str = ""


class ReplayResult(Struct, frozen=True):
    """One replayed run: the first departure, and the calls whose verdict would change. `reason` says why it was skipped."""

    run_id: str
    status: ReplayStatus
    agent: str = ""
    calls: int = 0
    departure: Departure | None = None
    verdicts: tuple[VerdictChange, ...] = ()
    reason: str = ""


class ReplayReport(Struct, frozen=True):
    """The replay of several runs."""

    runs: tuple[ReplayResult, ...]
    seconds: float = 0.0

    def count(self, status: ReplayStatus) -> int:
        """Return how many runs have this status."""
        return sum(run.status == status for run in self.runs)

    @property
    def differs(self) -> bool:
        """Whether a run departs or a verdict would change."""
        return any(run.status == "departed" or run.verdicts for run in self.runs)


async def replay_run(
    run_id: str,
    entries: Sequence[Entry],
    agent: Agent[Any, Any],
    *,
    recorded_replies: bool = False,
    run_reads: bool = False,
    compare_answers: bool = True,
    deps: Any = None,
    fetch: FetchResult | None = None,
) -> ReplayResult:
    """Replay a kept run with an agent, whose parts may differ: `Agent.override` replaces some.

    With `recorded_replies`, the replies come from the journal, and no model is asked. With `run_reads`, calls that only read are
    run again. `deps` is what the agent's instructions and tools need. `fetch` returns the whole of a result that was too large for
    the conversation.
    """
    recording = RunRecording(run_id, entries, fetch)
    name = recording.opened.agent
    if reason := recording.why_not(recorded_replies=recorded_replies):
        return ReplayResult(run_id, "skipped", name, reason=reason)
    setup = agent.as_handoff().setup()
    if setup.output is not None and setup.output.function is not None:
        return ReplayResult(run_id, "skipped", name, reason="A function makes its output, and isn't run in a replay.")
    replayed = _Replay(recording, setup, recorded_replies=recorded_replies, run_reads=run_reads)
    await replayed.run(Caller(recording.opened.user, deps), compare_answers=compare_answers)
    found = replayed.find_departure()
    status: ReplayStatus = "same" if found is None else "departed"
    return ReplayResult(run_id, status, name, len(recording.calls), found, tuple(replayed.find_verdict_changes()))


class _NoResult(Exception):
    """A call has no recorded result and must not be run, so that the replay ends."""


class _Replay:
    """One replay: the engine with recorded results, and what is found to differ."""

    def __init__(self, recording: RunRecording, setup: Setup, *, recorded_replies: bool, run_reads: bool) -> None:
        self._recording = recording
        self._recorded_replies = recorded_replies
        self._entries: list[Entry] = []
        self._end: Departure | None = None
        self._missing: Call | None = None
        self._run_again: dict[str, Result] | None = {} if run_reads else None
        self._model = RecordedModel(recording, setup.model.traits) if recorded_replies else None
        self._engine = Engine(self._prepare(setup), Services(MemoryJournal(), results=MemoryResults(), blobs=PROCESS_BLOBS))

    def _prepare(self, setup: Setup) -> Setup:
        """Return an agent's setup with recorded parts; so are those of the agents that it hands off to."""
        toolset = RecordedToolset(setup.toolset, self._recording, self._miss, self._run_again)
        targets = {name: partial(self._prepare_target, target) for name, target in setup.handoffs.items()}
        output = setup.output
        if output is not None and output.function is not None:
            output = replace(output, function=_refuse_function)
        made = replace(
            setup, toolset=toolset, approver=self._answer, raise_tool_errors=True, price=None, handoffs=targets, output=output
        )
        return made if self._model is None else replace(made, model=self._model, net=None)

    def _prepare_target(self, target: Callable[[], Setup]) -> Setup:
        return self._prepare(target())

    async def run(self, caller: Caller, *, compare_answers: bool) -> None:
        """Send the user's messages again, up to the first turn that can't go on."""
        journal, run_id = self._engine.services.journal, self._recording.run_id
        assert journal is not None, "it was given above"
        for turn, (said, end) in enumerate(zip(self._recording.said, self._recording.ends, strict=True), 1):
            assert end is not None, "a run that isn't over isn't replayed"
            history = self._recording.opened.history if turn == 1 else ()
            try:
                await self._engine.start(said.text, run_id=run_id, caller=caller, history=history)
            except _NoResult:
                pass
            except TreadleError as error:
                self._end = Departure("end", turn, 0, end.stopped, type(error).__name__, _redactor.text(str(error)))
            self._entries = await journal.read(run_id)
            now = self._entries[-1]
            if self._end is not None or not isinstance(now, Finished):
                return
            self._end = _compare_end(turn, end, now, compare_answers=compare_answers)
            if self._end is not None:
                return

    def _miss(self, call: Call) -> str:
        """End at a call without a recorded result, or go on where the replies are recorded as well."""
        self._missing = self._missing or call
        if self._recorded_replies:
            raise ToolProblem("This call has no recorded result, and isn't run in a replay.")
        raise _NoResult

    def _answer(self, approval: Approval) -> Answer:
        """Answer as the user did then. What wasn't asked then is approved: its result is recorded, or it isn't run."""
        call = Call(approval.call_id, approval.name, approval.arguments)
        return self._recording.answers.get(recording_key(call), Answer(approved=True, by="replay"))

    def find_departure(self) -> Departure | None:
        """Return the first difference: in a call, else in an answer or an end."""
        results = {entry.result.call_id: entry.result for entry in self._entries if isinstance(entry, Returned)}
        for then, again in zip_longest(self._recording.calls, model_calls(self._entries)):
            turn = (then or again).turn
            if self._end is not None and (self._end.turn < turn or (again is None and self._end.kind == "end")):
                return self._end
            found = self._compare_calls(then, again, results)
            if found is not None:
                return found
        return self._end

    def _compare_calls(self, then: ModelCall | None, again: ModelCall | None, results: dict[str, Result]) -> Departure | None:
        if then is None or again is None:
            place, none = then or again, "no call"
            assert place is not None, "one of two lists is longer"
            described = describe_call(place.judged.call)
            recorded, now = (none, described) if then is None else (described, none)
            return Departure("call", place.turn, place.position, recorded, now, self._why_missing(again))
        turn, position, one, other = again.turn, again.position, then.judged, again.judged
        described = describe_call(one.call)
        problem = _reading_problem(other)
        if problem and problem != _reading_problem(one) and one.call.name == other.call.name:
            return Departure("tool", turn, position, described, problem, other.verdict.reason)
        if then.key != again.key or then.turn != turn:
            return Departure("call", turn, position, described, describe_call(other.call), self._why_missing(again))
        if isinstance(one.verdict, Deny) != isinstance(other.verdict, Deny):
            decisions = [recorded_decision(each) or "not run" for each in (one, other)]
            return Departure("verdict", turn, position, *decisions, reason=f"{described}: {other.verdict.reason}")
        if self._missing is not None and self._missing.id == other.call.id:
            return Departure("result", turn, position, described, described, self._why_missing(again))
        return self._compare_results(again, (self._run_again or {}).get(other.call.id), results.get(other.call.id))

    def _why_missing(self, again: ModelCall | None) -> str:
        missing = again is not None and self._missing is not None and self._missing.id == again.judged.call.id
        return "It has no recorded result." if missing else ""

    def _compare_results(self, again: ModelCall, recorded: Result | None, result: Result | None) -> Departure | None:
        """Compare the results of a call that was run again."""
        if recorded is None or result is None or (recorded.content, recorded.problem) == (result.content, result.problem):
            return None
        texts = [shorten_json_text(_redactor.text(each.content)) for each in (recorded, result)]
        return Departure("result", again.turn, again.position, *texts, reason=f"{describe_call(again.judged.call)} was run again.")

    def find_verdict_changes(self) -> list[VerdictChange]:
        """Return the calls that are the same and whose verdict differs."""
        changes: list[VerdictChange] = []
        for then, again in zip(self._recording.calls, model_calls(self._entries), strict=False):
            before = recorded_decision(then.judged)
            if then.key == again.key and before is not None and recorded_decision(again.judged) is not None:
                change = change_of(self._recording.run_id, then.judged.call, before, again.judged.verdict)
                changes += [] if change is None else [change]
        return changes


async def _refuse_function(arguments: dict[str, Any], context: RunContext[Any]) -> dict[str, Any]:
    raise _NoResult


def describe_call(call: Call) -> str:
    """Return a call as it is written in code, without secrets and shortened."""
    arguments = ", ".join([f"{name}={value!r}" for name, value in _redactor.value(call.arguments).items()])
    return f"{call.name}({shorten_json_text(arguments)})"


def _reading_problem(judged: Judged) -> str:
    """Return why a call couldn't be read: its tool isn't there, or its arguments don't fit; empty where it could."""
    problem = judged.verdict.problem if isinstance(judged.verdict, Deny) else ""
    return problem if problem in ("unknown_tool", "invalid") else ""


def _compare_end(turn: int, recorded: Finished, now: Finished, *, compare_answers: bool) -> Departure | None:
    if recorded.stopped != now.stopped:
        return Departure("end", turn, 0, recorded.stopped, now.stopped, _redactor.text(now.reason))
    if not compare_answers or _same_answer(recorded, now):
        return None
    texts = [shorten_json_text(_redactor.text(each.text)) for each in (recorded, now)]
    return Departure("answer", turn, 0, *texts)


def _same_answer(one: Finished, other: Finished) -> bool:
    """Return whether two answers are the same, apart from white space and case."""
    if one.output is not None or other.output is not None:
        return msgspec.to_builtins(one.output) == msgspec.to_builtins(other.output)
    return " ".join(one.text.split()).casefold() == " ".join(other.text.split()).casefold()


async def list_tools(agent: Agent[Any, Any]) -> dict[str, Tool]:
    """Return the tools of an agent, by name."""
    async with agent.as_handoff().setup().toolset as toolset:
        return {tool.name: tool for tool in toolset.tools()}


async def replay_together(
    runs: Sequence[tuple[str, Callable[[], Awaitable[ReplayResult]]]], parallel: int, on_result: Callable[[ReplayResult], None]
) -> list[ReplayResult]:
    """Replay several runs at once, each by its function. One that can't be replayed here is skipped."""
    places = asyncio.Semaphore(max(1, parallel))

    async def one(run_id: str, work: Callable[[], Awaitable[ReplayResult]]) -> ReplayResult:
        async with places:
            try:
                result = await work()
            except TreadleError as error:  # such as an agent that can't be made here
                result = ReplayResult(run_id, "skipped", reason=str(error))
            except Exception as error:  # noqa: BLE001 - an agent's own code may raise anything, and the other runs go on
                result = ReplayResult(run_id, "skipped", reason=f"{type(error).__name__}: {error}")
        on_result(result)
        return result

    return await asyncio.gather(*[one(run_id, work) for run_id, work in runs])
