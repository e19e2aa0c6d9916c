"""What went wrong at a model's server, as the errors of Treadle: one sentence that says what to do, never a key.

Statuses, headers, bodies and the exceptions of the network come in here; `http` and the wires raise what comes out.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from treadle.core.errors import (
    ContextTooLong,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    ReplyBroken,
    ToolsRefused,
    WrongWire,
)
from treadle.guard.redaction import Redactor

LONGEST = 300  # characters of a server's own words in a message

_TRY_AGAIN = frozenset((408, 409, 424, 425, 429))

# What servers call a failure where no HTTP status says it: inside of a stream.
_STATUS_OF = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "timeout_error": 408,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "invalid_request_error": 400,
    "exceed_context_size_error": 400,
    "context_length_exceeded": 400,
    "unavailable_error": 503,
    "accessdeniedexception": 403,
    "internalserverexception": 500,
    "modelerrorexception": 424,
    "modelstreamerrorexception": 424,
    "modeltimeoutexception": 408,
    "resourcenotfoundexception": 404,
    "serviceunavailableexception": 503,
    "throttlingexception": 429,
    "validationexception": 400,
}

_BAD_IMAGE = re.compile(
    r"(could not|unable to|failed to|cannot|can't) (process|decode|load|read)( the| input)* image|unsupported image|invalid image"
    r"|not represent a valid image|image: unknown format",
    re.IGNORECASE,
)

_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|request_too_large"
    r"|(prompt|input|conversation)( length)? is too (long|large)"
    r"|(maximum|available|model's|model|the) (context|input|prompt|sequence)[ _-]?(length|size|window|limit)"
    r"|exceeds? (the )?(maximum )?(context|model length|max_model_len|number of tokens allowed)"
    r"|context (size|length|window|limit)( has been| was| is)? exceeded"
    r"|exceed(s|ed)? (the )?context|longer than the maximum model length|maximum number of tokens allowed"
    r"|input token count|input tokens exceed|too large for model with|reduce the length of|tokens to keep from the initial prompt"
    r"|loaded with context length of only|must have less than \d+ tokens|`inputs` tokens",
    re.IGNORECASE,
)

_OTHER_WIRE = re.compile(
    r"use (the )?/?(v1/)?responses|(only )?supported in (the )?/?(v1/)?responses|responses api instead", re.IGNORECASE
)

_NO_TOOLS = re.compile(
    r"does(n't| not) support (tools|tool (use|call)|function call)(?!.{0,9} in stream)|no endpoints found that support tool use"
    r"|(tool|function) (use|calls?|calling) (is|are) not supported|tools param requires --jinja|requires --enable-auto-tool-choice",
    re.IGNORECASE,
)

_EXPIRED = re.compile(
    r"expiredtoken|token_expired|token included in the request is expired|(key|token|session|credentials?) (has |have )?expired",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(  # what some say with status 400
    r"model identifier is invalid|model_not_found|model not exist|invalid model( name)?\b|is not a valid model"
    r"|\bmodel\b.{0,120}?(not exist|not found|is not available on|not supported by any provider)|requested model is not supported"
    r"|supported (API )?model names are",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"credit balance is too low|insufficient (balance|credits?|funds)|requires more credits", re.IGNORECASE)
_BAD_KEY = re.compile(r"api[ _]key[ _](not valid|invalid|expired)", re.IGNORECASE)  # Google says it with status 400


class SaidByServer(Struct, frozen=True):
    """A server's own words, whole, and the object that they came in."""

    words: str
    error: Any


