"""Failures of a model's server as Treadle's errors: one sentence that says what to do, never a key.

Statuses, headers, bodies and network exceptions are converted here; `http` and the wires raise the results.
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

MAX_QUOTED = 300  # characters of a server's own words in a message

_RETRYABLE_STATUSES = frozenset((408, 409, 424, 425, 429))

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
_RETRY_WORDS = re.compile(
    r"(?:try again|retry) (?:in|after) ((?:\d+h)?(?:\d+m(?!s))?[\d.]*(?:ms|s\b)?)(?: ?(seconds?))?", re.IGNORECASE
)
_NO_CREDIT = re.compile(r"credit balance is too low|insufficient (balance|credits?|funds)|requires more credits", re.IGNORECASE)
_BAD_KEY = re.compile(r"api[ _]key[ _](not valid|invalid|expired)", re.IGNORECASE)  # Google says it with status 400


class ServerMessage(Struct, frozen=True):
    """A server's own message, complete, and the object that contained it."""

    words: str
    error: Any


class ServerIdentity:
    """The server an error is about: a model, its URL, and what to check when a request fails."""

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

    def quote(self, words: str) -> str:
        """Return a server's own message: one line, shortened, with keys redacted."""
        words = " ".join(Redactor(known_secrets=self._secrets).text(words).split())
        return words if len(words) <= MAX_QUOTED else words[: MAX_QUOTED - 1] + "…"


def describe_absence(base_url: str) -> str:
    """Return what to check if a server with OpenAI's paths has no such model, or nothing at all at its path."""
    if urlsplit(base_url).path.strip("/"):
        return "Check the model's name and the base_url."
    return "Check the model's name and the base_url: it has no path, and most servers want /v1 at its end."


