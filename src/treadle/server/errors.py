"""Errors as responses: JSON for API clients, a page for browsers. Always a sentence, never a traceback.

Every error response of the server is made here, whatever its status code. Unexpected errors are logged, for
developers.
"""

import re
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.core.errors import (
    AllowanceSpent,
    ApprovalError,
    BadMedia,
    BadPrompt,
    ContextNotFound,
    EventError,
    EventNotAwaited,
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
from treadle.jobs.store import JobNotFound, JobTaken
from treadle.routes import JSON
from treadle.routes.streaming import UNEXPECTED_ERROR
from treadle.server.compat.errors import QUOTA_CODE, CompatError, error_response_at, is_compat_path
from treadle.server.pages import render_error_page

STATUSES: dict[type[TreadleError], int] = {
    BadPrompt: 400,
    BadMedia: 400,
    RunNotFound: 404,
    ContextNotFound: 404,
    RunTaken: 409,
    JobNotFound: 404,
    JobTaken: 409,
    ApprovalError: 409,
    EventNotAwaited: 404,
    EventError: 422,
    UnknownModel: 503,
    MissingKey: 503,
    ModelUnavailable: 503,
    ModelError: 502,
    TreadleError: 500,
}
STATUS_MESSAGES = {404: "There is nothing at {path}.", 405: "{path} can't be asked with {method}."}
API_PATHS = ("/api", "/v1", "/mcp")  # and all below them
_NUMBER = re.compile(r"[01](\.\d{0,3})?")
UNSUPPORTED_PATHS = {
    "/v1/responses": "There are no responses here; ask at /v1/chat/completions, or at /v1/messages as Anthropic's clients do.",
    "/v1/completions": "There are no plain completions here; ask at /v1/chat/completions, with the text as a user's message.",
    "/v1/embeddings": "Nothing is embedded here: each model is an assistant that answers. Ask at /v1/chat/completions.",
}


def is_api_path(path: str) -> bool:
    """Whether a path belongs to an API that speaks JSON."""
    return any(path == place or path.startswith(f"{place}/") for place in API_PATHS)


def wants_json(scope: Scope) -> bool:
    """Whether a client gets JSON: at an API path, and where it accepts or sends JSON rather than HTML."""
    if is_api_path(scope["path"]):
        return True
    headers = Headers(scope=scope)
    qualities = _parse_accept(headers.get("accept", ""))
    asked, page = [qualities.get(media_type, 0.0) for media_type in (JSON, "text/html")]
    return asked > 0 and asked >= page if asked or page else is_json_content_type(headers.get("content-type", ""))


def _parse_accept(accept: str) -> dict[str, float]:
    """Parse `Accept` into the quality of each media type."""
    found: dict[str, float] = {}
    for each in accept.lower().split(","):
        media_type, *parameters = [part.strip() for part in each.split(";")]
        said = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        found[media_type] = float(said) if _NUMBER.fullmatch(said) else 0.0
    return found


def is_json_content_type(content_type: str) -> bool:
    """Whether a content type is JSON, however it is written."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind == JSON or (kind.startswith("application/") and kind.endswith("+json"))


def error_response(scope: Scope, status: int, sentence: str, headers: Mapping[str, str] | None = None, code: str = "") -> Response:
    """Return the error response in the form that the client accepts. Some clients read `error`, some `detail`."""
    if is_compat_path(scope["path"]):
        response = error_response_at(scope["path"], CompatError(status, sentence, code=code or None))
    elif wants_json(scope):
        named = {"code": code} if code else {}
        response = JSONResponse({"success": False, "error": sentence, "detail": sentence, **named}, status)
    else:
        response = HTMLResponse(render_error_page(status, sentence), status)
    response.headers.update(headers or {})
    return response


async def handle_http_exception(request: Request, error: Exception) -> Response:
    """Handle an HTTPException of Starlette or of an assistant's route."""
    assert isinstance(error, HTTPException), "it is registered for these"
    path, status = request.url.path, error.status_code
    words = STATUS_MESSAGES.get(status, "") if error.detail == HTTPException(status).detail else ""
    told = UNSUPPORTED_PATHS.get(path) if status == 404 else None
    sentence = told or words.format(path=path, method=request.method) or _end_sentence(error.detail)
    return error_response(request.scope, status, sentence, error.headers)


def _end_sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?", "…")) else f"{words}."


async def handle_treadle_error(request: Request, error: Exception) -> Response:
    """Handle a TreadleError: its message, without secrets."""
    status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    if isinstance(error, ModelError) and error.status == 429:  # the model's server, or a budget
        status = 429
    code = QUOTA_CODE if isinstance(error, AllowanceSpent) else ""
    return error_response(request.scope, status, Redactor().text(str(error)), code=code)


class ErrorMiddleware:
    """ASGI middleware for unhandled errors. It is inside of `SecurityMiddleware`, so that these responses get its headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; respond to an error, unless a response has started."""
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
            await error_response(scope, 500, UNEXPECTED_ERROR)(scope, receive, send)
