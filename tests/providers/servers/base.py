"""What all mock servers share: the script of a case, the history that has to come back, and the verdict on each request.

A wire renders replies and says what is wrong with a request; `Mock` answers with the provider's own error and writes it down.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from providers.script import Answer, Ask, Fail, Give, Reply, Say
from providers.servers.http import Request, Response
from providers.servers.schemas import schema_problems
from providers.toolbox import covers

KEY = "kit-key-4f1a"
SECRET_KEY = "kit-secret-9c3e"  # of the AWS key
REGION = "us-east-1"
EARLY = 0.02  # seconds by which a retry may come before its time: clocks differ


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


class Mock:
    """A server for one leg of a case."""

    def __init__(self, wires: Sequence[Wire], session: Session) -> None:
        self.session = session
        self._wires = wires

    def __call__(self, request: Request) -> Response:
        session = self.session
        wire = next((wire for wire in self._wires if wire.serves(request)), None)
        if wire is None:
            session.violations.append(f"{request.method} {request.target}: there is nothing at this path")
            return Response(404, b'{"error":{"message":"Not found"}}')
        session.requests.append(request)
        if session.again is not None and time.monotonic() < session.not_before - EARLY:
            return wire.fail(session.again)  # too early: the same refusal once more
        problems = list(wire.problems(request, session))
        problems = problems or [*history_problems(wire.turns(request.body), session), *offer_problems(wire, request.body, session)]
        if problems:
            return self._refuse(wire, problems)
        return self._answer(wire, request)

    def _refuse(self, wire: Wire, problems: list[Problem]) -> Response:
        for problem in problems:
            (self.session.repairs if problem.repairable else self.session.violations).append(problem.message)
        return wire.refuse(problems[0])

    def _answer(self, wire: Wire, request: Request) -> Response:
        if not self.session.script:
            self.session.violations.append("one request more than the case has answers for")
            return wire.refuse(Problem("The script of this server is over."))
        _, answer = self.session.script.pop(0)
        if isinstance(answer, Fail):
            if answer.retry_after:
                self.session.again, self.session.not_before = answer, time.monotonic() + answer.retry_after
            return wire.fail(answer)
        issued = wire.issue(_given(answer, wire, request.body, self.session), self.session, request.body)
        self.session.issued.append(issued)
        return wire.render(issued, self.session, request)


def _given(reply: Reply, wire: Wire, body: Any, session: Session) -> Reply:
    """The reply with its structured answer in the way that the request asks for."""

    def given(part: Any) -> Any:
        if not isinstance(part, Give):
            return part
        extra = [name for name in wire.tools(body) if name not in session.expected.tools]
        return Say(json.dumps(part.value)) if wire.wants_json(body) or not extra else Ask(extra[0], part.value)

    return replace(reply, parts=tuple(given(part) for part in reply.parts))


# What every request of a conversation has to carry


def history_problems(turns: list[Turn], session: Session) -> list[Problem]:
    """What is lost or wrong of what was said before: prompts, calls, their results, what is opaque."""
    expected = session.expected
    said = "\n".join(turn.text for turn in turns if turn.role == "user")
    system = "\n".join(turn.text for turn in turns if turn.role == "system")
    images = [image for turn in turns for image in turn.images]
    found = [] if session.prompt in said else ["the user's prompt isn't in the request"]
    found += [] if expected.instructions in system else ["the instructions aren't in the request"]
    found += [] if not expected.image or expected.image in images else ["the image isn't in the request"]
    heard = "\n".join([*(turn.text for turn in turns), *(text for turn in turns for _, text in turn.results)])
    found += [f"the result of {name} isn't in the request" for name, _, result in session.done if result not in heard]
    found += _pairing(turns)
    if not found:
        found += _replies(turns, session)
    return [Problem(message) for message in found]


def _pairing(turns: list[Turn]) -> list[str]:
    """Every call has its result, directly after it; every result has its call."""
    found: list[str] = []
    waiting: list[str] = []
    for turn in turns:
        if waiting and not turn.results:
            found.append(f"calls {waiting} have no results directly after them")
            waiting = []
        for call_id, _ in turn.results:
            if call_id in waiting:
                waiting.remove(call_id)
            else:
                found.append(f"there is a result for {call_id!r}, which is no open call")
        waiting += [call.id for call in turn.calls]
    return found + ([f"calls {waiting} have no results"] if waiting else [])


def _replies(turns: list[Turn], session: Session) -> list[str]:
    """Replies with calls, and paused ones, come back as they were. A reply that broke off may be left out."""
    paused = [issued.opaque for issued in session.issued if issued.reply.finish == "pause"]
    back = [turn for turn in turns if turn.role == "assistant" and (turn.calls or (turn.opaque and turn.opaque in paused))]
    sent = [issued for issued in session.issued if issued.calls or issued.reply.finish == "pause"]
    whole = [issued for issued in sent if issued.reply.whole]
    tries = [_compared(turns, back, wanted, session) for wanted in (whole, sent)]
    return min(tries, key=len)


def _compared(turns: list[Turn], back: list[Turn], sent: list[Issued], session: Session) -> list[str]:
    back = back[-len(sent) :] if sent else []
    if len(back) < len(sent):
        return [f"only {len(back)} of {len(sent)} replies that have to come back did"]
    results = {call_id: text for turn in turns for call_id, text in turn.results}
    found: list[str] = []
    for turn, issued in zip(back, sent, strict=True):
        found += _same(turn, issued, session)
        if not found:
            found += _returned(turn, issued, results, session)
    return found


def _same(turn: Turn, issued: Issued, session: Session) -> list[str]:
    """Names in order, and the arguments of calls that were carried out: of others, servers don't care."""
    asked = [(call.name, call.arguments) for call in issued.calls]
    back = [(call.name, call.arguments) for call in turn.calls]
    done = [_done(call, session) for call in issued.calls]
    if [name for name, _ in asked] != [name for name, _ in back] or any(
        was and a != b for was, a, b in zip(done, asked, back, strict=True)
    ):
        return [f"the calls {_short(asked)} came back as {_short(back)}"]
    if issued.opaque and turn.opaque != issued.opaque:
        return [f"what has to come back unchanged came back as {_short(turn.opaque)}, not {_short(issued.opaque)}"]
    return []


def _done(call: Call, session: Session) -> list[str]:
    """What tools returned for this call."""
    return [result for name, arguments, result in session.done if name == call.name and covers(arguments, call.arguments)]


def _returned(turn: Turn, issued: Issued, results: Mapping[str, str], session: Session) -> list[str]:
    """The results that tools gave stand at their own calls."""
    found: list[str] = []
    for asked, back in zip(issued.calls, turn.calls, strict=True):
        given = _done(asked, session)
        if given and not any(result in results.get(back.id, "") for result in given):
            found.append(f"the result of {asked.name} came back as {_short(results.get(back.id))}")
    return found


def offer_problems(wire: Wire, body: Any, session: Session) -> list[Problem]:
    """Tools whose schemas are no JSON schemas, tools that are missing, and options that are."""
    offered = wire.tools(body)
    found = [f"the tool {name} isn't on offer" for name in session.expected.tools if offered and name not in offered]
    for name, schema in offered.items():
        found += schema_problems(name, schema)
    sent = wire.options(body)
    for name, value in session.expected.sends.items():
        if not (sent[name] if value is True else sent[name] == value):
            found.append(f"the option {name} is sent as {sent[name]!r}, not {value!r}")
    return [Problem(message) for message in found]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 700 else text[:699] + "…"


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
