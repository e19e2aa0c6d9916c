"""How a small model is led to mend a bug: code looks, tests and decides; the model only writes code. Pure.

Run the tests; read the failing test, and the file it is about; ask for that file mended, or for one line of it; put that in and
run the tests again, as often as it takes within reason. What didn't help is taken back. Which model is led says `room`.
"""

import re
from collections.abc import Generator, Iterable
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from treadle import Move, Options, Question, Request
from treadle.assistants.coding.code import (
    code_in,
    filled,
    function_at,
    function_named,
    holes,
    imports_in,
    is_python,
    put_in,
    with_hole,
)
from treadle.assistants.coding.story import Story, story_of

WHOLE = 6_000  # characters of a file up to which all of it is shown
_MASK = "[redacted"
_PLACE = re.compile(r"(?P<path>[\w./\-]+\.[A-Za-z]{1,4}):(?P<line>\d+)")
_TEST = re.compile(r"(^|/)(tests?|spec|__tests__)/|(^|/)test_[^/]*$|(_test|\.test|\.spec|_spec)\.\w+$|(^|/)conftest\.py$")
_TOLD = re.compile(r"Phase (?P<phase>\d+): (?:piece (?P<piece>\d+)|the whole)")
_NAME = re.compile(r"(?:::|\bdef |\b)(test\w+)")

Plan = Generator[Question, str, Move]

_INSTRUCTIONS = "You are a careful programmer who fixes bugs."
_WHOLE = """\
This code has a bug, so that it doesn't do what it should:

```{language}
{source}```

These are some of its tests, which fail:

{tests}
{more}Fix it. Give {what}, corrected, in a fenced block."""
_MORE = """\
This was tried, and they still fail:

```{language}
{tried}```

{said}

"""
_PIECE = """\
These tests should pass:

{tests}
A piece of this code is missing, at {mark}:

```{language}
{source}```

Which code belongs there? Answer with JSON: {{"code": "the missing code"}}"""
_SHAPE = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"], "additionalProperties": False}
_MARK = "____"


class Phase(Struct, frozen=True):
    """How the model is asked for tries: for the whole, or for each piece as if it were missing; how freely, once for each heat."""

    pieces: bool
    heats: tuple[float, ...]
    feedback: bool = False


PHASES = (  # a piece takes seconds, a whole file half a minute; and what a model doesn't see, it doesn't copy
    Phase(pieces=False, heats=(0.0,)),
    Phase(pieces=True, heats=(0.0, 0.8, 0.8)),
    Phase(pieces=False, heats=(0.7,)),
    Phase(pieces=False, heats=(0.9,), feedback=True),
    Phase(pieces=False, heats=(1.0,)),
)
TRIES = 40  # of one file
_MOST_PIECES = 10  # so that all phases fit into the rounds of a job


class Target(Struct, frozen=True):
    """A file to mend: what it holds, and what of it is shown."""

    path: str
    source: str
    shown: str


def debug(request: Request) -> Plan:
    """The next move towards tests that pass."""
    story = story_of(request.history)
    tests = story.last("run_tests")
    if tests is None:
        return Move((("run_tests", {}),))
    if has_passed(tests.content):
        return _finished(story)
    missing = next((path for path in _test_files(tests.content) if not story.was_read(path)), None)
    if missing is not None:
        return Move((("read_file", {"path": missing}),))
    for path in candidates(story, _first_said(story)):
        if not story.was_read(path):
            return Move((("read_file", {"path": path}),))
        if story.source(path) is not None:  # one file is enough to be wrong about
            return (yield from _another_try(story, _target(story, path)))
    return _given_up(story)


def has_passed(said: str) -> bool:
    """Whether the tests passed, by what their tool said."""
    return said.startswith("Passed")


def candidates(story: Story, said: str) -> list[str]:
    """The files that may have to be mended: those that failures and the task name, and those that failing tests import."""
    named = [found["path"] for text in (said, story.task) for found in _PLACE.finditer(text)]
    imported = [
        path for test in _test_files(said) for module in imports_in(story.source(test) or "") for path in _paths_of(module, test)
    ]
    return [path for path in dict.fromkeys([*named, *imported]) if not _TEST.search(path) and _is_inside(path)]


