"""The events of a run's stream: those of `core.events`, those that only a stream has, and how a turn ended.

Values only, already redacted. `broadcast` numbers and buffers them, `replay` makes them from a journal.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Result
from treadle.core.entries import Stopped, UngroundedValue
from treadle.core.events import (
    AnswerUngrounded,
    ApprovalNeeded,
    CallArrived,
    CallJudged,
    CallProgressed,
    CallRetried,
    CallReturned,
    CallStarted,
    ContextLoaded,
    MessageDelivered,
    MessageReceived,
    ModelAsked,
    ModelNoticed,
    ModelProgressed,
    ModelRetried,
    NoToolFit,
    OutputArrived,
    PathStep,
    ReplyArrived,
    RunStarted,
    TextArrived,
    ThinkingArrived,
)
from treadle.engine.setup import Approval
from treadle.guard.redaction import Redactor

MAX_CONTENT = 50_000  # characters of one result; the journal has the rest

Status = Stopped | Literal["open"]


class _StreamEvent(Struct, frozen=True, tag_field="event", kw_only=True):
    run_id: str = ""


class PersonSaid(_StreamEvent, frozen=True, tag="said"):
    """A user's message: a turn starts."""

    text: str


class TurnEnded(_StreamEvent, frozen=True, tag="run_ended"):
    """A turn of this or a nested run has ended, and more follows."""

    message: str
    stopped: Status
    reason: str = ""
    tokens_used: int = 0
    cost: float | None = None
    seconds: float = 0.0
    path: tuple[PathStep, ...] = ()


class RunReply(_StreamEvent, frozen=True, tag="reply"):
    """The last turn has ended, and so does the stream. `stopped` is "open" where the run continues elsewhere, or was abandoned.

    `data` accompanies the assistant's text, such as citations. `ungrounded` are values of the text that no tool result has.
    """

    message: str
    stopped: Status
    reason: str = ""
    approvals: tuple[Approval, ...] = ()
    tokens_used: int = 0
    cost: float | None = None
    seconds: float = 0.0
    data: Any = None
    ungrounded: tuple[UngroundedValue, ...] = ()


class StreamReset(_StreamEvent, frozen=True, tag="reset"):
    """What the reader has is no longer valid; everything follows anew."""


class EventsMissed(_StreamEvent, frozen=True, tag="missed"):
    """The reader was too slow: so many events are gone."""

    count: int


StreamEvent = (
    RunStarted
    | PersonSaid
    | MessageReceived
    | MessageDelivered
    | ContextLoaded
    | ModelAsked
    | ModelRetried
    | ModelProgressed
    | ModelNoticed
    | NoToolFit
    | AnswerUngrounded
    | TextArrived
    | OutputArrived
    | ThinkingArrived
    | CallArrived
    | ReplyArrived
    | CallJudged
    | CallStarted
    | CallProgressed
    | CallRetried
    | CallReturned
    | ApprovalNeeded
    | TurnEnded
    | StreamReset
    | EventsMissed
    | RunReply
)

encode = msgspec.json.Encoder().encode


def truncate_result(result: Result) -> Result:
    """Truncate a result for streaming, marked so that a part isn't taken for the whole."""
    data = result.data if result.data is None or len(encode(result.data)) <= MAX_CONTENT else None
    more = len(result.content) - MAX_CONTENT
    if more <= 0:
        return result if data is result.data else replace(result, data=data)
    return replace(result, content=f"{result.content[:MAX_CONTENT]}\n[… {more:,} more characters aren't shown …]", data=data)


def to_plain_data(value: Any) -> Any:
    """Return the data that accompanies an answer as plain values without secrets."""
    return None if value is None else Redactor().value(msgspec.to_builtins(value))


def mask_pending_approval(approval: Approval, redactor: Redactor) -> Approval:
    """Return an approval without secrets. Its digest is still that of the real arguments."""
    words = {"reason": redactor.text(approval.reason), "preview": redactor.text(approval.preview)}
    return replace(approval, arguments=redactor.value(approval.arguments), **words)


def turn_ended_from(reply: RunReply) -> TurnEnded:
    """Return the end of a turn after which more follows."""
    return TurnEnded(
        run_id=reply.run_id,
        message=reply.message,
        stopped=reply.stopped,
        reason=reply.reason,
        tokens_used=reply.tokens_used,
        cost=reply.cost,
        seconds=reply.seconds,
    )
