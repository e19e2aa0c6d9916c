"""`treadle courses`: add, list and search material and ask about it at a terminal."""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from treadle import RunResult
from treadle.assistant import AssistantSession, Host, SlashCommand, Terminal, exit_code, prompt_from_words
from treadle.assistants.courses import assistant
from treadle.assistants.courses.catalogue import Course
from treadle.assistants.courses.course_folders import path_exists
from treadle.assistants.courses.library import CourseLibrary, open_library
from treadle.assistants.courses.material.format_registry import MAX_MATERIAL_BYTES
from treadle.assistants.courses.session import find_scope, format_citations, format_sources, to_course_reply
from treadle.assistants.courses.session_store import CourseSessionStore
from treadle.assistants.courses.tools import format_course_outline, format_no_results
from treadle.assistants.courses.uploads import ARCHIVE, fetch_upload
from treadle.errors import SettingsError
from treadle.files import check_workspace, read_named
from treadle.passages import IndexProgress, IndexReport

SAMPLE = Path(__file__).parent / "sample"
NO_COURSES = "There are no courses yet: `treadle courses add FOLDER` adds yours, `treadle courses demo` some to try it with."
PROGRESS_INTERVAL = 1.0  # between two lines of progress
EXCERPT_CHARS = 300  # characters of a passage that is listed


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `add`."""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="folders of courses, files, zip archives or URLs; without any, only looks for changes",
    )
    parser.add_argument("--title", default="", metavar="TITLE", help="treat the folder as one course with this title")
    parser.add_argument("--json", action="store_true", help="print JSON")


def remove_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `remove`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="the folder, file, archive or URL that was added")
    parser.add_argument("--json", action="store_true", help="print JSON")


def delete_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `delete`."""
    parser.add_argument("course", metavar="COURSE", help="the course; part of its title is enough")
    parser.add_argument("--file", default="", metavar="NAME", help="delete this file of it only, as `list --files` names it")
    parser.add_argument("--json", action="store_true", help="print JSON")


def list_courses_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `list`."""
    parser.add_argument("course", nargs="*", metavar="COURSE", help="show the lessons of this course; part of its title is enough")
    parser.add_argument("--files", action="store_true", help="list the documents of the courses")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _add_filter_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("-c", "--course", default="", metavar="COURSE", help="search only this course")
    parser.add_argument("-l", "--lesson", type=int, default=None, metavar="NUMBER", help="search only this lesson")
    parser.add_argument("--json", action="store_true", help="print JSON")


def search_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `search`."""
    parser.add_argument(
        "words", nargs="*", metavar="WORDS", help="what to search for; without words, prints the lesson given by -c and -l"
    )
    _add_filter_arguments(parser)


def _add_scope_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("-c", "--course", default="", metavar="COURSE", help="answer from this course only")
    parser.add_argument("--document", default="", metavar="NAME", help="answer from this document only, as `list --files` names it")


def ask_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `ask`."""
    _add_scope_arguments(parser)
    parser.add_argument("words", nargs="*", metavar="QUESTION", help="what to ask; piped text is added, and files as @FILE")
    parser.add_argument("--session", default="", metavar="ID", help="go on with this conversation")
    parser.add_argument("--json", action="store_true", help="print JSON")


def chat_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `chat`."""
    _add_scope_arguments(parser)
    parser.add_argument("--session", default="", metavar="ID", help="continue this conversation")
    parser.add_argument("--json", action="store_true", help="one JSON object for each reply")


