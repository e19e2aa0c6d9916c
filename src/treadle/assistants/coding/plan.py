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
from treadle.assistants.coding.suspects import Target, candidates, first_said, target_in, test_files

_MASK = "[redacted"
_TOLD = re.compile(r"Phase (?P<phase>\d+): (?:piece (?P<piece>\d+)|the whole)")

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
    if has_passed(tests.content):
        return _finished(story)
    missing = next((path for path in test_files(tests.content) if not story.was_read(path)), None)
    if missing is not None:
        return Move((("read_file", {"path": missing}),))
    for path in candidates(story, first_said(story)):
        if not story.was_read(path):
            return Move((("read_file", {"path": path}),))
        if story.source(path) is not None:  # one file is enough to be wrong about
            return (yield from _another_try(story, target_in(story, path)))
    return _given_up(story)


def has_passed(said: str) -> bool:
    """Whether the tests passed, by what their tool said."""
    return said.startswith("Passed")


def _another_try(story: Story, target: Target) -> Plan:
    """Ask for something that wasn't tried yet, on from where the last try was; put it in, and run the tests."""
    tries = story.tries(target.path)
    winner = next((content for content, said in tries if has_passed(said)), None)
    if winner is not None:  # one of several that were tried together, and not the last
        return _trying(target, [winner], "Back to what passed.")
    known = {_bare(target.source), *[_bare(content) for content, _ in tries]}
    for phase, piece in _places(target, _place(story)) if len(tries) < TRIES else ():
        found: dict[str, str] = {}
        for number, heat in enumerate(PHASES[phase].heats):
            hole = holes(target.shown)[piece - 1] if piece else None
            words = yield _question(story, target, PHASES[phase], hole, Options(temperature=heat, seed=piece * 10 + number))
            content = _mended(target, words, hole)
            if content and _bare(content) not in known and _MASK not in content:
                found.setdefault(_bare(content), content)
        if found:
            what = f"piece {piece}" if piece else "the whole"
            return _trying(target, list(found.values()), f"Phase {phase + 1}: {what} written anew.")
    return _given_up(story)


def _trying(target: Target, contents: list[str], told: str) -> Move:
    calls: list[tuple[str, dict[str, Any]]] = []
    for content in contents:
        calls += [("write_file", {"path": target.path, "content": content}), ("run_tests", {})]
    return Move(tuple(calls), told)


def _place(story: Story) -> tuple[int, int]:
    """The phase and the piece of the last try, as it was told."""
    told = [found for text in story.said if (found := _TOLD.match(text))]
    return (int(told[-1]["phase"]) - 1, int(told[-1]["piece"] or 0)) if told else (-1, 0)


def _places(target: Target, last: tuple[int, int]) -> Iterable[tuple[int, int]]:
    """Every phase, with every piece where it goes by pieces, counted from 1, after the last one."""
    pieces = range(1, min(len(holes(target.shown)), _MOST_PIECES) + 1)
    places = [(index, piece) for index, phase in enumerate(PHASES) for piece in (pieces if phase.pieces else [0])]
    return [place for place in places if place > last]


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
