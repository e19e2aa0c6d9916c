"""HTTP API of the course assistant: `/api/query` and `/api/courses` compatible with the original, and the panel's own routes."""

import asyncio
from collections.abc import Awaitable, Generator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from treadle import Runs
from treadle.assistant import AssistantSession, ContextNotFound, Host, Share
from treadle.assistants.courses import assistant
from treadle.assistants.courses.catalogue import Course, CourseScope
from treadle.assistants.courses.library import CourseLibrary, open_library
from treadle.assistants.courses.session import find_scope, load_exchanges, to_course_reply
from treadle.assistants.courses.session_store import CourseExchange, CourseSession, CourseSessionStore
from treadle.assistants.courses.shared_courses import (
    NO_USERS,
    SharedCourse,
    list_shared_courses,
    load_course_shares,
    open_scope_library,
    save_course_shares,
)
from treadle.assistants.courses.sources import AnswerSource, Citation, source_from_passage
from treadle.assistants.courses.uploads import StoredUpload, UploadRefused, fetch_upload
from treadle.errors import SettingsError
from treadle.passages import IndexProgress, Passage, SkippedFile
from treadle.routes import Accepted, Created, delete, get, post, put, routes_of

MAX_QUESTION_CHARS = 20_000  # characters of a question
MAX_BODY_BYTES = 64_000_000  # bytes of an upload
UNFIT = 422  # as clients of the original know it
MISFIT = {422: "something is missing, or isn't what it has to be"}
LONG = {413: f"more than {MAX_QUESTION_CHARS:,} characters, or than is taken at once"}
NO_SESSION = {404: "there is no such conversation of theirs"}

# What is sent

ShareNames = Annotated[list[Annotated[str, Meta(min_length=1, max_length=200)]], Meta(max_length=100)]
Number = Annotated[int, Meta(ge=0, le=1_000_000)] | Literal[""]  # of a lesson; nothing is none of them


class CourseQueryRequest(Struct, frozen=True):
    """A question, as clients of the original send it; optionally about one course, by key or name, or one document of it."""

    query: Annotated[str, Meta(examples=["What is a keel?"])]
    session_id: str | None = None
    course: str = ""
    document: str = ""
    owner: str = ""


class CourseSearchQuery(Struct, frozen=True):
    """Search words, optionally for one course or lesson only; for a shared course, with its key and its `owner`."""

    q: Annotated[str, Meta(examples=["keel"])]
    course: str = ""
    lesson: Number = ""
    owner: str = ""


class FilePayload(Struct, frozen=True):
    """A file of course material, or a zip archive; `content` is base64."""

    name: Annotated[str, Meta(examples=["bread/01-flour.md"])]
    content: bytes


class UploadRequest(Struct, frozen=True):
    """Files to add, or the URL of one."""

    files: tuple[FilePayload, ...] = ()
    url: str = ""


class CourseKeyQuery(Struct, frozen=True):
    """A course by its key."""

    course: str


class CoursePassageQuery(Struct, frozen=True):
    """A passage by its id; of a shared course, with its key and its `owner`."""

    id: str = ""
    course: str = ""
    owner: str = ""


class LessonQuery(Struct, frozen=True):
    """A lesson of a course, or of one that `owner` shares; without a number, what belongs to no lesson."""

    course: str = ""
    lesson: Number = ""
    owner: str = ""


class CourseShares(Struct, frozen=True, forbid_unknown_fields=True):
    """The users and groups of the server who may read a course."""

    users: ShareNames = []
    groups: ShareNames = []


# What comes back


class CourseQueryResponse(Struct, frozen=True):
    """An answer with its sources."""

    answer: str
    sources: tuple[AnswerSource, ...]
    citations: tuple[Citation, ...]
    session_id: str
    run_id: str
    stopped: str
    tokens_used: int


