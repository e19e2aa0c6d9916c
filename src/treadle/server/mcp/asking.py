"""Asks the person at a client about a call, through the client: by a request, or in newer versions by an answer that asks back.

Then the client sends the call again with what the person said. What waits for that is kept here, under a name nobody can guess.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequests, InputRequiredResult
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct

from treadle.engine.setup import Answer, Approval
from treadle.guard.policy import digest
from treadle.guard.visible import visible
from treadle.server.mcp.calling import Answers, Calling
from treadle.tools.text import to_text

MOST_WAITING = 100  # calls; beyond that, the oldest question is forgotten and has to be asked again
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Run it?", "description": "whether the call may run", "default": False}},
    "required": ["approve"],
}

Context = ServerRequestContext[Any, Any]


def can_ask(context: Context) -> bool:
    """Whether the client can ask its person."""
    capabilities = context.session.client_capabilities
    able = capabilities.elicitation if capabilities is not None else None
    if able is None or (able.form is None and able.url is not None):
        return False
    return is_modern(context) or context.session.can_send_request


def is_modern(context: Context) -> bool:
    """Whether a server asks by answering, as clients of 2026 want it."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def ask(context: Context, approvals: Sequence[Approval]) -> Answers:
    """Ask about each call in turn."""
    return [(each, await _asked(context, each)) for each in approvals]


async def _asked(context: Context, approval: Approval) -> Answer:
    try:
        said = await context.session.elicit_form(question(approval), SCHEMA, related_request_id=context.request_id)
    except MCPError:
        return Answer(False, _person(context), "The client could not ask anybody.")
    return _answer(context, said)


def question(approval: Approval) -> str:
    """What the person reads: the whole call, with every character in it to be seen."""
    return visible(
        f"{approval.name} wants to run with {to_text(approval.arguments)}\n{approval.preview}\n{approval.reason}".strip()
    )


def _answer(context: Context, said: object) -> Answer:
    """What the person said. Anything but a clear yes is no."""
    if isinstance(said, ElicitResult) and said.action == "accept" and (said.content or {}).get("approve") is True:
        return Answer(True, _person(context))
    return Answer(False, _person(context), "A person said no.")


def _person(context: Context) -> str:
    client = context.session.client_params
    return f"The person at {visible(client.client_info.name)[:60]}" if client is not None else "The person at the client"


class Waiting(Struct, frozen=True):
    """A call whose client was asked back."""

    calling: Calling
    approvals: tuple[Approval, ...]

    def answers(self, context: Context, said: Mapping[str, object]) -> Answers:
        """What the person said, of what the client came back with."""
        return [(each, _answer(context, said.get(_key(each)))) for each in self.approvals]


def _key(approval: Approval) -> str:
    return f"{approval.run_id}/{approval.call_id}"


class Questions:
    """Calls that wait for their clients to come back."""

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}

    def ask(self, calling: Calling, approvals: tuple[Approval, ...]) -> InputRequiredResult:
        """The answer that asks back."""
        while len(self._waiting) >= MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        name = secrets.token_urlsafe(32)
        self._waiting[name] = Waiting(calling, approvals)
        asked: InputRequests = {
            _key(approval): ElicitRequest(params=ElicitRequestFormParams(message=question(approval), requested_schema=SCHEMA))
            for approval in approvals
        }
        return InputRequiredResult(input_requests=asked, request_state=name)

    def take(self, name: str | None, tool: str, arguments: dict[str, Any]) -> Waiting | None:
        """What waits under a name, once, and only for the very same call."""
        waiting = self._waiting.pop(name or "", None)
        if waiting is None or waiting.calling.name != tool or digest(waiting.calling.arguments) != digest(arguments):
            return None
        return waiting
