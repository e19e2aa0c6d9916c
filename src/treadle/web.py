"""Public names for web tools: an HTTP client restricted to allowed targets, and its problems.

Each is loaded when it is first used. Assistants and programs import them from here.
"""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.http_guard.client import Client, GuardedResponse
    from treadle.http_guard.problems import (
        HostNotResolved,
        HttpProblem,
        NoResponse,
        NotHttp,
        NotSecure,
        RequestTimedOut,
        ResponseTooLarge,
        TargetNotAllowed,
    )

_HOMES = {
    "GuardedResponse": "treadle.http_guard.client",
    "Client": "treadle.http_guard.client",
    "NoResponse": "treadle.http_guard.problems",
    "TargetNotAllowed": "treadle.http_guard.problems",
    "NotHttp": "treadle.http_guard.problems",
    "HostNotResolved": "treadle.http_guard.problems",
    "NotSecure": "treadle.http_guard.problems",
    "HttpProblem": "treadle.http_guard.problems",
    "RequestTimedOut": "treadle.http_guard.problems",
    "ResponseTooLarge": "treadle.http_guard.problems",
}

__all__ = [
    "Client",
    "GuardedResponse",
    "HostNotResolved",
    "HttpProblem",
    "NoResponse",
    "NotHttp",
    "NotSecure",
    "RequestTimedOut",
    "ResponseTooLarge",
    "TargetNotAllowed",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
