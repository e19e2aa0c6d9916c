"""Transient events of a run, for watchers. Nothing depends on their being received; what must last is an entry."""

from typing import TYPE_CHECKING, Any, Generic, Literal

from msgspec import Struct, field

from treadle.core.calls import Call, Result, Verdict
from treadle.core.entries import UngroundedValue
from treadle.core.grants import Patterns
from treadle.core.requests import Usage

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    ResultT = TypeVar("ResultT", default=Any, covariant=True)
else:
    from typing import TypeVar

    ResultT = TypeVar("ResultT", covariant=True)


class PathStep(Struct, frozen=True, gc=False):
    """One level of nesting: the call of run `run_id` that an agent runs in, and the agent's name."""

    run_id: str
    call_id: str
    agent: str


class _Event(Struct, frozen=True, gc=False, tag_field="event", kw_only=True, omit_defaults=True):
    """What all events have. `path` leads from the outermost run to that of a nested agent; it is empty for the outermost.

    Clients of the HTTP API read the other fields without asking whether they are there: a factory's value is always written.
    """

    run_id: str = field(default_factory=str)
    path: tuple[PathStep, ...] = ()


class RunStarted(_Event, frozen=True, tag="run_started"):
    """A turn begins, or a run is resumed."""

    resumed: bool = field(default_factory=bool)


class MessageReceived(_Event, frozen=True, tag="message_received"):
    """The user sent a message during the turn. The model reads it once it is delivered."""

    message_id: str
    text: str


class MessageDelivered(_Event, frozen=True, tag="message_delivered"):
    """A message that was received during the turn joined the conversation."""

    message_id: str
    text: str


class ContextSource(Struct, frozen=True, gc=False):
    """Where a text is from that the model reads with its instructions, and its length."""

    source: str
    characters: int
    untrusted: bool = field(default_factory=bool)


class ContextLoaded(_Event, frozen=True, tag="context_loaded"):
    """The context of an agent was loaded, once for the run: files of the project, an index of notes or of skills."""

    sources: tuple[ContextSource, ...]


class ModelAsked(_Event, frozen=True, tag="model_asked"):
    """A request is sent; `round` counts from 1."""

    round: int
    model: str


class ModelRetried(_Event, frozen=True, tag="model_retried"):
    """A request failed and is tried again after `wait` seconds. What was shown of its reply no longer counts."""

    attempt: int
    wait: float
    reason: str


class ModelProgressed(_Event, frozen=True, tag="model_progressed"):
    """How far the model is with its reply (`Progress`): its `stage`, and `done` of `total`, which is 0 where it isn't known.

    `request` counts the requests that a plan makes for one reply; `ahead` is how many requests of others it waits for. `draft` is
    what is written so far of a plan's answer, which replaces it.
    """

    stage: Literal["waiting", "loading", "reading", "writing"]
    done: float = field(default_factory=float)
    total: float = field(default_factory=float)
    request: int = field(default_factory=int)
    ahead: int = field(default_factory=int)
    draft: str = field(default_factory=str)


class ModelNoticed(_Event, frozen=True, tag="model_noticed"):
    """Something about how a reply comes about: a parameter that the model doesn't take was dropped, another model took over."""

    text: str


class NoToolFit(_Event, frozen=True, tag="no_tool_fit"):
    """The model was asked whether a tool fits and thought not, so it answers without one. `probability` is that one fits."""

    probability: float


class AnswerUngrounded(_Event, frozen=True, tag="answer_ungrounded"):
    """An answer has values that no tool result has, and is asked for again. What was shown of it no longer counts."""

    values: tuple[UngroundedValue, ...]


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
    mended: str = field(default_factory=str)


class CallStarted(_Event, frozen=True, tag="call_started"):
    """A call is being executed, since `at`: seconds since 1970, by the engine's clock. Arguments are redacted."""

    call: Call
    at: float = field(default_factory=float)


class CallProgressed(_Event, frozen=True, tag="call_progressed"):
    """A running tool reports its progress."""

    call_id: str
    text: str


class CallRetried(_Event, frozen=True, tag="call_retried"):
    """A call raised and is tried again after `wait` seconds; `attempt` is the one that failed."""

    call_id: str
    attempt: int
    wait: float
    reason: str


class CallReturned(_Event, frozen=True, tag="call_returned"):
    """A call returned."""

    result: Result
    seconds: float
    cached: bool = field(default_factory=bool)


class ApprovalNeeded(_Event, frozen=True, tag="approval_needed"):
    """A call waits for a person. An `unclear` one had begun, at `began_at`: they are asked what happened, not for approval."""

    call: Call
    reason: str
    digest: str
    preview: str = field(default_factory=str)
    unclear: bool = field(default_factory=bool)
    began_at: float = field(default_factory=float)
    patterns: tuple[Patterns, ...] = field(default_factory=tuple)  # what can be allowed besides this call, best first


class RunEnded(_Event, Generic[ResultT], frozen=True, gc=True, tag="run_ended"):  # a result has what a caller puts into it
    """The turn is over; `result` is what `run` returns."""

    result: ResultT


Event = (
    RunStarted
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
    | RunEnded[ResultT]
)