def demo_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `demo`."""
    parser.add_argument("--remove", action="store_true", help="remove them again")
    parser.add_argument("--json", action="store_true", help="print JSON")


async def add(args: Namespace, host: Host) -> int:
    """Add courses, and index what is new. Archives and files at a URL are copied; folders and files stay where they are."""
    copied = [each for each in args.paths if _is_url(each) or each.lower().endswith(ARCHIVE)]
    paths = [_parse_path(each) for each in args.paths if each not in copied]
    if args.title and not (len(paths) == 1 and paths[0].is_dir()):
        raise SettingsError("--title is the title of one course: name the one folder that it is in.")
    async with open_library(host) as library:
        _require_paths(paths)
        for each in copied:
            await _copy_upload(library, host, each)
        for path in paths:
            library.add(path, args.title)
        return await _refresh_library(args, library, host, paths)


async def remove(args: Namespace, host: Host) -> int:
    """Remove courses that were added."""
    paths = [_parse_path(each) for each in args.paths]
    async with open_library(host) as library:
        added = {each.path for each in library.shelf.places()}
        for path in paths:
            if str(path.resolve()) not in added:
                raise _not_added_error(path, library)
        for path in paths:
            library.shelf.remove(path)
        return await _refresh_library(args, library, host)


async def delete(args: Namespace, host: Host) -> int:
    """Delete a course, or a document of it."""
    async with open_library(host) as library:
        courses, near = await library.match(args.course)
        if len(courses) != 1:
            raise _unknown_course_error(args.course, courses or near or (await library.catalogue()).courses)
        if args.file and args.file not in courses[0].sources:
            raise SettingsError(f"There is no {args.file} in it. There is: {', '.join(courses[0].sources)}.")
        await (library.delete(args.file) if args.file else library.delete_course(courses[0]))
        deleted = args.file or courses[0].name
        host.show({"deleted": deleted}) if args.json else host.command_terminal.line(f"Deleted: {deleted}")
    return 0


async def demo(args: Namespace, host: Host) -> int:
    """Add the sample courses, or remove them."""
    async with open_library(host) as library:
        if args.remove:
            library.shelf.remove(SAMPLE)
            return await _refresh_library(args, library, host)
        library.add(SAMPLE)
        code = await _refresh_library(args, library, host)
        host.command_terminal.note('Ask them something: treadle courses ask "Why does bread dough need salt?"')
        return code


async def list_courses(args: Namespace, host: Host) -> int:
    """List the courses, or show the lessons of one."""
    async with open_library(host) as library:
        await library.look()
        catalogue = await library.catalogue()
        courses = catalogue.courses
        if args.course:
            courses, near = await library.match(" ".join(args.course))
            if not courses:
                raise _unknown_course_error(" ".join(args.course), near or catalogue.courses)
        _print_courses(args, host, courses)
        if not args.json and not args.course:
            for place in library.places():
                host.command_terminal.note(f"From {place.path}" + (f", as {place.title!r}" if place.title else ""))
    return 0


async def search(args: Namespace, host: Host) -> int:
    """Find passages, or read a lesson. No model is needed."""
    if not args.words and (not args.course or args.lesson is None):
        raise SettingsError("Type what to look for, or name the lesson to read: -c COURSE -l NUMBER.")
    async with open_library(host) as library:
        await library.look()
        searched = await library.search(" ".join(args.words), args.course, args.lesson)
        catalogue = await library.catalogue()
        if searched.unknown:
            raise _unknown_course_error(args.course, searched.near or catalogue.courses)
        if args.json:
            host.show([{"score": round(each.score, 3), **msgspec.to_builtins(each.passage)} for each in searched.found])
            return 0
        for each in searched.found:
            host.command_terminal.line(f"{catalogue.name_of(each.passage)}, {each.passage.place}  ({each.score:.2f})", "bold")
            host.command_terminal.line(_shorten(each.passage.text) if args.words else each.passage.text)
            host.command_terminal.line()
        if searched.left_out:
            host.command_terminal.note(f"{searched.left_out} more passages of this lesson were left out; search in it with words.")
        if not searched.found:
            host.command_terminal.tell(format_no_results(searched, args.lesson) if catalogue.courses else NO_COURSES)
    return 0


async def ask(args: Namespace, host: Host) -> int:
    """Ask one question."""
    question = prompt_from_words(args.words)
    session = await _open_session(args, host, args.session)
    if args.json:
        reply = await session.run(question)
        host.show(to_course_reply(reply))
        return 1 if reply.result.stopped == "failed" else 0
    result = await host.start_talk(session, session.agent(await host.model())).ask(question)
    await _show_sources(session, result)
    host.command_terminal.note(f"To go on: treadle courses chat --session {session.host.about['session_id']}")
    return exit_code(result)


async def chat(args: Namespace, host: Host) -> int:
    """Hold a conversation, which is stored."""
    session = await _open_session(args, host, args.session)

    async def anew(_: str) -> None:
        nonlocal session
        session = await _open_session(args, host, "")
        talk.start_afresh(session.host.about)
        host.command_terminal.tell(f"A new conversation: {session.host.about['session_id']}")

    async def after(result: RunResult[Any]) -> None:
        await _show_sources(session, result)

    talk = host.start_talk(session, session.agent(await host.model()))
    host.command_terminal.note(f"Conversation {session.host.about['session_id']}. /help lists what can be typed.")
    fresh = SlashCommand("begin another conversation", anew)
    return await talk.converse({"/new": fresh, "/clear": fresh}, after)


async def _open_session(args: Namespace, host: Host, wanted: str) -> AssistantSession:
    """Open the assistant in the requested session or in a new one."""
    async with open_library(host) as library:
        await library.look()
        if not (await library.catalogue()).courses:
            host.command_terminal.tell(NO_COURSES)
    sessions = CourseSessionStore(host.home.folder)
    if wanted and not await sessions.has(host.user, wanted):
        raise SettingsError(f"There is no conversation {wanted} of yours; leave --session out to begin one.")
    scope = await find_scope(host, args.course, args.document)
    return AssistantSession(assistant, host, {"session_id": await sessions.begin(host.user, wanted), **scope.context})


async def _show_sources(session: AssistantSession, result: RunResult[Any]) -> None:
    data = await session.reply(result)
    for each in format_citations(data["citations"]):
        session.host.command_terminal.note(each)
    for each in format_sources(data["sources"]):
        session.host.command_terminal.note(f"Source: {each}")


def _is_url(typed: str) -> bool:
    return typed.startswith(("https://", "http://"))


async def _copy_upload(library: CourseLibrary, host: Host, typed: str) -> None:
    """Copy an archive's files, or the file at a URL, into the upload folder."""
    if _is_url(typed):
        name, data = await fetch_upload(typed, private=library.settings.private_urls)
    else:
        name, data = Path(typed).name, read_named(_parse_path(typed), MAX_MATERIAL_BYTES)
    for each in library.uploads.add(name, data).skipped:
        host.command_terminal.tell(f"{each.source} was left out: {each.reason}", "yellow")


