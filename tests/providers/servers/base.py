"""What all mock servers share: the script of a case and its outcome, and the words in which a wire tells of a request.

A wire says what is wrong with a request and renders replies; `mock` answers, `history` looks at what has to come back.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from providers.script import Answer, Fail, Reply, Think
from providers.servers.http import Request, Response

KEY = "kit-key-4f1a"
SECRET_KEY = "kit-secret-9c3e"  # of the AWS key
REGION = "us-east-1"


@dataclass(frozen=True)
class Problem:
    """What is wrong with a request. A `repairable` one is named by the server so that a client can go without it and try again."""

    message: str
    status: int = 400
    param: str | None = None
    repairable: bool = False


@dataclass(frozen=True)
class Call:
    """A call in a conversation, as its server numbers it."""

    id: str
    name: str
    arguments: Any


@dataclass
class Turn:
    """A message of a request, in words of no wire."""

    role: str  # system, user, assistant, tool
    text: str = ""
    calls: list[Call] = field(default_factory=list)
    results: list[tuple[str, str]] = field(default_factory=list)  # ids of calls, and what came back
    opaque: Any = None  # what has to come back unchanged
    images: list[str] = field(default_factory=list)  # base64


@dataclass(frozen=True)
class Issued:
    """A reply that went out, with the ids of its calls and what has to come back with it."""

    reply: Reply
    calls: tuple[Call, ...]
    opaque: Any


@dataclass
class Expected:
    """What requests of a case have to carry, besides what was said before. `sends` are options, by the names that cases use."""

    instructions: str = ""
    image: str = ""
    tools: tuple[str, ...] = ()
    sends: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Session:
    """One server in one case: what it has yet to say, what it said, and what it found wrong."""

    script: list[tuple[str, Answer]]  # each answer with the prompt that it is an answer to
    expected: Expected = field(default_factory=Expected)
    done: list[tuple[str, Any, str]] = field(default_factory=list)  # calls that tools carried out: name, arguments, result
    issued: list[Issued] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    again: Fail | None = None  # what whoever comes back before that time is told
    not_before: float = 0.0

    @property
    def prompt(self) -> str:
        """The prompt that the next answer is an answer to."""
        return self.script[0][0] if self.script else ""

    @property
    def seals(self) -> set[str]:
        """What reasoning was sealed with here; another provider's seals are refused."""
        return {part.seal for issued in self.issued for part in issued.reply.parts if isinstance(part, Think)}


class Wire(Protocol):
    """One protocol, as one provider speaks it."""

    def serves(self, request: Request) -> bool:
        """Whether the request is for this wire, by its path."""
        ...

    def problems(self, request: Request, session: Session) -> Iterable[Problem]:
        """What is wrong with a request, the worst first."""
        ...

    def turns(self, body: Any) -> list[Turn]:
        """The conversation in a request."""
        ...

    def tools(self, body: Any) -> dict[str, Any]:
        """The tools on offer, with the JSON schema of each; None where it isn't JSON schema."""
        ...

    def options(self, body: Any) -> dict[str, Any]:
        """How the model is asked to write, by the names that cases use."""
        ...

    def wants_json(self, body: Any) -> bool:
        """Whether the request asks for JSON as the answer."""
        ...

    def issue(self, reply: Reply, session: Session, body: Any) -> Issued:
        """The reply with ids, and with what has to come back."""
        ...

    def render(self, issued: Issued, session: Session, request: Request) -> Response:
        """The response that carries a reply."""
        ...

    def fail(self, fail: Fail) -> Response:
        """The response for a failure."""
        ...

    def refuse(self, problem: Problem) -> Response:
        """The response for a request that isn't as the provider wants it."""
        ...


# What wires share


def json_response(status: int, value: Any, headers: Mapping[str, str] | None = None) -> Response:
    return Response(status, json.dumps(value, ensure_ascii=False).encode(), headers=headers or {})


def sse(events: Iterable[bytes], reply: Reply) -> Response:
    """Server-sent events; with keep-alives among them where the reply has that quirk."""
    comment = b": keep-alive\n\n" if "keep_alive" in reply.quirks else b""
    body = comment + b"".join(event + comment for event in events)
    return Response(200, body, "text/event-stream", stream=True, cut=reply.cut)


def page(status: int) -> Response:
    """What a proxy or a login page sends."""
    return Response(status, b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1><hr>nginx</body></html>", "text/html")


def retry_headers(fail: Fail) -> dict[str, str]:
    return {} if fail.retry_after is None else {"retry-after": f"{fail.retry_after:g}"}


def key_problems(request: Request, *headers: tuple[str, str]) -> list[Problem]:
    """Whether the key is in one of these headers."""
    if any(request.headers.get(name) == value for name, value in headers):
        return []
    return [Problem(f"the key isn't where this provider wants it: in {' or '.join(name for name, _ in headers)}", status=401)]
