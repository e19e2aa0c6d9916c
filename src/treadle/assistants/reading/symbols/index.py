"""Keep the symbol index of a folder up to date, and answer questions about definitions, references and callers.

A question first looks which files have changed, by size and modification time, and parses those alone. It waits for that
only so long: what is left is parsed in a thread of the background, and the answer says how many files are missing. For a
name that isn't in files that are still to be parsed, nothing is missing.
"""

import asyncio
import re
import threading
import time
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Literal
from weakref import finalize

import msgspec
from msgspec import Struct

from treadle import TreadleError
from treadle.assistants.reading.outline.languages import detect_language
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.outline.source_text import decode_source, is_minified
from treadle.assistants.reading.source_files import MAX_SOURCE_BYTES, MINIFIED, NotReadable, is_skipped_path
from treadle.assistants.reading.symbols.extraction import KINDS, Definition, FileSymbols, ReferenceKind
from treadle.assistants.reading.symbols.graph import ReferenceGraph, build_graph
from treadle.assistants.reading.symbols.store import ListedFile, SymbolStore, content_key
from treadle.files import MissingPath, Workspace, WorkspaceProblem
from treadle.workspace import Search

MAX_FILES = 50_000  # of a folder
WAIT_SECONDS = 10.0  # that a question waits for files to be parsed
_BATCH = 16  # files that are stored at once
_FEW = 48  # files that are parsed without looking first which of them a question needs
_KEYWORDS = r"(?:class|def|func|fun|fn|function|struct|interface|type|enum|trait|module|const|let|var|val)"  # before a definition
_RACE = 2_000_000_000  # nanoseconds in which a file may change twice at one modification time

RequestedKind = Literal["any", "definition", "call", "mention"]
_encode_graph = msgspec.msgpack.Encoder().encode
_decode_graph = msgspec.msgpack.Decoder(ReferenceGraph).decode


class SymbolLocation(Struct, frozen=True):
    """A line that defines, calls or mentions a name. `inside` is the definition around it, or the definition itself.

    A definition has its signature and its lines, from `start` to `end`.
    """

    path: str
    line: int
    kind: ReferenceKind
    inside: str
    signature: str = ""
    start: int = 0
    end: int = 0


class IndexState(Struct, frozen=True):
    """How far an index is: the source files, and those that are still to be parsed."""

    files: int
    pending: int