def _parse_path(typed: str) -> Path:
    try:
        return Path(typed).expanduser()
    except RuntimeError as error:
        raise SettingsError(f"There is no {typed}; name a folder of courses, or a file.") from error


def _require_paths(paths: Sequence[Path]) -> None:
    """Raise if a path doesn't exist, before anything is done."""
    for path in paths:
        if not path_exists(path):
            raise SettingsError(f"There is no {path}; name a folder of courses, or a file.")
        check_workspace(path)


def _not_added_error(path: Path, library: CourseLibrary) -> SettingsError:
    if str(path.resolve()) in {each.path for each in library.places()}:
        return SettingsError(f"{path} is named in `folders` under [assistants.courses] in treadle.toml; take it out there.")
    listed = ", ".join([each.path for each in library.shelf.places()]) or "nothing"
    return SettingsError(f"{path} wasn't added. There is: {listed}.")


def _unknown_course_error(name: str, others: Sequence[Course]) -> SettingsError:
    offered = ", ".join([course.name for course in others[:10]])
    return SettingsError(f"There is no course {name!r}. There are: {offered}." if offered else NO_COURSES)


async def _refresh_library(args: Namespace, library: CourseLibrary, host: Host, added: Sequence[Path] = ()) -> int:
    """Index what has changed, and print a report. Unreadable files are named; an added path without any content isn't retained."""
    terminal = host.command_terminal
    report = await library.refresh(_progress_printer(terminal))
    for each in report.skipped:
        terminal.tell(f"{each.source} was left out: {each.reason}", "yellow")
    brought = [path for path in added if await library.has_any(path)]
    for path in added:
        if path not in brought:
            library.shelf.remove(path)
            terminal.tell(f"There is no course in {path} that could be read, so it wasn't added.", "red")
    courses = (await library.catalogue()).courses
    if args.json:
        host.show({**msgspec.to_builtins(report), "courses": [course.name for course in courses]})
    else:
        terminal.line(_format_report(report, len(courses)))
    return 0 if len(brought) == len(added) else 1


def _progress_printer(terminal: Terminal) -> Callable[[IndexProgress], None]:
    """Return a callback that prints the progress once a second."""
    told = time.monotonic()

    def tell(progress: IndexProgress) -> None:
        nonlocal told
        if progress.name or time.monotonic() - told >= PROGRESS_INTERVAL:
            told = time.monotonic()
            now = f": {progress.name}" if progress.name else ""
            terminal.note(f"{progress.done:,} of {progress.total:,} {progress.what}{now}")

    return tell


def _format_report(report: IndexReport, courses: int) -> str:
    counted = {"added": report.added, "changed": report.changed, "unchanged": report.unchanged, "removed": report.removed}
    done = ", ".join([f"{number:,} {what}" for what, number in counted.items() if number]) or "none"
    return f"Files: {done}. There {'is 1 course' if courses == 1 else f'are {courses:,} courses'} now."


def _print_courses(args: Namespace, host: Host, courses: tuple[Course, ...]) -> None:
    if args.json:
        host.show(courses)
    elif args.files:
        for course in courses:
            host.command_terminal.line(course.name, "bold")
            for source in course.sources:
                host.command_terminal.line(f"  {source}")
    elif args.course:
        host.command_terminal.line("\n\n".join([format_course_outline(course) for course in courses]))
    elif not courses:
        host.command_terminal.tell(NO_COURSES)
    else:
        width = max(len(course.name) for course in courses)
        for course in courses:
            lessons = "1 lesson " if len(course.lessons) == 1 else f"{len(course.lessons)} lessons"
            host.command_terminal.line(f"{course.name:<{width}}  {lessons:>11}  {course.instructor}".rstrip())


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= EXCERPT_CHARS else f"{words[: EXCERPT_CHARS - 1]}…"
