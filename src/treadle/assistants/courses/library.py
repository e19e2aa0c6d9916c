"""The material: courses that were added, kept in passages, brought up to date and searched. Every face uses this.

Several processes may share it. What a killed indexing has done stays done, and the next one goes on from there.
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

from treadle import Host, SettingsError, SharedResources, TreadleError
from treadle.assistants.courses.catalogue import Catalogue, Course, catalogue_of
from treadle.assistants.courses.material.opened import LARGEST, PATTERNS
from treadle.assistants.courses.material.reader import CourseReader
from treadle.assistants.courses.scope import Scope
from treadle.assistants.courses.settings import CoursesSettings
from treadle.assistants.courses.shelf import Place, Shelf
from treadle.assistants.courses.uploads import Upload, UploadRefused, Uploads
from treadle.passages import Found, Passage, Passages, Progress, Report, Skipped, embedder_of, folder_names, index_folders

if TYPE_CHECKING:
    from treadle.passages import Embedder, Where

FILE = "courses.db"
COLLECTION = "courses"
FRESH = 60.0  # seconds between two looks at the folders
MOST_OF_A_LESSON = 1_000  # passages
LONGEST_LESSON = 12_000  # characters of a lesson that is asked for by its number; with its data it fits into a result
OF_A_LESSON = 2  # passages at most, where all courses are searched
PATIENCE = 1.0  # seconds that a question waits for what has changed
KNOWN = 2.0  # seconds after which it is looked whether another process has indexed something

ALL = Scope()

log = getLogger("treadle.courses")


class Searched(Struct, frozen=True):
    """What a search brought. Where the name of a course fits none, `near` are those that may have been meant.

    `left_out` is how many passages of a lesson that was asked for by its number don't fit into a result.
    """

    found: tuple[Found, ...] = ()
    courses: tuple[Course, ...] = ()
    unknown: bool = False
    near: tuple[Course, ...] = ()
    left_out: int = 0


class Library:
    """The material in one folder of a person's."""

    def __init__(self, folder: Path, settings: CoursesSettings, embedder: "Embedder | None" = None) -> None:
        self.settings = settings
        self.shelf = Shelf(folder)
        self.uploads = Uploads(folder)
        self.progress: Progress | None = None  # while something is indexed
        self.skipped: tuple[Skipped, ...] = ()  # by the last indexing
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._store = Passages(folder / FILE, embedder or embedder_of(settings.embeddings))
        self._indexing = asyncio.Lock()
        self._fresh_until = 0.0
        self._looking: asyncio.Task[None] | None = None
        self._has_more = False  # files that came while others were indexed
        self._known, self._known_until = Catalogue(), 0.0
        self._indexed = 0  # how often

    async def __aenter__(self) -> "Library":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file. What is being indexed goes on the next time."""
        if self._looking is not None:
            self._looking.cancel()
        self._store.close()

    def add(self, path: Path, title: str = "") -> None:
        """Add a folder or a file. What lies in it is no longer added by itself."""
        place = path.resolve()
        for each in self.places():
            if place.is_relative_to(each.path) and str(place) != each.path:
                raise SettingsError(f"{path} lies in {each.path}, which was added already: what is in it is there.")
        self.shelf.add(path, title)
        for each in self.shelf.places():
            if Path(each.path).is_relative_to(place) and each.path != str(place):
                self.shelf.remove(Path(each.path))

    def places(self) -> list[Place]:
        """The folders and files that courses come from: what is settled, added and uploaded. What lies in another counts once."""
        settled = [Place(str(_folder(folder))) for folder in self.settings.folders]
        uploaded = [Place(str(self.uploads.folder.resolve()))] if self.uploads.folder.is_dir() else []
        every = {each.path: each for each in (*settled, *self.shelf.places(), *uploaded)}
        return [each for each in every.values() if not any(str(above) in every for above in Path(each.path).parents)]

    async def refresh(self, progress: Callable[[Progress], None] | None = None) -> Report:
        """Index what is new or has changed, and forget what is gone."""
        async with self._indexing:
            places = self.places()
            report = await index_folders(
                self._store,
                [each.path for each in places],
                patterns=PATTERNS,
                reader=_reader(self.settings, places),
                collection=COLLECTION,
                largest=LARGEST,
                progress=lambda now: self._follow(now, progress),
            )
        self.progress, self.skipped = None, report.skipped
        self._known_until = 0.0
        self._indexed += 1
        return report

    def _follow(self, now: Progress, progress: Callable[[Progress], None] | None) -> None:
        self.progress = now
        if progress is not None:
            progress(now)

    async def look(self) -> None:
        """Index what has changed. What can't be done is in the log: questions are answered all the same."""
        try:
            report = await self.refresh()
        except (TreadleError, OSError) as error:
            self.progress = None
            log.warning("The courses weren't looked at: %s", error)
            return
        for each in report.skipped:
            log.info("%s was left out: %s", each.source, each.reason)

    def index_soon(self) -> None:
        """Have what was uploaded indexed in the background; what comes meanwhile is indexed after it."""
        self._has_more = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._index_all())

    async def _index_all(self) -> None:
        while self._has_more:
            self._has_more = False
            self.progress = self.progress or Progress(0, 0)
            await self.look()

    @property
    def is_indexing(self) -> bool:
        """Whether something is indexed in the background."""
        return self._looking is not None and not self._looking.done()

    async def uploaded(self) -> dict[Upload, str]:
        """What was uploaded, each file with its source, by which courses and passages name it."""
        prefix = self._name(self.uploads.folder)
        return {each: f"{prefix}/{each.name}" for each in await asyncio.to_thread(self.uploads.files)}

    async def delete(self, *sources: str) -> None:
        """Delete documents that were uploaded, and take off files that were added by themselves, which stay where they are.

        `UploadRefused` where one of them lies in a folder that was added or is settled; nothing is deleted then.
        """
        uploads = {source: upload for upload, source in (await self.uploaded()).items()}
        added = self._added()
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
        """Have it looked for changes, unless that was done a moment ago. Nobody waits long for it, but who would find nothing."""
        if time.monotonic() >= self._fresh_until and not self._indexing.locked():
            self._fresh_until = time.monotonic() + FRESH
            self.index_soon()
            assert self._looking is not None
            await asyncio.wait([self._looking], timeout=PATIENCE if (await self.catalogue()).courses else None)

    async def catalogue(self) -> Catalogue:
        """The courses there are."""
        if time.monotonic() >= self._known_until:
            began, indexed = time.monotonic(), self._indexed
            abouts = await self._store.abouts(COLLECTION)
            self._known = await asyncio.to_thread(catalogue_of, abouts)
            is_new = indexed == self._indexed  # what was indexed meanwhile isn't in it
            self._known_until = time.monotonic() + max(KNOWN, 20 * (time.monotonic() - began)) if is_new else 0.0
        return self._known

    async def has_any(self, path: Path) -> bool:
        """Whether something of a folder or file that was added is indexed."""
        name = self._name(path)
        sources = await self._store.sources(COLLECTION)
        return bool(name) and any(each == name or each.startswith(f"{name}/") for each in sources)

    def _name(self, path: Path) -> str:
        """What the sources of a place begin with."""
        names = folder_names([each.path for each in self.places()])
        return next((name for name, place in names.items() if place == path.resolve()), "")

    async def match(self, name: str, scope: Scope = ALL) -> tuple[tuple[Course, ...], tuple[Course, ...]]:
        """The courses that a name stands for; and where it stands for none, near ones."""
        return await asyncio.to_thread((await self.catalogue()).within(scope.course).match, name)

    async def search(self, query: str, course_name: str = "", lesson_number: int | None = None, scope: Scope = ALL) -> Searched:
        """The passages that fit, in all courses, in one, or in one lesson; of a lesson, its beginning where nothing fits better.

        With no query, a lesson of a course is given as it is, in order.
        """
        courses = (await self.catalogue()).within(scope.course).courses if scope.course else ()
        if course_name.strip():
            courses, near = await self.match(course_name, scope)
            if not courses:
                return Searched(unknown=True, near=near)
        where: dict[str, str | int | list[str]] = {"course": [course.key for course in courses]} if courses else {}
        if scope.document:
            where["document"] = scope.document
        if lesson_number is not None:
            where["lesson"] = lesson_number
        if not courses:
            return Searched(await self._spread(query, where))
        if lesson_number is not None and not query.strip():
            return await self._whole(courses, lesson_number, scope)
        floor = 0.0 if lesson_number is not None else self.settings.floor
        found = await self._store.search(query, limit=self.settings.results, floor=floor, where=where)
        if not found and lesson_number is not None:
            found = (await self._whole(courses, lesson_number, scope)).found[: self.settings.results]
        return Searched(tuple(found), courses)

    async def _spread(self, query: str, where: "Where") -> tuple[Found, ...]:
        """The best passages of all courses, at most two of a lesson: who asks in all of them wants to know which ones say it."""
        most = self.settings.results
        found = await self._store.search(query, limit=most * 4, floor=self.settings.floor, where=where)
        lessons = [(each.passage.tags.get("course"), each.passage.headings[:1]) for each in found]
        is_first = [lessons[:place].count(lesson) < OF_A_LESSON for place, lesson in enumerate(lessons)]
        chosen = [place for place, is_one in enumerate(is_first) if is_one][:most]
        others = [place for place, is_one in enumerate(is_first) if not is_one][: most - len(chosen)]
        return tuple([found[place] for place in sorted((*chosen, *others))])

    async def _whole(self, courses: tuple[Course, ...], number: int, scope: Scope) -> Searched:
        """A lesson from its beginning, as much as fits into a result."""
        every = [each for course in courses for each in await self.lesson(course, number)]
        passages = [each for each in every if scope.document in ("", each.source)]
        ends = accumulate([len(each.text) for each in passages])
        found = [Found(passage, 0.0) for passage, end in zip(passages, ends, strict=True) if end <= LONGEST_LESSON]
        return Searched(tuple(found), courses, left_out=len(passages) - len(found))

    async def lesson(self, course: Course, number: int | None) -> list[Passage]:
        """The first passages of a lesson, in order; with no number, of what belongs to none."""
        where: dict[str, str | int] = {"course": course.key, **({} if number is None else {"lesson": number})}
        every = await self._store.passages_with(where, limit=MOST_OF_A_LESSON)
        return [each for each in every if each.tags.get("lesson") == number]

    async def delete_course(self, course: Course) -> None:
        """Delete a course with all of its documents; a folder that was added as this one course is taken off instead."""
        await self.delete(*([course.key] if course.key in self._added() else course.sources))

    def _added(self) -> dict[str, Path]:
        return {self._name(Path(each.path)): Path(each.path) for each in self.shelf.places()}

    async def passage(self, passage_id: str) -> Passage | None:
        """A passage by its id."""
        return await self._store.passage(passage_id)

    async def around(self, passage: Passage) -> tuple[Passage | None, Passage | None]:
        """What stands before and after a passage in its lesson."""
        return await self._store.around(passage)


_libraries: SharedResources[Library] = SharedResources(Library.close)


def open_library(host: Host) -> AbstractAsyncContextManager[Library]:
    """The material of a person. All who use it at the same time share it, and what one of them found out about it."""
    settings: CoursesSettings = host.settings.assistant("courses")
    return _libraries.use((host.home.folder, settings), lambda: Library(host.home.folder, settings))


def _folder(name: str) -> Path:
    try:
        return Path(name).expanduser().resolve()
    except RuntimeError as error:
        raise SettingsError(f"There is no {name}; mend `folders` under [assistants.courses] in treadle.toml.") from error


def _reader(settings: CoursesSettings, places: Sequence[Place]) -> CourseReader:
    """What reads the files of these places: it is told which folder is one course, and which names have slashes."""
    titles = {each.path: each.title for each in places if each.title}
    names = folder_names([each.path for each in places])
    titled = {name: titles[str(path)] for name, path in names.items() if str(path) in titles}
    return CourseReader(settings.size, settings.overlap, titled, tuple([name for name in names if "/" in name]))
