"""Public names of the events of a run, which `Agent.stream` yields and watchers receive.

`Event` is the union of all of them; `print_progress` is a watcher that prints them.
"""

from typing import TYPE_CHECKING

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
    ContextSource,
    Event,
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
    RunEnded,
    RunStarted,
    TextArrived,
    ThinkingArrived,
)
from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.engine.display import print_progress

__all__ = [
    "AnswerUngrounded",
    "ApprovalNeeded",
    "CallArrived",
    "CallJudged",
    "CallProgressed",
    "CallRetried",
    "CallReturned",
    "CallStarted",
    "ContextLoaded",
    "ContextSource",
    "Event",
    "MessageDelivered",
    "MessageReceived",
    "ModelAsked",
    "ModelNoticed",
    "ModelProgressed",
    "ModelRetried",
    "NoToolFit",
    "OutputArrived",
    "PathStep",
    "ReplyArrived",
    "RunEnded",
    "RunStarted",
    "TextArrived",
    "ThinkingArrived",
    "print_progress",
]

__getattr__, __dir__ = lazy_exports(__name__, {"print_progress": "treadle.engine.display"}, __all__)