class Server:
    """Whom an error speaks of: a model, where it is asked, and what to look at when that fails."""

    __slots__ = ("_secrets", "absent", "address", "key_variable", "model", "remedy")

    def __init__(
        self,
        model: str,
        address: str,
        *,
        key_variable: str = "",
        remedy: str = "is it running?",
        absent: str = "Check the model's name and the base_url.",
        secrets: tuple[str, ...] = (),
    ) -> None:
        parts = urlsplit(address)
        self.model = model
        self.address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        self.key_variable = key_variable
        self.remedy = remedy
        self.absent = absent
        self._secrets = secrets

    @property
    def host(self) -> str:
        """Host and port."""
        return urlsplit(self.address).netloc

    def quoted(self, words: str) -> str:
        """A server's own words: one line, shortened, keys hidden."""
        words = " ".join(Redactor(known_secrets=self._secrets).text(words).split())
        return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def refused(server: Server, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """The error for an HTTP status that isn't a reply."""
    if is_page(headers, body) and not _may_help(status):
        return page_error(server, status)
    error = _parsed(body)
    kind = headers.get("x-amzn-errortype", "").partition(":")[0]  # AWS names the failure there
    judged = _judged(server, status, headers, {"type": kind, "error": error} if kind else error)
    judged.said = SaidByServer(_words(error), error)
    return judged


def told(server: Server, error: Any) -> ModelError:
    """The error for an error object where a reply should have been."""
    status = next((status for word in _marks(error) if (status := _status(word))), 500)
    return _judged(server, status, {}, error)


def unreachable(server: Server, error: BaseException) -> ModelUnavailable:
    """The error for a server that can't be connected to: not there, no such host, no valid certificate, too slow."""
    reason = server.quoted(str(error)) or "no connection in time"
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        remedy = "check the address, or let SSL_CERT_FILE name the authority behind it"
        return ModelUnavailable(f"The certificate of {server.host} for {server.model} isn't trusted here; {remedy} ({reason})")
    return ModelUnavailable(f"{server.model} at {server.host} does not answer; {server.remedy} ({_cause(error) or reason})")


def _cause(error: BaseException) -> str:
    """What the system says of a connection that failed, where it says so."""
    cause = getattr(error, "os_error", None)
    if not isinstance(cause, OSError) or cause.errno is None:
        return ""
    return os.strerror(cause.errno) if cause.errno > 0 else cause.strerror or ""


def unanswered(server: Server, why: str) -> ModelUnavailable:
    """The error for a server that takes a request and says nothing."""
    return ModelUnavailable(f"{server.model} at {server.host} gave no answer: {why}; try again later.")


def broken(server: Server, why: str) -> ReplyBroken:
    """The error for a reply that stopped in the middle."""
    return ReplyBroken(f"The reply of {server.model} at {server.host} broke off: {why}.")


def unreadable(server: Server, payload: bytes) -> ReplyBroken:
    """The error for a reply that isn't what the wire promises."""
    words = server.quoted(payload[: 2 * LONGEST].decode(errors="replace")) or "nothing"
    return ReplyBroken(f"The reply of {server.model} at {server.host} can't be read; it sent {words}")


def page_error(server: Server, status: int) -> ModelRefused:
    """The error for a web page where an answer should have been."""
    remedy = "check base_url, and whether a proxy or a sign-in page stands in between"
    return ModelRefused(
        f"{server.host} sent a web page instead of an answer of {server.model} ({status}): {remedy}.", status=status
    )


def is_page(headers: Mapping[str, str], body: bytes = b"") -> bool:
    """Whether an answer is HTML, as proxies and sign-in pages send it."""
    return headers.get("content-type", "").lower().startswith("text/html") or body.lstrip()[:1] == b"<"


def _may_help(status: int) -> bool:
    """Whether another try may help."""
    return status in _TRY_AGAIN or status >= 500


def _judged(server: Server, status: int, headers: Mapping[str, str], error: Any) -> ModelError:
    marks = " ".join(_marks(error))
    words = server.quoted(_words(error))
    said = f" It said: {words}" if words else ""
    if status not in (401, 403, 429) and (status == 413 or _TOO_LONG.search(f"{marks} {words}")):
        return ContextTooLong(f"The conversation is more than {server.model} can read ({status}).{said}", status=status)
    if "tool_use_failed" in marks:
        return ReplyBroken(
            f"{server.model} at {server.host} wrote a call that its server couldn't read ({status}).{said}", status=status
        )
    if _BAD_IMAGE.search(words):
        remedy = "save it again as PNG or JPEG, or leave it out"
        return ModelRefused(f"{server.model} can't read an image that it was shown ({status}): {remedy}.{said}", status=status)
    if _OTHER_WIRE.search(words):
        return WrongWire(f"{server.model} is asked over /v1/responses ({status}).{said}", status=status)
    if _NO_TOOLS.search(words):
        return ToolsRefused(f"{_without_tools(server)} ({status}).{said}", status=status)
    if "insufficient_quota" in marks or status == 402 or _NO_CREDIT.search(words):
        return ModelRefused(f"The account for {server.model} has no credit left ({status}): check its plan.{said}", status=status)
    if _EXPIRED.search(f"{marks} {words}"):
        remedy = f"renew it, and set {server.key_variable}" if server.key_variable else "renew it"
        return ModelRefused(f"The key or session for {server.model} has expired ({status}): {remedy}.{said}", status=status)
    if "accessdenied" in marks:
        remedy = "check what the account may do, and the region"
        return ModelRefused(
            f"{server.host} does not let this account use {server.model} ({status}): {remedy}.{said}", status=status
        )
    if _may_help(status):
        message = f"{server.model} at {server.host} can't answer now ({status}); try again later.{said}"
        return ModelUnavailable(message, status=status, retry_after=_retry_after(headers, error))
    cause = 401 if _BAD_KEY.search(words) else 404 if _NO_MODEL.search(f"{marks} {words}") else status
    return ModelRefused(_refusal(server, cause, status, headers) + said, status=status)


def _without_tools(server: Server) -> str:
    probe = f"`treadle models probe {server.model}` finds out what it does best"
    return f'{server.model} at {server.host} takes no tools: use `--dialect auto`, or Agent(dialect="auto"); {probe}'


def _refusal(server: Server, cause: int, status: int, headers: Mapping[str, str]) -> str:
    """The sentence for a status that says the cause, which isn't always the one that came."""
    match cause:
        case 401 | 403 if server.key_variable:
            return f"{server.host} does not accept the key for {server.model} ({status}): check {server.key_variable}."
        case 401 | 403:
            kind = server.model.partition(":")[0]
            remedy = f"set its key, or headers under [providers.{kind}] in your treadle.toml"
            return f"{server.host} does not let you use {server.model} ({status}): {remedy}."
        case 404:
            name = server.model.partition(":")[2] or server.model
            return f"There is no model {name} at {server.address} ({status}). {server.absent}"
        case 301 | 302 | 303 | 307 | 308:
            where = server.quoted(headers.get("location", "another place"))
            return f"{server.address} has moved to {where} ({status}): set base_url to where it is now."
        case _:
            return f"{server.model} at {server.host} refused the request ({status})."


def _parsed(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = body.decode(errors="replace")
        return "" if text.lstrip()[:1] == "<" else text  # a page of HTML says nothing worth repeating


def _words(error: Any) -> str:
    """The sentence in an error object, wherever its server puts it."""
    match error:
        case str():
            return error
        case [first, *_]:
            return _words(first)
        case dict():
            inner = cast("dict[str, Any]", error)
            found = next(
                (inner[name] for name in ("error", "message", "Message", "detail", "msg", "errors") if inner.get(name)), ""
            )
            return _words(found)
        case _:
            return ""


def _marks(error: Any) -> Iterator[str]:
    """The short names and numbers that servers put beside the sentence."""
    if isinstance(error, dict):
        inner = cast("dict[str, Any]", error)
        yield from (str(inner[name]).lower() for name in ("code", "type", "status") if inner.get(name))
        yield from _marks(inner.get("error"))


def _status(mark: str) -> int | None:
    if mark.isdecimal() and len(mark) == 3:
        return int(mark)
    return _STATUS_OF.get(mark)


def _retry_after(headers: Mapping[str, str], error: Any) -> float | None:
    """Seconds to wait, from whichever header says so, or from the error itself."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    for name in ("retry-after", "x-ratelimit-reset", "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"):
        value = headers.get(name)
        if value and (seconds := _seconds(value)) is not None:
            return max(0.0, seconds)
    return next(_delays(error), None)


def _delays(error: Any) -> Iterator[float]:
    """Seconds to wait that stand among the details of an error, as Google writes them: `{"retryDelay": "17s"}`."""
    match error:
        case list():
            for inner in cast("list[Any]", error):
                yield from _delays(inner)
        case {"retryDelay": str(delay)}:
            if (seconds := _seconds(delay)) is not None:
                yield seconds
        case {"error": inner} | {"details": inner}:
            yield from _delays(inner)
        case _:
            pass


def _seconds(value: str) -> float | None:
    number = _number(value)
    if number is not None:
        return number - time.time() if number > 1e9 else number  # a moment since 1970, or a span
    span = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?(?:(\d+)ms)?", value.strip())
    if span and span.group():
        hours, minutes, seconds, milliseconds = (_number(part) or 0.0 for part in span.groups())
        return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    return _until(value)


def _until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime  # only where a date came: the module is slow to import

    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except ValueError:
        return None


def _number(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:
        return None
