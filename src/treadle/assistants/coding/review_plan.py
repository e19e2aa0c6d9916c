"""Review plan for small models: one changed function at a time, one question at a time, and a second look at each finding. Pure.

Is there a defect? In which line? What is it? Then the model is asked to refute it; what it refutes is dropped. The line is chosen
among those that were changed, so that every finding has a place.

A unit is a changed function with its diff, or a few lines where there is none. A file's text is used only if it has the lines of
the diff where the diff says: a folder may be on another commit.
"""

from collections.abc import Generator, Iterator, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.assistants.coding.answers import FindingSeverity, ReviewAnswer, ReviewFinding
from treadle.assistants.coding.code import is_python_path, parse_python
from treadle.assistants.coding.patches import DiffHunk, DiffLine, FileDiff
from treadle.assistants.coding.project_sources import CodePlace, ProjectSources
from treadle.assistants.coding.questions import ask_for_fields
from treadle.assistants.coding.transcript import Transcript, transcript_of
from treadle.models import Request
from treadle.plans import PlanQuestion, PlanStep

MAX_LINES = 60  # of a unit
MAX_UNIT = 8_000  # characters
_CONTEXT = 6  # lines around a changed line, where a function is too long to be shown whole
_COMMENTS = ("#", "//", "/*", "*", "<!--", "--")
MAX_HUNKS = 40  # of a review by a small model
_INSTRUCTIONS = "You are a careful programmer who reviews changes to code. Report only what is certainly wrong."
_SEVERITIES = ("critical", "warning", "suggestion")
_CHANGE = """\
{purpose}A change of {path}{name}. Lines with + were added, lines with - were removed; the number is the line in the new file.

```
{code}
```

"""
_DEFECT = """\
Does this change have a defect: a wrong result, a crash, lost data, a security hole?
Answer with JSON: {"reason": "why, in one sentence", "defect": "yes" or "no"}"""
_LINE = """\
You found a defect: {reason}
Which line is wrong? Copy it. Answer with JSON: {{"line": "the code of the line"}}"""
_TITLE = """\
You found a defect in the line `{line}`: {reason}
Answer with JSON: {{"title": "what is wrong, in at most twelve words", "severity": "critical", "warning" or "suggestion"}}"""
_REFUTE = """\
A reviewer says of the line `{line}`: {title} {reason}
Check this against the code, and try to show that the reviewer is wrong.
Answer with JSON: {{"reason": "what the code really does, in one sentence", "is_defect": "yes" or "no"}}"""
_CORRECT = """\
The line `{line}` is wrong: {title} {reason}
Write this one line corrected. Answer with JSON: {{"code": "the line, corrected"}}"""


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


class ReviewState(Struct, frozen=True):
    """What a plan needs to go on: the file that is next, findings so far, how many were refuted, and what wasn't reviewed."""

    at: int = 0
    findings: tuple[ReviewFinding, ...] = ()
    refuted: int = 0
    skipped: tuple[str, ...] = ()


def plan_review(request: Request, files: Sequence[FileDiff], purpose: str) -> Generator[PlanQuestion, str, PlanStep]:
    """Return the next step of a review: the next file is read, or all of them are done."""
    story = transcript_of(request.history)
    state = ReviewState() if story.state is None else msgspec.convert(story.state, ReviewState)
    while state.at < len(files):
        file = files[state.at]
        if file.kind != "deleted" and file.hunks and not story.was_read(file.path):
            return PlanStep((("read_file", {"path": file.path}),), state=msgspec.to_builtins(state))
        for unit in list_units(file, _source_of(story, file)):
            state = yield from _review_unit(unit, purpose, state, _source_of(story, file))
        state = replace(state, at=state.at + 1)
    return _answer(files, state)


def _source_of(story: Transcript, file: FileDiff) -> str | None:
    return None if file.kind == "deleted" else story.source(file.path)


