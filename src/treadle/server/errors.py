"""Errors as responses: JSON for clients that speak JSON, a page for browsers. Always a sentence, never a traceback.

Every error of the server is made here, whatever its status code. Whatever nobody foresaw is in the log, for developers.
"""

import re
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.app.jobs import JobNotFound, JobTaken
from treadle.core.errors import (
    ApprovalError,
    BadMedia,
    BadPrompt,
    ContextNotFound,
    MissingKey,
    ModelError,
    ModelUnavailable,
    RunNotFound,
    RunTaken,
    TreadleError,
    UnknownModel,
)
from treadle.core.log import log
from treadle.guard.redaction import Redactor
from treadle.routes import JSON
from treadle.routes.streaming import UNFORESEEN
from treadle.server.pages import error_page
from treadle.server.wires.refused import Refused, is_wire, refusal_at

STATUSES: dict[type[TreadleError], int] = {
    BadPrompt: 400,
    BadMedia: 400,
    RunNotFound: 404,
    ContextNotFound: 404,
    RunTaken: 409,
    JobNotFound: 404,
    JobTaken: 409,
    ApprovalError: 409,
    UnknownModel: 503,
    MissingKey: 503,
    ModelUnavailable: 503,
    ModelError: 502,
    TreadleError: 500,
}
SENTENCES = {404: "There is nothing at {path}.", 405: "{path} can't be asked with {method}."}
PROGRAMS = ("/api", "/v1", "/mcp")  # and all below them
_NUMBER = re.compile(r"[01](\.\d{0,3})?")
ELSEWHERE = {
    "/v1/responses": "There are no responses here; ask at /v1/chat/completions, or at /v1/messages as Anthropic's clients do.",
    "/v1/completions": "There are no plain completions here; ask at /v1/chat/completions, with the text as a user's message.",
    "/v1/embeddings": "Nothing is embedded here: each model is an assistant that answers. Ask at /v1/chat/completions.",
}


def is_for_programs(path: str) -> bool:
    """Whether what is at this path speaks JSON."""
    return any(path == place or path.startswith(f"{place}/") for place in PROGRAMS)


def wants_json(scope: Scope) -> bool:
    """Whether a client gets JSON: at a path for programs, and where it asks for JSON, or sends it, rather than for a page."""
    if is_for_programs(scope["path"]):
        return True
    headers = Headers(scope=scope)
    qualities = _qualities(headers.get("accept", ""))
    asked, page = [qualities.get(media_type, 0.0) for media_type in (JSON, "text/html")]
    return asked > 0 and asked >= page if asked or page else is_json(headers.get("content-type", ""))


def _qualities(accept: str) -> dict[str, float]:
    """How much a client wants each media type that it names in `Accept`."""
    found: dict[str, float] = {}
    for each in accept.lower().split(","):
        media_type, *parameters = [part.strip() for part in each.split(";")]
        said = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        found[media_type] = float(said) if _NUMBER.fullmatch(said) else 0.0
    return found


def is_json(content_type: str) -> bool:
    """Whether a content type is JSON, however it is written."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == JSON or (kind.startswith("application/") and kind.endswith("+json"))


def error_response(scope: Scope, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """The response that says what went wrong, in the form that the client reads. Some read `error`, some `detail`."""
    if is_wire(scope["path"]):
        response = refusal_at(scope["path"], Refused(status, sentence))
    elif wants_json(scope):
        response = JSONResponse({"success": False, "error": sentence, "detail": sentence}, status)
    else:
        response = HTMLResponse(error_page(status, sentence), status)
    response.headers.update(headers or {})
    return response


async def on_http_exception(request: Request, error: Exception) -> Response:
    """What Starlette, or an assistant's route, refused."""
    assert isinstance(error, HTTPException), "it is registered for these"
    path, status = request.url.path, error.status_code
    words = SENTENCES.get(status, "") if error.detail == HTTPException(status).detail else ""
    told = ELSEWHERE.get(path) if status == 404 else None
    sentence = told or words.format(path=path, method=request.method) or _sentence(error.detail)
    return error_response(request.scope, status, sentence, error.headers)


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?", "…")) else f"{words}."


async def on_treadle_error(request: Request, error: Exception) -> Response:
    """What Treadle says, as it says it to everybody: without secrets."""
    status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    if isinstance(error, ModelError) and error.status == 429:  # the model's server, or a budget
        status = 429
    return error_response(request.scope, status, Redactor().text(str(error)))


class Caught:
    """An ASGI layer that answers where nobody else could. It is inside of `Gate`, so that these answers are as safe as any."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; answer for what failed, unless an answer has begun already."""
        has_begun = False

        async def sending(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            return
        except Exception:
            log.exception("%s %s failed", scope.get("method", scope["type"]), scope.get("path", ""))
            if has_begun or scope["type"] != "http":
                raise
            await error_response(scope, 500, UNFORESEEN)(scope, receive, send)