def _first_said(story: Story) -> str:
    """What the tests said before anything was changed."""
    return next((step.content for step in story.steps if step.name == "run_tests"), "")


def _test_files(said: str) -> list[str]:
    paths = dict.fromkeys(found["path"] for found in _PLACE.finditer(said))
    return [path for path in paths if _TEST.search(path) and _is_inside(path)][:2]


def _is_inside(path: str) -> bool:
    return not path.startswith(("/", "..")) and "site-packages" not in path and "node_modules" not in path


def _paths_of(module: str, test: str) -> Iterable[str]:
    """Where a module that a test imports may be."""
    folder = PurePosixPath(test).parent
    if module.startswith("."):
        return [str(_joined(folder, module))]
    inside = module.replace(".", "/")
    roots = ("", "src/", f"{folder}/" if str(folder) != "." else "")
    return [f"{root}{inside}.py" for root in dict.fromkeys(roots)]


def _joined(folder: PurePosixPath, relative: str) -> PurePosixPath:
    parts = list(folder.parts)
    for part in PurePosixPath(relative).parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return PurePosixPath(*parts)


def _target(story: Story, path: str) -> Target:
    source = story.source(path) or ""
    if len(source) <= WHOLE:
        return Target(path, source, source)
    tests = story.last("run_tests")
    said = f"{tests.content if tests else ''}\n{story.task}"
    lines = [int(found["line"]) for found in _PLACE.finditer(said) if found["path"] == path]
    shown = dict.fromkeys(part for line in lines if (part := function_at(source, line)))
    return Target(path, source, "\n".join(shown) or source[:WHOLE])


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
            words = yield _question(story, target, phase, piece, Options(temperature=heat, seed=piece * 10 + number))
            content = _mended(target, words, piece)
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


def _mended(target: Target, words: str, piece: int) -> str:
    code = filled(target.shown, holes(target.shown)[piece - 1], words) if piece else code_in(words)
    return put_in(target.source, code, target.path) if code else ""


def _bare(content: str) -> str:
    """What a file says, however it is laid out."""
    return re.sub(r"\s+", "", content)


def _question(story: Story, target: Target, phase: int, piece: int, options: Options) -> Question:
    """What is the same for many questions stands first: a server that has read it once needn't read it again."""
    language, tests = "python" if is_python(target.path) else "", _tests(story)
    if piece:
        source = with_hole(target.shown, holes(target.shown)[piece - 1], _MARK)
        text = _PIECE.format(tests=tests, mark=_MARK, language=language, source=source)
        return Question(text, _INSTRUCTIONS, replace(options, max_tokens=120), _SHAPE)
    tries = story.tries(target.path) if PHASES[phase].feedback else []
    more = _MORE.format(language=language, tried=tries[-1][0], said=_failures(tries[-1][1])) if tries else ""
    what = "the whole file" if target.shown == target.source else "that code"
    text = _WHOLE.format(language=language, source=target.shown, tests=tests, more=more, what=what)
    return Question(text, _INSTRUCTIONS, replace(options, max_tokens=_room(target.shown)))


def _room(shown: str) -> int:
    """Tokens for an answer: what is shown, written anew, and a little more."""
    return min(2_048, 300 + len(shown) // 2)


def _tests(story: Story) -> str:
    """The tests that failed at first: their source where it was read, else what they said."""
    said = _first_said(story)
    names = dict.fromkeys(_NAME.findall(said))
    bodies = [body for name in names for test in _test_files(said) if (body := _body(story, test, name))]
    shown = "\n\n".join(bodies[:3])
    return f"```python\n{shown}```\n" if bodies else f"```\n{_failures(said)}\n```\n"


def _body(story: Story, test: str, name: str) -> str:
    body = function_named(story.source(test) or "", name)
    return body if len(body) <= 1_500 else f"{body[:1_500]}\n"


def _failures(said: str) -> str:
    return said if len(said) <= 1_500 else f"{said[:1_500]}\n…"


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
