"""Reads a change: which definitions differ between a commit and the files as they are, and what a model says that is for.

Both texts of each file are outlined; a line that differs belongs to the definition around it, before or after. Without a model
there is the list alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from treadle import Host, Limits, Options, TreadleError, UnknownModel, json_in, settled_agent
from treadle.assistants.reading.files import NotReadable, source_from
from treadle.assistants.reading.outline.languages import language_of
from treadle.assistants.reading.outline.worker import Outliner
from treadle.assistants.reading.parts import Part, part_at
from treadle.assistants.reading.program import log
from treadle.assistants.reading.values import Tokens
from treadle.files import shown
from treadle.workspace import FileChange, changes_since

Status = Literal["added", "removed", "changed"]

MOST_DIFF = 24_000  # characters of the change that a model is shown
_INSTRUCTIONS = """\
You tell a developer what a change to source code is for. You get the definitions that it touches, each with its lines added and \
removed, and then the change as a diff. Answer with one JSON object and nothing else: {"change_intent": "in 1 to 4 lines, why this \
change was made and what is different for whoever uses the code", "definitions": [{"path": "shop.py", "name": "price", \
"explanation": "what is different about it, in one sentence"}]}. Name definitions as they are listed."""


class DefinitionChange(Struct, frozen=True):
    """A definition that a change touches. Lines are those of the file as it is now, or as it was where it is removed."""

    name: str
    kind: str
    status: Status
    start_line: int
    end_line: int
    added: int
    removed: int
    explanation: str = ""


class ChangedFile(Struct, frozen=True):
    """A file of a change, with how many lines were added and removed. `problem` says why its definitions aren't known."""

    path: str
    status: Status
    added: int
    removed: int
    definitions: tuple[DefinitionChange, ...] = ()
    problem: str = ""


class ChangeReading(Struct, frozen=True):
    """What a change is for. `sketch` says that no model spoke of it, `fallback` why, where one was asked."""

    since: str
    change_intent: str
    files: tuple[ChangedFile, ...]
    sketch: bool
    tokens: Tokens = Tokens()
    notes: str = ""
    fallback: str = ""
    run_id: str = ""


async def read_change(host: Host, commit: str, path: Path, outliner: Outliner, *, ask: bool) -> ChangeReading:
    """The change of a file or folder since a commit. `ask` says whether a model is to explain it."""
    changes = await changes_since(path, commit, unsafe=not host.settings.commands.sandbox)
    files = tuple([await _changed(change, outliner) for change in changes])
    sketch = ChangeReading(commit, _counted(files, commit), files, sketch=True)
    if not ask or not files:
        return sketch
    try:
        return await _asked(host, sketch, changes)
    except UnknownModel as error:
        return replace(sketch, notes=str(error))
    except TreadleError as error:
        why = f"The model couldn't be asked about the change: {error}"
        log.error("[FALLBACK] change since %s: %s", commit, why)
        return replace(sketch, notes=why, fallback=why)


def _counted(files: Sequence[ChangedFile], commit: str) -> str:
    """What can be said without a model."""
    if not files:
        return f"Nothing has changed since {commit}."
    definitions = Counter([each.status for file in files for each in file.definitions])
    told = ", ".join([f"{definitions[status]} {status}" for status in ("added", "changed", "removed") if definitions[status]])
    lines = f"{sum([file.added for file in files])} lines added, {sum([file.removed for file in files])} removed"
    return f"Files changed since {commit}: {len(files)} ({lines}). Definitions: {told or 'none'}."


async def _changed(change: FileChange, outliner: Outliner) -> ChangedFile:
    """A file of a change, with its definitions where it is source code that can be read."""
    found = ChangedFile(shown(change.path), change.status, len(change.added), len(change.removed), problem=change.problem)
    if change.problem or language_of(change.path.rpartition("/")[2]) is None:
        return found
    try:
        before, after = [await _definitions(text, change.path, outliner) for text in (change.before, change.after)]
    except TreadleError as error:
        return replace(found, problem=str(error))
    return replace(found, definitions=tuple(touched(before, after, change.removed, change.added)))


