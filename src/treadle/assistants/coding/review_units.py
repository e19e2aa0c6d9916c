"""Units of a review by a small model: each changed function with its diff, or a few lines where there is none. Pure.

A file's text is used only if it has the lines of the diff where the diff says: a folder may be on another commit.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from treadle.assistants.coding.code import is_python_path
from treadle.assistants.coding.project_sources import CodePlace, ProjectSources
from treadle.assistants.coding.review_diffs import DiffHunk, DiffLine, FileDiff

MAX_LINES = 60  # of a unit
MAX_UNIT = 8_000  # characters
_CONTEXT = 6  # lines around a changed line, where a function is too long to be shown whole
_COMMENTS = ("#", "//", "/*", "*", "<!--", "--")


class ReviewUnit(Struct, frozen=True):
    """Changed code that is looked at by itself: `name` is the definition that it belongs to, if known."""

    path: str
    name: str
    lines: tuple[DiffLine, ...]

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return f"{self.path}:{self.candidates[0].number}" if self.candidates else self.path

    @property
    def candidates(self) -> list[DiffLine]:
        """The lines that a finding may be about: code that was added; if there is none, code that was removed."""
        code = [line for line in self.lines if line.sign != " " and _is_code(line.text)]
        return [line for line in code if line.sign == "+"] or code

    @property
    def text(self) -> str:
        """The code with numbers and signs."""
        rows = [f"{'' if line.sign == '-' else line.number!s:>5} {line.sign}{line.text}" for line in self.lines]
        return "\n".join(rows)


def list_units(file: FileDiff, source: str | None) -> list[ReviewUnit]:
    """Return the units of a file; `source` is its text, None if it isn't known. What only changes comments has none."""
    lines = None if source is None else _merge_lines(file.hunks, source)
    places = ProjectSources({file.path: source or ""}).module(file.path).places if is_python_path(file.path) else {}
    if lines is None or not places:
        found = [ReviewUnit(file.path, "", part) for hunk in file.hunks for part in _split(hunk.lines)]
    else:
        found = list(_group_by_place(file.path, lines, list(places.values())))
    return [unit for unit in found if unit.candidates]


def _is_code(text: str) -> bool:
    stripped = text.strip()
    return bool(stripped) and not stripped.startswith(_COMMENTS)


def _merge_lines(hunks: Sequence[DiffHunk], source: str) -> list[DiffLine] | None:
    """Return all lines of a file with the diff's signs, removed ones included; None if the text isn't the diff's new file."""
    rows = source.splitlines()
    changed = {line.number: line for hunk in hunks for line in hunk.new_lines}
    if any(number > len(rows) or rows[number - 1] != line.text for number, line in changed.items()):
        return None
    removed: dict[int, list[DiffLine]] = {}
    for hunk in hunks:
        for line in hunk.lines:
            if line.sign == "-":
                removed.setdefault(line.number, []).append(line)
    merged: list[DiffLine] = []
    for number in range(1, len(rows) + 2):
        merged += removed.get(number, [])
        if number <= len(rows):
            merged.append(changed.get(number) or DiffLine(" ", rows[number - 1], number))
    return merged


def _group_by_place(path: str, lines: Sequence[DiffLine], places: Sequence[CodePlace]) -> Iterator[ReviewUnit]:
    """Yield a unit for each definition that was changed, and units of the other changed lines."""
    owners = [_innermost(line.number, places) if line.sign != " " else None for line in lines]
    for place in dict.fromkeys(owner for owner in owners if owner is not None):
        whole = [line for line in lines if place.start <= line.number <= place.end]
        own = {line for line, owner in zip(lines, owners, strict=True) if owner == place}
        parts = [whole] if len(whole) <= MAX_LINES else _split(_near(whole, own))
        for part in parts:
            yield ReviewUnit(path, place.name, tuple(part))
    loose = {line for line, owner in zip(lines, owners, strict=True) if owner is None and line.sign != " "}
    for part in _split(_near(lines, loose)) if loose else ():
        yield ReviewUnit(path, "", part)


def _innermost(number: int, places: Sequence[CodePlace]) -> CodePlace | None:
    around = [place for place in places if place.start <= number <= place.end]
    return min(around, key=lambda place: place.end - place.start, default=None)


def _near(lines: Sequence[DiffLine], wanted: "set[DiffLine]") -> list[DiffLine]:
    """Return the lines near the wanted ones; what else was changed there is shown as it is now."""
    at = [index for index, line in enumerate(lines) if line in wanted]
    near = {each for index in at for each in range(index - _CONTEXT, index + _CONTEXT + 1)}
    shown = [line for index, line in enumerate(lines) if index in near]
    kept = [line for line in shown if line in wanted or line.sign != "-"]
    return [line if line in wanted else DiffLine(" ", line.text, line.number) for line in kept]


def _split(lines: Sequence[DiffLine]) -> list[tuple[DiffLine, ...]]:
    """Return the lines in parts that aren't too long, each of which has a changed line."""
    parts = [tuple(lines[at : at + MAX_LINES]) for at in range(0, len(lines), MAX_LINES)]
    return [part for part in parts if any(line.sign != " " for line in part)]
