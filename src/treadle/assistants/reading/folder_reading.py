"""Read a folder: each file, several at a time, then the folder's purpose and how its files divide the work.

Readings of files are cached, so an interrupted folder continues where it was, and only changed files are read again.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from treadle import TreadleError
from treadle.assistants.reading.analysis import AnalysisOptions, analyse
from treadle.assistants.reading.analysis_program import log
from treadle.assistants.reading.execution_paths import ask_for_json
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.reading_types import FileReading, TokenUsage
from treadle.assistants.reading.source_files import NotReadable, iter_source_files, open_workspace_source
from treadle.errors import UnknownModel
from treadle.files import Workspace

CONCURRENCY = 4
_LINE = 160  # characters of a file's intent in the question about the folder
_MOST_FILES = 400  # in that question
INSTRUCTIONS = """\
You tell a developer what a folder of source code is for. You get each file with what it is for.
Answer with one JSON object and nothing else, of this form: {"folder_intent": "…", "groups": [{"label": "…", "description": "…", \
"files": ["…"]}]}. folder_intent says in 1 to 4 lines why the folder exists. A label has 2 to 5 words, a description says what the \
files of a group do together. Every file belongs to one group, by its path."""


class FolderFile(Struct, frozen=True):
    """A file of a folder: its reading, or why there is none."""

    path: str
    reading: FileReading | None = None
    problem: str = ""


class FileGroup(Struct, frozen=True):
    """A group of files with a common purpose."""

    label: str
    description: str
    files: tuple[str, ...]


class FolderReading(Struct, frozen=True):
    """A folder's purpose. `sketch` means that no model described the whole; `fallback` is why, if one was asked."""

    folder_intent: str
    groups: tuple[FileGroup, ...]
    files: tuple[FolderFile, ...]
    sketch: bool
    tokens: TokenUsage = TokenUsage()
    notes: str = ""
    fallback: str = ""

    @property
    def failed_files(self) -> list[str]:
        """The files that are sketches because the model failed."""
        return [file.path for file in self.files if file.reading is not None and file.reading.metadata.is_failed]


FileCallback = Callable[[int, int, FolderFile], None]


async def read_folder(
    folder: Path, how: AnalysisOptions, outliner: Outliner, told: FileCallback, at_once: int = CONCURRENCY
) -> FolderReading:
    """Read every file, then the folder as a whole. The callback `told` is called for each finished file."""
    workspace = await asyncio.to_thread(Workspace, folder)  # one that a person named, to be read and nothing else
    paths = await asyncio.to_thread(lambda: list(iter_source_files(workspace)))
    if not paths:
        raise NotReadable(f"{folder} holds no source code that is known here.")
    gate, done = asyncio.Semaphore(at_once), 0

    async def one(path: str) -> FolderFile:
        nonlocal done
        async with gate:
            found = await _read_file(workspace, path, how, outliner)
        done += 1
        told(done, len(paths), found)
        return found

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(path)) for path in paths]
    return await _read_whole(folder, tuple([task.result() for task in tasks]), how)


async def _read_file(workspace: Workspace, path: str, how: AnalysisOptions, outliner: Outliner) -> FolderFile:
    try:
        source = await open_workspace_source(workspace, path, outliner)
        return FolderFile(path, (await analyse(source, how)).reading)
    except TreadleError as error:
        return FolderFile(path, problem=str(error))


async def _read_whole(folder: Path, files: tuple[FolderFile, ...], how: AnalysisOptions) -> FolderReading:
    """Describe the folder as a whole: by a model, else by where its files are."""
    spent = sum([file.reading.metadata.tokens for file in files if file.reading and not file.reading.metadata.cached], TokenUsage())
    if how.path != "sketch":
        try:
            return await _ask_model(files, how, spent)
        except UnknownModel as error:
            return _sketch_folder(folder, files, spent, str(error))
        except TreadleError as error:
            why = f"The model couldn't be asked about the whole: {error}"
            log.error("[FALLBACK] %s: %s", folder, why)
            return replace(_sketch_folder(folder, files, spent, why), fallback=why)
    return _sketch_folder(folder, files, spent, "")


async def _ask_model(files: tuple[FolderFile, ...], how: AnalysisOptions, spent: TokenUsage) -> FolderReading:
    question = "\n".join([_format_file(file) for file in files[:_MOST_FILES]])
    said = await ask_for_json(how.host, "reading-folder", INSTRUCTIONS, question, "folder_intent")
    groups = _assign_files(_parse_groups(said.fields.get("groups")), files)
    return FolderReading(said.intent, groups, files, sketch=False, tokens=spent + said.tokens)


def _format_file(file: FolderFile) -> str:
    words = file.reading.file_intent.replace("\n", " ") if file.reading else "could not be read"
    return f"{file.path}: {words if len(words) <= _LINE else words[: _LINE - 1] + '…'}"


def _parse_groups(given: object) -> list[FileGroup]:
    found: list[FileGroup] = []
    for group in cast("list[Any]", given) if isinstance(given, list) else ():
        fields = cast("dict[str, Any]", group) if isinstance(group, dict) else {}
        listed = fields.get("files")
        paths = [str(path) for path in cast("list[Any]", listed)] if isinstance(listed, list) else []
        found.append(FileGroup(str(fields.get("label") or "Files"), str(fields.get("description") or ""), tuple(paths)))
    return found


def _assign_files(groups: Sequence[FileGroup], files: Sequence[FolderFile]) -> tuple[FileGroup, ...]:
    """Put each file into the first group that names it; files that no group names form one of their own."""
    left = dict.fromkeys([file.path for file in files])
    found: list[FileGroup] = []
    for group in groups:
        mine = [path for path in dict.fromkeys(group.files) if path in left]
        for path in mine:
            del left[path]
        if mine:
            found.append(FileGroup(group.label, group.description, tuple(mine)))
    if left:
        found.append(FileGroup("In no group", "Files that the answer had left out.", tuple(left)))
    return tuple(found)


def _sketch_folder(folder: Path, files: tuple[FolderFile, ...], spent: TokenUsage, why: str) -> FolderReading:
    """Describe the folder without a model, grouped by subfolder."""
    folders: dict[str, list[str]] = {}
    for file in files:
        folders.setdefault(file.path.rpartition("/")[0], []).append(file.path)
    groups = [
        FileGroup(name or folder.name or "This folder", f"Files in {name or 'the folder itself'}.", tuple(paths))
        for name, paths in folders.items()
    ]
    counted = f"{len(files)} source files in {len(groups)} folders" if len(groups) > 1 else f"{len(files)} source files"
    return FolderReading(f"{counted}. A sketch, made without a model.", tuple(groups), files, sketch=True, tokens=spent, notes=why)
