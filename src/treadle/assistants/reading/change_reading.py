"""Read a change: which definitions differ between a commit and the working tree, and what a model says about the purpose.

Both versions of each file are outlined; a line that differs belongs to its enclosing definition, before or after.
Without a model there is only the list.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from treadle import TreadleError
from treadle.assistant import Host
from treadle.assistants.reading.analysis_program import log
from treadle.assistants.reading.execution_paths import ask_for_json
from treadle.assistants.reading.file_parts import FilePart, find_part_at
from treadle.assistants.reading.outline.languages import detect_language
from treadle.assistants.reading.outline.outliner import Outliner
from treadle.assistants.reading.reading_types import TokenUsage
from treadle.assistants.reading.source_files import outline_source
from treadle.errors import UnknownModel
from treadle.files import printable_name
from treadle.workspace import FileChange, changes_since

Status = Literal["added", "removed", "changed"]

MOST_DIFF = 24_000  # characters of the change that a model is shown
INSTRUCTIONS = """\
You tell a developer what a change to source code is for. You get the definitions that it touches, each with its lines added and \
removed, and then the change as a diff. Answer with one JSON object and nothing else, of this form: {"change_intent": "…", \
"definitions": [{"path": "…", "name": "…", "explanation": "…"}]}. change_intent says in 1 to 4 lines why the change was made and \
what is different for users of the code; an explanation says in one sentence what is different about a definition. Name \
definitions as they are listed."""


class DefinitionChange(Struct, frozen=True):
    """A definition that a change touches. Lines are those of the current file, or of the old one if it was removed."""

    name: str
    kind: str
    status: Status
    start_line: int
    end_line: int
    added: int
    removed: int
    explanation: str = ""


class ChangedFile(Struct, frozen=True):
    """A changed file, with its numbers of added and removed lines. `problem` says why its definitions aren't known."""

    path: str
    status: Status
    added: int
    removed: int
    definitions: tuple[DefinitionChange, ...] = ()
    problem: str = ""


class ChangeReading(Struct, frozen=True):
    """A change's purpose. `sketch` means that no model described it; `fallback` is why, if one was asked."""

    since: str
    change_intent: str
    files: tuple[ChangedFile, ...]
    sketch: bool
    tokens: TokenUsage = TokenUsage()
    notes: str = ""
    fallback: str = ""
    run_id: str = ""


async def read_change(host: Host, commit: str, path: Path, outliner: Outliner, *, ask: bool) -> ChangeReading:
    """Read the change of a file or folder since a commit. `ask` says whether a model is to explain it."""
    changes = await changes_since(path, commit, unsafe=not host.settings.commands.sandbox)
    files = tuple([await _read_changed_file(change, outliner) for change in changes])
    sketch = ChangeReading(commit, _summarize_counts(files, commit), files, sketch=True)
    if not ask or not files:
        return sketch
    try:
        return await _ask_model(host, sketch, changes)
    except UnknownModel as error:
        return replace(sketch, notes=str(error))
    except TreadleError as error:
        why = f"The model couldn't be asked about the change: {error}"
        log.error("[FALLBACK] change since %s: %s", commit, why)
        return replace(sketch, notes=why, fallback=why)


def _summarize_counts(files: Sequence[ChangedFile], commit: str) -> str:
    """Summarize the change without a model."""
    if not files:
        return f"Nothing has changed since {commit}."
    definitions = Counter([each.status for file in files for each in file.definitions])
    told = ", ".join([f"{definitions[status]} {status}" for status in ("added", "changed", "removed") if definitions[status]])
    lines = f"{sum([file.added for file in files])} lines added, {sum([file.removed for file in files])} removed"
    return f"Files changed since {commit}: {len(files)} ({lines}). Definitions: {told or 'none'}."


async def _read_changed_file(change: FileChange, outliner: Outliner) -> ChangedFile:
    """Return a changed file, with its definitions if it is readable source code."""
    found = ChangedFile(printable_name(change.path), change.status, len(change.added), len(change.removed), problem=change.problem)
    if change.problem or detect_language(change.path.rpartition("/")[2]) is None:
        return found
    try:
        before, after = [await _list_definitions(text, change.path, outliner) for text in (change.before, change.after)]
    except TreadleError as error:
        return replace(found, problem=str(error))
    return replace(found, definitions=tuple(find_touched_definitions(before, after, change.removed, change.added)))


