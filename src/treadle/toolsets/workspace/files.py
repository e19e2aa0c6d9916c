"""Reading and changing the files of a workspace, told in text for a model. Which tools offer this is `tools`."""

import threading
from collections.abc import Callable
from hashlib import sha256
from typing import assert_never

from msgspec import Struct

from treadle.core.tool import ToolResult
from treadle.files.problems import BadEdit, Binary, Changed, Missing, TooLarge, WorkspaceProblem, shown
from treadle.files.workspace import MOST_BYTES, Workspace
from treadle.toolsets.workspace.diff import diff
from treadle.toolsets.workspace.edits import (
    Ambiguous,
    Edited,
    NotFound,
    OutOfRange,
    Place,
    append,
    delete_lines,
    ended_like,
    insert_at,
    lines_of,
    replace_every,
    replace_lines,
    replace_text,
)
from treadle.toolsets.workspace.reads import ReadsOfRuns
from treadle.toolsets.workspace.text import Text, decode, readable

MOST_LINES = 2_000
MOST_SHOWN = 50_000
MOST_COLUMNS = 2_000
_ABSENT = "absent"  # the seal of a file that isn't there


class FileLines(Struct, frozen=True):
    """Lines of a file as they are: the data of a result. `total` is how many the file has."""

    text: str
    start: int
    end: int
    total: int


Outcome = Edited | Ambiguous | NotFound | OutOfRange


