"""The platform assistant over HTTP: `/api/ai/…` as clients of the original know it, and what the panel needs besides.

Whoever asks does so with their own token: the request's, or, where it has none, that of the person who started the server.
"""

import time
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from treadle import Host, Message, Text, TreadleError
from treadle.assistants.platform.desk import Desk, Reply
from treadle.assistants.platform.documents import Documents
from treadle.assistants.platform.generate import NoSpec, as_json
from treadle.assistants.platform.operations import (
    ANSWER,
    CHAT,
    DEPLOY,
    GENERATE,
    LONGEST,
    ME,
    STATUS,
    STREAM,
    VALIDATE,
    ChatAsked,
    Earlier,
    SpecDecision,
    SpecGiven,
    SpecWanted,
)
from treadle.assistants.platform.score import PROVIDED, check
from treadle.assistants.platform.settings import PlatformSettings, own_token, platform_settings
from treadle.routes import Described, body_of, streamed, together


class Service:
    """The endpoints. Documents are everybody's; the rest is whose token it is."""

    def __init__(self, host: Host, settings: PlatformSettings) -> None:
        self._host = host
        self._settings = settings
        self._documents = Documents(settings, host.home.folder)
        host.at_end(self._documents.close)

    async def _desk(self, request: Request) -> Desk:
        await self._documents.keep_fresh()
        token = _token(request, "" if self._host.shared else own_token(self._settings.server))
        return Desk(self._host, self._settings, token, self._documents)

    async def chat(self, request: Request) -> Response:
        """Answer a message."""
        asked = await body_of(request, ChatAsked)
        history = [_message(each) for each in asked.conversation_history]
        reply = await (await self._desk(request)).ask(_message_of(asked), run_id=asked.run_id, history=history)
        return JSONResponse(as_reply(reply))

    async def stream(self, request: Request) -> Response:
        """Answer a message, and tell what happens as it happens."""
        asked = await body_of(request, ChatAsked)
        events = (await self._desk(request)).stream(_message_of(asked), run_id=asked.run_id)
        return streamed(_told(event) async for event in events)

    async def generate(self, request: Request) -> Response:
        """Write a spec."""
        wanted = await body_of(request, SpecWanted)
        if not wanted.description.strip():
            raise HTTPException(400, "Say in `description` what the spec is for.")
        try:
            made = await (await self._desk(request)).generate(wanted.description, wanted.metadata)
        except NoSpec as error:
            raise HTTPException(502, str(error)) from error
        return JSONResponse(as_json(made))

    async def status(self, request: Request) -> Response:
        """Whether it can be used, and what is missing."""
        try:
            model, problem = (await self._host.model()).name, ""
        except TreadleError as error:
            model, problem = "", str(error)
        state = await self._documents.state()
        return JSONResponse(
            {
                "enabled": not problem,
                "llm_provider": model,
                "embedding_model": state.embedder,
                "documents_loaded": state.documents,
                "status": "not_configured" if problem else "ready",
                "message": problem or "Ready.",
                "missing_keys": ["model"] if problem else [],
            }
        )

    async def me(self, request: Request) -> Response:
        """Who is asking, and whom."""
        return JSONResponse({"server": self._settings.server, **await (await self._desk(request)).user()})

    async def validate(self, request: Request) -> Response:
        """What is wrong or doubtful in a spec, by line."""
        given = await body_of(request, SpecGiven)
        found = check(given.spec, {*PROVIDED, *self._settings.types})
        return JSONResponse({"valid": found.ok, "findings": [msgspec.to_builtins(each) for each in found.findings]})

    async def deploy(self, request: Request) -> Response:
        """Deploy a spec: the person is shown what would change, and asked."""
        given = await body_of(request, SpecGiven)
        return JSONResponse(as_reply(await (await self._desk(request)).deploy(given.spec)))

    async def answer(self, request: Request) -> Response:
        """What the person says about a call that waits. Whoever takes a stream of events sees how the run goes on."""
        said = await body_of(request, SpecDecision)
        run_id, call_id = request.path_params["run_id"], request.path_params["call_id"]
        desk = await self._desk(request)
        if "text/event-stream" in request.headers.get("accept", ""):
            return streamed(_told(event) async for event in desk.answering(run_id, call_id, said))
        return JSONResponse(as_reply(await desk.answer(run_id, call_id, said)))


def as_reply(reply: Reply) -> dict[str, Any]:
    """A reply as programs are told of it. Its time is written as clients of the original expect it."""
    told = msgspec.to_builtins(reply)
    return {**told, "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(reply.timestamp))}


def _told(event: Any) -> Any:
    return {"event": "reply", **as_reply(event)} if isinstance(event, Reply) else event


def _message_of(asked: ChatAsked) -> str:
    if not asked.message.strip():
        raise HTTPException(400, "Say something in `message`.")
    if len(asked.message) > LONGEST:
        raise HTTPException(413, f"A message may have {LONGEST:,} characters at most.")
    return asked.message


def _message(earlier: Earlier) -> Message:
    shown = f"\n\nThe spec that was shown here:\n```yaml\n{earlier.spec}\n```" if earlier.spec else ""
    return Message("person" if earlier.role == "user" else "model", (Text(earlier.content + shown),))


def _token(request: Request, own: str) -> str:
    """Whoever shows anything at all is asked by that; only who shows nothing is the person who started the server.

    Where that has users, who shows nothing is nobody.
    """
    if "authorization" in request.headers:
        kind, _, token = request.headers["authorization"].partition(" ")
        return token.strip() if kind.lower() == "bearer" else ""
    return request.cookies.get("session_id", own)


def routes(host: Host) -> list[BaseRoute]:
    """The routes, for the platform that was settled."""
    service = Service(host, platform_settings(host))
    return together(
        [
            Described("/api/ai/chat", service.chat, CHAT, "POST"),
            Described("/api/ai/generate-spec", service.generate, GENERATE, "POST"),
            Described("/api/ai/status", service.status, STATUS),
            Described("/api/platform/me", service.me, ME),
            Described("/api/platform/chat", service.stream, STREAM, "POST"),
            Described("/api/platform/validate", service.validate, VALIDATE, "POST"),
            Described("/api/platform/deploy", service.deploy, DEPLOY, "POST"),
            Described("/api/platform/approvals/{run_id}/{call_id}", service.answer, ANSWER, "POST"),
        ]
    )
