"""The course material: added courses, stored as passages, kept up to date and searched. Every interface uses this.

Several processes may share it. What an interrupted indexing has done remains, and the next one continues from there.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import accumulate
from logging import getLogger
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from msgspec import Struct

from treadle import TreadleError
from treadle.assistant import Host, SharedResources
from treadle.assistants.courses.catalogue import Catalogue, Course, CourseScope, build_catalogue
from treadle.assistants.courses.course_folders import CourseFolder, CourseFolderList
from treadle.assistants.courses.material.format_registry import MAX_MATERIAL_BYTES, PATTERNS
from treadle.assistants.courses.material.reader import CourseReader
from treadle.assistants.courses.settings import CoursesSettings
from treadle.assistants.courses.uploads import UploadedFile, UploadFolder, UploadRefused
from treadle.errors import SettingsError
from treadle.passages import (
    IndexProgress,
    IndexReport,
    Passage,
    PassageHit,
    Passages,
    SkippedFile,
    embedder_of,
    folder_names,
    index_folders,
)

if TYPE_CHECKING:
    from treadle.passages import Embedder, TagQuery

FILE = "courses.db"
COLLECTION = "courses"
REFRESH_SECONDS = 60.0  # seconds between two looks at the folders
MAX_LESSON_PASSAGES = 1_000  # passages
MAX_LESSON_CHARS = 12_000  # characters of a lesson that is asked for by its number; with its data it fits into a result
PASSAGES_PER_LESSON = 2  # passages at most, where all courses are searched
REFRESH_TIMEOUT = 1.0  # seconds that a question waits for what has changed
CATALOGUE_SECONDS = 2.0  # seconds after which it is looked whether another process has indexed something

ALL = CourseScope()

log = getLogger("treadle.courses")


class CourseSearchResult(Struct, frozen=True):
    """Result of a search. If no course matches the name, `near` are the similar ones.

    `left_out` is how many passages of a lesson requested by its number don't fit into a result.
    """

    found: tuple[PassageHit, ...] = ()
    courses: tuple[Course, ...] = ()
    unknown: bool = False
    near: tuple[Course, ...] = ()
    left_out: int = 0


class CourseLibrary:
    """The material in one folder of a user."""

    def __init__(self, folder: Path, settings: CoursesSettings, embedder: "Embedder | None" = None) -> None:
        self.settings = settings
        self.shelf = CourseFolderList(folder)
        self.uploads = UploadFolder(folder)
        self.progress: IndexProgress | None = None  # while something is indexed
        self.skipped: tuple[SkippedFile, ...] = ()  # by the last indexing
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._store = Passages(folder / FILE, embedder or embedder_of(settings.embeddings))
        self._indexing = asyncio.Lock()
        self._fresh_until = 0.0
        self._looking: asyncio.Task[None] | None = None
        self._has_more = False  # files that came while others were indexed
        self._known, self._known_until = Catalogue(), 0.0
        self._indexed = 0  # how often

    async def __aenter__(self) -> "CourseLibrary":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the database. Interrupted indexing continues the next time."""
        if self._looking is not None:
            self._looking.cancel()
        self._store.close()

    def add(self, path: Path, title: str = "") -> None:
        """Add a folder or a file. Paths inside it are no longer added separately."""
        place = path.resolve()
        for each in self.places():
            if place.is_relative_to(each.path) and str(place) != each.path:
                raise SettingsError(f"{path} lies in {each.path}, which was added already: what is in it is there.")
        self.shelf.add(path, title)
        for each in self.shelf.places():
            if Path(each.path).is_relative_to(place) and each.path != str(place):
                self.shelf.remove(Path(each.path))

    def places(self) -> list[CourseFolder]:
        """Return the folders and files that courses come from: configured, added and uploaded. Nested ones count once."""
        settled = [CourseFolder(str(_expand_folder(folder))) for folder in self.settings.folders]
        uploaded = [CourseFolder(str(self.uploads.folder.resolve()))] if self.uploads.folder.is_dir() else []
        every = {each.path: each for each in (*settled, *self.shelf.places(), *uploaded)}
        return [each for each in every.values() if not any(str(above) in every for above in Path(each.path).parents)]

    async def refresh(self, progress: Callable[[IndexProgress], None] | None = None) -> IndexReport:
        """Index new and changed files, and remove deleted ones."""
        async with self._indexing:
            places = self.places()
            report = await index_folders(
                self._store,
                [each.path for each in places],
                patterns=PATTERNS,
                reader=_build_reader(self.settings, places),
                collection=COLLECTION,
                largest=MAX_MATERIAL_BYTES,
                progress=lambda now: self._report_progress(now, progress),
            )
        self.progress, self.skipped = None, report.skipped
        self._known_until = 0.0
        self._indexed += 1
        return report

    def _report_progress(self, now: IndexProgress, progress: Callable[[IndexProgress], None] | None) -> None:
        self.progress = now
        if progress is not None:
            progress(now)

    async def look(self) -> None:
        """Index changes. Failures are logged: questions are answered anyway."""
        try:
            report = await self.refresh()
        except (TreadleError, OSError) as error:
            self.progress = None
            log.warning("The courses weren't looked at: %s", error)
            return
        for each in report.skipped:
            log.info("%s was left out: %s", each.source, each.reason)

    def index_soon(self) -> None:
        """Index uploads in the background; files that arrive meanwhile are indexed afterwards."""
        self._has_more = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._index_all())

    async def _index_all(self) -> None:
        while self._has_more:
            self._has_more = False
            self.progress = self.progress or IndexProgress(0, 0)
            await self.look()

    @property
    def is_indexing(self) -> bool:
        """Whether indexing runs in the background."""
        return self._looking is not None and not self._looking.done()

    async def list_uploads(self) -> dict[UploadedFile, str]:
        """Return the uploaded files, each with its source, by which courses and passages refer to it."""
        prefix = self._source_prefix(self.uploads.folder)
        return {each: f"{prefix}/{each.name}" for each in await asyncio.to_thread(self.uploads.files)}

    async def delete(self, *sources: str) -> None:
        """Delete uploaded documents, and remove files that were added individually, which stay on disk.

        Raises `UploadRefused`, without deleting anything, if one of them is inside a folder that was added or configured.
        """
        uploads = {source: upload for upload, source in (await self.list_uploads()).items()}
        added = self._added_folders()
        for source in sources:
            if source not in uploads and source not in added:
                raise UploadRefused(f"{source} wasn't uploaded: it lies in a folder of courses. Take it out of that folder.")
        for source in sources:
            if source in uploads:
                await asyncio.to_thread(self.uploads.remove, uploads[source].name)
            else:
                self.shelf.remove(added[source])
        await self.refresh()
        await self._store.purge()

    async def keep_fresh(self) -> None:
        """Check for changes, unless that was done a moment ago.

        Callers don't wait long for it, except those who would find nothing yet.
        """
        if time.monotonic() >= self._fresh_until and not self._indexing.locked():
            self._fresh_until = time.monotonic() + REFRESH_SECONDS
            self.index_soon()
            assert self._looking is not None
            await asyncio.wait([self._looking], timeout=REFRESH_TIMEOUT if (await self.catalogue()).courses else None)

    async def catalogue(self) -> Catalogue:
        """Return the catalogue of courses."""
        if time.monotonic() >= self._known_until:
            began, indexed = time.monotonic(), self._indexed
            abouts = await self._store.abouts(COLLECTION)
            self._known = await asyncio.to_thread(build_catalogue, abouts)
            is_new = indexed == self._indexed  # what was indexed meanwhile isn't in it
            self._known_until = time.monotonic() + max(CATALOGUE_SECONDS, 20 * (time.monotonic() - began)) if is_new else 0.0
        return self._known

    async def has_any(self, path: Path) -> bool:
        """Return whether anything of an added folder or file is indexed."""
        name = self._source_prefix(path)
        sources = await self._store.sources(COLLECTION)
        return bool(name) and any(each == name or each.startswith(f"{name}/") for each in sources)

    def _source_prefix(self, path: Path) -> str:
        """Return the prefix of a folder's sources."""
        names = folder_names([each.path for each in self.places()])
        return next((name for name, place in names.items() if place == path.resolve()), "")

    async def match(self, name: str, scope: CourseScope = ALL) -> tuple[tuple[Course, ...], tuple[Course, ...]]:
        """Return the courses that a name matches; if there are none, similar ones."""
        return await asyncio.to_thread((await self.catalogue()).within(scope.course).match, name)

    async def search(
        self, query: str, course_name: str = "", lesson_number: int | None = None, scope: CourseScope = ALL
    ) -> CourseSearchResult:
        """Search all courses, one course, or one lesson; of a lesson, return its beginning if nothing matches better.

        Without a query, a lesson of a course is returned as it is, in order.
        """
        courses = (await self.catalogue()).within(scope.course).courses if scope.course else ()
        if scope.course and not courses:  # it was deleted; the rest isn't in the scope
            return CourseSearchResult(unknown=True)
        if course_name.strip():
            courses, near = await self.match(course_name, scope)
            if not courses:
                return CourseSearchResult(unknown=True, near=near)
        where: dict[str, str | int | list[str]] = {"course": [course.key for course in courses]} if courses else {}
        if scope.document:
            where["document"] = scope.document
        if lesson_number is not None:
            where["lesson"] = lesson_number
        if not courses:
            return CourseSearchResult(await self._search_all(query, where))
        if lesson_number is not None and not query.strip():
            return await self._read_lesson(courses, lesson_number, scope)
        floor = 0.0 if lesson_number is not None else self.settings.floor
        found = await self._store.search(query, limit=self.settings.results, floor=floor, where=where)
        if not found and lesson_number is not None:
            found = (await self._read_lesson(courses, lesson_number, scope)).found[: self.settings.results]
        return CourseSearchResult(tuple(found), courses)

    async def _search_all(self, query: str, where: "TagQuery") -> tuple[PassageHit, ...]:
        """Return the best passages of all courses, at most two per lesson: a question to all courses is about which ones say it."""
        most = self.settings.results
        found = await self._store.search(query, limit=most * 4, floor=self.settings.floor, where=where)
        lessons = [(each.passage.tags.get("course"), each.passage.headings[:1]) for each in found]
        is_first = [lessons[:place].count(lesson) < PASSAGES_PER_LESSON for place, lesson in enumerate(lessons)]
        chosen = [place for place, is_one in enumerate(is_first) if is_one][:most]
        others = [place for place, is_one in enumerate(is_first) if not is_one][: most - len(chosen)]
        return tuple([found[place] for place in sorted((*chosen, *others))])

    async def _read_lesson(self, courses: tuple[Course, ...], number: int, scope: CourseScope) -> CourseSearchResult:
        """Return a lesson from its beginning, as much as fits into a result."""
        every = [each for course in courses for each in await self.lesson(course, number)]
        passages = [each for each in every if scope.document in ("", each.source)]
        ends = accumulate([len(each.text) for each in passages])
        found = [PassageHit(passage, 0.0) for passage, end in zip(passages, ends, strict=True) if end <= MAX_LESSON_CHARS]
        return CourseSearchResult(tuple(found), courses, left_out=len(passages) - len(found))

    async def lesson(self, course: Course, number: int | None) -> list[Passage]:
        """Return the first passages of a lesson in order; without a number, those that belong to no lesson."""
        where: dict[str, str | int] = {"course": course.key, **({} if number is None else {"lesson": number})}
        every = await self._store.passages_with(where, limit=MAX_LESSON_PASSAGES)
        return [each for each in every if each.tags.get("lesson") == number]

    async def delete_course(self, course: Course) -> None:
        """Delete a course with all of its documents; a folder that was added as this one course is removed instead."""
        await self.delete(*([course.key] if course.key in self._added_folders() else course.sources))

    def _added_folders(self) -> dict[str, Path]:
        return {self._source_prefix(Path(each.path)): Path(each.path) for each in self.shelf.places()}

    async def passage(self, passage_id: str) -> Passage | None:
        """Return a passage by its id."""
        return await self._store.passage(passage_id)

    async def around(self, passage: Passage) -> tuple[Passage | None, Passage | None]:
        """Return the passages before and after a passage in its lesson."""
        return await self._store.around(passage)


_libraries: SharedResources[CourseLibrary] = SharedResources(CourseLibrary.close)


def open_library(host: Host) -> AbstractAsyncContextManager[CourseLibrary]:
    """Open a user's material. Concurrent users share one instance, and its caches."""
    settings: CoursesSettings = host.settings.assistant("courses")
    return _libraries.use((host.home.folder, settings), lambda: CourseLibrary(host.home.folder, settings))


def _expand_folder(name: str) -> Path:
    try:
        return Path(name).expanduser().resolve()
    except RuntimeError as error:
        raise SettingsError(f"There is no {name}; correct `folders` under [assistants.courses] in treadle.toml.") from error


def _build_reader(settings: CoursesSettings, places: Sequence[CourseFolder]) -> CourseReader:
    """Build the reader of these folders' files: it knows which folder is one course, and which names contain slashes."""
    titles = {each.path: each.title for each in places if each.title}
    names = folder_names([each.path for each in places])
    titled = {name: titles[str(path)] for name, path in names.items() if str(path) in titles}
    return CourseReader(settings.size, settings.overlap, titled, tuple([name for name in names if "/" in name]))
