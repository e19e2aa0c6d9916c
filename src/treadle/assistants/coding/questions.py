"""Questions to a small model: for the whole corrected, or for one piece of it, as if it were missing. Pure.

A piece takes seconds, a whole file half a minute; and what a model doesn't see, it doesn't copy.
"""

import re

from msgspec.structs import replace

from treadle import Options
from treadle.assistants.coding.code import CodeHole, function_named, is_python_path, mark_hole
from treadle.assistants.coding.fault_localisation import FaultTarget, failing_test_files, runner_messages
from treadle.assistants.coding.transcript import Transcript, TranscriptStep
from treadle.plans import PlanQuestion

_NAME = re.compile(r"(?:::|\bdef |\b)(test\w+)")
_INSTRUCTIONS = "You are a careful programmer who fixes bugs."
_WHOLE_PROMPT = """\
This code has a bug, so that it doesn't do what it should:

```{language}
{source}```

These are some of its tests, which fail:

{tests}
{more}Fix it. Give {what}, corrected, in a fenced block."""
_RETRY_PROMPT = """\
This was tried, and they still fail:

```{language}
{tried}```

{said}

"""
_PIECE_PROMPT = """\
These tests should pass:

{tests}
A piece of this code is missing, at {mark}:

```{language}
{source}```

Which code belongs there? Answer with JSON: {{"code": "the missing code"}}"""
_CODE_SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"], "additionalProperties": False}
_MARK = "____"


def ask_for_piece(story: Transcript, target: FaultTarget, hole: CodeHole, options: Options) -> PlanQuestion:
    """Ask which code belongs in a hole. What all holes share comes first, so that a server can reuse its prompt cache."""
    source = mark_hole(target.shown, hole, _MARK)
    text = _PIECE_PROMPT.format(tests=_failing_tests(story), mark=_MARK, language=_fence_language(target), source=source)
    return PlanQuestion(text, _INSTRUCTIONS, replace(options, max_tokens=120), _CODE_SCHEMA)


def ask_for_whole(
    story: Transcript, target: FaultTarget, tried: tuple[str, TranscriptStep | None] | None, options: Options
) -> PlanQuestion:
    """Ask for all of it corrected. `tried` is a content that didn't help, and the tests after it."""
    language = _fence_language(target)
    more = "" if tried is None else _RETRY_PROMPT.format(language=language, tried=tried[0], said=_format_failures(tried[1]))
    what = "the whole file" if target.shown == target.source else "that code"
    text = _WHOLE_PROMPT.format(language=language, source=target.shown, tests=_failing_tests(story), more=more, what=what)
    return PlanQuestion(text, _INSTRUCTIONS, replace(options, max_tokens=_max_tokens(target.shown)))


def _fence_language(target: FaultTarget) -> str:
    return "python" if is_python_path(target.path) else ""


def _max_tokens(shown: str) -> int:
    """Return the token limit of an answer: what is shown, rewritten, and a little more."""
    return min(2_048, 300 + len(shown) // 2)


def _failing_tests(story: Transcript) -> str:
    """Return the tests that failed at first: their source if it was read, else their output."""
    tests = story.first_tests
    names = dict.fromkeys([name for text in runner_messages(tests) for name in _NAME.findall(text)])
    bodies = [body for name in names for test in failing_test_files(tests) if (body := _test_body(story, test, name))]
    shown = "\n\n".join(bodies[:3])
    return f"```python\n{shown}```\n" if bodies else f"```\n{_format_failures(tests)}\n```\n"


def _test_body(story: Transcript, test: str, name: str) -> str:
    body = function_named(story.source(test) or "", name)
    return body if len(body) <= 1_500 else f"{body[:1_500]}\n"


def _format_failures(tests: TranscriptStep | None) -> str:
    said = "" if tests is None else tests.content
    return said if len(said) <= 1_500 else f"{said[:1_500]}\n…"
