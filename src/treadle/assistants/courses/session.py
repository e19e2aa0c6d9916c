"""The course assistant as every face has it: its agent, on the person's own material, and its conversations with their sources.

The context of a conversation is `{"session_id": ID}`; without one nothing is remembered. `course` and
`document` in it are its scope.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle import (
    AssistantSession,
    ContextNotFound,
    Home,
    Host,
    LateTools,
    Message,
    Request,
    RunContext,
    RunResult,
    SessionReply,
    Text,
    Toolset,
    TreadleError,
)
from treadle.assistants.courses import assistant
from treadle.assistants.courses.citations import Citation, cite, found_by
from treadle.assistants.courses.library import open_library
from treadle.assistants.courses.plan import Plan as Steps
from treadle.assistants.courses.plan import plan_of
from treadle.assistants.courses.prompts import INSTRUCTIONS, notes, told
from treadle.assistants.courses.scope import Scope, resolve, scope_in
from treadle.assistants.courses.sessions import Exchange, Sessions
from treadle.assistants.courses.settings import CoursesSettings
from treadle.assistants.courses.sources import Source, sources_of
from treadle.assistants.courses.tools import course_tools


class Reply(Struct, frozen=True):
    """An answer, with where it is from."""

    message: str
    sources: tuple[Source, ...]
    citations: tuple[Citation, ...]
    session_id: str
    run_id: str
    stopped: str
    tokens_used: int


def reply_of(reply: SessionReply) -> Reply:
    """What programs are told of a turn that ended."""
    result, data = reply.result, reply.data
    is_answer = result.stopped in ("answered", "limit")
    words = data["answer"] if is_answer else result.reason or result.text
    tokens = result.usage.total_tokens
    return Reply(words, data["sources"], data["citations"], data["session_id"], result.run_id, result.stopped, tokens)


def configure(host: Host) -> Mapping[str, Any]:
    """What depends on the person: which courses they have, and how often may be looked for one question."""

    async def instructions(_: RunContext[Any]) -> str:
        try:
            async with open_library(host) as library:
                courses = (await library.catalogue()).within(scope_in(host.about).course).courses
                return told([course.name for course in courses])
        except TreadleError:
            return INSTRUCTIONS  # the tools will say what is wrong; an answer without them is better than none

    rounds = _settings(host).rounds
    return {"instructions": instructions, "limits": replace(assistant.limits, rounds=rounds), "notes": notes(rounds)}


def toolsets(host: Host) -> Sequence[Toolset]:
    """The tools, on what this person has added, which is brought up to date before they are used."""

    @asynccontextmanager
    async def tools() -> AsyncGenerator[Toolset]:
        async with open_library(host) as library:
            await library.keep_fresh()
            yield course_tools(library, scope_in(host.about))

    return (LateTools(tools),)


def plan(host: Host) -> Callable[[Request], Awaitable[Steps]]:
    """How a small model is led through what this person has added."""

    async def steps(request: Request) -> Steps:
        async with open_library(host) as library:
            return plan_of((await library.catalogue()).within(scope_in(host.about).course))(request)

    return steps


async def begin(host: Host, run_id: str, question: str) -> Sequence[Message]:
    """Keep a question in its session, and give the last exchanges. What was looked up for them isn't among it."""
    await find_scope(host, **scope_in(host.about).context)
    session = host.about.get("session_id", "")
    if not session:
        return ()
    sessions, most = Sessions(host.home.folder), _settings(host).exchanges
    if not await sessions.has(host.user, session):
        raise ContextNotFound(f"There is no conversation {session} of yours; leave it out to begin one.")
    before = [each for each in await sessions.exchanges(host.user, session) if each.answer]
    await sessions.keep(session, Exchange(question, "", run_id=run_id, at=time.time()))
    return [message for each in before[max(0, len(before) - most) :] for message in _messages(each)] if most else ()


async def reply(host: Host, result: RunResult[Any]) -> dict[str, Any]:
    """The answer with its citations, and where it is from. It is kept in its session."""
    sources, session = sources_of(result.calls), host.about.get("session_id", "")
    answer, citations = cite(result.text, found_by(result.calls))
    if session and result.stopped in ("answered", "limit"):
        await Sessions(host.home.folder).answer(result.run_id, answer, sources, citations)
    return {"answer": answer, "sources": sources, "citations": citations, "session_id": session}


async def find_scope(host: Host, course: str = "", document: str = "") -> Scope:
    """Return the scope for a course and a document of it, as people name them; `ContextNotFound` where there is none."""
    if not course and not document:
        return Scope()
    async with open_library(host) as library:
        return resolve(await library.catalogue(), course, document)


async def exchanges(host: Host, session: str) -> list[Exchange]:
    """What was said in a session. An answer whose process was killed before it was kept is in the journal, and kept now."""
    sessions, mine = Sessions(host.home.folder), AssistantSession(assistant, host, {"session_id": session})
    for each in await sessions.exchanges(host.user, session):
        if not each.answer:
            await mine.replies(each.run_id, await host.home.journal.read(each.run_id))
    return await sessions.exchanges(host.user, session)


def _settings(host: Host) -> CoursesSettings:
    return host.settings.assistant("courses")


def _messages(exchange: Exchange) -> Sequence[Message]:
    return (Message("person", (Text(exchange.question),)), Message("model", (Text(exchange.answer),)))


def citation_lines(citations: Sequence[Citation]) -> list[str]:
    """Citations, for reading."""
    return [" ".join([f"[{each.number}]", each.text, f"({each.place})", *([each.url] if each.url else [])]) for each in citations]


def source_lines(sources: Sequence[Source]) -> list[str]:
    """Sources, for reading."""
    return [_line(each) for each in sources]


def _line(source: Source) -> str:
    places = "; ".join([each.place.rpartition(", ")[2] for each in source.passages[:3]])
    return " ".join([source.text, *([f"({places})"] if places else []), *([source.url] if source.url else [])])


async def erase(home: Home, run_ids: Collection[str]) -> None:
    """Delete the questions and answers of runs that are deleted."""
    await Sessions(home.folder).erase(run_ids)
