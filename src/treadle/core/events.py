"""Transient events of a run, for watchers. Nothing depends on their being received; what must last is an entry."""

from typing import Any

from msgspec import Struct

from treadle.core.calls import Call, Result, Verdict
from treadle.core.requests import Usage


class _Event(Struct, frozen=True, tag_field="event", kw_only=True):
    run_id: str = ""


class RunStarted(_Event, frozen=True, tag="run_started"):
    """A turn begins, or a run is resumed."""

    resumed: bool = False


class ModelAsked(_Event, frozen=True, tag="model_asked"):
    """A request is sent; `round` counts from 1."""

    round: int
    model: str


class ModelRetried(_Event, frozen=True, tag="model_retried"):
    """A request failed and is tried again after `wait` seconds. What was shown of its reply no longer counts."""

    attempt: int
    wait: float
    reason: str


class ModelNoticed(_Event, frozen=True, tag="model_noticed"):
    """Something about how a reply comes about: a parameter that the model doesn't take was dropped, another model took over."""

    text: str


class TextArrived(_Event, frozen=True, tag="text_arrived"):
    """A piece of the model's text."""

    text: str


class OutputArrived(_Event, frozen=True, tag="output_arrived"):
    """The structured answer so far, as JSON data: what has been written of it, with strings and lists that may still grow."""

    output: Any


class ThinkingArrived(_Event, frozen=True, tag="thinking_arrived"):
    """A piece of the model's thinking."""

    text: str


class CallArrived(_Event, frozen=True, tag="call_arrived"):
    """The model has begun to write a call."""

    call_id: str
    name: str


class ReplyArrived(_Event, frozen=True, tag="reply_arrived"):
    """A reply is complete; `usage` is the whole run's so far."""

    usage: Usage


class CallJudged(_Event, frozen=True, tag="call_judged"):
    """A call was read and judged. Arguments are redacted."""

    call: Call
    verdict: Verdict
    mended: str = ""


class CallStarted(_Event, frozen=True, tag="call_started"):
    """A call is being executed, since `at`: seconds since 1970, by the engine's clock. Arguments are redacted."""

    call: Call
    at: float = 0.0


class CallProgressed(_Event, frozen=True, tag="call_progressed"):
    """A running tool reports its progress."""

    call_id: str
    text: str


class CallReturned(_Event, frozen=True, tag="call_returned"):
    """A call returned."""

    result: Result
    seconds: float
    cached: bool = False


class ApprovalNeeded(_Event, frozen=True, tag="approval_needed"):
    """A call waits for a person. An `unclear` one had begun, at `began_at`: they are asked what happened, not for approval."""

    call: Call
    reason: str
    digest: str
    preview: str = ""
    unclear: bool = False
    began_at: float = 0.0


class RunEnded(_Event, frozen=True, tag="run_ended"):
    """The turn is over; `result` is what `run` returns."""

    result: Any


Event = (
    RunStarted
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
    | RunEnded
)