async def _list_definitions(text: str, path: str, outliner: Outliner) -> list[FilePart]:
    parts = (await outline_source(text, path, "", outliner)).parts if text.strip() else ()
    return [part for part in parts if part.defines and part.elements]


def find_touched_definitions(
    before: Sequence[FilePart], after: Sequence[FilePart], removed: Sequence[int], added: Sequence[int]
) -> list[DefinitionChange]:
    """Return the definitions with lines that differ, in file order, removed ones last. Pure."""
    was, now = _index_by_name(before), _index_by_name(after)
    minus, plus = Counter(_find_owners(before, removed)), Counter(_find_owners(after, added))
    names = [name for name in (*now, *[name for name in was if name not in now]) if minus[name] or plus[name]]
    found: list[DefinitionChange] = []
    for name in names:
        part = now.get(name) or was[name]
        status: Status = "added" if name not in was else "changed" if name in now else "removed"
        found.append(DefinitionChange(name, part.node.kind, status, part.start, part.node.end, plus[name], minus[name]))
    return found


def _index_by_name(parts: Sequence[FilePart]) -> dict[str, FilePart]:
    """Return the definitions by name; the first of those that share one."""
    found: dict[str, FilePart] = {}
    for part in parts:
        found.setdefault(part.elements[0].name, part)
    return found


def _find_owners(parts: Sequence[FilePart], lines: Sequence[int]) -> Iterator[str]:
    """Yield the name of the definition that contains each line."""
    for line in lines:
        if (part := find_part_at(parts, line)) is not None:
            yield part.elements[0].name


# the model's explanation


async def _ask_model(host: Host, sketch: ChangeReading, changes: Sequence[FileChange]) -> ChangeReading:
    question, cut = _build_question(sketch, changes)
    said = await ask_for_json(host, "reading-change", INSTRUCTIONS, question, "change_intent")
    files = tuple([_add_explanations(file, _parse_explanations(said.fields.get("definitions"))) for file in sketch.files])
    notes = f"The model was shown the first {MOST_DIFF:,} characters of the change." if cut else ""
    return ChangeReading(sketch.since, said.intent, files, sketch=False, tokens=said.tokens, notes=notes, run_id=said.run_id)


def _build_question(sketch: ChangeReading, changes: Sequence[FileChange]) -> tuple[str, bool]:
    """Return the prompt for a model: the list and the diff, and whether the diff was truncated."""
    listed = "\n".join(format_change_lines(sketch.files))
    diff = "\n".join([f"--- {printable_name(change.path)} ({change.status})\n{change.diff}" for change in changes if change.diff])
    text = f"{listed}\n\n{diff}"
    return text[:MOST_DIFF], len(text) > MOST_DIFF


def _parse_explanations(given: object) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for each in cast("list[Any]", given) if isinstance(given, list) else ():
        if isinstance(each, dict):
            fields = cast("dict[str, Any]", each)
            found[str(fields.get("path", "")), str(fields.get("name", ""))] = str(fields.get("explanation") or "").strip()
    return found


def _add_explanations(file: ChangedFile, said: Mapping[tuple[str, str], str]) -> ChangedFile:
    """Add a model's explanations to a file's definitions; those of other definitions are ignored."""
    each = [replace(one, explanation=said.get((file.path, one.name), "")) for one in file.definitions]
    return replace(file, definitions=tuple(each))


def format_change_lines(files: Sequence[ChangedFile]) -> Iterator[str]:
    """Yield a line for each file and each definition."""
    for file in files:
        problem = f": {file.problem}" if file.problem else ""
        yield f"{file.path} {file.status} +{file.added} -{file.removed}{problem}"
        for each in file.definitions:
            words = f": {each.explanation}" if each.explanation else ""
            where = f"{each.start_line}-{each.end_line}"
            yield f"  {each.status} {each.kind} {each.name} {where} +{each.added} -{each.removed}{words}"
