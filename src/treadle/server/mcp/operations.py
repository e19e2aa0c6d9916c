"""What the routes of MCP are, as far as HTTP goes: messages are the protocol's own, which `serving` speaks."""

from typing import Any, Literal

from msgspec import Struct

from treadle.routes import EVENTS, Answer, Operation


class McpMessage(Struct, frozen=True):
    """A message of JSON-RPC: a request (`id` and `method`), a notification (`method`), or an answer (`id` and its content)."""

    jsonrpc: Literal["2.0"]
    method: str = ""
    id: int | str | None = None
    params: dict[str, Any] = {}
    result: dict[str, Any] = {}
    error: dict[str, Any] = {}


class McpProblem(Struct, frozen=True):
    """What went wrong: of the protocol, an `error` with a `code` and a `message`; of the server, a sentence."""

    error: dict[str, Any] | str
    jsonrpc: str = ""
    id: int | str | None = None
    success: bool = False
    detail: str = ""


SESSION = {"mcp-session-id": "which conversation it belongs to; none begins one"}
COMMON = {
    404: Answer("there is no such conversation any more", McpProblem),
    406: Answer("`Accept` has to name application/json and text/event-stream", McpProblem),
    501: Answer("the package that speaks MCP isn't installed", McpProblem),
    503: Answer("too many conversations are open", McpProblem),
}
POST = Operation(
    "A message of the Model Context Protocol, over streamable HTTP",
    body=McpMessage,
    headers=SESSION,
    answers={
        200: Answer("the answer, after what it tells on the way", McpMessage, events=True),
        202: Answer("it was taken, and needs no answer"),
        **COMMON,
    },
    problem=McpProblem,
)
GET = Operation(
    "What the server has to say by itself in a conversation",
    headers=SESSION,
    answers={
        200: Answer("messages, each a line of JSON", McpMessage, EVENTS),
        409: Answer("somebody listens already", McpProblem),
        **COMMON,
    },
    problem=McpProblem,
)
DELETE = Operation(
    "End a conversation",
    headers=SESSION,
    answers={200: Answer("it is over"), **COMMON},
    problem=McpProblem,
)
