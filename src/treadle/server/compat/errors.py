"""Errors in each API's own format: OpenAI's below `/v1/`, Anthropic's below `/v1/messages`.

Official clients choose their exceptions by the status; people read the message.
"""

from typing import Any

from starlette.responses import JSONResponse

from treadle.core.errors import (
    AllowanceSpent,
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
QUOTA_CODE = "insufficient_quota"  # OpenAI's own, by which clients know that a retry doesn't help
_MAX_CLIENT_STATUS = 499  # statuses up to here are about the request, those above about us


class CompatError(Exception):
    """A request that can't be fulfilled. `again` is False where a retry would do something twice."""

    def __init__(self, status: int, words: str, param: str | None = None, code: str | None = None, *, again: bool = True) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.param = param
        self.code = code
        self.again = again


def is_compat_path(path: str) -> bool:
    """Whether a path belongs to a compatible API."""
    return path == "/v1" or path.startswith("/v1/")


def error_response_at(path: str, refused: CompatError) -> JSONResponse:
    """Return the error response in the format of the API at this path."""
    is_anthropic = path.startswith("/v1/messages")
    status = OVERLOADED if is_anthropic and refused.status == 503 else refused.status
    headers = {} if refused.again else {"x-should-retry": "false"}  # which both official clients go by
    return JSONResponse(anthropic_error(refused) if is_anthropic else openai_error(refused), status, headers)


def openai_error(refused: CompatError) -> dict[str, Any]:
    """Return the body of an error in OpenAI's format."""
    usual = "invalid_request_error" if refused.status <= _MAX_CLIENT_STATUS else "server_error"
    kind = _OPENAI.get(refused.status, usual)
    return {"error": {"message": refused.words, "type": kind, "param": refused.param, "code": refused.code}}


def anthropic_error(refused: CompatError) -> dict[str, Any]:
    """Return the body of an error in Anthropic's format."""
    status = OVERLOADED if refused.status == 503 else refused.status
    usual = "invalid_request_error" if status <= _MAX_CLIENT_STATUS else "api_error"
    words = f"{refused.param}: {refused.words}" if refused.param else refused.words
    return {"type": "error", "error": {"type": _ANTHROPIC.get(status, usual), "message": words}}


def compat_error_from(error: TreadleError) -> CompatError:
    """Convert an error that Treadle raised before there was an answer."""
    words = Redactor().text(str(error))
    match error:
        case ModelError():
            return model_error_from(error, words)
        case BadPrompt() | BadMedia():
            return CompatError(400, words, "messages")
        case BadTool():
            return CompatError(400, words, "tools")
        case RunTaken():
            return CompatError(409, words)
        case UnknownModel() | MissingKey():
            return CompatError(503, words)
        case _:
            return CompatError(500, words)


def model_error_from(error: ModelError | None, words: str) -> CompatError:
    """Convert a model's error. That our own key is invalid isn't the client's concern: it never becomes a 401."""
    match error:
        case ContextTooLong():
            return CompatError(400, words, "messages", "context_length_exceeded")
        case ModelRefused() if error.status in (400, 413, 422):
            return CompatError(400, words)
        case AllowanceSpent():
            return CompatError(429, words, code=QUOTA_CODE, again=False)
        case ModelError() if error.status == 429:
            return CompatError(429, words)
        case ModelUnavailable():
            return CompatError(503, words)
        case _:
            return CompatError(502, words)
