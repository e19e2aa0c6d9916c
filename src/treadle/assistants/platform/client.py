"""HTTP client of a platform for one user: their token is sent with every request, and nowhere else.

A response is JSON or a problem worded for the model. The paths are in `api_calls`, the JSON formats in `responses`.
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from types import TracebackType
from typing import Any, cast
from urllib.parse import quote, urlsplit

import msgspec

from treadle import ToolProblem
from treadle.web import Client, GuardedResponse

TIMEOUT = 30.0
LOGIN = "/api/login"
MAX_ERROR_CHARS = 2_000  # characters of what a server says of an error
MASK = "[the person's token]"
TELL = "Tell the person."
OTHERWISE = "Use another tool, or tell the person."

_HTML = re.compile(r"\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


class PlatformProblem(ToolProblem):
    """A refusal by the platform, with advice for the model. The data is the reason alone, for users."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(f"{reason} {advice}" if advice else reason, data={"reason": reason})


class PlatformUnauthenticated(PlatformProblem):
    """No token, or one that the platform rejects."""


class PlatformForbidden(PlatformProblem):
    """Something of another team, or beyond the user's role."""


class PlatformNotFound(PlatformProblem):
    """The requested item doesn't exist."""


class PlatformPathUnknown(PlatformNotFound):
    """The platform doesn't have this path: it is an older or newer version."""


class PlatformRateLimited(PlatformProblem):
    """Too many requests."""


class PlatformClient:
    """A platform as one user sees it. `mark` identifies platform and user without revealing the token."""

    def __init__(self, server: str, token: str = "", *, timeout: float = TIMEOUT) -> None:
        place = urlsplit(server)
        self.server = server
        self.mark = sha256(f"{server}\n{token}".encode()).hexdigest()[:12]
        self._token = token
        self._client = Client([f"{place.scheme}://{place.netloc}"], private=True, timeout=timeout)  # named by the operator

    async def __aenter__(self) -> "PlatformClient":
        await self._client.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._client.__aexit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"Platform({self.server!r})"

    @property
    def has_token(self) -> bool:
        """Whether a token is set."""
        return bool(self._token)

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """Send a GET request."""
        return await self._request("GET", path, query=(query or {}).items())

    async def post(self, path: str, body: str, kind: str, key: str, query: Mapping[str, str] | None = None) -> Any:
        """Send a POST request. `key` is the same for every retry."""
        headers = {"content-type": kind, "idempotency-key": key}
        return await self._request("POST", path, headers, query=(query or {}).items(), body=body.encode())

    async def login(self, body: bytes) -> Any:
        """Log in with a name and a password."""
        return await self._request("POST", LOGIN, {"content-type": "application/json"}, body=body)

    async def delete(self, path: str, key: str) -> Any:
        """Send a DELETE request."""
        return await self._request("DELETE", path, {"idempotency-key": key})

    async def _request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        *,
        query: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
    ) -> Any:
        if not self._token.isascii() or not self._token.isprintable():
            raise PlatformUnauthenticated("What was given as a token can't be one.", "Tell the person to set it again.")
        signed = {"authorization": f"Bearer {self._token}"} if self._token else {}
        told = {"accept": "application/json", **signed, **(headers or {})}  # without Accept a stranger is sent to a login page
        answer = await self._client.send(method, f"{self.server}{path}", query=query, headers=told, body=body)
        return self._read(path, answer)

    def _read(self, path: str, answer: GuardedResponse) -> Any:
        if 300 <= answer.status < 400 or answer.status == 401 or (path != LOGIN and _leads_to_login(answer.url)):
            raise self._unauthenticated_problem(answer)
        text = self._mask_token(answer.text)
        if answer.status >= 400:
            raise _build_problem(answer.status, path, _error_text(text))
        if answer.kind == "text/html" or _HTML.match(text):
            raise PlatformPathUnknown(f"This platform has nothing at {path}: it answered with a web page.", OTHERWISE)
        if not text.strip():
            return None
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            raise ToolProblem(f"What the platform answered at {path} is no JSON. It begins with: {text[:200]}") from None

    def _mask_token(self, text: str) -> str:
        return text.replace(self._token, MASK) if self._token else text

    def _unauthenticated_problem(self, answer: GuardedResponse) -> ToolProblem:
        if 300 <= answer.status < 400 and not _leads_to_login(answer.headers.get("location", "")):
            return PlatformProblem("The platform sends this request elsewhere, where it isn't followed to.", TELL)
        if not self._token:
            return PlatformUnauthenticated(
                "No user is signed in to the platform, and nothing can be seen without a token.", "Tell the person to sign in."
            )
        return PlatformUnauthenticated(
            "The platform doesn't accept the person's token: it is wrong, or has expired.",
            "Tell them to sign in again, as trying once more won't help.",
        )


def _leads_to_login(url: str) -> bool:
    return urlsplit(url).path.rstrip("/").endswith("/login")


def expand_path(template: str, name: str) -> str:
    """Insert a name into a path template, whatever characters it has. A name that would change the path is rejected."""
    if name in ("", ".", ".."):
        raise ToolProblem(f"{name!r} can't be the name of anything. Use a name that a list shows.")
    return template.format(quote(name, safe=""))


def _build_problem(status: int, path: str, words: str) -> ToolProblem:
    """Build the problem of a refusal, with the platform's message and advice."""
    match status:
        case 403:
            whose = "That belongs to another team, or needs another role."
            return PlatformForbidden(f"The platform refused: {words or 'access denied'}. {whose}", "Tell the person so.")
        case 404 if words:
            return PlatformNotFound(f"The platform says: {words}.")
        case 404 | 405:
            return PlatformPathUnknown(f"This platform has nothing at {path}.", OTHERWISE)
        case 429:
            return PlatformRateLimited("The platform has had too many requests.", "Wait, or ask for less at once.")
        case _ if status >= 500:
            return PlatformProblem(f"The platform failed ({status}): {words or 'it said nothing'}.", TELL)
        case _:
            return ToolProblem(f"The platform refused ({status}): {words or 'it said nothing'}.")


def _error_text(text: str) -> str:
    """Extract the message of an error response: plain text, any JSON, or a page, of which only that it is one is reported."""
    if _HTML.match(text):
        return "it answered with a web page"
    said = text.strip()
    try:
        value = msgspec.json.decode(said)
    except msgspec.DecodeError:
        value = said
    if isinstance(value, dict):
        said = "; ".join(_error_parts(cast("dict[str, Any]", value))) or said
    return said[:MAX_ERROR_CHARS].strip().rstrip(".")


def _error_parts(value: dict[str, Any]) -> Iterable[str]:
    for key in ("message", "error", "detail"):
        if isinstance(found := value.get(key), str):
            yield found
    for key in ("errors", "failed_workflows"):
        if isinstance(found := value.get(key), list) and found:
            yield f"{key.replace('_', ' ')}: {', '.join(map(str, cast('list[Any]', found)))}"