class CourseList(Struct, frozen=True):
    """The courses: their names, as in the original API, and their details."""

    total_courses: int
    course_titles: list[str]
    courses: list[Course]


class UploadedCourseFile(Struct, frozen=True):
    """An uploaded file with its source, by which courses refer to it, and its courses; none until it is indexed."""

    name: str
    source: str
    size: int
    courses: list[str]


class CourseFileList(Struct, frozen=True):
    """The uploaded files, the unreadable ones, and the progress of indexing."""

    files: list[UploadedCourseFile]
    skipped: tuple[SkippedFile, ...]
    indexing: IndexProgress | None


class PassageView(Struct, frozen=True):
    """A passage and its source."""

    id: str
    place: str
    headings: tuple[str, ...]
    text: str
    source: str
    url: str | None
    course: str
    lesson: int | None


class CoursePassageHit(PassageView, frozen=True, kw_only=True):
    """A passage that matches; a higher score is better."""

    score: float


class PassageDetail(PassageView, frozen=True, kw_only=True):
    """A passage with the ids of its neighbours."""

    before: str | None
    after: str | None


class CoursePassageHits(Struct, frozen=True):
    """The matching passages, the best first."""

    found: list[CoursePassageHit]


class LessonView(Struct, frozen=True):
    """The passages of a lesson, in order."""

    course: str
    passages: list[PassageView]


class CourseSessionList(Struct, frozen=True):
    """Conversations, the newest first."""

    sessions: list[CourseSession]


class CourseSessionCreated(Struct, frozen=True):
    """A new conversation."""

    session_id: str


class CourseSessionView(Struct, frozen=True):
    """The exchanges of a conversation."""

    exchanges: list[CourseExchange]


# The handlers


