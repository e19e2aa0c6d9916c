"""The result of a run: the answer, how it stopped, its usage and calls. Everything in it comes from the entries.

A run without an answer has no output: asking for it raises a `RunStopped` that says what to do.
"""

from typing import TYPE_CHECKING, Any, Generic, cast

from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Result, Verdict
from treadle.core.entries import (
    Approved,
    Awaited,
    Called,
    Entry,
    Finished,
    Judged,
    Noted,
    Opened,
    Refused,
    Replied,
    Returned,
    Said,
    Settled,
    Stopped,
)
from treadle.core.errors import LimitReached, RunCancelled, RunFailed, RunStopped, RunWaiting
from treadle.core.messages import History
from treadle.core.requests import Finish, Usage
from treadle.core.seams import Blobs
from treadle.engine.setup import Approval
from treadle.guard.redaction import Redactor
from treadle.loop.answers import settlement_result
from treadle.tools.values import shorten_json_text

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    OutputT = TypeVar("OutputT", default=str, covariant=True)
else:
    from typing import TypeVar

    OutputT = TypeVar("OutputT", covariant=True)


class CallRecord(Struct, frozen=True):
    """One call of a turn: what was requested, decided, and returned. `result` is None while it waits.

    `call` is the call that runs. `edited_from` is the model's, where a person gave it other arguments.
    """

    call: Call
    verdict: Verdict
    result: Result | None = None
    seconds: float = 0.0
    cached: bool = False
    mended: str = ""
    within: str = ""
    edited_from: Call | None = None

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.call.name

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that the tool is called with."""
        return self.call.arguments

    @property
    def requested(self) -> dict[str, Any]:
        """The arguments that the model requested; a person may have edited them since."""
        return (self.edited_from or self.call).arguments

    @property
    def problem(self) -> str | None:
        """The kind of problem, if there was one."""
        return self.result.problem if self.result is not None else None


class RequestRecord(Struct, frozen=True):
    """One request to a model: which model replied, what it used, and how long it took. Failed tries before it count in `usage`.

    finish    how the reply ended: "done", "calls", "length", …; "broken" for a request that brought none
    """

    model: str
    usage: Usage
    seconds: float = 0.0
    finish: Finish = "done"

    @property
    def cost(self) -> float | None:
        """US dollars, where the model's price is known."""
        return self.usage.cost


