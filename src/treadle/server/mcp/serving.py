"""The server itself: lists and calls, over the process's own pipes or as a web application. The SDK speaks the protocol."""

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
from treadle.server.doorman import Doorman
from treadle.server.knowing import FOR_PROGRAMS
from treadle.server.mcp.asking import Context, Questions, ask, can_ask, is_modern
from treadle.server.mcp.calling import Calling, Tell, problem, waiting
from treadle.server.mcp.offering import Offering, Shop, described
from treadle.server.mcp.wire import Wire
from treadle.stores.owner import OwnerAccess

PATH = "/mcp"

Told = CallToolResult | InputRequiredResult


async def serve_mcp(offering: Offering, wire: Wire) -> None:
    """Serve one client until it has gone."""
    server = make_server(offering)
    async with wire.streams() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def mcp_app(offering: Offering, owner: OwnerAccess | None = None) -> ASGIApp:
    """The server as a web application at `/mcp`, for clients on this machine: other names and pages are turned away.

    With an `owner`, clients have to send their token.
    """
    app = make_server(offering).streamable_http_app(streamable_http_path=PATH)
    return app if owner is None else Doorman(app, users=owner, refusals=FOR_PROGRAMS)


def make_server(offering: Offering) -> Server[Any]:
    """The SDK's server with our tools. Toolsets are entered for as long as it serves."""
    shop, questions = Shop(offering), Questions()

    @asynccontextmanager
    async def entered(server: Server[Any]) -> AsyncGenerator[dict[str, Any]]:
        async with shop.toolset:
            yield {}

    async def on_list(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[described(tool) for tool in shop.tools()])

    async def on_call(context: Context, params: CallToolRequestParams) -> Told:
        async with _telling(context) as tell:
            return await _called(shop, questions, context, params, tell)

    return Server(offering.name, version=__version__, lifespan=entered, on_list_tools=on_list, on_call_tool=on_call)


async def _called(shop: Shop, questions: Questions, context: Context, params: CallToolRequestParams, tell: Tell) -> Told:
    """Make a call, or go on with one whose person was asked."""
    arguments = params.arguments or {}
    try:
        async with shop.offering.enter(context.request):
            before = questions.take(params.request_state, params.name, arguments)
            if before is None:
                attended = shop.offering.attended and (shop.offering.approver is not None or can_ask(context))
                calling = Calling(shop, params.name, arguments, attended=attended)
                result = await calling.begin(tell)
            else:
                calling = before.calling
                result = await calling.go_on(before.answers(context, params.input_responses or {}), tell)
            return await _finished(calling, result, questions, context, tell)
    except TreadleError as error:
        return problem(Redactor().text(str(error)))


async def _finished(calling: Calling, result: "RunResult[str]", questions: Questions, context: Context, tell: Tell) -> Told:
    """Ask for as long as there is something to ask."""
    while approvals := waiting(result):
        if is_modern(context):
            return questions.ask(calling, approvals)
        try:
            answers = await ask(context, approvals)
        except asyncio.CancelledError:
            await calling.withdraw(approvals)
            raise
        result = await calling.go_on(answers, tell)
    return calling.told(result)


@asynccontextmanager
async def _telling(context: Context) -> AsyncGenerator[Tell]:
    """Takes lines of progress and sends them on, in their order and before the answer."""
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
