"""What goes wrong on a wire, in the wire's own shape: OpenAI's below `/v1/`, Anthropic's below `/v1/messages`.

Official clients make their exceptions of the status; what a person reads is the sentence.
"""

from typing import Any

from starlette.responses import JSONResponse

from treadle.core.errors import (
    BadMedia,
    BadPrompt,
    BadTool,
    ContextTooLong,
    MissingKey,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    RunTaken,
    TreadleError,
    UnknownModel,
)
from treadle.guard.redaction import Redactor

OVERLOADED = 529  # Anthropic's own, for a model that isn't there just now

_OPENAI = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
_ANTHROPIC = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    OVERLOADED: "overloaded_error",
}
_HIGHEST_OF_CALLERS = 499  # statuses up to here are about the request, those above about us


class Refused(Exception):
    """A request that can't be carried out. `again` is False where trying the same again would do something twice."""

    def __init__(self, status: int, words: str, param: str | None = None, code: str | None = None, *, again: bool = True) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.param = param
        self.code = code
        self.again = again


def is_wire(path: str) -> bool:
    """Whether a wire is spoken at this path."""
    return path == "/v1" or path.startswith("/v1/")


def refusal_at(path: str, refused: Refused) -> JSONResponse:
    """The answer that says what went wrong, in the shape of the wire that is spoken there."""
    is_anthropic = path.startswith("/v1/messages")
    status = OVERLOADED if is_anthropic and refused.status == 503 else refused.status
    headers = {} if refused.again else {"x-should-retry": "false"}  # which both official clients go by
    return JSONResponse(anthropic_error(refused) if is_anthropic else openai_error(refused), status, headers)


def openai_error(refused: Refused) -> dict[str, Any]:
    """The body of an error, as OpenAI's clients read it."""
    usual = "invalid_request_error" if refused.status <= _HIGHEST_OF_CALLERS else "server_error"
    kind = _OPENAI.get(refused.status, usual)
    return {"error": {"message": refused.words, "type": kind, "param": refused.param, "code": refused.code}}


def anthropic_error(refused: Refused) -> dict[str, Any]:
    """The body of an error, as Anthropic's clients read it."""
    status = OVERLOADED if refused.status == 503 else refused.status
    usual = "invalid_request_error" if status <= _HIGHEST_OF_CALLERS else "api_error"
    words = f"{refused.param}: {refused.words}" if refused.param else refused.words
    return {"type": "error", "error": {"type": _ANTHROPIC.get(status, usual), "message": words}}


def refused_by(error: TreadleError) -> Refused:
    """What Treadle raised before there was an answer."""
    words = Redactor().text(str(error))
    match error:
        case ModelError():
            return of_model(error, words)
        case BadPrompt() | BadMedia():
            return Refused(400, words, "messages")
        case BadTool():
            return Refused(400, words, "tools")
        case RunTaken():
            return Refused(409, words)
        case UnknownModel() | MissingKey():
            return Refused(503, words)
        case _:
            return Refused(500, words)


def of_model(error: ModelError | None, words: str) -> Refused:
    """Why a model gave no answer. That our own key is wrong isn't the caller's business: no 401 comes of it."""
    match error:
        case ContextTooLong():
            return Refused(400, words, "messages", "context_length_exceeded")
        case ModelRefused() if error.status in (400, 413, 422):
            return Refused(400, words)
        case ModelError() if error.status == 429:
            return Refused(429, words)
        case ModelUnavailable():
            return Refused(503, words)
        case _:
            return Refused(502, words)
