"""An MCP server with odd tools, for tests. `python odd.py [new] [legacy] [stubborn] [silent] [dead] [http] [sse] STATE`.

STATE is a folder: tests put files there to change what it says, and it writes there what has happened to it.
"""

import asyncio
import base64
import os
import signal
import socket
import sys
from pathlib import Path

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

WORDS = sys.argv[1:]
STATE = Path(WORDS[-1])
ONE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NONE = {"type": "object"}
PAGE = 4
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==")
BUS = InMemorySubscriptionBus()
TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "required": ["root"],
    "$defs": {
        "node": {"type": "object", "properties": {"inner": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}, "required": ["n"]}
    },
}


def tool(name, description="", schema=NONE, **hints):
    return types.Tool(
        name=name, description=description, input_schema=schema, annotations=types.ToolAnnotations(**hints) if hints else None
    )


def tools():
    changed = STATE / "description"
    described = changed.read_text() if changed.exists() else "Say it again."
    listed = [
        tool("echo", described, ONE, read_only_hint=True),
        tool("fail"),
        tool("slow", read_only_hint=False, destructive_hint=False, idempotent_hint=True),
        tool("crash", destructive_hint=True),
        tool("huge"),
        tool("blocks"),
        tool("data"),
        tool("working"),
        tool("who", "Whose headers these are."),
        tool("change", "Change the description of echo to the text.", ONE),
        tool("a.b"),
        tool("a_b"),
        tool("a b"),
        tool("x" * 90),
        tool("tree", schema=TREE),
        tool("wrong"),
        tool("stuck"),
        tool("ask"),
        tool("long", "y" * 100_000),
        tool("picture"),
    ]
    wrong = next(each for each in listed if each.name == "wrong")
    wrong.output_schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    return listed + [tool(name) for name in (STATE / "more").read_text().split()] if (STATE / "more").exists() else listed


async def on_list(context, params):
    start = int(params.cursor or 0) if params else 0
    listed = tools()
    after = start + PAGE
    if (STATE / "endless").exists():
        after, listed = 0, [*listed, *listed]
    return types.ListToolsResult(tools=listed[start : start + PAGE], next_cursor=str(after) if after < len(listed) else None)


def _header(context, name):
    return context.request.headers.get(name) if context.request is not None else None


def said(text, **more):
    return types.CallToolResult(content=[types.TextContent(text=text)], **more)


async def on_call(context, params):
    arguments = params.arguments or {}
    match params.name:
        case "echo":
            return said(arguments["text"])
        case "fail":
            secret = _header(context, "authorization") or os.environ.get("TOKEN", "nothing")
            return said(f"It broke; you sent {secret}.", is_error=True)
        case "slow":
            return await slow()
        case "crash":
            os._exit(3)
        case "huge":
            return said("z" * 3_000_000)
        case "blocks":
            return blocks()
        case "picture":
            return picture()
        case "data":
            return types.CallToolResult(content=[types.TextContent(text='{"n": 1}')], structured_content={"n": 1})
        case "working":
            for step in range(16):
                await asyncio.sleep(0.25)
                await context.session.report_progress(step + 1, 16, f"step {step + 1}")
            return said("worked")
        case "who":
            return said(f"{_header(context, 'authorization') or os.environ.get('TOKEN')} {os.getpid()}")
        case "change":
            (STATE / "description").write_text(arguments["text"])
            await context.session.send_tool_list_changed()
            await BUS.publish(ToolsListChanged())
            return said("changed")
        case "wrong":
            return types.CallToolResult(content=[], structured_content={"n": "one"})
        case "stuck":
            signal.pause()
        case "ask":
            return types.InputRequiredResult(
                input_requests={
                    "q": types.ElicitRequest(
                        params=types.ElicitRequestFormParams(message="?", requested_schema={"type": "object", "properties": {}})
                    )
                }
            )
    return said(f"called {params.name} {arguments}")


async def slow():
    (STATE / "begun").touch()
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        (STATE / "cancelled").touch()
        raise
    return said("too late")