class CoursesApi:
    """HTTP handlers of the course assistant."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._sessions = CourseSessionStore(host.home.folder)
        self._opened = AsyncExitStack()
        self._found: CourseLibrary | None = None
        host.on_close(self._opened.aclose)

    async def _library(self) -> CourseLibrary:
        """Return the library, which stays open for as long as the server runs."""
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
    async def query(self, body: CourseQueryRequest) -> CourseQueryResponse:
        """Ask about the courses."""
        question = _require_question(body.query, "query")
        await self._library()
        with _not_found():
            scope = await find_scope(self._host, body.course, body.document, body.owner)
        context = {"session_id": await self._sessions.begin(self._host.user, body.session_id or ""), **scope.context}
        reply = to_course_reply(await AssistantSession(assistant, self._host, context).run(question))
        if reply.stopped == "failed":
            raise HTTPException(502, reply.message)
        told = (reply.session_id, reply.run_id, reply.stopped, reply.tokens_used)
        return CourseQueryResponse(reply.message, reply.sources, reply.citations, *told)

    @get("/api/courses")
    async def courses(self) -> CourseList:
        """List the courses."""
        library = await self._library()
        await library.keep_fresh()
        courses = (await library.catalogue()).courses
        return CourseList(len(courses), [course.name for course in courses], list(courses))

    @delete(
        "/api/courses",
        errors={404: "there is no such course", 409: "it is in a folder that wasn't uploaded"},
        returns="it is deleted",
    )
    async def delete_course(self, query: CourseKeyQuery) -> None:
        """Delete a course with all of its uploaded files."""
        library = await self._library()
        course = (await library.catalogue()).by_key(query.course)
        if course is None:
            raise HTTPException(404, "There is no such course.")
        await _delete_or_conflict(library.delete_course(course))
        if self._host.sharing is not None:
            await save_course_shares(self._host, course.key, [])

    @get("/api/courses/shares", errors={404: "there is no such course"})
    async def shares(self, query: CourseKeyQuery) -> CourseShares:
        """List the users and groups of the server who may read a course of yours."""
        await self._check_own(query.course)
        return _to_course_shares(await load_course_shares(self._host, query.course))

    @put(
        "/api/courses/shares",
        errors={404: "there is no such course", 409: "there are no users", 422: "no such user"},
        unfit=UNFIT,
    )
    async def share(self, query: CourseKeyQuery, body: CourseShares) -> CourseShares:
        """Set the users and groups of the server who may read a course of yours; all others can't any more."""
        await self._check_own(query.course)
        if self._host.sharing is None:
            raise HTTPException(409, NO_USERS)
        wanted = [*[Share(name) for name in body.users], *[Share(name, is_group=True) for name in body.groups]]
        try:
            return _to_course_shares(await save_course_shares(self._host, query.course, wanted))
        except SettingsError as error:
            raise HTTPException(422, str(error)) from error

    @get("/api/courses/shared")
    async def list_shared_courses(self) -> list[SharedCourse]:
        """List the courses that other users share with you."""
        return await list_shared_courses(self._host)

    async def _check_own(self, key: str) -> None:
        if (await (await self._library()).catalogue()).by_key(key) is None:
            raise HTTPException(404, "There is no such course.")

    @get("/api/courses/files")
    async def files(self) -> CourseFileList:
        """List the user's uploaded files."""
        library = await self._library()
        indexing = library.progress if library.is_indexing else None  # first: a list without it has everything that was indexed
        uploads, courses = await library.list_uploads(), (await library.catalogue()).courses
        files = [
            UploadedCourseFile(upload.name, source, upload.size, _courses_in(courses, source)) for upload, source in uploads.items()
        ]
        return CourseFileList(files, library.skipped, indexing)

    @post("/api/courses/files", errors={**LONG, 422: "a file that isn't taken, with why"}, unfit=UNFIT, most=MAX_BODY_BYTES)
    async def upload(self, body: UploadRequest) -> Accepted[StoredUpload]:
        """Add files, the files of an archive, or the file at a URL. They are indexed in the background."""
        library, stored = await self._library(), StoredUpload()
        try:
            sent = [(each.name, each.content) for each in body.files]
            sent += [await fetch_upload(body.url, private=library.settings.private_urls)] if body.url.strip() else []
            for name, content in sent:
                added = await asyncio.to_thread(library.uploads.add, name, content)
                stored = StoredUpload((*stored.files, *added.files), (*stored.skipped, *added.skipped))
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
        source = next((source for upload, source in (await library.list_uploads()).items() if upload.name == name), "")
        if not source:
            raise HTTPException(404, "There is no such file among your uploads.")
        await _delete_or_conflict(library.delete(source))

    @get("/api/courses/search", errors={404: "there is no such course", **LONG, **MISFIT}, unfit=UNFIT)
    async def search(self, query: CourseSearchQuery) -> CoursePassageHits:
        """Search passages without a model."""
        words, lesson = _require_question(query.q, "q"), _lesson_number(query.lesson)
        await self._library()  # it stays open for as long as the server runs
        scope = CourseScope(query.course, owner=query.owner) if query.owner else CourseScope()
        with _not_found():
            async with open_scope_library(self._host, query.owner, query.course) as library:
                searched = await library.search(words, "" if query.owner else query.course, lesson, scope)
                views = [(await _to_view(library, each.passage), each.score) for each in searched.found]
        if searched.unknown:
            raise HTTPException(404, f"There is no course {query.course[:200]!r}.")
        return CoursePassageHits([CoursePassageHit(**view, score=score) for view, score in views])

    @get("/api/courses/passage", errors={404: "there is no such passage any more", **MISFIT}, unfit=UNFIT)
    async def passage(self, query: CoursePassageQuery) -> PassageDetail:
        """Return a passage of your material, or of a course that is shared with you."""
        await self._library()
        with _not_found():
            async with open_scope_library(self._host, query.owner, query.course) as library:
                passage = await library.passage(query.id)
                if passage is None or (query.owner and passage.tags.get("course") != query.course):
                    raise HTTPException(404, "There is no such passage any more: its document has changed.")
                before, after = await library.around(passage)
                shown = await _to_view(library, passage)
                return PassageDetail(**shown, before=before.id if before else None, after=after.id if after else None)

    @get("/api/courses/lesson", errors={404: "there is no such lesson", **MISFIT}, unfit=UNFIT)
    async def lesson(self, query: LessonQuery) -> LessonView:
        """Return the passages of a lesson."""
        await self._library()
        with _not_found():
            async with open_scope_library(self._host, query.owner, query.course) as library:
                course, number = (await library.catalogue()).by_key(query.course), _lesson_number(query.lesson)
                if course is None or (number is not None and course.lesson(number) is None):
                    raise HTTPException(404, "There is no such lesson.")
                passages = await library.lesson(course, number)
                return LessonView(course.name, [PassageView(**await _to_view(library, each)) for each in passages])

    @get("/api/courses/sessions")
    async def sessions(self) -> CourseSessionList:
        """List the user's conversations about courses."""
        return CourseSessionList(await self._sessions.list_sessions(self._host.user))

    @get("/api/courses/sessions/{session_id}", errors=NO_SESSION)
    async def session(self, session_id: str) -> CourseSessionView:
        """Return the exchanges of a conversation."""
        if not await self._sessions.has(self._host.user, session_id):
            raise HTTPException(404, "There is no such conversation of yours.")
        return CourseSessionView(await load_exchanges(self._host, session_id))

    @delete("/api/courses/sessions/{session_id}", errors=NO_SESSION, returns="it is gone")
    async def forget(self, session_id: str) -> None:
        """Delete a conversation with its runs."""
        user = self._host.user
        runs = [exchange.run_id for exchange in await self._sessions.exchanges(user, session_id) if exchange.run_id]
        if not await self._sessions.remove(user, session_id):
            raise HTTPException(404, "There is no such conversation of yours.")
        if runs:
            await Runs(self._host.home).delete(*runs, by=user, force=True)

    @post("/api/courses/sessions")
    async def begin_session(self) -> Created[CourseSessionCreated]:
        """Begin a conversation. Questions in it are sent to `POST /api/runs`, with `{"session_id": …}` as context."""
        return CourseSessionCreated(await self._sessions.begin(self._host.user))


