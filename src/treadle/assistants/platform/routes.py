"""The platform assistant over HTTP: `/api/ai/…` as clients of the original know it, and what the panel needs besides.

Whoever asks does so with their own token: the request's, or, where it has none, that of the person who started the server.
"""

from contextlib import AsyncExitStack

import msgspec
from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from treadle import AssistantSession, Host, Message, Text, TreadleError
from treadle.assistants.platform import assistant, session
from treadle.assistants.platform.dialogue import chat
from treadle.assistants.platform.documents import Documents, open_documents
from treadle.assistants.platform.generate import NoSpec, as_json
from treadle.assistants.platform.operations import (
    CHAT,
    GENERATE,
    LONGEST,
    ME,
    STATUS,
    VALIDATE,
    ChatAsked,
    Earlier,
    SpecGiven,
    SpecWanted,
)
from treadle.assistants.platform.score import PROVIDED, check
from treadle.assistants.platform.settled import PlatformSettings, settled
from treadle.routes import Described, body_of, together


class Service:
    """The endpoints. Documents are everybody's; the rest is whose token it is."""

    def __init__(self, host: Host, settings: PlatformSettings) -> None:
        self._host = host
        self._settings = settings
        self._found: Documents | None = None
        self._opened = AsyncExitStack()
        host.at_end(self._opened.aclose)

    async def _documents(self) -> Documents:
        """The documents, which stay open for as long as the server runs."""
        if self._found is None:
            self._found = await self._opened.enter_async_context(open_documents(self._host, self._settings))
        return self._found

    def _host_of(self, request: Request) -> Host:
        """The host, for whoever asks."""
        return replace(self._host, headers=dict(request.headers), about={"server": self._settings.server})

    async def chat(self, request: Request) -> Response:
        """Answer a message, or do what it says yes to."""
        asked = await body_of(request, ChatAsked)
        message, history = _message_of(asked), [_message(each) for each in asked.conversation_history]
        await self._documents()
        reply = await chat(AssistantSession(assistant, self._host_of(request)), message, asked.run_id or "", history)
        return JSONResponse(msgspec.to_builtins(reply))

    async def generate(self, request: Request) -> Response:
        """Write a spec."""
        wanted = await body_of(request, SpecWanted)
        if not wanted.description.strip():
            raise HTTPException(400, "Say in `description` what the spec is for.")
        await self._documents()
        try:
            made = await session.generate(self._host_of(request), wanted.description, wanted.metadata)
        except NoSpec as error:
            raise HTTPException(502, str(error)) from error
        return JSONResponse(as_json(made))

    async def status(self, request: Request) -> Response:
        """Whether it can be used, and what is missing."""
        try:
            model, problem = (await self._host.model()).name, ""
        except TreadleError as error:
            model, problem = "", str(error)
        state = await (await self._documents()).state()
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
        return JSONResponse({"server": self._settings.server, **await session.person(self._host_of(request))})

    async def validate(self, request: Request) -> Response:
        """What is wrong or doubtful in a spec, by line."""
        given = await body_of(request, SpecGiven)
        found = check(given.spec, {*PROVIDED, *self._settings.types})
        return JSONResponse({"valid": found.ok, "findings": [msgspec.to_builtins(each) for each in found.findings]})


def _message_of(asked: ChatAsked) -> str:
    if not asked.message.strip():
        raise HTTPException(400, "Say something in `message`.")
    if len(asked.message) > LONGEST:
        raise HTTPException(413, f"A message may have {LONGEST:,} characters at most.")
    return asked.message


def _message(earlier: Earlier) -> Message:
    shown = f"\n\nThe spec that was shown here:\n```yaml\n{earlier.spec}\n```" if earlier.spec else ""
    return Message("person" if earlier.role == "user" else "model", (Text(earlier.content + shown),))


def routes(host: Host) -> list[BaseRoute]:
    """The routes, for the platform that was settled."""
    service = Service(host, settled())
    return together(
        [
            Described("/api/ai/chat", service.chat, CHAT, "POST"),
            Described("/api/ai/generate-spec", service.generate, GENERATE, "POST"),
            Described("/api/ai/status", service.status, STATUS),
            Described("/api/platform/me", service.me, ME),
            Described("/api/platform/validate", service.validate, VALIDATE, "POST"),
        ]
    )