class RunResult(Generic[OutputT]):
    """How a turn ended.

    stopped          "answered", "limit", "waiting" (for `approvals`, a time or an event), "cancelled", "failed"
    output           the answer; raises `RunStopped` where there is none: `RunWaiting`, `LimitReached`, `RunCancelled`, `RunFailed`
    output_or_none   the answer; None where there is none
    answer_at_limit  what the model answered when it reached a limit, from what it had by then; None where it didn't
    text             the model's last words, or `Limits.words`
    reason           why it stopped, if not with an answer
    limit            the field of `Limits` that it stopped at
    interrupted      whether it was cancelled only for now (`Agent.interrupt`): `Agent.resume` continues it
    message          what to show a person: the model's words, or why there are none
    usage            what this turn used
    ungrounded       the values of `text` that are in no tool result and no message, where the agent is `grounded`
    agent            the name of the agent that the turn ended with: another than it began with after a hand-off
    """

    __slots__ = (
        *("_blobs", "_redactor", "_value", "agent", "approvals", "entries", "history", "interrupted", "limit", "reason"),
        *("run_id", "stopped", "text", "ungrounded", "usage"),
    )

    def __init__(
        self,
        run_id: str,
        finished: Finished,
        output: OutputT | None,
        usage: Usage,
        history: History,
        entries: list[Entry],
        approvals: tuple[Approval, ...] = (),
        redactor: Redactor | None = None,
        blobs: Blobs | None = None,
        agent: str = "",
    ) -> None:
        self.run_id = run_id
        self.stopped: Stopped = finished.stopped
        self.text = finished.text
        self.reason = finished.reason
        self.limit = finished.limit
        self.ungrounded = finished.ungrounded
        self.interrupted = finished.interrupted
        self.usage = usage
        self.history = history
        self.entries = entries
        self.approvals = approvals
        self._value = output
        self._redactor = redactor
        self._blobs = blobs
        self.agent = agent

    @property
    def output(self) -> OutputT:
        """The answer, in the requested type. Raises `RunStopped` where there is none."""
        if self.stopped != "answered":
            raise self._error()
        return cast("OutputT", self._value)

    @property
    def output_or_none(self) -> OutputT | None:
        """The answer, in the requested type; None where there is none."""
        return self._value if self.stopped == "answered" else None

    @property
    def answer_at_limit(self) -> OutputT | None:
        """What the model answered when it reached a limit, from what it had by then."""
        return self._value if self.stopped == "limit" else None

    @property
    def message(self) -> str:
        """What to show a person: the model's words, with ungrounded values marked, or a sentence that says why there are none."""
        if self.stopped == "failed":
            return self.reason
        return self._marked_text() or describe_stop(self.stopped, self.reason)

    def _marked_text(self) -> str:
        if not self.ungrounded:
            return self.text
        from treadle.guard.answer_grounding import mark_ungrounded  # few answers need it

        return mark_ungrounded(self.text, self.ungrounded)

    def _error(self) -> RunStopped:
        match self.stopped:
            case "waiting":
                return RunWaiting(self._describe_wait(), self)
            case "limit":
                return LimitReached(self._describe_limit(), self)
            case "cancelled":
                return RunCancelled(self.reason, self)
            case _:
                return RunFailed(self.reason, self)

    def _describe_wait(self) -> str:
        if not self.approvals and any(isinstance(entry, Awaited) for entry in self.entries):
            return f"{self.reason} `agent.wake_due()` continues it then, or `agent.resume({self.run_id!r})`."
        if not self.approvals:
            return f"{self.reason} `await agent.approvals({self.run_id!r})` lists what waits."
        first, more = self.approvals[0], len(self.approvals) - 1
        call = _format_call(first, self._redactor or Redactor())
        calls = f"{call} and {more} more call{'' if more == 1 else 's'}" if more else call
        about = f"{self.run_id!r}, {first.call_id!r}"
        then = f"`agent.resume({self.run_id!r})` then continues."
        if first.unclear:
            how = f'Say so with `agent.settle({about}, "happened")`, `"not_happened"` or `"again"`; {then}'
            return f"The run waits: {calls} had begun when its process died, and may have taken effect. {how}"
        return (
            f"The run waits for a person's approval of {calls}. If {first.name} only reads, declare it with "
            f'`@tool(effect="read")`; or allow it with `policy=[allow("{first.name}")]`. To be asked, pass `approver=`, or answer '
            f"with `agent.approve({about})` or `agent.deny({about})`; {then}"
        )

    def _describe_limit(self) -> str:
        field = f"`limits=Limits({self.limit}=…)`" if self.limit else "the agent's `limits`"
        by_then = "" if self._value is None else " What the model answered by then is `result.answer_at_limit`."
        return f"The run stopped at {self.reason} before it had its answer; raise it with {field}.{by_then}"

    @property
    def cost(self) -> float | None:
        """US dollars, where the model's price is known."""
        return self.usage.cost

    @property
    def calls(self) -> list[CallRecord]:
        """The calls of this turn, in the order they were judged."""
        return calls_of(self.entries)

    @property
    def requests(self) -> list[RequestRecord]:
        """The requests to the model in this turn, in order. Those of nested agents are in the results of their own runs."""
        return requests_of(self.entries)

    @property
    def truncated(self) -> bool:
        """Whether the answer was cut: at `Options.max_tokens`, after `Limits.continuations`, or by a full context window."""
        requests = self.requests
        return bool(requests) and requests[-1].finish in ("length", "window")

    def history_json(self) -> str:
        """Return the conversation as JSON, with its media, for `Agent.run(history=…)` or `load_history`."""
        from treadle.core.history_json import encode_history  # most results are never stored

        return encode_history(self.history, self._blobs)

    @property
    def prompt(self) -> str:
        """The user's message that this turn answers."""
        return next((entry.text for entry in reversed(self.entries) if isinstance(entry, Said)), "")

    @property
    def turn(self) -> int:
        """Which turn of the run this is, from 1 on."""
        return sum(isinstance(entry, Said) for entry in self.entries)

    @property
    def ends(self) -> int:
        """How often a turn of the run has ended, this end included: with the run's id it identifies this end."""
        return sum(isinstance(entry, Finished) for entry in self.entries)

    def _repr_markdown_(self) -> str:
        """Return what a notebook shows."""
        from treadle.engine.display import result_to_markdown  # only notebooks need it

        return result_to_markdown(self)

    def __repr__(self) -> str:
        words = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return f"RunResult(run_id={self.run_id!r}, stopped={self.stopped!r}, text={words!r})"


