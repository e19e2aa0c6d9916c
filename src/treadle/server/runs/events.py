"""What readers of a run's events are told: those of `core.events`, what only a stream has to say, and how a turn ended.

Values only, already redacted. How they are numbered and kept is `broadcast`, how they are made of a journal is `replay`.
"""

from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Result
from treadle.core.entries import Stopped
from treadle.core.events import (
    ApprovalNeeded,
    CallArrived,
    CallJudged,
    CallProgressed,
    CallReturned,
    CallStarted,
    ModelAsked,
    ModelNoticed,
    ModelRetried,
    OutputArrived,
    ReplyArrived,
    RunStarted,
    TextArrived,
    ThinkingArrived,
)
from treadle.engine.setup import Approval
from treadle.guard.redaction import Redactor

MOST_CONTENT = 50_000  # characters of one result; the journal has the rest

Status = Stopped | Literal["open"]


class _Told(Struct, frozen=True, tag_field="event", kw_only=True):
    run_id: str = ""


class PersonSaid(_Told, frozen=True, tag="said"):
    """A person said something: a turn begins."""

    text: str


class TurnEnded(_Told, frozen=True, tag="run_ended"):
    """A turn is over, or that of a run inside of this one, and more follows."""

    message: str
    stopped: Status
    reason: str = ""
    tokens_used: int = 0
    cost: float | None = None
    seconds: float = 0.0


class Reply(_Told, frozen=True, tag="reply"):
    """The last turn is over, and so is the stream. `stopped` is "open" where the run goes on elsewhere, or isn't carried on.

    `data` is what the assistant says besides its words, such as citations.
    """

    message: str
    stopped: Status
    reason: str = ""
    approvals: tuple[Approval, ...] = ()
    tokens_used: int = 0
    cost: float | None = None
    seconds: float = 0.0
    data: Any = None


class Reset(_Told, frozen=True, tag="reset"):
    """What the reader has counts no more; everything follows anew."""


class Missed(_Told, frozen=True, tag="missed"):
    """The reader was too slow: so many events are gone."""

    count: int


Told = (
    RunStarted
    | PersonSaid
    | ModelAsked
    | ModelRetried
    | ModelNoticed
    | TextArrived
    | OutputArrived
    | ThinkingArrived
    | CallArrived
    | ReplyArrived
    | CallJudged
    | CallStarted
    | CallProgressed
    | CallReturned
    | ApprovalNeeded
    | TurnEnded
    | Reset
    | Missed
    | Reply
)

encode = msgspec.json.Encoder().encode


def bounded(result: Result) -> Result:
    """A result that isn't too large to be told; nobody may take a part for the whole."""
    data = result.data if result.data is None or len(encode(result.data)) <= MOST_CONTENT else None
    more = len(result.content) - MOST_CONTENT
    if more <= 0:
        return result if data is result.data else replace(result, data=data)
    return replace(result, content=f"{result.content[:MOST_CONTENT]}\n[… {more:,} more characters aren't shown …]", data=data)


def plain_data(value: Any) -> Any:
    """What an assistant says besides its words, as plain data without secrets."""
    return None if value is None else Redactor().value(msgspec.to_builtins(value))


def masked(approval: Approval, redactor: Redactor) -> Approval:
    """What a person is asked, without secrets. Its digest is still that of the real arguments."""
    words = {"reason": redactor.text(approval.reason), "preview": redactor.text(approval.preview)}
    return replace(approval, arguments=redactor.value(approval.arguments), **words)


def ended(reply: Reply) -> TurnEnded:
    """The end of a turn after which there is more."""
    return TurnEnded(
        run_id=reply.run_id,
        message=reply.message,
        stopped=reply.stopped,
        reason=reply.reason,
        tokens_used=reply.tokens_used,
        cost=reply.cost,
        seconds=reply.seconds,
    )