def blocks():
    embedded = types.TextResourceContents(uri="file:///notes.txt", text="the notes")
    binary = types.BlobResourceContents(uri="file:///x.bin", blob="AAAA", mime_type="application/octet-stream")
    return types.CallToolResult(
        content=[
            types.TextContent(text="some words"),
            types.ImageContent(data="A" * 400, mime_type="image/png"),
            types.AudioContent(data="A" * 40, mime_type="audio/wav"),
            types.ResourceLink(name="more", uri="file:///more.txt"),
            types.EmbeddedResource(resource=embedded),
            types.EmbeddedResource(resource=binary),
        ],
        structured_content={"more": 1},
    )


def picture():
    """A picture, a recording, a document, a text as a blob, and what is none of these."""
    image = base64.b64encode(PIXEL).decode()
    paper = types.BlobResourceContents(uri="file:///a/p.pdf", blob=coded(b"%PDF-1.4 ..."), mime_type="application/pdf")
    notes = types.BlobResourceContents(uri="file:///notes.md", blob=coded(b"# Notes"), mime_type="text/markdown")
    return types.CallToolResult(
        content=[
            types.TextContent(text="See:"),
            types.ImageContent(data=image, mime_type="image/png"),
            types.AudioContent(data=coded(b"OggS...."), mime_type="audio/ogg"),
            types.EmbeddedResource(resource=paper),
            types.EmbeddedResource(resource=notes),
            types.ImageContent(data=coded(b"\0\1"), mime_type="image/tiff"),
        ],
        structured_content={"n": 1},
    )


def coded(data):
    return base64.b64encode(data).decode()


def make():
    listening = None if "legacy" in WORDS else ListenHandler(BUS)
    return Server("odd", on_list_tools=on_list, on_call_tool=on_call, on_subscriptions_listen=listening)


async def over_stdio():
    print("this is no message", flush=True)
    print(f"odd speaks to stderr, TOKEN={os.environ.get('TOKEN')}", file=sys.stderr, flush=True)
    server = make()
    async with stdio_server() as (reading, writing):
        options = server.create_initialization_options()
        if "legacy" in WORDS:
            await serve_loop(server, reading, writing, lifespan_state={}, init_options=options)
        else:
            await server.run(reading, writing, options)


async def over_http():
    import uvicorn

    server = make()
    app = server.streamable_http_app() if "http" in WORDS else sse(server)
    gated = gate(app) if (STATE / "gate").exists() else app
    with socket.create_server(("127.0.0.1", int((STATE / "port").read_text()) if (STATE / "port").exists() else 0)) as listening:
        (STATE / "port").write_text(str(listening.getsockname()[1]))
        print("listening", flush=True)
        await uvicorn.Server(uvicorn.Config(gated, log_level="error", timeout_graceful_shutdown=1)).serve(sockets=[listening])


def gate(app):
    """Only with the right header."""

    async def gated(scope, receive, send):
        headers = dict(scope.get("headers", ()))
        if scope["type"] == "http" and not headers.get(b"authorization", b"").startswith(b"Bearer good"):
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    return gated


def sse(server):
    from mcp.server.sse import SseServerTransport
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Mount, Route

    transport = SseServerTransport("/messages/")

    async def connect(request):
        async with transport.connect_sse(request.scope, request.receive, request._send) as (reading, writing):
            await serve_loop(server, reading, writing, lifespan_state={}, init_options=server.create_initialization_options())
        return Response()

    return Starlette(routes=[Route("/sse", connect), Mount("/messages/", app=transport.handle_post_message)])


if __name__ == "__main__":
    (STATE / "pid").write_text(str(os.getpid()))
    if "silent" in WORDS:
        signal.pause()
    if "dead" in WORDS:
        sys.exit(f"odd can't begin, TOKEN={os.environ.get('TOKEN')}")
    if "stubborn" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        anyio.run(over_http if {"http", "sse"} & {*WORDS} else over_stdio)
    finally:
        while "stubborn" in WORDS:
            signal.pause()
