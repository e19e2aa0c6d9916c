"""Reads a folder: every file, some at a time, then what the folder is for and how its files divide the work.

Answers about files are kept, so a folder that was interrupted goes on where it was, and only what has changed is read again.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from treadle import Limits, Options, TreadleError, UnknownModel, json_in, settled_agent
from treadle.assistants.reading.analyse import How, analyse
from treadle.assistants.reading.files import NotReadable, open_source_from, walk
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.program import log
from treadle.assistants.reading.values import Reading, Tokens
from treadle.files import Workspace

AT_ONCE = 4
_LINE = 160  # characters of a file's intent in the question about the folder
_MOST_FILES = 400  # in that question
_INSTRUCTIONS = """\
You tell a developer what a folder of source code is for. You get each file with what it is for.
Answer with one JSON object and nothing else: {"folder_intent": "in 1 to 4 lines, why this folder exists", "groups": \
[{"label": "2 to 5 words", "description": "what these files do together", "files": ["path"]}]}. Every file belongs to one group."""


class FileRead(Struct, frozen=True):
    """A file of a folder: its reading, or why there is none."""

    path: str
    reading: Reading | None = None
    problem: str = ""


class Division(Struct, frozen=True):
    """Files that do one thing together."""

    label: str
    description: str
    files: tuple[str, ...]


class FolderReading(Struct, frozen=True):
    """What a folder is for. `sketch` says that no model spoke of the whole, `fallback` why, where one was asked."""

    folder_intent: str
    groups: tuple[Division, ...]
    files: tuple[FileRead, ...]
    sketch: bool
    tokens: Tokens = Tokens()
    notes: str = ""
    fallback: str = ""

    @property
    def failed_files(self) -> list[str]:
        """The files that are sketches since the model failed."""
        return [file.path for file in self.files if file.reading is not None and file.reading.metadata.is_failed]


Told = Callable[[int, int, FileRead], None]


async def read_folder(folder: Path, how: How, outliner: Outliner, told: Told, at_once: int = AT_ONCE) -> FolderReading:
    """Every file, and then the whole. `told` hears of each file that is done."""
    workspace = await asyncio.to_thread(Workspace, folder)  # one that a person named, to be read and nothing else
    paths = await asyncio.to_thread(lambda: list(walk(workspace)))
    if not paths:
        raise NotReadable(f"{folder} holds no source code that is known here.")
    gate, done = asyncio.Semaphore(at_once), 0

    async def one(path: str) -> FileRead:
        nonlocal done
        async with gate:
            found = await _read(workspace, path, how, outliner)
        done += 1
        told(done, len(paths), found)
        return found

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(path)) for path in paths]
    return await _whole(folder, tuple([task.result() for task in tasks]), how)


async def _read(workspace: Workspace, path: str, how: How, outliner: Outliner) -> FileRead:
    try:
        source = await open_source_from(workspace, path, outliner)
        return FileRead(path, (await analyse(source, how)).reading)
    except TreadleError as error:
        return FileRead(path, problem=str(error))


async def _whole(folder: Path, files: tuple[FileRead, ...], how: How) -> FolderReading:
    """What the folder is for: from a model, else from where its files lie."""
    spent = sum([file.reading.metadata.tokens for file in files if file.reading and not file.reading.metadata.cached], Tokens())
    if how.path != "sketch":
        try:
            return await _asked(files, how, spent)
        except UnknownModel as error:
            return _sketched(folder, files, spent, str(error))
        except TreadleError as error:
            why = f"The model couldn't be asked about the whole: {error}"
            log.error("[FALLBACK] %s: %s", folder, why)
            return replace(_sketched(folder, files, spent, why), fallback=why)
    return _sketched(folder, files, spent, "")


async def _asked(files: tuple[FileRead, ...], how: How, spent: Tokens) -> FolderReading:
    model = await how.host.model()
    parts: dict[str, Any] = {
        "name": "reading-folder",
        "instructions": _INSTRUCTIONS,
        "limits": Limits(rounds=2, tries=3),
        "options": Options(temperature=0.1, max_tokens=2000).suited(model.traits),
    }
    agent = settled_agent(None, model, parts=parts)
    kept: dict[str, Any] = {"journal": how.host.home.services(), "user": how.host.user, "origin": how.host.remember({})}
    result = await agent.run("\n".join([_line(file) for file in files[:_MOST_FILES]]), **kept)
    answer = json_in(result.output)
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    intent = fields.get("folder_intent")
    if not isinstance(intent, str) or not intent.strip():
        raise NotReadable("what it answered can't be read.")
    groups = _placed(_groups(fields.get("groups")), files)
    return FolderReading(intent.strip(), groups, files, sketch=False, tokens=spent + Tokens.of(result.usage))


def _line(file: FileRead) -> str:
    words = file.reading.file_intent.replace("\n", " ") if file.reading else "could not be read"
    return f"{file.path}: {words if len(words) <= _LINE else words[: _LINE - 1] + '…'}"


def _groups(given: object) -> list[Division]:
    found: list[Division] = []
    for group in cast("list[Any]", given) if isinstance(given, list) else ():
        fields = cast("dict[str, Any]", group) if isinstance(group, dict) else {}
        listed = fields.get("files")
        paths = [str(path) for path in cast("list[Any]", listed)] if isinstance(listed, list) else []
        found.append(Division(str(fields.get("label") or "Files"), str(fields.get("description") or ""), tuple(paths)))
    return found


def _placed(groups: Sequence[Division], files: Sequence[FileRead]) -> tuple[Division, ...]:
    """Every file in one group, the first that names it; files that none names are in one of their own."""
    left = dict.fromkeys([file.path for file in files])
    found: list[Division] = []
    for group in groups:
        mine = [path for path in dict.fromkeys(group.files) if path in left]
        for path in mine:
            del left[path]
        if mine:
            found.append(Division(group.label, group.description, tuple(mine)))
    if left:
        found.append(Division("In no group", "Files that the answer had left out.", tuple(left)))
    return tuple(found)


def _sketched(folder: Path, files: tuple[FileRead, ...], spent: Tokens, why: str) -> FolderReading:
    """Grouped by folder."""
    folders: dict[str, list[str]] = {}
    for file in files:
        folders.setdefault(file.path.rpartition("/")[0], []).append(file.path)
    groups = [
        Division(name or folder.name or "This folder", f"Files in {name or 'the folder itself'}.", tuple(paths))
        for name, paths in folders.items()
    ]
    counted = f"{len(files)} source files in {len(groups)} folders" if len(groups) > 1 else f"{len(files)} source files"
    return FolderReading(f"{counted}. A sketch, made without a model.", tuple(groups), files, sketch=True, tokens=spent, notes=why)
