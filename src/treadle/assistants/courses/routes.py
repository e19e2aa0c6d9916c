"""The course assistant over HTTP: `/api/query` and `/api/courses` as clients of the original know them, and the panel's own."""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle import AssistantSession, ContextNotFound, Host, Runs
from treadle.assistants.courses import assistant
from treadle.assistants.courses.catalogue import Course
from treadle.assistants.courses.citations import Citation
from treadle.assistants.courses.library import Library, open_library
from treadle.assistants.courses.session import exchanges, find_scope, reply_of
from treadle.assistants.courses.sessions import Exchange, Session, Sessions
from treadle.assistants.courses.sources import Source, source_of
from treadle.assistants.courses.uploads import Stored, UploadRefused, fetch
from treadle.passages import Passage, Progress, Skipped
from treadle.routes import Accepted, Created, delete, get, post, routes_of

LONGEST = 20_000  # characters of a question
MOST_BODY = 64_000_000  # bytes of an upload
UNFIT = 422  # as clients of the original know it
MISFIT = {422: "something is missing, or isn't what it has to be"}
LONG = {413: f"more than {LONGEST:,} characters, or than is taken at once"}
NO_SESSION = {404: "there is no such conversation of theirs"}

# What is sent

Number = Annotated[int, Meta(ge=0, le=1_000_000)] | Literal[""]  # of a lesson; nothing is none of them


class QueryAsked(Struct, frozen=True):
    """A question, as clients of the original send it; perhaps about one course, by its key or name, or one document of it only."""

    query: Annotated[str, Meta(examples=["What is a keel?"])]
    session_id: str | None = None
    course: str = ""
    document: str = ""


class SearchAsked(Struct, frozen=True):
    """Words to look for, perhaps in one course or lesson only."""

    q: Annotated[str, Meta(examples=["keel"])]
    course: str = ""
    lesson: Number = ""


class FileSent(Struct, frozen=True):
    """A file of course material, or a zip archive of some; `content` is base64."""

    name: Annotated[str, Meta(examples=["bread/01-flour.md"])]
    content: bytes


class FilesSent(Struct, frozen=True):
    """Files to add, or the URL of one."""

    files: tuple[FileSent, ...] = ()
    url: str = ""


class CourseAsked(Struct, frozen=True):
    """A course by its key."""

    course: str


class PassageAsked(Struct, frozen=True):
    """A passage by its id."""

    id: str = ""


class LessonAsked(Struct, frozen=True):
    """A lesson of a course; what belongs to none, where none is named."""

    course: str = ""
    lesson: Number = ""


# What comes back


class QueryAnswered(Struct, frozen=True):
    """An answer, with where it is from."""

    answer: str
    sources: tuple[Source, ...]
    citations: tuple[Citation, ...]
    session_id: str
    run_id: str
    stopped: str
    tokens_used: int


class CoursesListed(Struct, frozen=True):
    """The courses: their names, as clients of the original know them, and all that is known of them."""

    total_courses: int
    course_titles: list[str]
    courses: list[Course]


class CourseFile(Struct, frozen=True):
    """An uploaded file with its source, by which courses name it, and the courses that are in it; none until it is indexed."""

    name: str
    source: str
    size: int
    courses: list[str]


class FilesListed(Struct, frozen=True):
    """The uploaded files, those that couldn't be read, and how far indexing is."""

    files: list[CourseFile]
    skipped: tuple[Skipped, ...]
    indexing: Progress | None


class PassageTold(Struct, frozen=True):
    """A passage, and what it is from."""

    id: str
    place: str
    headings: tuple[str, ...]
    text: str
    source: str
    url: str | None
    course: str
    lesson: int | None


class PassageFound(PassageTold, frozen=True, kw_only=True):
    """A passage that fits, the better the higher its score."""

    score: float


class PassageShown(PassageTold, frozen=True, kw_only=True):
    """A passage, with the ids of those around it."""

    before: str | None
    after: str | None


class PassagesFound(Struct, frozen=True):
    """The passages that fit, the best first."""

    found: list[PassageFound]


class LessonShown(Struct, frozen=True):
    """The passages of a lesson, in order."""

    course: str
    passages: list[PassageTold]


