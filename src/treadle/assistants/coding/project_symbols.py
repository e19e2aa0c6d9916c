"""The symbols of a project: the reading assistant's symbol index, for the tools of a model and for mentions of a user.

A session opens one and starts it, so that the index is built while the user types the first message. Without the grammars, or
without ripgrep, definitions are found in the project's Python sources, and lines are searched instead.
"""

import threading
from asyncio import to_thread
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from treadle import ToolProblem, TreadleError
from treadle.files import Workspace, WorkspaceProblem
from treadle.workspace import SymbolLookup

if TYPE_CHECKING:
    from treadle.assistants.reading.symbols.index import SymbolIndex, SymbolLocation

MAX_PLACES = 3  # definitions of one name that are shown


class SymbolDefinition(Struct, frozen=True):
    """A definition with its source."""

    path: str
    name: str
    start: int
    end: int
    source: str


class ProjectSymbols:
    """The symbols of a folder. `data` is the folder of a home, in which the index is stored; it is opened when it is needed."""

    def __init__(self, folder: Path, data: Path | None = None) -> None:
        self._folder = folder
        self._data = data
        self._lock = threading.Lock()
        self._opened: SymbolIndex | None = None
        self._starting: threading.Thread | None = None
        self._closed = False

    @property
    def lookup(self) -> SymbolLookup | None:
        """The index for the tools of a model; None if there are no grammars."""
        return self if _has_grammars() else None

    def start(self) -> None:
        """Build the index in the background, so that the first question waits less. Returns at once."""
        if self._starting is None and _has_grammars():
            self._starting = threading.Thread(target=self._start, name="project-symbols", daemon=True)  # imports take a while
            self._starting.start()

    def _start(self) -> None:
        with suppress(TreadleError):  # the next question says so
            index = self._open()
            with self._lock:
                if not self._closed:
                    index.start()

    async def close(self) -> None:
        """Stop building the index; what is built is kept."""
        await to_thread(self._close)

    def _close(self) -> None:
        with self._lock:
            self._closed = True
        if self._starting is not None:
            self._starting.join()
        if self._opened is not None:
            self._opened.close()

    def _open(self) -> "SymbolIndex":
        from treadle.assistants.reading.symbols.index import SymbolIndex

        with self._lock:
            if self._opened is None:
                self._opened = SymbolIndex(Workspace(self._folder), self._data)
            return self._opened

    async def find_definitions(self, name: str) -> Sequence[SymbolDefinition]:
        """Return the definitions of a name, or of names that end with it, the exact ones first."""
        if _has_grammars():
            with suppress(TreadleError):
                index = await to_thread(self._open)
                found, _ = await index.find(name, "definition")
                return await to_thread(_read_definitions, self._folder, name, found)
        return await to_thread(_find_python_definitions, self._folder, name)

    # for a model

    async def find(self, name: str, kind: Literal["any", "definition", "call"], directory: str) -> str:
        """Return where a name is defined, called or mentioned below a folder."""
        from treadle.assistants.reading.repository_search import find_references, format_references

        with _raise_tool_problems():
            return format_references(await find_references(await to_thread(self._open), name, directory, kind))

    async def map(self, task: str, directory: str, max_tokens: int) -> str:
        """Return the most important files below a folder for a task, with what they define."""
        from treadle.assistants.reading.repository_search import CHARACTERS_PER_TOKEN, MAP_BUDGETS, format_map, map_repository

        least, most = MAP_BUDGETS
        budget = max(least, min(max_tokens * CHARACTERS_PER_TOKEN, most))
        with _raise_tool_problems():
            return format_map(await map_repository(await to_thread(self._open), directory, budget, task))


def _has_grammars() -> bool:
    return find_spec("tree_sitter") is not None


@contextmanager
def _raise_tool_problems() -> Generator[None]:
    try:
        yield
    except TreadleError as error:
        raise ToolProblem(str(error)) from error


def _read_definitions(folder: Path, name: str, found: "Sequence[SymbolLocation]") -> list[SymbolDefinition]:
    workspace = Workspace(folder)
    definitions: list[SymbolDefinition] = []
    for place in sorted(found, key=lambda each: (each.inside != name, each.path, each.start))[:MAX_PLACES]:
        with suppress(WorkspaceProblem):
            lines = workspace.read_bytes(place.path).decode("utf-8", errors="replace").splitlines()
            source = "\n".join(lines[place.start - 1 : place.end])
            definitions.append(SymbolDefinition(place.path, place.inside, place.start, place.end, source))
    return definitions


def _find_python_definitions(folder: Path, name: str) -> list[SymbolDefinition]:
    from treadle.assistants.coding.job_environment import read_project_sources

    sources = read_project_sources(folder)
    found: list[SymbolDefinition] = []
    for path, text in sources.files.items():
        lines = text.splitlines()
        for place in sources.module(path).places.values():
            if f".{place.name}".endswith(f".{name}"):
                source = "\n".join(lines[place.start - 1 : place.end])
                found.append(SymbolDefinition(path, place.name, place.start, place.end, source))
    return sorted(found, key=lambda each: (each.name != name, each.path, each.start))