class Files:
    """What can be done with the files of a workspace, by whichever run."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._reads = ReadsOfRuns()
        self._lock = threading.Lock()  # an edit reads, checks and writes, and tools run in threads

    def read(self, run: str, path: str, start: int = 1, end: int | None = None, go_on: str = "start_line={}") -> str:
        """Numbered lines, as many as may be shown; `go_on` says how to get at the next, which are put for its `{}`."""
        return str(self.read_lines(run, path, start, end, go_on))

    def read_lines(self, run: str, path: str, start: int = 1, end: int | None = None, go_on: str = "start_line={}") -> ToolResult:
        """`read`, with the lines themselves as data."""
        where, data = self._read(run, path)
        text = _decoded(where, data)
        lines = lines_of(text.readable)
        if not lines:
            return ToolResult(f"{shown(where)} is empty.", FileLines("", 1, 0, 0))
        if not 1 <= start <= len(lines) or (end is not None and end < start):
            raise BadEdit(f"{shown(where)} has {len(lines)} lines; there are no lines {start} to {end or 'the end'}.")
        body, last = numbered(lines, start, min(end or len(lines), len(lines)))
        notes = (
            []
            if text.is_whole
            else ["[Some bytes are not UTF-8; they are shown as \ufffd and stay as they are if you leave them.]"]
        )
        if last < min(end or len(lines), len(lines)):
            notes.append(f"[Lines {start} to {last} of {len(lines)}. Go on with {go_on.format(last + 1)}.]")
        return ToolResult("\n".join([body, *notes]), FileLines("".join(lines[start - 1 : last]), start, last, len(lines)))

    def write(self, run: str, path: str, content: str) -> str:
        """All of a file. One that is there must have been read."""
        with self._lock:
            where = self.workspace.relative(path)
            before = self._before(run, where)
            known = decode(before or b"") or Text("")
            after = ended_like(known.text, content)
            self._put(run, where, _bytes(where, known, after))
        if before is None:
            return self._told(f"Created {shown(where)} with {len(lines_of(content))} lines.", where, None, readable(after))
        return self._told(f"Wrote {shown(where)}.", where, known.readable, readable(after))

    def replace(self, run: str, path: str, old: str, new: str, line: int | None = None, *, every: bool = False) -> str:
        """One text by another: in the one place where it is, at the hinted line, or everywhere."""
        return self._edit(
            run, path, new, lambda text: replace_every(text, old, new) if every else replace_text(text, old, new, line)
        )

    def append(self, run: str, path: str, content: str) -> str:
        """Lines at the end of a file, which is made if it isn't there."""
        try:
            return self._edit(run, path, content, lambda text: append(text, content))
        except Missing:
            return self.write(run, path, content)

    def edit_lines(self, run: str, path: str, start: int, end: int, new: str) -> str:
        """Other lines for some lines."""
        return self._edit(run, path, new, lambda text: replace_lines(text, start, end, new))

    def insert(self, run: str, path: str, line: int, new: str) -> str:
        """Lines before a line."""
        return self._edit(run, path, new, lambda text: insert_at(text, line, new))

    def delete_lines(self, run: str, path: str, start: int, end: int) -> str:
        """Without some lines."""
        return self._edit(run, path, "", lambda text: delete_lines(text, start, end))

    def delete(self, run: str, path: str) -> str:
        """Without the file."""
        with self._lock:
            where = self.workspace.relative(path)
            self._remove(run, where)
        return f"Deleted {shown(where)}.\nModified files: {shown(where)}"

    def _read(self, run: str, path: str) -> tuple[str, bytes]:
        where = self.workspace.relative(path)
        data = self.workspace.read_bytes(where)
        self._reads.of(run).saw(where, data)  # also of a binary file: whoever was told that may replace it
        return where, data

    def _before(self, run: str, where: str) -> bytes | None:
        """What is there, which the run must know; None if nothing is."""
        try:
            data = self.workspace.read_bytes(where)
        except Missing:
            return None
        self._check_read(run, where, data)
        return data

    def _check_read(self, run: str, where: str, data: bytes) -> None:
        self._reads.of(run).check(where, data)

    def _edit(self, run: str, path: str, new: str, change: Callable[[str], Outcome]) -> str:
        with self._lock:
            where = self.workspace.relative(path)
            before = self.workspace.read_bytes(where)
            self._check_read(run, where, before)
            text = _decoded(where, before)
            if "\ufffd" in new and not text.is_whole:
                raise BadEdit(f"The new text has \ufffd for bytes of {shown(where)} that are not UTF-8. Edit around those lines.")
            edited = _edited(where, change(text.text))
            self._put(run, where, _bytes(where, text, edited.text))
        return self._told(_summary(where, edited), where, text.readable, readable(edited.text))

    def _put(self, run: str, where: str, data: bytes) -> None:
        _check_size(where, data)
        self.workspace.write_bytes(where, data)
        self._reads.of(run).saw(where, data)

    def _remove(self, run: str, where: str) -> None:
        self.workspace.remove(where)
        self._reads.of(run).forget(where)

    def _told(self, what: str, where: str, before: str | None, after: str) -> str:
        change = [] if before is None else [diff(before, after) or "[nothing is different]"]
        return "\n".join([what, *change, f"Modified files: {shown(where)}"])

    # what a person is shown before they are asked

    def seal(self, path: str) -> str:
        """Return what tells the file as it is now from any other state of it; nothing for what can't be read."""
        try:
            return _seal(self.workspace.read_bytes(path))
        except Missing:
            return _ABSENT
        except WorkspaceProblem:
            return ""

    def check_seal(self, run: str, path: str, seal: str) -> None:
        """Check that the file is still as it was when a person was shown the change; the run then knows it as if it had read it."""
        if not seal:
            return
        where = self.workspace.relative(path)
        try:
            data = self.workspace.read_bytes(where)
        except Missing:
            data = None
        if seal != (_ABSENT if data is None else _seal(data)):
            raise Changed(f"{shown(where)} has changed since this change was approved, so nothing was done. Read it again.")
        if data is not None:
            self._reads.of(run).saw(where, data)


