"""The MCP server: lists and calls tools, over stdio or as a web application. The SDK implements the protocol."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.types import CallToolRequestParams, CallToolResult, InputRequiredResult, ListToolsResult, PaginatedRequestParams
from starlette.types import ASGIApp

from treadle._version import __version__
from treadle.core.errors import TreadleError
from treadle.engine.result import RunResult
from treadle.guard.redaction import Redactor
from treadle.server.auth import AuthMiddleware
from treadle.server.mcp.call import McpCall, OnProgress, error_result, pending_approvals
from treadle.server.mcp.elicitation import Context, PendingCalls, can_elicit, elicit_answers, is_modern
from treadle.server.mcp.offering import Offering, PreparedOffering, to_mcp_tool
from treadle.server.mcp.stdio import StdioTransport
from treadle.server.user_cache import FOR_PROGRAMS
from treadle.stores.owner_access import OwnerAccess

PATH = "/mcp"

CallResponse = CallToolResult | InputRequiredResult


async def serve_mcp(offering: Offering, wire: StdioTransport) -> None:
    """Serve one client until it disconnects."""
    server = make_mcp_server(offering)
    async with wire.streams() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def mcp_app(offering: Offering, owner: OwnerAccess | None = None) -> ASGIApp:
    """Return the server as a web application at `/mcp`, for clients on this machine: other hosts and origins are rejected.

    With an `owner`, clients have to send their token.
    """
    app = make_mcp_server(offering).streamable_http_app(streamable_http_path=PATH)
    return app if owner is None else AuthMiddleware(app, users=owner, refusals=FOR_PROGRAMS)


def make_mcp_server(offering: Offering) -> Server[Any]:
    """Return the SDK's server with our tools. Toolsets are entered for as long as it serves."""
    shop, questions = PreparedOffering(offering), PendingCalls()

    @asynccontextmanager
    async def entered(server: Server[Any]) -> AsyncGenerator[dict[str, Any]]:
        async with shop.toolset:
            yield {}

    async def on_list(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[to_mcp_tool(tool) for tool in shop.tools()])

    async def on_call(context: Context, params: CallToolRequestParams) -> CallResponse:
        async with _send_progress(context) as tell:
            return await _call_tool(shop, questions, context, params, tell)

    return Server(offering.name, version=__version__, lifespan=entered, on_list_tools=on_list, on_call_tool=on_call)


async def _call_tool(
    shop: PreparedOffering, questions: PendingCalls, context: Context, params: CallToolRequestParams, tell: OnProgress
) -> CallResponse:
    """Make a call, or resume one whose user was asked."""
    arguments = params.arguments or {}
    try:
        async with shop.offering.enter(context.request):
            before = questions.take(params.request_state, params.name, arguments)
            if before is None:
                attended = shop.offering.attended and (shop.offering.approver is not None or can_elicit(context))
                calling = McpCall(shop, params.name, arguments, attended=attended)
                result = await calling.begin(tell)
            else:
                calling = before.calling
                result = await calling.go_on(before.answers(context, params.input_responses or {}), tell)
            return await _finish_call(calling, result, questions, context, tell)
    except TreadleError as error:
        return error_result(Redactor().text(str(error)))


async def _finish_call(
    calling: McpCall, result: "RunResult[str]", questions: PendingCalls, context: Context, tell: OnProgress
) -> CallResponse:
    """Ask the user until no approval is pending."""
    while approvals := pending_approvals(result):
        if is_modern(context):
            return questions.ask(calling, approvals)
        try:
            answers = await elicit_answers(context, approvals)
        except asyncio.CancelledError:
            await calling.withdraw(approvals)
            raise
        result = await calling.go_on(answers, tell)
    return calling.told(result)


@asynccontextmanager
async def _send_progress(context: Context) -> AsyncGenerator[OnProgress]:
    """Yield a callback for progress lines, which are sent in order and before the result."""
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    async def send() -> None:
        count = 0
        while (line := await lines.get()) is not None:
            count += 1
            await context.session.report_progress(count, message=line)

    sending = asyncio.create_task(send())
    try:
        yield lines.put_nowait
        lines.put_nowait(None)
        await sending
    finally:
        sending.cancel()