def requests_of(entries: list[Entry]) -> list[RequestRecord]:
    """Return the requests of the last turn in `entries`."""
    records: list[RequestRecord] = []
    model = ""
    for entry in entries:
        match entry:
            case Opened():
                model = entry.model
            case Said():
                records.clear()
            case Replied() if entry.usage.requests:
                records.append(RequestRecord(entry.model or model, entry.usage, entry.seconds, entry.finish))
            case Noted() | Finished() if entry.usage.requests:
                records.append(RequestRecord(model, entry.usage, finish="broken"))
            case _:
                pass
    return records


def calls_of(entries: list[Entry]) -> list[CallRecord]:
    """Return the calls of the last turn in `entries`."""
    records: dict[str, CallRecord] = {}
    within: dict[str, str] = {}
    for entry in entries:
        match entry:
            case Said():
                records.clear()
            case Called():
                within[entry.call.id] = entry.within
            case Judged():
                records[entry.call.id] = CallRecord(
                    entry.call, entry.verdict, _find_denial(entry), mended=entry.mended, within=within.get(entry.call.id, "")
                )
            case Returned():
                records[entry.result.call_id] = _with_result(records[entry.result.call_id], entry)
            case Approved() if entry.arguments is not None:
                record = records[entry.call_id]
                edited = Call(record.call.id, record.name, entry.arguments)
                records[entry.call_id] = replace(record, call=edited, edited_from=record.call)
            case Refused():
                record = records[entry.call_id]
                records[entry.call_id] = replace(record, result=Result(entry.call_id, record.name, entry.reason, "denied"))
            case Settled():
                record = records[entry.call_id]
                records[entry.call_id] = replace(record, result=settlement_result(entry.call_id, record.name, entry))
            case _:
                pass
    return list(records.values())


def describe_stop(stopped: Stopped, reason: str) -> str:
    """Return a sentence, for people, about a run that stopped without an answer."""
    return f"The run stopped at {reason} before it had an answer." if stopped == "limit" else reason


def _find_denial(entry: Judged) -> Result | None:
    problem = getattr(entry.verdict, "problem", None)
    return None if problem is None else Result(entry.call.id, entry.call.name, entry.verdict.reason, problem)


def _with_result(record: CallRecord, entry: Returned) -> CallRecord:
    return replace(record, result=entry.result, seconds=entry.seconds, cached=entry.cached)


def _format_call(approval: Approval, redactor: Redactor) -> str:
    """Return a call as it is written in code, without secrets and shortened."""
    arguments = ", ".join([f"{name}={value!r}" for name, value in redactor.value(approval.arguments).items()])
    return f"{approval.name}({shorten_json_text(arguments)})"
