"""For the routes of assistants: routes that say what they are, a request's values, a person's decisions, values without secrets,
streams of events.

Public. Nothing of a server is imported before one asks.
"""

from typing import TYPE_CHECKING, Any

from treadle.guard.redaction import Redactor
from treadle.routes.decision import Decision
from treadle.routes.operation import EVENTS, HTML, Answer, Operation, Problem, problem
from treadle.routes.reading import body_of, query_of

if TYPE_CHECKING:
    from treadle.routes.described import Described, Endpoint, together
    from treadle.routes.streaming import streamed

_LATE = {"Described": "described", "Endpoint": "described", "together": "described", "streamed": "streaming"}

__all__ = [
    "EVENTS",
    "HTML",
    "Answer",
    "Decision",
    "Described",
    "Endpoint",
    "Operation",
    "Problem",
    "body_of",
    "problem",
    "query_of",
    "redacted",
    "streamed",
    "together",
]


def redacted(value: Any) -> Any:
    """A plain value without secrets: for what isn't redacted yet in a run, such as the arguments of its calls."""
    return Redactor().value(value)


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'treadle.routes' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"treadle.routes.{_LATE[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