def _review_unit(
    unit: ReviewUnit, purpose: str, state: ReviewState, source: str | None
) -> Generator[PlanQuestion, str, ReviewState]:
    """Return the state after the questions about a unit."""
    skipped = replace(state, skipped=(*state.skipped, unit.place))
    if len(unit.text) > MAX_UNIT:
        return skipped
    name = f", in {unit.name}" if unit.name else ""
    why = f"The change is meant to do this: {purpose.strip()[:500]}\n\n" if purpose.strip() else ""
    shown = _CHANGE.format(purpose=why, path=unit.path, name=name, code=unit.text)
    first = yield from ask_for_fields(_INSTRUCTIONS, shown + _DEFECT, {"reason": (), "defect": ("yes", "no")})
    if first is None:
        return skipped
    if first["defect"] == "no":
        return state
    reason = first["reason"].strip()
    line = yield from _ask_line(shown + _LINE.format(reason=reason), unit)
    if line is None:
        return skipped
    words = {"line": line.text.strip(), "reason": reason}
    named = yield from ask_for_fields(_INSTRUCTIONS, shown + _TITLE.format(**words), {"title": (), "severity": _SEVERITIES})
    if named is None:
        return skipped
    words |= {"title": f"{named['title'].strip().rstrip('.')}."}
    checked = yield from ask_for_fields(_INSTRUCTIONS, shown + _REFUTE.format(**words), {"reason": (), "is_defect": ("yes", "no")})
    if checked is None or checked["is_defect"] == "no":
        return replace(state, refuted=state.refuted + 1)
    corrected = yield from ask_for_fields(_INSTRUCTIONS, shown + _CORRECT.format(**words), {"code": ()})
    suggestion = "" if corrected is None else check_suggestion(corrected["code"], line, unit.path, source)
    severity = msgspec.convert(named["severity"], FindingSeverity)
    finding = ReviewFinding(severity, named["title"], reason, unit.path, line.text, line.number, suggestion)
    return replace(state, findings=(*state.findings, finding))


def _ask_line(text: str, unit: ReviewUnit) -> Generator[PlanQuestion, str, DiffLine | None]:
    """Return the changed line that the model copies; None if it copies none of them twice."""
    by_code = {line.text.strip(): line for line in reversed(unit.candidates)}
    said = yield from ask_for_fields(_INSTRUCTIONS, text, {"line": tuple(by_code)})
    return None if said is None else by_code[said["line"]]


def check_suggestion(code: str, line: DiffLine, path: str, source: str | None) -> str:
    """Return a corrected line with the indentation of the old one; empty if it changes nothing, or breaks the file."""
    text = code.strip().strip("`").strip()
    if "\n" in text or not text or line.sign == "-" or "".join(text.split()) == "".join(line.text.split()):
        return ""
    indent = line.text[: len(line.text) - len(line.text.lstrip())]
    if source is not None and is_python_path(path):
        rows = source.splitlines()
        rows[line.number - 1 : line.number] = [f"{indent}{text}"]
        if parse_python("\n".join(rows)) is None:
            return ""
    return f"{indent}{text}"


def _answer(files: Sequence[FileDiff], state: ReviewState) -> PlanStep:
    """Return the review. A small model approves nothing: that it found no defect is all that is known."""
    findings = state.findings
    count = f"{len(files)} changed {'file' if len(files) == 1 else 'files'}"
    result = f"{len(findings)} {'finding' if len(findings) == 1 else 'findings'}" if findings else "no defect was found"
    refuted = f"; {state.refuted} more didn't hold at a second look" if state.refuted else ""
    verdict = "REQUEST_CHANGES" if any(each.severity == "critical" for each in findings) else "COMMENT"
    answer = ReviewAnswer(
        f"Looked at {count}, one function at a time, with a small model: {result}{refuted}.",
        verdict,
        findings,
        state.skipped,
    )
    return PlanStep((("give_answer", msgspec.to_builtins(answer)),))
