"""Elicitation: asks the client's user about a call, by a request, or in newer protocol versions by an input-required result.

Then the client sends the call again with the user's answer. Pending calls are kept here, under an unguessable name.
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
from treadle.guard.policy import digest_arguments
from treadle.guard.visible_text import make_visible
from treadle.server.mcp.call import Answers, McpCall
from treadle.tools.text import to_text

MAX_PENDING = 100  # calls; beyond that, the oldest question is forgotten and has to be asked again
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approve": {"type": "boolean", "title": "Run it?", "description": "whether the call may run", "default": False}},
    "required": ["approve"],
}

Context = ServerRequestContext[Any, Any]


def can_elicit(context: Context) -> bool:
    """Whether the client supports elicitation."""
    capabilities = context.session.client_capabilities
    able = capabilities.elicitation if capabilities is not None else None
    if able is None or (able.form is None and able.url is not None):
        return False
    return is_modern(context) or context.session.can_send_request


def is_modern(context: Context) -> bool:
    """Whether elicitation is done by a result, as protocol versions of 2026 require."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def elicit_answers(context: Context, approvals: Sequence[Approval]) -> Answers:
    """Ask about each call in turn."""
    return [(each, await _elicit(context, each)) for each in approvals]


async def _elicit(context: Context, approval: Approval) -> Answer:
    try:
        said = await context.session.elicit_form(format_question(approval), SCHEMA, related_request_id=context.request_id)
    except MCPError:
        return Answer(False, _client_person(context), "The client could not ask anybody.")
    return _parse_answer(context, said)


def format_question(approval: Approval) -> str:
    """Return the text that the user reads: the whole call, with every character made visible."""
    return make_visible(
        f"{approval.name} wants to run with {to_text(approval.arguments)}\n{approval.preview}\n{approval.reason}".strip()
    )


def _parse_answer(context: Context, said: object) -> Answer:
    """Parse the user's answer. Anything but a clear yes is no."""
    if isinstance(said, ElicitResult) and said.action == "accept" and (said.content or {}).get("approve") is True:
        return Answer(True, _client_person(context))
    return Answer(False, _client_person(context), "A person said no.")


def _client_person(context: Context) -> str:
    client = context.session.client_params
    return f"The person at {make_visible(client.client_info.name)[:60]}" if client is not None else "The person at the client"


class PendingCall(Struct, frozen=True):
    """A call whose client was asked for input."""

    calling: McpCall
    approvals: tuple[Approval, ...]

    def answers(self, context: Context, said: Mapping[str, object]) -> Answers:
        """Parse the user's answers from the client's input."""
        return [(each, _parse_answer(context, said.get(_request_key(each)))) for each in self.approvals]


def _request_key(approval: Approval) -> str:
    return f"{approval.run_id}/{approval.call_id}"


class PendingCalls:
    """Calls that wait for their clients' input."""

    def __init__(self) -> None:
        self._waiting: dict[str, PendingCall] = {}

    def ask(self, calling: McpCall, approvals: tuple[Approval, ...]) -> InputRequiredResult:
        """Store a call and return the result that asks for input."""
        while len(self._waiting) >= MAX_PENDING:
            del self._waiting[next(iter(self._waiting))]
        name = secrets.token_urlsafe(32)
        self._waiting[name] = PendingCall(calling, approvals)
        asked: InputRequests = {
            _request_key(approval): ElicitRequest(
                params=ElicitRequestFormParams(message=format_question(approval), requested_schema=SCHEMA)
            )
            for approval in approvals
        }
        return InputRequiredResult(input_requests=asked, request_state=name)

    def take(self, name: str | None, tool: str, arguments: dict[str, Any]) -> PendingCall | None:
        """Remove and return the pending call of a name, only for the very same tool and arguments."""
        waiting = self._waiting.pop(name or "", None)
        if (
            waiting is None
            or waiting.calling.name != tool
            or digest_arguments(waiting.calling.arguments) != digest_arguments(arguments)
        ):
            return None
        return waiting