class SessionsListed(Struct, frozen=True):
    """Conversations, the newest first."""

    sessions: list[Session]


class SessionBegun(Struct, frozen=True):
    """A new conversation."""

    session_id: str


class SessionShown(Struct, frozen=True):
    """What was said in a conversation."""

    exchanges: list[Exchange]


# The handlers


class Service:
    """The handlers."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._sessions = Sessions(host.home.folder)
        self._opened = AsyncExitStack()
        self._found: Library | None = None
        host.at_end(self._opened.aclose)

    async def _library(self) -> Library:
        """The material, which stays open for as long as the server runs."""
        if self._found is None:
            self._found = await self._opened.enter_async_context(open_library(self._host))
        return self._found

    @post(
        "/api/query",
        errors={
            404: "there is no such course or document",
            **LONG,
            **MISFIT,
            502: "the model's server failed",
            503: "there is no model; the sentence says what to do",
        },
        runs=True,
        unfit=UNFIT,
    )
    async def query(self, body: QueryAsked) -> QueryAnswered:
        """Ask about the courses."""
        question = _question(body.query, "query")
        await self._library()
        try:
            scope = await find_scope(self._host, body.course, body.document)
        except ContextNotFound as error:
            raise HTTPException(404, str(error)) from error
        context = {"session_id": await self._sessions.begin(self._host.user, body.session_id or ""), **scope.context}
        reply = reply_of(await AssistantSession(assistant, self._host, context).run(question))
        if reply.stopped == "failed":
            raise HTTPException(502, reply.message)
        told = (reply.session_id, reply.run_id, reply.stopped, reply.tokens_used)
        return QueryAnswered(reply.message, reply.sources, reply.citations, *told)

    @get("/api/courses")
    async def courses(self) -> CoursesListed:
        """The courses there are."""
        library = await self._library()
        await library.keep_fresh()
        courses = (await library.catalogue()).courses
        return CoursesListed(len(courses), [course.name for course in courses], list(courses))

    @delete(
        "/api/courses",
        errors={404: "there is no such course", 409: "it is in a folder that wasn't uploaded"},
        returns="it is deleted",
    )
    async def delete_course(self, query: CourseAsked) -> None:
        """Delete a course with all of its uploaded files."""
        library = await self._library()
        course = (await library.catalogue()).by_key(query.course)
        if course is None:
            raise HTTPException(404, "There is no such course.")
        await _deleted(library.delete_course(course))

    @get("/api/courses/files")
    async def files(self) -> FilesListed:
        """The files that the person uploaded."""
        library = await self._library()
        uploads, courses = await library.uploaded(), (await library.catalogue()).courses
        files = [CourseFile(upload.name, source, upload.size, _courses_in(courses, source)) for upload, source in uploads.items()]
        return FilesListed(files, library.skipped, library.progress if library.is_indexing else None)

    @post("/api/courses/files", errors={**LONG, 422: "a file that isn't taken, with why"}, unfit=UNFIT, most=MOST_BODY)
    async def upload(self, body: FilesSent) -> Accepted[Stored]:
        """Add files, the files of an archive, or what is at a URL. They are indexed in the background."""
        library, stored = await self._library(), Stored()
        try:
            sent = [(each.name, each.content) for each in body.files]
            sent += [await fetch(body.url, private=library.settings.private_urls)] if body.url.strip() else []
            for name, content in sent:
                added = await asyncio.to_thread(library.uploads.add, name, content)
                stored = Stored((*stored.files, *added.files), (*stored.skipped, *added.skipped))
        except UploadRefused as refused:
            raise HTTPException(422, str(refused)) from refused
        finally:
            library.index_soon()
        if not sent:
            raise HTTPException(422, "Send `files`, each with a `name` and its `content` in base64, or a `url`.")
        return stored

    @delete("/api/courses/files/{name:path}", errors={404: "no such file was uploaded"}, returns="it is deleted")
    async def delete_file(self, name: str) -> None:
        """Delete an uploaded file."""
        library = await self._library()
        source = next((source for upload, source in (await library.uploaded()).items() if upload.name == name), "")
        if not source:
            raise HTTPException(404, "There is no such file among your uploads.")
        await _deleted(library.delete(source))

    @get("/api/courses/search", errors={404: "there is no such course", **LONG, **MISFIT}, unfit=UNFIT)
    async def search(self, query: SearchAsked) -> PassagesFound:
        """Passages that fit words, without a model."""
        searched = await (await self._library()).search(_question(query.q, "q"), query.course, _number(query.lesson))
        if searched.unknown:
            raise HTTPException(404, f"There is no course {query.course[:200]!r}.")
        return PassagesFound([PassageFound(**await self._shown(each.passage), score=each.score) for each in searched.found])

    @get("/api/courses/passage", errors={404: "there is no such passage any more", **MISFIT}, unfit=UNFIT)
    async def passage(self, query: PassageAsked) -> PassageShown:
        """A passage."""
        passage = await (await self._library()).passage(query.id)
        if passage is None:
            raise HTTPException(404, "There is no such passage any more: its document has changed.")
        before, after = await (await self._library()).around(passage)
        shown = await self._shown(passage)
        return PassageShown(**shown, before=before.id if before else None, after=after.id if after else None)

    @get("/api/courses/lesson", errors={404: "there is no such lesson", **MISFIT}, unfit=UNFIT)
    async def lesson(self, query: LessonAsked) -> LessonShown:
        """The passages of a lesson."""
        course, number = (await (await self._library()).catalogue()).by_key(query.course), _number(query.lesson)
        if course is None or (number is not None and course.lesson(number) is None):
            raise HTTPException(404, "There is no such lesson.")
        passages = await (await self._library()).lesson(course, number)
        return LessonShown(course.name, [PassageTold(**await self._shown(each)) for each in passages])

    async def _shown(self, passage: Passage) -> dict[str, Any]:
        source = source_of(passage, (await (await self._library()).catalogue()).name_of(passage))
        told = {"text": passage.text, "source": source.text, "url": source.url, "course": source.course, "lesson": source.lesson}
        return {"id": passage.id, "place": passage.place, "headings": passage.headings, **told}

    @get("/api/courses/sessions")
    async def sessions(self) -> SessionsListed:
        """The person's conversations about courses."""
        return SessionsListed(await self._sessions.listed(self._host.user))

    @get("/api/courses/sessions/{session_id}", errors=NO_SESSION)
    async def session(self, session_id: str) -> SessionShown:
        """What was said in one."""
        if not await self._sessions.has(self._host.user, session_id):
            raise HTTPException(404, "There is no such conversation of yours.")
        return SessionShown(await exchanges(self._host, session_id))

    @delete("/api/courses/sessions/{session_id}", errors=NO_SESSION, returns="it is gone")
    async def forget(self, session_id: str) -> None:
        """Delete one, with its runs."""
        user = self._host.user
        runs = [exchange.run_id for exchange in await self._sessions.exchanges(user, session_id) if exchange.run_id]
        if not await self._sessions.remove(user, session_id):
            raise HTTPException(404, "There is no such conversation of yours.")
        if runs:
            await Runs(self._host.home).delete(*runs, by=user, force=True)

    @post("/api/courses/sessions")
    async def begin_session(self) -> Created[SessionBegun]:
        """Begin a conversation. What is asked in it is asked at `POST /api/runs`, with `{"session_id": …}` as its context."""
        return SessionBegun(await self._sessions.begin(self._host.user))


def _question(text: str, field: str) -> str:
    if not text.strip():
        raise HTTPException(422, f"Ask something in `{field}`.")
    if len(text) > LONGEST:
        raise HTTPException(413, f"A question may have {LONGEST:,} characters at most; this one has {len(text):,}.")
    return text


async def _deleted(deletion: Awaitable[None]) -> None:
    try:
        await deletion
    except UploadRefused as refused:
        raise HTTPException(409, str(refused)) from refused


def _courses_in(courses: Sequence[Course], source: str) -> list[str]:
    return [course.name for course in courses if source in course.sources]


def _number(lesson: Number) -> int | None:
    return None if lesson == "" else lesson


def routes(host: Host) -> list[BaseRoute]:
    """The routes."""
    return routes_of(Service(host))
