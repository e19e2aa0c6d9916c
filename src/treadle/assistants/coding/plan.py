"""How a small model is led to mend a bug: code looks, tests and decides; the model only writes code. Pure.

Run the tests; read the failing test, and the file it is about; ask for that file mended, or for one line of it; put that in and
run the tests again, as often as it takes within reason. What didn't help is taken back. Which model is led says `room`.
"""

import re
from collections.abc import Generator, Iterable
from typing import Any

from msgspec import Struct

from treadle import Move, Options, Question, Request
from treadle.assistants.coding.code import Hole, code_in, filled, holes, put_in
from treadle.assistants.coding.questions import about_piece, about_whole
from treadle.assistants.coding.story import Story, story_of
from treadle.assistants.coding.suspects import Target, candidates, target_in, test_files

_MASK = "[redacted"

Plan = Generator[Question, str, Move]


class Phase(Struct, frozen=True):
    """How the model is asked for tries: for the whole, or for each piece as if it were missing; how freely, once for each heat."""

    pieces: bool
    heats: tuple[float, ...]
    feedback: bool = False


PHASES = (
    Phase(pieces=False, heats=(0.0,)),
    Phase(pieces=True, heats=(0.0, 0.8, 0.8)),
    Phase(pieces=False, heats=(0.7,), feedback=True),
)
TRIES = 40  # of one file
_MOST_PIECES = 10  # so that all phases fit into the rounds of a job


def debug(request: Request) -> Plan:
    """The next move towards tests that pass."""
    story = story_of(request.history)
    tests = story.last("run_tests")
    if tests is None:
        return Move((("run_tests", {}),))
    if tests.passed:
        return _finished(story)
    missing = next((path for path in test_files(tests) if not story.was_read(path)), None)
    if missing is not None:
        return Move((("read_file", {"path": missing}),))
    for path in candidates(story, story.first_tests):
        if not story.was_read(path):
            return Move((("read_file", {"path": path}),))
        if story.source(path) is not None:  # one file is enough to be wrong about
            return (yield from _another_try(story, target_in(story, path)))
    return _given_up(story)


def _another_try(story: Story, target: Target) -> Plan:
    """Ask for something that wasn't tried yet, on from where the last try was; put it in, and run the tests."""
    tries = story.tries(target.path)
    winner = next((content for content, tests in tries if tests is not None and tests.passed), None)
    if winner is not None:  # one of several that were tried together, and not the last
        return Move(_trying(target, [winner]), "Back to what passed.")
    known = {_bare(target.source), *[_bare(content) for content, _ in tries]}
    for phase, piece in _places(target, story.state) if len(tries) < TRIES else ():
        found: dict[str, str] = {}
        for number, heat in enumerate(PHASES[phase].heats):
            hole = holes(target.shown)[piece - 1] if piece else None
            words = yield _question(story, target, PHASES[phase], hole, Options(temperature=heat, seed=piece * 10 + number))
            content = _mended(target, words, hole)
            if content and _bare(content) not in known and _MASK not in content:
                found.setdefault(_bare(content), content)
        if found:
            what = f"piece {piece}" if piece else "the whole"
            return Move(_trying(target, list(found.values())), f"Phase {phase + 1}: {what} written anew.", [phase, piece])
    return _given_up(story)


def _trying(target: Target, contents: list[str]) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The calls that try these contents, one after the other."""
    calls: list[tuple[str, dict[str, Any]]] = []
    for content in contents:
        calls += [("write_file", {"path": target.path, "content": content}), ("run_tests", {})]
    return tuple(calls)


def _places(target: Target, last: list[int] | None) -> Iterable[tuple[int, int]]:
    """Every phase, with every piece where it goes by pieces, counted from 1, after the last one that was tried."""
    pieces = range(1, min(len(holes(target.shown)), _MOST_PIECES) + 1)
    places = [(index, piece) for index, phase in enumerate(PHASES) for piece in (pieces if phase.pieces else [0])]
    return [place for place in places if place > tuple(last or (-1, 0))]


def _question(story: Story, target: Target, phase: Phase, hole: Hole | None, options: Options) -> Question:
    if hole is not None:
        return about_piece(story, target, hole, options)
    tries = story.tries(target.path) if phase.feedback else []
    return about_whole(story, target, tries[-1] if tries else None, options)


def _mended(target: Target, words: str, hole: Hole | None) -> str:
    code = code_in(words) if hole is None else filled(target.shown, hole, words)
    return put_in(target.source, code, target.path) if code else ""


def _bare(content: str) -> str:
    """What a file says, however it is laid out."""
    return re.sub(r"\s+", "", content)


def _finished(story: Story) -> Move:
    written = [step for step in story.steps if step.name == "write_file" and not step.failed]
    if not written:
        return _answer("All tests pass already; nothing had to be changed.", done=True)
    return _answer(f"Mend {written[-1].path}: the tests that failed pass now.", done=True)


def _given_up(story: Story) -> Move:
    """Whatever was tried and didn't help is taken back first."""
    for path in dict.fromkeys(step.path for step in story.steps if step.name == "write_file"):
        source, tries = story.source(path), story.tries(path)
        if source is not None and tries and _bare(tries[-1][0]) != _bare(source):
            return Move((("write_file", {"path": path, "content": source}),))
    count = sum(step.name == "write_file" for step in story.steps)
    return _answer(f"Not mended: {count} changes were tried and taken back." if count else "No file to mend was found.", done=False)


def _answer(summary: str, *, done: bool) -> Move:
    return Move((("give_answer", {"summary": summary, "done": done}),))