class SymbolIndex:
    """The symbol index of a folder. Any number of tasks and threads may share one.

    data     the folder of a home, in which the index is stored; without it, it lasts as long as this object
    seconds  how long a question waits for files to be parsed
    """

    def __init__(self, workspace: Workspace, data: Path | None = None, *, seconds: float = WAIT_SECONDS) -> None:
        self.workspace = workspace
        if data is None:
            data = Path(mkdtemp(prefix="treadle-symbols-"))
            finalize(self, rmtree, data, ignore_errors=True)
        self._store = SymbolStore(data, workspace.folder)
        self._seconds = seconds
        self._writing = threading.Lock()
        self._stop = threading.Event()
        self._background: threading.Thread | None = None
        self._cleaned = False

    async def refresh(self, under: str = ".", *, first: Collection[str] = (), wait: float | None = None) -> IndexState:
        """Parse what has changed below a folder, the files in `first` before others, and return how far it got.

        What isn't done within `wait` seconds goes on in the background.
        """
        listed, complete = await self._list_files(under)
        stale = await asyncio.to_thread(self._store.find_stale, listed, self._place(under), complete=complete)
        stale.sort(key=lambda file: (file.path not in first, file.path.count("/"), file.path))
        seconds = self._seconds if wait is None else wait
        left = await asyncio.to_thread(self._update, stale, time.monotonic() + seconds) if stale else []
        if left:
            self._continue_in_background(left)
        return IndexState(len(listed), len(left))

    async def find(self, name: str, kind: RequestedKind = "any", under: str = ".") -> tuple[list[SymbolLocation], IndexState]:
        """Return where a name is defined, called or mentioned, by path and line, and how far the index is.

        A name may have its class before it, which restricts definitions.
        """
        bare = name.strip().rpartition(".")[2]
        if not bare:
            return [], IndexState(0, 0)
        state = await self._refresh_for(bare, under)
        found = await asyncio.to_thread(self._find, name.strip(), bare, self._place(under))
        return [each for each in found if kind in ("any", each.kind)], state

    async def graph(self, under: str = ".", *, first: Collection[str] = ()) -> tuple[ReferenceGraph, IndexState]:
        """Return the references between the files below a folder, and how far the index is."""
        state = await self.refresh(under, first=first)
        return await asyncio.to_thread(self._load_graph, self._place(under)), state

    def start(self) -> None:
        """Parse everything in the background, so that the first question needs to wait less.

        A folder with too many files to list, such as a user's home, is left alone until a question is asked.
        """
        if not self._is_busy():
            self._stop.clear()
            self._background = threading.Thread(target=self._run_refresh, name="symbol-index", daemon=True)
            self._background.start()

    def close(self) -> None:
        """Stop parsing in the background, and wait for the file that is being parsed."""
        self._stop.set()
        if self._background is not None:
            self._background.join()
            self._background = None

    def _is_busy(self) -> bool:
        return self._background is not None and self._background.is_alive()

    def _run_refresh(self) -> None:
        async def refresh() -> list[ListedFile]:
            listed, complete = await self._list_files(".")
            return self._store.find_stale(listed) if complete else []

        try:
            stale = asyncio.run(refresh())
        except TreadleError:  # the next question says so
            return
        self._update_all(stale)

    def _continue_in_background(self, files: Sequence[ListedFile]) -> None:
        if not self._is_busy():
            self._stop.clear()
            self._background = threading.Thread(target=self._update_all, args=(files,), name="symbol-index", daemon=True)
            self._background.start()

    def _update_all(self, files: Sequence[ListedFile]) -> None:
        try:
            self._update(files, None)
        except TreadleError:  # the next question says so
            return

    async def _refresh_for(self, name: str, under: str) -> IndexState:
        """Parse the changed files that have a name in them; others go on in the background."""
        listed, complete = await self._list_files(under)
        stale = await asyncio.to_thread(self._store.find_stale, listed, self._place(under), complete=complete)
        needed, later = stale, list[ListedFile]()
        if len(stale) > _FEW:
            search, word = Search(self.workspace), re.escape(name)
            found = await search.find_matching_files(word, under, most=MAX_FILES)
            defining = await search.find_matching_files(rf"{_KEYWORDS}\s+{word}\b", under, most=MAX_FILES)
            having, first = set(found.paths), set(defining.paths)
            needed = [file for file in stale if file.path in having or found.late]
            needed.sort(key=lambda file: file.path not in first)  # a definition is worth most if the time is up
            later = [file for file in stale if file.path not in having and not found.late]
        left = await asyncio.to_thread(self._update, needed, time.monotonic() + self._seconds) if needed else []
        if left or later:
            self._continue_in_background([*left, *later])
        return IndexState(len(listed), len(left))

    def _place(self, under: str) -> str:
        return self.workspace.relative(under or ".")

    async def _list_files(self, under: str) -> tuple[list[ListedFile], bool]:
        """Return the source files below a folder, and whether these are all. Hidden, ignored and installed ones are left out."""
        try:
            found = await Search(self.workspace).list_files(under or ".", most=MAX_FILES)
        except WorkspaceProblem as error:
            raise NotReadable(str(error)) from error
        paths = [path for path in found.paths if not is_skipped_path(path) and detect_language(path.rpartition("/")[2])]
        listed = await asyncio.to_thread(self._stat_files, paths)
        return listed, not (found.more or found.late)

    def _stat_files(self, paths: Iterable[str]) -> list[ListedFile]:
        folders: dict[str, set[str]] = {}
        for path in paths:
            folder, _, name = path.rpartition("/")
            folders.setdefault(folder, set()).add(name)
        listed: list[ListedFile] = []
        for folder, names in folders.items():
            try:
                entries = self.workspace.listing(folder or ".")
            except WorkspaceProblem:  # gone meanwhile
                continue
            listed += [
                ListedFile(f"{folder}/{entry.name}" if folder else entry.name, entry.size, entry.changed)
                for entry in entries
                if entry.kind == "file" and entry.name in names
            ]
        return listed

    def _update(self, files: Sequence[ListedFile], until: float | None) -> list[ListedFile]:
        """Parse files and store their symbols, batch by batch, until a time, or a stop; return those that are left."""
        if not self._cleaned:
            self._cleaned = True
            self._store.forget_unused()
        with self._store.stay_open(), Outliner() as outliner:
            for at in range(0, len(files), _BATCH):
                if self._stop.is_set() if until is None else time.monotonic() > until:
                    return list(files[at:])
                with self._writing:  # a question and the background take turns
                    self._update_batch(files[at : at + _BATCH], outliner)
        return []

    def _update_batch(self, files: Sequence[ListedFile], outliner: Outliner) -> None:
        texts: dict[bytes, tuple[str, str]] = {}
        stored: list[tuple[ListedFile, bytes]] = []
        parsed: list[tuple[bytes, FileSymbols | str]] = []
        removed: list[str] = []
        for file in files:
            language = detect_language(file.path.rpartition("/")[2]) or ""
            try:
                data = self.workspace.read_bytes(file.path, MAX_SOURCE_BYTES)
            except MissingPath:
                removed.append(file.path)
                continue
            except WorkspaceProblem as error:
                data = str(error).encode()
                key = content_key("problem", data)
                parsed.append((key, str(error)))
            else:
                key = content_key(language, data)
                try:
                    text = decode_source(data).text
                    texts[key] = (text, detect_language(file.path, text) or language)
                except TreadleError as error:
                    parsed.append((key, str(error)))
            new = time.time_ns() - file.changed < _RACE  # it may change again without a new time
            stored.append((msgspec.structs.replace(file, changed=0) if new else file, key))
        known = self._store.find_contents(texts)
        parsed += [(key, _parse(text, language, outliner)) for key, (text, language) in texts.items() if key not in known]
        self._store.add(stored, parsed, removed)

    def _find(self, name: str, bare: str, under: str) -> list[SymbolLocation]:
        found: list[SymbolLocation] = []
        with self._store.read() as reader:
            for path, content, lines in reader.find_uses(bare, under):
                definitions = reader.definitions_of(content)
                starts = [each.start for each in definitions]
                for code in lines:
                    line, kind = code // 4, KINDS[code % 4]
                    around = _innermost(definitions, starts, line)
                    if kind == "definition":
                        around = next((each for each in definitions if each.line == line and each.name == bare), around)
                        if around is None or not f".{around.qualified}".endswith(f".{name}"):
                            continue
                    place = SymbolLocation(path, line, kind, around.qualified if around else "")
                    if around and kind == "definition":
                        place = msgspec.structs.replace(place, signature=around.signature, start=around.start, end=around.end)
                    found.append(place)
        return found

    def _load_graph(self, under: str) -> ReferenceGraph:
        with self._store.read() as reader:
            stored = reader.load_graph() if under == "." else None
            if stored is not None:
                return _decode_graph(stored)
            graph, generation = build_graph(reader, under), reader.generation
        if under == ".":
            self._store.save_graph(generation, _encode_graph(graph))
        return graph


def format_pending(state: IndexState) -> str:
    """Return the note that not all files are parsed yet; empty if they are."""
    if not state.pending:
        return ""
    return f"[{state.pending} of {state.files} files aren't indexed yet; ask again in a moment.]"


def _parse(text: str, language: str, outliner: Outliner) -> FileSymbols | str:
    if is_minified(text):
        return MINIFIED
    try:
        return outliner.symbols_sync(text, language)
    except TreadleError as error:
        return str(error)


def _innermost(definitions: Sequence[Definition], starts: Sequence[int], line: int) -> Definition | None:
    """Return the innermost definition around a line; they are sorted by their starts, outer ones first."""
    begun = definitions[: bisect_right(starts, line)]
    return next((each for each in reversed(begun) if line <= each.end), None)
