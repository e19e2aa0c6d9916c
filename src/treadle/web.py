"""The public names of the tools for the web: a client that goes only where it may, and tools from OpenAPI documents.

Each is loaded when it is first used. Assistants and programs import them from here.
"""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.toolsets.openapi.toolset import OpenApiTools, openapi_tools
    from treadle.toolsets.outbound.answer import Answer
    from treadle.toolsets.outbound.client import Client
    from treadle.toolsets.outbound.problems import (
        NoAnswer,
        NotAllowed,
        NotHttp,
        NotResolved,
        NotSecure,
        OutboundProblem,
        TimedOut,
        TooLarge,
    )

_HOMES = {
    "Answer": "treadle.toolsets.outbound.answer",
    "Client": "treadle.toolsets.outbound.client",
    "NoAnswer": "treadle.toolsets.outbound.problems",
    "NotAllowed": "treadle.toolsets.outbound.problems",
    "NotHttp": "treadle.toolsets.outbound.problems",
    "NotResolved": "treadle.toolsets.outbound.problems",
    "NotSecure": "treadle.toolsets.outbound.problems",
    "OpenApiTools": "treadle.toolsets.openapi.toolset",
    "OutboundProblem": "treadle.toolsets.outbound.problems",
    "TimedOut": "treadle.toolsets.outbound.problems",
    "TooLarge": "treadle.toolsets.outbound.problems",
    "openapi_tools": "treadle.toolsets.openapi.toolset",
}

__all__ = [
    "Answer",
    "Client",
    "NoAnswer",
    "NotAllowed",
    "NotHttp",
    "NotResolved",
    "NotSecure",
    "OpenApiTools",
    "OutboundProblem",
    "TimedOut",
    "TooLarge",
    "openapi_tools",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
