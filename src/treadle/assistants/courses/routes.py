"""The course assistant over HTTP: `/api/query` and `/api/courses` as clients of the original know them, and the panel's own."""

from contextlib import AsyncExitStack
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from treadle import AssistantSession, Host
from treadle.assistants.courses import assistant
from treadle.assistants.courses.library import Library, open_library
from treadle.assistants.courses.operations import (
    BEGIN,
    COURSES,
    FORGET,
    LESSON,
    LONGEST,
    PASSAGE,
    QUERY,
    SEARCH,
    SESSION,
    SESSIONS,
    LessonAsked,
    Number,
    PassageAsked,
    QueryAsked,
    SearchAsked,
)
from treadle.assistants.courses.session import exchanges, reply_of
from treadle.assistants.courses.sessions import Sessions
from treadle.assistants.courses.sources import source_of
from treadle.passages import Passage
from treadle.routes import Described, body_of, query_of, together

UNFIT = 422  # as clients of the original know it


class Service:
    """The endpoints."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._found: Library | None = None
        self._sessions = Sessions(host.home.folder)
        self._opened = AsyncExitStack()
        host.at_end(self._opened.aclose)

    async def _library(self) -> Library:
        """The material, which stays open for as long as the server runs."""
        if self._found is None:
            self._found = await self._opened.enter_async_context(open_library(self._host))
        return self._found

    async def query(self, request: Request) -> Response:
        """Answer a question."""
        asked = await body_of(request, QueryAsked, unfit=UNFIT)
        question = _question(asked.query, "query")
        await self._library()
        session = await self._sessions.begin(self._host.user, asked.session_id or "")
        reply = reply_of(await AssistantSession(assistant, self._host, {"session_id": session}).run(question))
        if reply.stopped == "failed":
            raise HTTPException(502, reply.message)
        told = msgspec.to_builtins(reply)
        return JSONResponse({"answer": told.pop("message"), **told})

    async def courses(self, request: Request) -> Response:
        """Which courses there are."""
        library = await self._library()
        await library.keep_fresh()
        courses = (await library.catalogue()).courses
        titles = [course.name for course in courses]
        return JSONResponse(
            {"total_courses": len(courses), "course_titles": titles, "courses": [msgspec.to_builtins(each) for each in courses]}
        )

    async def search(self, request: Request) -> Response:
        """Passages that fit words. No model is needed."""
        asked = query_of(request, SearchAsked, unfit=UNFIT)
        searched = await (await self._library()).search(_question(asked.q, "q"), asked.course, _number(asked.lesson))
        if searched.unknown:
            raise HTTPException(404, f"There is no course {asked.course[:200]!r}.")
        return JSONResponse({"found": [{"score": each.score, **await self._shown(each.passage)} for each in searched.found]})

    async def passage(self, request: Request) -> Response:
        """A passage, and what stands before and after it."""
        passage = await (await self._library()).passage(query_of(request, PassageAsked, unfit=UNFIT).id)
        if passage is None:
            raise HTTPException(404, "There is no such passage any more: its document has changed.")
        before, after = await (await self._library()).around(passage)
        beside = {"before": before.id if before else None, "after": after.id if after else None}
        return JSONResponse({**await self._shown(passage), **beside})

    async def lesson(self, request: Request) -> Response:
        """The passages of a lesson, in order."""
        asked = query_of(request, LessonAsked, unfit=UNFIT)
        course, number = (await (await self._library()).catalogue()).by_key(asked.course), _number(asked.lesson)
        if course is None or (number is not None and course.lesson(number) is None):
            raise HTTPException(404, "There is no such lesson.")
        passages = await (await self._library()).lesson(course, number)
        return JSONResponse({"course": course.name, "passages": [await self._shown(each) for each in passages]})

    async def _shown(self, passage: Passage) -> dict[str, Any]:
        source = source_of(passage, (await (await self._library()).catalogue()).name_of(passage))
        told = {"text": passage.text, "source": source.text, "url": source.url, "course": source.course, "lesson": source.lesson}
        return {"id": passage.id, "place": passage.place, "headings": passage.headings, **told}

    async def sessions(self, request: Request) -> Response:
        """The person's conversations, the newest first."""
        return JSONResponse({"sessions": [msgspec.to_builtins(each) for each in await self._sessions.listed(self._host.user)]})

    async def begin_session(self, request: Request) -> Response:
        """A new one. What is asked in it is asked as `POST /api/runs` with `{"session_id": …}` as its context."""
        return JSONResponse({"session_id": await self._sessions.begin(self._host.user)}, 201)

    async def session(self, request: Request) -> Response:
        """What was said in one."""
        session = request.path_params["session_id"]
        if not await self._sessions.has(self._host.user, session):
            raise HTTPException(404, "There is no such conversation of yours.")
        return JSONResponse({"exchanges": [msgspec.to_builtins(each) for each in await exchanges(self._host, session)]})

    async def forget(self, request: Request) -> Response:
        """Forget one."""
        if not await self._sessions.remove(self._host.user, request.path_params["session_id"]):
            raise HTTPException(404, "There is no such conversation of yours.")
        return Response(status_code=204)


def _question(text: str, field: str) -> str:
    if not text.strip():
        raise HTTPException(422, f"Ask something in `{field}`.")
    if len(text) > LONGEST:
        raise HTTPException(413, f"A question may have {LONGEST:,} characters at most; this one has {len(text):,}.")
    return text


def _number(lesson: Number) -> int | None:
    return None if lesson == "" else lesson


def routes(host: Host) -> list[BaseRoute]:
    """The routes."""
    service = Service(host)
    one = "/api/courses/sessions/{session_id}"
    return together(
        [
            Described("/api/query", service.query, QUERY, "POST"),
            Described("/api/courses", service.courses, COURSES),
            Described("/api/courses/search", service.search, SEARCH),
            Described("/api/courses/passage", service.passage, PASSAGE),
            Described("/api/courses/lesson", service.lesson, LESSON),
            Described("/api/courses/sessions", service.sessions, SESSIONS),
            Described(one, service.session, SESSION),
            Described(one, service.forget, FORGET, "DELETE"),
            Described("/api/courses/sessions", service.begin_session, BEGIN, "POST"),
        ]
    )
