"""Reading and changing the files of a workspace, with text results for a model. `tools` offers this."""

import threading
from collections.abc import Callable
from hashlib import sha256
from typing import assert_never

from msgspec import Struct

from treadle.core.tool import ToolResult
from treadle.files.problems import BadEdit, BinaryFile, FileChanged, FileTooLarge, MissingPath, WorkspaceProblem, printable_name
from treadle.files.workspace import MAX_BYTES, Workspace
from treadle.toolsets.workspace.edits import (
    AmbiguousMatch,
    EditedText,
    EditSpan,
    LinesOutOfRange,
    TextNotFound,
    append_lines,
    delete_lines,
    format_edit_diff,
    insert_lines,
    match_line_endings,
    replace_all,
    replace_lines,
    replace_text,
    split_keeping_ends,
)
from treadle.toolsets.workspace.file_contents import FileText, ReadTracker, decode_file_text, replace_surrogates

MAX_LINES = 2_000
MAX_SHOWN = 50_000
MAX_COLUMNS = 2_000
NO_LAST_NEWLINE = "\n\\ No newline at end of file"  # as git says it
_ABSENT = "absent"  # the seal of a file that isn't there


class FileLines(Struct, frozen=True):
    """Lines of a file as they are: the data of a result. `total` is how many the file has."""

    text: str
    start: int
    end: int
    total: int


EditOutcome = EditedText | AmbiguousMatch | TextNotFound | LinesOutOfRange