async def _definitions(text: str, path: str, outliner: Outliner) -> list[Part]:
    parts = (await source_from(text, path, "", outliner)).parts if text.strip() else ()
    return [part for part in parts if part.defines and part.elements]


def touched(before: Sequence[Part], after: Sequence[Part], removed: Sequence[int], added: Sequence[int]) -> list[DefinitionChange]:
    """The definitions before and after that have lines that differ: in the order of the file, removed ones last. Pure."""
    was, now = _named(before), _named(after)
    minus, plus = Counter(_owners(before, removed)), Counter(_owners(after, added))
    names = [name for name in (*now, *[name for name in was if name not in now]) if minus[name] or plus[name]]
    found: list[DefinitionChange] = []
    for name in names:
        part = now.get(name) or was[name]
        status: Status = "added" if name not in was else "changed" if name in now else "removed"
        found.append(DefinitionChange(name, part.node.kind, status, part.start, part.node.end, plus[name], minus[name]))
    return found


def _named(parts: Sequence[Part]) -> dict[str, Part]:
    """The definitions by their names; the first of those that share one."""
    found: dict[str, Part] = {}
    for part in parts:
        found.setdefault(part.elements[0].name, part)
    return found


def _owners(parts: Sequence[Part], lines: Sequence[int]) -> Iterator[str]:
    """The name of the definition that each of some lines is in."""
    for line in lines:
        if (part := part_at(parts, line)) is not None:
            yield part.elements[0].name


# the model's explanation


async def _asked(host: Host, sketch: ChangeReading, changes: Sequence[FileChange]) -> ChangeReading:
    model = await host.model()
    parts: dict[str, Any] = {
        "name": "reading-change",
        "instructions": _INSTRUCTIONS,
        "limits": Limits(rounds=2, tries=3),
        "options": Options(temperature=0.1, max_tokens=2000).suited(model.traits),
    }
    agent = settled_agent(None, model, parts=parts)
    kept: dict[str, Any] = {"journal": host.home.services(), "user": host.user, "origin": host.remember({})}
    question, cut = _question(sketch, changes)
    result = await agent.run(question, **kept)
    answer = json_in(result.output)
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    intent = fields.get("change_intent")
    if not isinstance(intent, str) or not intent.strip():
        raise NotReadable("what it answered can't be read.")
    files = tuple([_explained(file, _explanations(fields.get("definitions"))) for file in sketch.files])
    notes = f"The model was shown the first {MOST_DIFF:,} characters of the change." if cut else ""
    spent = Tokens.of(result.usage)
    return ChangeReading(sketch.since, intent.strip(), files, sketch=False, tokens=spent, notes=notes, run_id=result.run_id)


def _question(sketch: ChangeReading, changes: Sequence[FileChange]) -> tuple[str, bool]:
    """What a model is shown: the list and the diff, and whether that was cut."""
    listed = "\n".join(change_lines(sketch.files))
    diff = "\n".join([f"--- {shown(change.path)} ({change.status})\n{change.diff}" for change in changes if change.diff])
    text = f"{listed}\n\n{diff}"
    return text[:MOST_DIFF], len(text) > MOST_DIFF


def _explanations(given: object) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for each in cast("list[Any]", given) if isinstance(given, list) else ():
        if isinstance(each, dict):
            fields = cast("dict[str, Any]", each)
            found[str(fields.get("path", "")), str(fields.get("name", ""))] = str(fields.get("explanation") or "").strip()
    return found


def _explained(file: ChangedFile, said: Mapping[tuple[str, str], str]) -> ChangedFile:
    """A file with what a model says of its definitions; what it says of others isn't there."""
    each = [replace(one, explanation=said.get((file.path, one.name), "")) for one in file.definitions]
    return replace(file, definitions=tuple(each))


def change_lines(files: Sequence[ChangedFile]) -> Iterator[str]:
    """A line for each file and each definition."""
    for file in files:
        problem = f": {file.problem}" if file.problem else ""
        yield f"{file.path} {file.status} +{file.added} -{file.removed}{problem}"
        for each in file.definitions:
            words = f": {each.explanation}" if each.explanation else ""
            where = f"{each.start_line}-{each.end_line}"
            yield f"  {each.status} {each.kind} {each.name} {where} +{each.added} -{each.removed}{words}"