async def _to_view(library: CourseLibrary, passage: Passage) -> dict[str, Any]:
    source = source_from_passage(passage, (await library.catalogue()).name_of(passage))
    told = {"text": passage.text, "source": source.text, "url": source.url, "course": source.course, "lesson": source.lesson}
    return {"id": passage.id, "place": passage.place, "headings": passage.headings, **told}


def _to_course_shares(shares: Sequence[Share]) -> CourseShares:
    return CourseShares([each.grantee for each in shares if not each.is_group], [each.grantee for each in shares if each.is_group])


@contextmanager
def _not_found() -> Generator[None]:
    """Respond with 404 where a scope isn't there, or isn't shared with the user."""
    try:
        yield
    except ContextNotFound as error:
        raise HTTPException(404, str(error)) from error


def _require_question(text: str, field: str) -> str:
    if not text.strip():
        raise HTTPException(422, f"Ask something in `{field}`.")
    if len(text) > MAX_QUESTION_CHARS:
        raise HTTPException(413, f"A question may have {MAX_QUESTION_CHARS:,} characters at most; this one has {len(text):,}.")
    return text


async def _delete_or_conflict(deletion: Awaitable[None]) -> None:
    try:
        await deletion
    except UploadRefused as refused:
        raise HTTPException(409, str(refused)) from refused


def _courses_in(courses: Sequence[Course], source: str) -> list[str]:
    return [course.name for course in courses if source in course.sources]


def _lesson_number(lesson: Number) -> int | None:
    return None if lesson == "" else lesson


def routes(host: Host) -> list[BaseRoute]:
    """Build the routes."""
    return routes_of(CoursesApi(host))
