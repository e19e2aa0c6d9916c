"""A case: what is asked of a library against which server, and what has to come out. `run` carries one out and judges it."""

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

from providers.script import Answer, Tokens
from providers.servers import SERVERS, Server
from providers.servers.base import Expected, Session
from providers.servers.http import serve
from providers.servers.mock import Mock
from providers.toolbox import Done, bind, covers, data_of

SECONDS = 40  # after which a library is taken to hang
IMAGE = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")


@dataclass(frozen=True)
class Leg:
    """One prompt of a conversation, and what its server answers to the requests that follow. `at` is another server."""

    prompt: str
    answers: tuple[Answer, ...]
    at: str = ""


@dataclass(frozen=True)
class Expect:
    """What has to come out.

    text     the answer
    calls    what the tools were called with, in order; defaults may be filled in
    error    the class of the error that the library ends with: auth, not_found, context, rate_limit, unavailable, filtered,
             length, broken, refused, or any
    output   the structured answer, as JSON data
    tokens   what the library says that it used
    answers  how many of the server's answers are taken; all of them unless said otherwise
    """

    text: str | None = None
    calls: tuple[tuple[str, Any], ...] = ()
    error: str = ""
    output: Any = None
    tokens: Tokens | None = None
    answers: int | None = None


@dataclass(frozen=True)
class Case:
    """A case. `expects` are the outcomes of which one is right; `sends` is what requests must carry of its options.

    `search` asks for the provider's own web search besides the tools; `image` for a picture with the prompt.
    """

    id: str
    at: str
    topic: str
    legs: tuple[Leg, ...]
    expects: tuple[Expect, ...]
    stream: bool = False
    tools: tuple[str, ...] = ()
    instructions: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    sends: Mapping[str, Any] = field(default_factory=dict)
    output: Any = None
    image: bool = False
    search: bool = False

    @property
    def server(self) -> Server:
        return SERVERS[self.at]

    @property
    def wire(self) -> str:
        return self.server.wire

    @property
    def needs(self) -> set[str]:
        """The packages whose types its requests are checked against."""
        return {SERVERS[self.at_of(leg)].needs for leg in self.legs} - {""}

    def at_of(self, leg: Leg) -> str:
        return leg.at or self.at


@dataclass(frozen=True)
class Task:
    """What an adapter gets: the case, the addresses of its servers by their names, and its tools."""

    case: Case
    urls: Mapping[str, str]
    tools: Sequence[Callable[..., Any]]


@dataclass
class Outcome:
    """What a library made of a case."""

    text: str | None = None
    output: Any = None
    error: str = ""
    detail: str = ""
    tokens: Tokens | None = None


class Unsupported(Exception):
    """The library, or its adapter, has no way to do what the case asks."""


class Adapter(Protocol):
    """Runs cases with one library."""

    async def run(self, task: Task) -> Outcome:
        """Ask the library what the case asks. Raises `Unsupported`."""
        ...


@dataclass(frozen=True)
class Verdict:
    """Whether a case passed: it did where nothing `failed`. `unsupported` says why it wasn't tried."""

    case: Case
    failed: tuple[str, ...] = ()
    unsupported: str = ""

    @property
    def passed(self) -> bool:
        return not self.failed and not self.unsupported


async def run(case: Case, adapter: Adapter) -> Verdict:
    """Carry a case out against servers of its own."""
    done: list[Done] = []
    sessions = {at: _session(case, at, done) for at in dict.fromkeys(case.at_of(leg) for leg in case.legs)}
    with ExitStack() as stack:
        urls = {at: stack.enter_context(serve(Mock(SERVERS[at].wires(), session))) for at, session in sessions.items()}
        try:
            async with asyncio.timeout(SECONDS):
                outcome = await adapter.run(Task(case, urls, bind(case.tools, done)))
        except Unsupported as reason:
            return Verdict(case, unsupported=str(reason))
        except TimeoutError:
            outcome = Outcome(error="hangs")
    return Verdict(case, tuple(_judged(case, outcome, sessions, done)))


def _session(case: Case, at: str, done: list[Done]) -> Session:
    script = [(leg.prompt, answer) for leg in case.legs if case.at_of(leg) == at for answer in leg.answers]
    image = base64.b64encode(IMAGE).decode() if case.image else ""
    return Session(script, Expected(case.instructions, image, case.tools, case.sends), done)


def _judged(case: Case, outcome: Outcome, sessions: Mapping[str, Session], done: list[Done]) -> list[str]:
    violations = [f"violation: {line}" for session in sessions.values() for line in session.violations]
    left = sum(len(session.script) for session in sessions.values())
    total = sum(len(leg.answers) for leg in case.legs)
    tries = [_differences(expect, outcome, total - left, total, done) for expect in case.expects]
    repairs = [f"(repaired: {line})" for session in sessions.values() for line in session.repairs]
    best = min(tries, key=len)
    return [*violations, *best, *(repairs if violations or best else ())]


def _differences(expect: Expect, outcome: Outcome, taken: int, total: int, done: list[Done]) -> list[str]:
    found: list[str] = []
    if not (expect.error == outcome.error or (expect.error == "any" and outcome.error not in ("", "hangs"))):
        found.append(f"ended with {outcome.error or 'an answer'}, not {expect.error or 'an answer'} ({outcome.detail[:300]})")
    if expect.text is not None and (outcome.text or "").strip() != expect.text.strip():
        found.append(f"answered {(outcome.text or '')[:200]!r}, not {expect.text[:200]!r}")
    if expect.output is not None and data_of(outcome.output) != expect.output:
        found.append(f"the structured answer is {outcome.output!r}, not {expect.output!r}")
    if expect.tokens is not None and outcome.tokens != expect.tokens:
        found.append(f"counted {outcome.tokens}, not {expect.tokens}")
    if taken != (total if expect.answers is None else expect.answers):
        found.append(f"took {taken} answers of {total}")
    called = [(name, arguments) for name, arguments, _ in done]
    if len(called) != len(expect.calls) or not all(
        got[0] == want[0] and covers(got[1], want[1]) for got, want in zip(called, expect.calls, strict=False)
    ):
        found.append(f"called {str(called)[:300]}, not {str(expect.calls)[:300]}")
    return found
