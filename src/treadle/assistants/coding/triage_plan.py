"""Triage plan for small models: code follows the trace and the words to the code, and asks one question at a time. Pure.

The evidence is collected by code: locations that exist, with their lines, and what the log says last. A cause that the model
doesn't confirm at a second look is reported as uncertain.
"""

from collections.abc import Generator, Sequence
from typing import get_args

import msgspec

from treadle.assistants.coding.answers import TriageAnswer, TriageCategory, TriageSeverity
from treadle.assistants.coding.fault_localisation import (
    BugReport,
    FaultTarget,
    find_locations,
    narrow_targets,
    place_at,
    rank_places,
)
from treadle.assistants.coding.inputs import TriageInputs, issue_text, truncate_middle
from treadle.assistants.coding.project_sources import ProjectSources
from treadle.assistants.coding.questions import ask_for_fields
from treadle.assistants.coding.transcript import transcript_of
from treadle.models import Request
from treadle.plans import PlanQuestion, PlanStep
from treadle.workspace import CheckOutcome

_MAX_PLACES = 3
_MAX_SHOWN = 2_500  # characters of a definition
_MAX_REPORT = 2_000
_MAX_EVIDENCE = 6
_NO_PLACE = "none of these"
_NO_TESTS = CheckOutcome("", "", 0, 0, 0, 0, (), "not run", "", 0.0)
_INSTRUCTIONS = "You are a careful programmer who finds out why something goes wrong."
_REPORT = """\
This was reported:

{report}

Code that it may be about:

{code}
"""
_PLACE = 'Which of these has the cause? Answer with JSON: {"place": "its name"}'
_CAUSE = 'The cause is in {place}. What is it? Answer with JSON: {{"cause": "why it goes wrong, in one or two sentences"}}'
_CHECK = """\
An engineer says that the cause is in {place}: {cause}
Check this against the report and the code. Answer with JSON: {{"reason": "one sentence", "is_cause": "yes" or "no"}}"""
_FIX = 'The cause is in {place}: {cause}\nWhat has to be changed? Answer with JSON: {{"fix": "what to change, in one sentence"}}'
_SEVERITY = 'How severe is this for users? Answer with JSON: {"severity": "critical", "high", "medium", "low" or "info"}'
_CATEGORY = 'Of which kind is it? Answer with JSON: {{"category": {kinds}}}'


def plan_triage(request: Request, project: ProjectSources, given: TriageInputs) -> Generator[PlanQuestion, str, PlanStep]:
    """Return the next step of a triage: what the report leads to is read, then the questions are asked."""
    story = transcript_of(request.history)
    parts = (given.description, given.stack_trace, given.error_log, given.logs, given.reproduction_steps, issue_text(given))
    report = "\n\n".join(truncate_middle(part, _MAX_REPORT) for part in parts if part.strip())
    places = rank_places(project, _NO_TESTS, BugReport("\n\n".join(parts)))[:_MAX_PLACES]
    unread = [path for path in dict.fromkeys(place.path for place in places) if not story.was_read(path)]
    if unread:
        return PlanStep(tuple([("read_file", {"path": path}) for path in unread]))
    targets = [target for target in narrow_targets(project, places) if len(target.shown) <= _MAX_SHOWN]
    answer = yield from _ask_all(given, report, project, targets)
    return PlanStep((("give_answer", msgspec.to_builtins(answer)),))


def _ask_all(
    given: TriageInputs, report: str, project: ProjectSources, targets: Sequence[FaultTarget]
) -> Generator[PlanQuestion, str, TriageAnswer]:
    code = "\n".join(f"{_name(target)}:\n\n```python\n{target.shown}```\n" for target in targets) or "None was found.\n"
    shown = _REPORT.format(report=report, code=code)
    severity = yield from _ask_one(shown + _SEVERITY, "severity", get_args(TriageSeverity))
    kinds = get_args(TriageCategory)
    category = yield from _ask_one(shown + _CATEGORY.format(kinds=" or ".join(f'"{kind}"' for kind in kinds)), "category", kinds)
    place = ""
    if targets:
        place = yield from _ask_one(shown + _PLACE, "place", (*map(_name, targets), _NO_PLACE))
    cause, fix = "Not known: nothing in the report leads to code of this project that explains it.", ""
    if place and place != _NO_PLACE:
        cause = yield from _ask_one(shown + _CAUSE.format(place=place), "cause")
        fields = {"reason": (), "is_cause": ("yes", "no")}
        checked = yield from ask_for_fields(_INSTRUCTIONS, shown + _CHECK.format(place=place, cause=cause), fields)
        fix = yield from _ask_one(shown + _FIX.format(place=place, cause=cause), "fix")
        is_confirmed = checked is not None and checked["is_cause"] == "yes"
        cause = f"In {place}: {cause}" if is_confirmed else f"Not certain. Perhaps in {place}: {cause}"
    return TriageAnswer(
        severity or "medium",  # pyright: ignore[reportArgumentType] - one of its values
        category or "bug",  # pyright: ignore[reportArgumentType] - one of its values
        _summarize(given),
        cause,
        _collect_evidence(given, project),
        (place,) if place and place != _NO_PLACE else (),
        given.reproduction_steps,
        fix,
    )


def _name(target: FaultTarget) -> str:
    return f"{target.name} in {target.path}" if target.parts else target.path


def _ask_one(text: str, name: str, allowed: tuple[str, ...] = ()) -> Generator[PlanQuestion, str, str]:
    said = yield from ask_for_fields(_INSTRUCTIONS, text, {name: allowed})
    return "" if said is None else said[name]


def _summarize(given: TriageInputs) -> str:
    """Return what goes wrong, in the words of the report: the description, and the last line of a trace or log."""
    last = [_last_line(text) for text in (given.stack_trace, given.error_log, given.logs) if text.strip()]
    return " ".join(dict.fromkeys(filter(None, [given.description.strip(), *last[:1]])))


def _collect_evidence(given: TriageInputs, project: ProjectSources) -> tuple[str, ...]:
    """Return the locations in the report that the project has, each with its line, and what trace and log say last."""
    found: list[str] = []
    texts = (given.stack_trace, given.error_log, given.logs, given.description)
    for path, line in find_locations("\n".join(texts)):
        place = place_at(project, path, line)
        rows = [] if place is None else project.files[place.path].splitlines()
        if place is not None and line <= len(rows):
            found.append(f"{place.path}:{line}: {rows[line - 1].strip()}")
    said = [_last_line(text) for text in texts[:3] if text.strip()]
    return tuple(dict.fromkeys([*found[-_MAX_EVIDENCE:], *said]))


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
