"""What goes wrong, as an answer: JSON for programs (`/api/…`), a page for people. Always a sentence, never a traceback.

Whatever nobody foresaw is in the log, for developers.
"""

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treadle.app.jobs import JobNotFound, JobTaken
from treadle.core.errors import (
    ApprovalError,
    BadContext,
    BadMedia,
    BadPrompt,
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
from treadle.routes.streaming import UNFORESEEN
from treadle.server.pages import error_page
from treadle.server.wires.refused import Refused, is_wire, refusal_at

STATUSES: dict[type[TreadleError], int] = {
    BadPrompt: 400,
    BadContext: 422,
    BadMedia: 400,
    RunNotFound: 404,
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
ELSEWHERE = {
    "/v1/responses": "There are no responses here; ask at /v1/chat/completions, or at /v1/messages as Anthropic's clients do.",
    "/v1/completions": "There are no plain completions here; ask at /v1/chat/completions, with the text as a user's message.",
    "/v1/embeddings": "Nothing is embedded here: each model is an assistant that answers. Ask at /v1/chat/completions.",
}


def is_for_programs(path: str) -> bool:
    """Whether what is at this path speaks JSON."""
    return any(path == place or path.startswith(f"{place}/") for place in PROGRAMS)


def refusal(path: str, status: int, sentence: str) -> Response:
    """The answer that says what went wrong, in the form that suits the path."""
    if is_wire(path):
        return refusal_at(path, Refused(status, sentence))
    return json_refusal(status, sentence) if is_for_programs(path) else HTMLResponse(error_page(status, sentence), status)


def json_refusal(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """What went wrong, for programs. Some clients read `error`, some `detail`."""
    return JSONResponse({"success": False, "error": sentence, "detail": sentence}, status, headers)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """What Starlette, or an assistant's route, refused."""
    assert isinstance(error, HTTPException), "it is registered for these"
    path, status = request.url.path, error.status_code
    words = SENTENCES.get(status, "") if error.detail == HTTPException(status).detail else ""
    told = ELSEWHERE.get(path) if status == 404 else None
    response = refusal(path, status, told or words.format(path=path, method=request.method) or _sentence(error.detail))
    response.headers.update(error.headers or {})
    return response


def _sentence(words: str) -> str:
    return words if words.endswith((".", "!", "?", "…")) else f"{words}."


async def on_treadle_error(request: Request, error: Exception) -> Response:
    """What Treadle says, as it says it to everybody: without secrets."""
    status = next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)
    if isinstance(error, ModelError) and error.status == 429:  # the model's server, or a budget
        status = 429
    return refusal(request.url.path, status, Redactor().text(str(error)))


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
            await refusal(scope["path"], 500, UNFORESEEN)(scope, receive, send)