class WorkspaceFiles:
    """Operations on the files of a workspace, for any run."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._reads = ReadTracker()
        self._lock = threading.Lock()  # an edit reads, checks and writes, and tools run in threads

    def read(self, run: str, path: str, start: int = 1, end: int | None = None, go_on: str = "start_line={}") -> ToolResult:
        """Return numbered lines, as many as may be shown, with the lines themselves as data.

        `go_on` says how to get the next, whose number replaces its `{}`.
        """
        where, data = self._read(run, path)
        text = _decode(where, data)
        lines = split_keeping_ends(text.readable)
        if not lines:
            return ToolResult(f"{printable_name(where)} is empty.", FileLines("", 1, 0, 0))
        if not 1 <= start <= len(lines) or (end is not None and end < start):
            raise BadEdit(f"{printable_name(where)} has {len(lines)} lines; there are no lines {start} to {end or 'the end'}.")
        body, last = number_lines(lines, start, min(end or len(lines), len(lines)))
        notes = (
            []
            if text.is_whole
            else ["[Some bytes are not UTF-8; they are shown as \ufffd and stay as they are if you leave them.]"]
        )
        if last < min(end or len(lines), len(lines)):
            notes.append(f"[Lines {start} to {last} of {len(lines)}. Go on with {go_on.format(last + 1)}.]")
        return ToolResult("\n".join([body, *notes]), FileLines("".join(lines[start - 1 : last]), start, last, len(lines)))

    def write(self, run: str, path: str, content: str) -> str:
        """Write a whole file. An existing one must have been read."""
        with self._lock:
            where = self.workspace.relative(path)
            before = self._read_before(run, where)
            known = decode_file_text(before or b"") or FileText("")
            after = match_line_endings(known.text, content)
            self._put(run, where, _encode(where, known, after))
        if before is None:
            return self._told(
                f"Created {printable_name(where)} with {len(split_keeping_ends(content))} lines.",
                where,
                None,
                replace_surrogates(after),
            )
        return self._told(f"Wrote {printable_name(where)}.", where, known.readable, replace_surrogates(after))

    def replace(self, run: str, path: str, old: str, new: str, line: int | None = None, *, every: bool = False) -> str:
        """Replace a text: at its only occurrence, at the hinted line, or everywhere."""
        return self._edit(run, path, new, lambda text: replace_all(text, old, new) if every else replace_text(text, old, new, line))

    def append(self, run: str, path: str, content: str) -> str:
        """Append lines to a file, which is created if it doesn't exist."""
        try:
            return self._edit(run, path, content, lambda text: append_lines(text, content))
        except MissingPath:
            return self.write(run, path, content)

    def edit_lines(self, run: str, path: str, start: int, end: int, new: str) -> str:
        """Replace some lines by others."""
        return self._edit(run, path, new, lambda text: replace_lines(text, start, end, new))

    def insert(self, run: str, path: str, line: int, new: str) -> str:
        """Insert lines before a line."""
        return self._edit(run, path, new, lambda text: insert_lines(text, line, new))

    def delete_lines(self, run: str, path: str, start: int, end: int) -> str:
        """Delete some lines."""
        return self._edit(run, path, "", lambda text: delete_lines(text, start, end))

    def delete(self, run: str, path: str) -> str:
        """Delete the file."""
        with self._lock:
            where = self.workspace.relative(path)
            self._remove(run, where)
        return f"Deleted {printable_name(where)}.\nModified files: {printable_name(where)}"

    def _read(self, run: str, path: str) -> tuple[str, bytes]:
        where = self.workspace.relative(path)
        data = self.workspace.read_bytes(where)
        self._reads.of(run).saw(where, data)  # also of a binary file: after that result it may be replaced
        return where, data

    def _read_before(self, run: str, where: str) -> bytes | None:
        """Return the current content, which the run must have read; None if there is none."""
        try:
            data = self.workspace.read_bytes(where)
        except MissingPath:
            return None
        self._check_read(run, where, data)
        return data

    def _check_read(self, run: str, where: str, data: bytes) -> None:
        self._reads.of(run).check(where, data)

    def _edit(self, run: str, path: str, new: str, change: Callable[[str], EditOutcome]) -> str:
        with self._lock:
            where = self.workspace.relative(path)
            before = self.workspace.read_bytes(where)
            self._check_read(run, where, before)
            text = _decode(where, before)
            if "\ufffd" in new and not text.is_whole:
                raise BadEdit(
                    f"The new text has \ufffd for bytes of {printable_name(where)} that are not UTF-8. Edit around those lines."
                )
            edited = _require_edited(where, change(text.text))
            self._put(run, where, _encode(where, text, edited.text))
        return self._told(_format_summary(where, edited), where, text.readable, replace_surrogates(edited.text))

    def _put(self, run: str, where: str, data: bytes) -> None:
        _check_size(where, data)
        self.workspace.write_bytes(where, data)
        self._reads.of(run).saw(where, data)

    def _remove(self, run: str, where: str) -> None:
        self.workspace.remove(where)
        self._reads.of(run).forget(where)

    def _told(self, what: str, where: str, before: str | None, after: str) -> str:
        change = [] if before is None else [format_edit_diff(before, after) or "[nothing is different]"]
        return "\n".join([what, *change, f"Modified files: {printable_name(where)}"])

    # what a person is shown before they are asked

    def seal(self, path: str) -> str:
        """Return what distinguishes the file's current state from any other; empty for what can't be read."""
        try:
            return _make_seal(self.workspace.read_bytes(path))
        except MissingPath:
            return _ABSENT
        except WorkspaceProblem:
            return ""

    def check_seal(self, run: str, path: str, seal: str) -> None:
        """Check that the file is unchanged since the user was shown the change; it then counts as read by the run."""
        if not seal:
            return
        where = self.workspace.relative(path)
        try:
            data = self.workspace.read_bytes(where)
        except MissingPath:
            data = None
        if seal != (_ABSENT if data is None else _make_seal(data)):
            raise FileChanged(
                f"{printable_name(where)} has changed since this change was approved, so nothing was done. Read it again."
            )
        if data is not None:
            self._reads.of(run).saw(where, data)


class FilePreviews(WorkspaceFiles):
    """The same operations, which return the whole diff of a change instead of making it."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self.workspace = files.workspace
        self._reads = files._reads
        self._lock = files._lock

    def read(self, run: str, path: str, start: int = 1, end: int | None = None, go_on: str = "") -> ToolResult:
        """Return nothing: reading changes nothing."""
        return ToolResult("")

    def delete(self, run: str, path: str) -> str:
        """Return the content that would be deleted; only the name of a folder, a link, and what isn't shown."""
        where = self.workspace.relative(path)
        try:
            text = decode_file_text(self.workspace.read_bytes(where)) if self.workspace.real(where) == where else None
        except WorkspaceProblem:
            text = None
        return f"{printable_name(where)} would be deleted." if text is None else self._told("", where, text.readable, "")

    def _check_read(self, run: str, where: str, data: bytes) -> None:
        """Accept a read by any run: over MCP each call is its own run, and a user reviews the diff anyway."""
        if not self._reads.knows(where, data):
            super()._check_read(run, where, data)

    def _put(self, run: str, where: str, data: bytes) -> None:
        _check_size(where, data)

    def _told(self, what: str, where: str, before: str | None, after: str) -> str:
        change = format_edit_diff(before or "", after, most=None) or "[nothing is different]"
        cut = NO_LAST_NEWLINE if _lacks_last_newline(after) and not _lacks_last_newline(before or "") else ""
        return f"--- {printable_name(where)}\n+++ {printable_name(where)}\n{change}{cut}"


