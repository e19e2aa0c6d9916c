"""The course assistant over HTTP: `/api/query` and `/api/courses` as clients of the original know them, and the panel's own."""

from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute

from treadle import Host
from treadle.assistants.courses.library import library_of
from treadle.assistants.courses.operations import (
    CHAT,
    COURSES,
    FORGET,
    LESSON,
    LONGEST,
    PASSAGE,
    QUERY,
    SEARCH,
    SESSION,
    SESSIONS,
    CourseMessage,
    LessonAsked,
    Number,
    PassageAsked,
    QueryAsked,
    SearchAsked,
)
from treadle.assistants.courses.sessions import Sessions
from treadle.assistants.courses.sources import source_of
from treadle.assistants.courses.tutor import Reply, Tutor
from treadle.passages import Passage
from treadle.routes import Described, body_of, query_of, streamed, together

UNFIT = 422  # as clients of the original know it


class Service:
    """The endpoints."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._library = library_of(host)
        self._sessions = Sessions(host.home.folder)
        host.at_end(self._library.close)

    async def _tutor(self) -> Tutor:
        await self._library.keep_fresh()
        return Tutor(self._host, self._library, self._sessions, self._host.user)

    async def query(self, request: Request) -> Response:
        """Answer a question."""
        asked = await body_of(request, QueryAsked, unfit=UNFIT)
        question = _question(asked.query, "query")
        reply = await (await self._tutor()).ask(question, asked.session_id or "")
        if reply.stopped == "failed":
            raise HTTPException(502, reply.message)
        return JSONResponse({"answer": reply.message, **_rest(reply)})

    async def chat(self, request: Request) -> Response:
        """Answer a message of a session (`new` begins one), and tell what happens as it happens."""
        question = _question((await body_of(request, CourseMessage)).message, "message")
        events = (await self._tutor()).stream(question, request.path_params["session_id"])
        return streamed(_told(event) async for event in events)

    async def courses(self, request: Request) -> Response:
        """Which courses there are."""
        await self._library.keep_fresh()
        courses = (await self._library.catalogue()).courses
        titles = [course.name for course in courses]
        return JSONResponse(
            {"total_courses": len(courses), "course_titles": titles, "courses": [msgspec.to_builtins(each) for each in courses]}
        )

    async def search(self, request: Request) -> Response:
        """Passages that fit words. No model is needed."""
        asked = query_of(request, SearchAsked, unfit=UNFIT)
        searched = await self._library.search(_question(asked.q, "q"), asked.course, _number(asked.lesson))
        if searched.unknown:
            raise HTTPException(404, f"There is no course {asked.course[:200]!r}.")
        return JSONResponse({"found": [{"score": each.score, **await self._shown(each.passage)} for each in searched.found]})

    async def passage(self, request: Request) -> Response:
        """A passage, and what stands before and after it."""
        passage = await self._library.passage(query_of(request, PassageAsked, unfit=UNFIT).id)
        if passage is None:
            raise HTTPException(404, "There is no such passage any more: its document has changed.")
        before, after = await self._library.around(passage)
        beside = {"before": before.id if before else None, "after": after.id if after else None}
        return JSONResponse({**await self._shown(passage), **beside})

    async def lesson(self, request: Request) -> Response:
        """The passages of a lesson, in order."""
        asked = query_of(request, LessonAsked, unfit=UNFIT)
        course, number = (await self._library.catalogue()).by_key(asked.course), _number(asked.lesson)
        if course is None or (number is not None and course.lesson(number) is None):
            raise HTTPException(404, "There is no such lesson.")
        passages = await self._library.lesson(course, number)
        return JSONResponse({"course": course.name, "passages": [await self._shown(each) for each in passages]})

    async def _shown(self, passage: Passage) -> dict[str, Any]:
        source = source_of(passage, (await self._library.catalogue()).name_of(passage))
        told = {"text": passage.text, "source": source.text, "url": source.url, "course": source.course, "lesson": source.lesson}
        return {"id": passage.id, "place": passage.place, "headings": passage.headings, **told}

    async def sessions(self, request: Request) -> Response:
        """The person's conversations, the newest first."""
        return JSONResponse({"sessions": [msgspec.to_builtins(each) for each in await self._sessions.listed(self._host.user)]})

    async def session(self, request: Request) -> Response:
        """What was said in one."""
        exchanges = await self._sessions.exchanges(self._host.user, request.path_params["session_id"])
        if not exchanges:
            raise HTTPException(404, "There is no such conversation of yours.")
        return JSONResponse({"exchanges": [msgspec.to_builtins(each) for each in exchanges]})

    async def forget(self, request: Request) -> Response:
        """Forget one."""
        if not await self._sessions.remove(self._host.user, request.path_params["session_id"]):
            raise HTTPException(404, "There is no such conversation of yours.")
        return Response(status_code=204)


def _rest(reply: Reply) -> dict[str, Any]:
    """What of a reply is told beside its words."""
    told = msgspec.to_builtins(reply)
    return {key: value for key, value in told.items() if key not in ("message", "approvals")}


def _told(event: Any) -> Any:
    return {"event": "reply", **msgspec.to_builtins(event)} if isinstance(event, Reply) else event


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
            Described(f"{one}/chat", service.chat, CHAT, "POST"),
        ]
    )