def error_from_response(server: ServerIdentity, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """Return the error for an HTTP status that isn't a success."""
    if (is_html_type(headers) or body.lstrip()[:1] == b"<") and not _is_retryable(status):
        return html_page_error(server, status)
    error = _parse_body(body)
    kind = headers.get("x-amzn-errortype", "").partition(":")[0]  # AWS names the failure there
    judged = _classify_error(server, status, headers, {"type": kind, "error": error} if kind else error)
    judged.said = ServerMessage(_error_text(error), error)
    return judged


def error_from_object(server: ServerIdentity, error: Any) -> ModelError:
    """Return the error for an error object in place of a reply."""
    status = next((status for word in _error_codes(error) if (status := _status_of_code(word))), 500)
    return _classify_error(server, status, {}, error)


def unreachable_error(server: ServerIdentity, error: BaseException) -> ModelUnavailable:
    """Return the error for a server that can't be reached: not running, unknown host, invalid certificate, too slow."""
    reason = server.quote(str(error)) or "no connection in time"
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        remedy = "check the address, or let SSL_CERT_FILE name the authority behind it"
        return ModelUnavailable(f"The certificate of {server.host} for {server.model} isn't trusted here; {remedy} ({reason})")
    return ModelUnavailable(
        f"{server.model} at {server.host} does not answer; {server.remedy} ({_connection_cause(error) or reason})"
    )


def _connection_cause(error: BaseException) -> str:
    """Return the system's reason for a failed connection, if there is one."""
    cause = getattr(error, "os_error", None)
    if not isinstance(cause, OSError) or cause.errno is None:
        return ""
    return os.strerror(cause.errno) if cause.errno > 0 else cause.strerror or ""


def no_answer_error(server: ServerIdentity, why: str) -> ModelUnavailable:
    """Return the error for a server that accepts a request and doesn't respond."""
    return ModelUnavailable(f"{server.model} at {server.host} gave no answer: {why}; try again later.")


def broken_reply_error(server: ServerIdentity, why: str) -> ReplyBroken:
    """Return the error for a reply that stopped in the middle."""
    return ReplyBroken(f"The reply of {server.model} at {server.host} broke off: {why}.")


def unreadable_reply_error(server: ServerIdentity, payload: bytes) -> ReplyBroken:
    """Return the error for a reply that isn't what the wire specifies."""
    words = server.quote(payload[: 2 * MAX_QUOTED].decode(errors="replace")) or "nothing"
    return ReplyBroken(f"The reply of {server.model} at {server.host} can't be read; it sent {words}.")


def html_page_error(server: ServerIdentity, status: int) -> ModelRefused:
    """Return the error for a web page in place of a response."""
    remedy = "check base_url, and whether a proxy or a sign-in page stands in between"
    return ModelRefused(
        f"{server.host} sent a web page instead of an answer of {server.model} ({status}): {remedy}.", status=status
    )


def is_html_type(headers: Mapping[str, str]) -> bool:
    """Return whether a response is HTML by its type, as proxies and sign-in pages send it."""
    return headers.get("content-type", "").lower().startswith("text/html")


def _is_retryable(status: int) -> bool:
    """Return whether a retry may help."""
    return status in _RETRYABLE_STATUSES or status >= 500


def _classify_error(server: ServerIdentity, status: int, headers: Mapping[str, str], error: Any) -> ModelError:
    marks = " ".join(_error_codes(error))
    words = server.quote(_error_text(error))
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
        return ToolsRefused(f"{_tools_refused_text(server)} ({status}).{said}", status=status)
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
    if _is_retryable(status):
        message = f"{server.model} at {server.host} can't answer now ({status}); try again later.{said}"
        return ModelUnavailable(message, status=status, retry_after=_find_retry_after(headers, error))
    cause = 401 if _BAD_KEY.search(words) else 404 if _NO_MODEL.search(f"{marks} {words}") else status
    return ModelRefused(_refusal_text(server, cause, status, headers) + said, status=status)


def _tools_refused_text(server: ServerIdentity) -> str:
    probe = f"`treadle models probe {server.model}` finds out what it does best"
    return f'{server.model} at {server.host} takes no tools: use `--dialect auto`, or Agent(dialect="auto"); {probe}'


def _refusal_text(server: ServerIdentity, cause: int, status: int, headers: Mapping[str, str]) -> str:
    """Return the message for the status that is the cause, which isn't always the one that was sent."""
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
            where = server.quote(headers.get("location", "another place"))
            return f"{server.address} has moved to {where} ({status}): set base_url to where it is now."
        case _:
            return f"{server.model} at {server.host} refused the request ({status})."


def _parse_body(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = body.decode(errors="replace")
        return "" if text.lstrip()[:1] == "<" else text  # a page of HTML says nothing worth repeating


def _error_text(error: Any) -> str:
    """Return the message in an error object, wherever its server puts it."""
    match error:
        case str():
            return error
        case [first, *_]:
            return _error_text(first)
        case dict():
            inner = cast("dict[str, Any]", error)
            found = next(
                (inner[name] for name in ("error", "message", "Message", "detail", "msg", "errors") if inner.get(name)), ""
            )
            return _error_text(found)
        case _:
            return ""


def _error_codes(error: Any) -> Iterator[str]:
    """Yield the short names and numbers that servers put beside the message."""
    if isinstance(error, dict):
        inner = cast("dict[str, Any]", error)
        yield from (str(inner[name]).lower() for name in ("code", "type", "status") if inner.get(name))
        yield from _error_codes(inner.get("error"))


def _status_of_code(mark: str) -> int | None:
    if mark.isdecimal() and len(mark) == 3:
        return int(mark)
    return _STATUS_OF.get(mark)


def _find_retry_after(headers: Mapping[str, str], error: Any) -> float | None:
    """Return the seconds to wait, from whichever header says so, or from the error itself."""
    milliseconds = _parse_number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    told = [_parse_seconds(headers.get("retry-after", "")), _find_reset(headers), next(_find_delays(error), None)]
    found = next((seconds for seconds in told if seconds is not None), None)
    if found is None and (words := _RETRY_WORDS.search(_error_text(error))) is not None:
        found = _parse_seconds(f"{words[1]}{words[2][:1] if words[2] else ''}")
    return None if found is None else max(0.0, found)


def _find_reset(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until a limit is reset: the longest of those that nothing remains of, if that is said."""
    found: dict[str, float] = {}
    for kind in ("", "-requests", "-tokens"):
        seconds = _parse_seconds(headers.get(f"x-ratelimit-reset{kind}", ""))
        if seconds is not None:
            found[kind] = seconds
    spent = [seconds for kind, seconds in found.items() if headers.get(f"x-ratelimit-remaining{kind}") == "0"]
    return max(spent or found.values(), default=None)


def _find_delays(error: Any) -> Iterator[float]:
    """Yield the seconds to wait from the details of an error, as Google or OpenRouter writes them: `{"retryDelay": "17s"}`."""
    match error:
        case list():
            for inner in cast("list[Any]", error):
                yield from _find_delays(inner)
        case {"retryDelay": str(delay)}:
            if (seconds := _parse_seconds(delay)) is not None:
                yield seconds
        case {"retry_after_seconds": value} | {"retry_after": value} if (seconds := _parse_seconds(str(value))) is not None:
            yield seconds
        case {"X-RateLimit-Reset": value} if (seconds := _parse_seconds(str(value))) is not None:
            yield seconds
        case {"error": inner} | {"details": inner} | {"metadata": inner} | {"headers": inner}:
            yield from _find_delays(inner)
        case _:
            pass


def _parse_seconds(value: str) -> float | None:
    number = _parse_number(value)
    if number is not None:
        number /= 1000 if 1e12 < number < float("inf") else 1  # milliseconds
        return number - time.time() if 1e9 < number < float("inf") else number  # a moment since 1970, or a span
    span = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?(?:(\d+)ms)?", value.strip())
    if span and span.group():
        hours, minutes, seconds, milliseconds = (_parse_number(part) or 0.0 for part in span.groups())
        return hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    return _seconds_until(value)


def _seconds_until(date: str) -> float | None:
    from datetime import datetime  # only where a date came: the modules are slow to import
    from email.utils import parsedate_to_datetime

    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return read(date).timestamp() - time.time()
        except ValueError:
            continue
    return None


def _parse_number(value: str | None) -> float | None:
    try:
        return float(value) if value else None
    except ValueError:
        return None
