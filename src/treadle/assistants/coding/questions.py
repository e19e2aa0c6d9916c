"""What a small model is asked for: the whole corrected, or one piece of it, as if it were missing. Pure.

A piece takes seconds, a whole file half a minute; and what a model doesn't see, it doesn't copy.
"""

import re

from msgspec.structs import replace

from treadle import Options, Question
from treadle.assistants.coding.code import Hole, function_named, is_python, with_hole
from treadle.assistants.coding.story import Step, Story
from treadle.assistants.coding.suspects import Target, runner_texts, test_files

_NAME = re.compile(r"(?:::|\bdef |\b)(test\w+)")
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


def about_piece(story: Story, target: Target, hole: Hole, options: Options) -> Question:
    """Which code belongs in a hole. What is the same for all holes stands first, so that a server needn't read it again."""
    source = with_hole(target.shown, hole, _MARK)
    text = _PIECE.format(tests=_tests(story), mark=_MARK, language=_language(target), source=source)
    return Question(text, _INSTRUCTIONS, replace(options, max_tokens=120), _SHAPE)


def about_whole(story: Story, target: Target, tried: tuple[str, Step | None] | None, options: Options) -> Question:
    """How all of it should be. `tried` is a content that didn't help, and the tests after it."""
    language = _language(target)
    more = "" if tried is None else _MORE.format(language=language, tried=tried[0], said=_failures(tried[1]))
    what = "the whole file" if target.shown == target.source else "that code"
    text = _WHOLE.format(language=language, source=target.shown, tests=_tests(story), more=more, what=what)
    return Question(text, _INSTRUCTIONS, replace(options, max_tokens=_room(target.shown)))


def _language(target: Target) -> str:
    return "python" if is_python(target.path) else ""


def _room(shown: str) -> int:
    """Tokens for an answer: what is shown, written anew, and a little more."""
    return min(2_048, 300 + len(shown) // 2)


def _tests(story: Story) -> str:
    """The tests that failed at first: their source where it was read, else what they said."""
    tests = story.first_tests
    names = dict.fromkeys([name for text in runner_texts(tests) for name in _NAME.findall(text)])
    bodies = [body for name in names for test in test_files(tests) if (body := _body(story, test, name))]
    shown = "\n\n".join(bodies[:3])
    return f"```python\n{shown}```\n" if bodies else f"```\n{_failures(tests)}\n```\n"


def _body(story: Story, test: str, name: str) -> str:
    body = function_named(story.source(test) or "", name)
    return body if len(body) <= 1_500 else f"{body[:1_500]}\n"


def _failures(tests: Step | None) -> str:
    said = "" if tests is None else tests.content
    return said if len(said) <= 1_500 else f"{said[:1_500]}\n…"
