"""Debug plan for small models: code reads, tests and decides; the model only writes code. Pure.

Run the tests; read the failing test, and the file it is about; ask for that file corrected, or for one line of it;
insert that and run the tests again, as often as needed within limits. What didn't help is undone.
`job_environment` decides which models are guided.
"""

import re
from collections.abc import Generator, Iterable
from typing import Any

from msgspec import Struct

from treadle import Options
from treadle.assistants.coding.code import CodeHole, extract_code, fill_hole, find_holes, splice_code
from treadle.assistants.coding.fault_localisation import FaultTarget, build_target, failing_test_files, find_suspect_files
from treadle.assistants.coding.questions import ask_for_piece, ask_for_whole
from treadle.assistants.coding.transcript import Transcript, transcript_of
from treadle.models import Request
from treadle.plans import PlanQuestion, PlanStep

_MASK = "[redacted"

DebugPlan = Generator[PlanQuestion, str, PlanStep]


class DebugPhase(Struct, frozen=True):
    """How the model is asked for attempts: for the whole, or for each piece as if it were missing; once for each temperature."""

    pieces: bool
    heats: tuple[float, ...]
    feedback: bool = False


DEBUG_PHASES = (
    DebugPhase(pieces=False, heats=(0.0,)),
    DebugPhase(pieces=True, heats=(0.0, 0.8, 0.8)),
    DebugPhase(pieces=False, heats=(0.7,), feedback=True),
)
MAX_TRIES = 40  # of one file
_MAX_PIECES = 10  # so that all phases fit into the rounds of a job


def plan_debugging(request: Request) -> DebugPlan:
    """Return the next move towards passing tests."""
    story = transcript_of(request.history)
    tests = story.last("run_tests")
    if tests is None:
        return PlanStep((("run_tests", {}),))
    if tests.passed:
        return _finish(story)
    missing = next((path for path in failing_test_files(tests) if not story.was_read(path)), None)
    if missing is not None:
        return PlanStep((("read_file", {"path": missing}),))
    for path in find_suspect_files(story, story.first_tests):
        if not story.was_read(path):
            return PlanStep((("read_file", {"path": path}),))
        if story.source(path) is not None:  # one file is enough to be wrong about
            return (yield from _try_again(story, build_target(story, path)))
    return _give_up(story)


def _try_again(story: Transcript, target: FaultTarget) -> DebugPlan:
    """Ask for something that wasn't tried yet, starting after the last attempt; insert it, and run the tests."""
    tries = story.tries(target.path)
    winner = next((content for content, tests in tries if tests is not None and tests.passed), None)
    if winner is not None:  # one of several that were tried together, and not the last
        return PlanStep(_try_calls(target, [winner]), "Back to what passed.")
    known = {_strip_whitespace(target.source), *[_strip_whitespace(content) for content, _ in tries]}
    for phase, piece in _remaining_attempts(target, story.state) if len(tries) < MAX_TRIES else ():
        found: dict[str, str] = {}
        for number, heat in enumerate(DEBUG_PHASES[phase].heats):
            hole = find_holes(target.shown)[piece - 1] if piece else None
            words = yield _build_question(
                story, target, DEBUG_PHASES[phase], hole, Options(temperature=heat, seed=piece * 10 + number)
            )
            content = _apply_reply(target, words, hole)
            if content and _strip_whitespace(content) not in known and _MASK not in content:
                found.setdefault(_strip_whitespace(content), content)
        if found:
            what = f"piece {piece}" if piece else "the whole"
            return PlanStep(_try_calls(target, list(found.values())), f"Phase {phase + 1}: {what} written anew.", [phase, piece])
    return _give_up(story)


def _try_calls(target: FaultTarget, contents: list[str]) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Return the calls that try these contents, one after the other."""
    calls: list[tuple[str, dict[str, Any]]] = []
    for content in contents:
        calls += [("write_file", {"path": target.path, "content": content}), ("run_tests", {})]
    return tuple(calls)


def _remaining_attempts(target: FaultTarget, last: list[int] | None) -> Iterable[tuple[int, int]]:
    """Yield every phase, with every piece if it works by pieces, counted from 1, after the last one that was tried."""
    pieces = range(1, min(len(find_holes(target.shown)), _MAX_PIECES) + 1)
    places = [(index, piece) for index, phase in enumerate(DEBUG_PHASES) for piece in (pieces if phase.pieces else [0])]
    return [place for place in places if place > tuple(last or (-1, 0))]


def _build_question(
    story: Transcript, target: FaultTarget, phase: DebugPhase, hole: CodeHole | None, options: Options
) -> PlanQuestion:
    if hole is not None:
        return ask_for_piece(story, target, hole, options)
    tries = story.tries(target.path) if phase.feedback else []
    return ask_for_whole(story, target, tries[-1] if tries else None, options)


def _apply_reply(target: FaultTarget, words: str, hole: CodeHole | None) -> str:
    code = extract_code(words) if hole is None else fill_hole(target.shown, hole, words)
    return splice_code(target.source, code, target.path) if code else ""


def _strip_whitespace(content: str) -> str:
    """Return a file's content without whitespace, however it is laid out."""
    return re.sub(r"\s+", "", content)


def _finish(story: Transcript) -> PlanStep:
    written = [step for step in story.steps if step.name == "write_file" and not step.failed]
    if not written:
        return _give_answer("All tests pass already; nothing had to be changed.", done=True)
    return _give_answer(f"Mend {written[-1].path}: the tests that failed pass now.", done=True)


def _give_up(story: Transcript) -> PlanStep:
    """Give up, after undoing whatever was tried and didn't help."""
    for path in dict.fromkeys(step.path for step in story.steps if step.name == "write_file"):
        source, tries = story.source(path), story.tries(path)
        if source is not None and tries and _strip_whitespace(tries[-1][0]) != _strip_whitespace(source):
            return PlanStep((("write_file", {"path": path, "content": source}),))
    count = sum(step.name == "write_file" for step in story.steps)
    return _give_answer(
        f"Not mended: {count} changes were tried and taken back." if count else "No file to mend was found.", done=False
    )


def _give_answer(summary: str, *, done: bool) -> PlanStep:
    return PlanStep((("give_answer", {"summary": summary, "done": done}),))