def _lacks_last_newline(text: str) -> bool:
    return text != "" and not text.endswith("\n")


def _make_seal(data: bytes) -> str:
    return sha256(data).hexdigest()


def _check_size(where: str, data: bytes) -> None:
    if len(data) > MAX_BYTES:
        raise FileTooLarge(f"{printable_name(where)} would have {len(data):,} bytes; at most {MAX_BYTES:,} are written.")


def number_lines(lines: list[str], start: int, end: int) -> tuple[str, int]:
    """Return lines with their numbers, and the number of the last one that could be shown."""
    shown_lines, size, last = list[str](), 0, start
    for number in range(start, min(end, start + MAX_LINES - 1) + 1):
        line = f"{number}|{cut_line(lines[number - 1])}"
        size += len(line.encode()) + 1
        if size > MAX_SHOWN and shown_lines:
            break
        shown_lines.append(line)
        last = number
    return "\n".join(shown_lines), last


def cut_line(line: str, most: int = MAX_COLUMNS) -> str:
    """Return a line without its ending, and no longer than can be shown."""
    line = line.rstrip("\r\n")
    return line if len(line) <= most else f"{line[:most]} [{len(line) - most} more characters]"


def _decode(where: str, data: bytes) -> FileText:
    text = decode_file_text(data)
    if text is None:
        raise BinaryFile(f"{printable_name(where)} is a binary file of {len(data):,} bytes; it can't be read or edited as text.")
    return text


def _encode(where: str, like: FileText, text: str) -> bytes:
    try:
        return like.encode(text)
    except UnicodeEncodeError as error:
        raise BadEdit(f"The new text has characters that can't be written to {printable_name(where)}.") from error


def _require_edited(where: str, outcome: EditOutcome) -> EditedText:
    """Return the edit, or raise the problem as a sentence."""
    match outcome:
        case EditedText():
            return outcome
        case LinesOutOfRange():
            raise BadEdit(
                f"{printable_name(where)} has {outcome.lines} lines, and the line numbers don't fit that. Nothing was changed."
            )
        case AmbiguousMatch():
            raise BadEdit(
                f"The old text is in {printable_name(where)} {outcome.count} times, so nothing was changed. "
                "Repeat the call with more lines "
                f"around it, or say the line that is meant:\n{_format_spans(outcome.places)}"
            )
        case TextNotFound():
            raise BadEdit(f"The old text is not in {printable_name(where)}, so nothing was changed. {_format_advice(outcome)}")
        case _:
            assert_never(outcome)


def _format_advice(outcome: TextNotFound) -> str:
    already = f"The new text is there already, at line {outcome.already}. " if outcome.already else ""
    if outcome.nearest:
        return f"{already}These lines are nearest to it:\n{_format_spans(outcome.nearest)}"
    return f"{already}Read the lines that you want to change, and copy them exactly."


def _format_spans(places: tuple[EditSpan, ...]) -> str:
    return "\n--\n".join([f"line {place.line}:\n{replace_surrogates(place.context)}" for place in places])


def _format_summary(where: str, edited: EditedText) -> str:
    times = f" in {edited.count} places" if edited.count > 1 else ""
    note = " The old text matched with other whitespace; the new text was indented alike." if edited.tolerant else ""
    if edited.end < edited.start:
        return f"Changed {printable_name(where)}{times}: lines were taken away before line {edited.start}.{note}"
    new = f"line {edited.start} is" if edited.start == edited.end else f"lines {edited.start} to {edited.end} are"
    return f"Changed {printable_name(where)}{times}: {new} new.{note}"