class FilePreviews(Files):
    """The same operations, which return the whole diff of a change instead of making it."""

    def __init__(self, files: Files) -> None:
        self.workspace = files.workspace
        self._reads = files._reads
        self._lock = files._lock

    def read(self, run: str, path: str, start: int = 1, end: int | None = None, go_on: str = "") -> str:
        """Nothing: reading changes nothing."""
        return ""

    def delete(self, run: str, path: str) -> str:
        """All that would be gone; the name alone of a folder, a link, and what isn't shown."""
        where = self.workspace.relative(path)
        try:
            text = decode(self.workspace.read_bytes(where)) if self.workspace.real(where) == where else None
        except WorkspaceProblem:
            text = None
        return f"{shown(where)} would be deleted." if text is None else self._told("", where, text.readable, "")

    def _check_read(self, run: str, where: str, data: bytes) -> None:
        """Over MCP each call is a run of its own, so that another one may have read the file: a person looks at the diff anyway."""
        if not self._reads.knows(where, data):
            super()._check_read(run, where, data)

    def _put(self, run: str, where: str, data: bytes) -> None:
        _check_size(where, data)

    def _told(self, what: str, where: str, before: str | None, after: str) -> str:
        change = diff(before or "", after, most=None) or "[nothing is different]"
        return f"--- {shown(where)}\n+++ {shown(where)}\n{change}"


def _seal(data: bytes) -> str:
    return sha256(data).hexdigest()


def _check_size(where: str, data: bytes) -> None:
    if len(data) > MOST_BYTES:
        raise TooLarge(f"{shown(where)} would have {len(data):,} bytes; at most {MOST_BYTES:,} are written.")


def numbered(lines: list[str], start: int, end: int) -> tuple[str, int]:
    """Lines with their numbers, and the number of the last one that could be shown."""
    shown_lines, size, last = list[str](), 0, start
    for number in range(start, min(end, start + MOST_LINES - 1) + 1):
        line = f"{number}|{cut(lines[number - 1])}"
        size += len(line.encode()) + 1
        if size > MOST_SHOWN and shown_lines:
            break
        shown_lines.append(line)
        last = number
    return "\n".join(shown_lines), last


def cut(line: str, most: int = MOST_COLUMNS) -> str:
    """A line without its ending, and no longer than can be shown."""
    line = line.rstrip("\r\n")
    return line if len(line) <= most else f"{line[:most]} [{len(line) - most} more characters]"


def _decoded(where: str, data: bytes) -> Text:
    text = decode(data)
    if text is None:
        raise Binary(f"{shown(where)} is a binary file of {len(data):,} bytes; it can't be read or edited as text.")
    return text


def _bytes(where: str, like: Text, text: str) -> bytes:
    try:
        return like.encoded(text)
    except UnicodeEncodeError as error:
        raise BadEdit(f"The new text has characters that can't be written to {shown(where)}.") from error


def _edited(where: str, outcome: Outcome) -> Edited:
    """The edit, or the problem it is, worded."""
    match outcome:
        case Edited():
            return outcome
        case OutOfRange():
            raise BadEdit(f"{shown(where)} has {outcome.lines} lines, and the line numbers don't fit that. Nothing was changed.")
        case Ambiguous():
            raise BadEdit(
                f"The old text is in {shown(where)} {outcome.count} times, so nothing was changed. Repeat the call with more lines "
                f"around it, or say the line that is meant:\n{_listed(outcome.places)}"
            )
        case NotFound():
            raise BadEdit(f"The old text is not in {shown(where)}, so nothing was changed. {_advice(outcome)}")
        case _:
            assert_never(outcome)


def _advice(outcome: NotFound) -> str:
    already = f"The new text is there already, at line {outcome.already}. " if outcome.already else ""
    if outcome.nearest:
        return f"{already}These lines are nearest to it:\n{_listed(outcome.nearest)}"
    return f"{already}Read the lines that you want to change, and copy them exactly."


def _listed(places: tuple[Place, ...]) -> str:
    return "\n--\n".join([f"line {place.line}:\n{readable(place.context)}" for place in places])


def _summary(where: str, edited: Edited) -> str:
    times = f" in {edited.count} places" if edited.count > 1 else ""
    note = " The old text matched with other whitespace; the new text was indented alike." if edited.tolerant else ""
    if edited.end < edited.start:
        return f"Changed {shown(where)}{times}: lines were taken away before line {edited.start}.{note}"
    return f"Changed {shown(where)}{times}: lines {edited.start} to {edited.end} are new.{note}"
