"""Review plan for small models: one changed function at a time, one question at a time, and a second look at each finding. Pure.

Is there a defect? In which line? What is it? Then the model is asked to refute it; what it refutes is dropped. The line is chosen
among those that were changed, so that every finding has a place.
"""

from collections.abc import Generator, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.assistants.coding.answers import FindingSeverity, ReviewAnswer, ReviewFinding
from treadle.assistants.coding.code import is_python_path, parse_python
from treadle.assistants.coding.questions import ask_for_fields
from treadle.assistants.coding.review_diffs import DiffLine, FileDiff
from treadle.assistants.coding.review_units import MAX_UNIT, ReviewUnit, list_units
from treadle.assistants.coding.transcript import Transcript, transcript_of
from treadle.models import Request
from treadle.plans import PlanQuestion, PlanStep

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
