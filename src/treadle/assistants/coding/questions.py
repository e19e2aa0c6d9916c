"""Questions to a small model: for code, for one piece of it as if it were missing, for a test, or for a few fields. Pure.

A piece takes seconds, a whole function half a minute; and what a model doesn't see, it doesn't copy.
"""

from collections.abc import Generator, Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from treadle import Options
from treadle.assistants.coding.code import CodeHole, is_python_path, mark_hole
from treadle.assistants.coding.fault_localisation import FaultTarget
from treadle.plans import PlanQuestion, extract_json
from treadle.workspace import CheckOutcome, format_outcome

_MAX_TEXT = 1_500  # characters of a test, and of what tests say
_INSTRUCTIONS = "You are a careful programmer who fixes bugs."
_WHOLE_PROMPT = """\
This code{origin} has a bug, so that it doesn't do what it should:

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
_TEST_PROMPT = """\
This bug was reported:

{symptom}

The code that it may be about{origin}:

```python
{source}```

{example}{more}Write one test for {runner} that fails because of this bug, and that will pass when the bug is fixed.
It compares what the code returns with what it should return. Give the whole test file, with its imports, in a fenced block."""
_TEST_RETRY_PROMPT = """\
This test was tried, but {said}:

```python
{tried}```

"""
_CODE_SCHEMA = {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"], "additionalProperties": False}
_MARK = "____"


_FIELD_HEATS = (0.0, 0.6)  # of a question, and once again if its answer can't be used

FieldAnswer = Generator[PlanQuestion, str, dict[str, str] | None]


class FailingTests(Struct, frozen=True):
    """The tests that a repair is for: their source as far as known, and their outcome."""

    bodies: tuple[str, ...]
    outcome: CheckOutcome


def ask_for_piece(failing: FailingTests, target: FaultTarget, hole: CodeHole, options: Options) -> PlanQuestion:
    """Ask which code belongs in a hole. What all holes share comes first, so that a server can reuse its prompt cache."""
    source = mark_hole(target.shown, hole, _MARK)
    text = _PIECE_PROMPT.format(tests=_format_tests(failing), mark=_MARK, language=_fence_language(target), source=source)
    return PlanQuestion(text, _INSTRUCTIONS, replace(options, max_tokens=120), _CODE_SCHEMA)


def ask_for_code(
    failing: FailingTests, target: FaultTarget, tried: tuple[str, CheckOutcome | None] | None, options: Options
) -> PlanQuestion:
    """Ask for the shown code corrected. `tried` is code that didn't help, and the tests after it."""
    language = _fence_language(target)
    more = "" if tried is None else _RETRY_PROMPT.format(language=language, tried=tried[0], said=_format_outcome(tried[1]))
    what, origin = ("that code", f" of {target.path}") if target.parts else ("the whole file", "")
    tests = _format_tests(failing)
    text = _WHOLE_PROMPT.format(origin=origin, language=language, source=target.shown, tests=tests, more=more, what=what)
    return PlanQuestion(text, _INSTRUCTIONS, replace(options, max_tokens=_max_tokens(target.shown)))


def ask_for_test(
    symptom: str, target: FaultTarget, module: str, runner: str, example: str, tried: tuple[str, str] | None, options: Options
) -> PlanQuestion:
    """Ask for a test that shows a symptom. `tried` is a test that doesn't show it, and why not."""
    more = "" if tried is None else _TEST_RETRY_PROMPT.format(tried=tried[0], said=tried[1])
    shown = f"A test of this project looks like this:\n\n```python\n{_cut(example)}```\n\n" if example else ""
    text = _TEST_PROMPT.format(
        symptom=_cut(symptom), origin=f", of the module {module}", source=target.shown, example=shown, more=more, runner=runner
    )
    return PlanQuestion(text, _INSTRUCTIONS, replace(options, max_tokens=600))


def ask_for_fields(instructions: str, text: str, fields: Mapping[str, tuple[str, ...]]) -> FieldAnswer:
    """Return the answer to a question as fields; None if it can't be used, also when the question is asked once again.

    `fields` are texts, or one of some texts.
    """
    kinds = {name: {"type": "string", "enum": list(of)} if of else {"type": "string"} for name, of in fields.items()}
    schema = {"type": "object", "properties": kinds, "required": list(kinds), "additionalProperties": False}
    longest = max((len(each) for of in fields.values() for each in of), default=0)
    for number, heat in enumerate(_FIELD_HEATS):
        options = Options(temperature=heat, seed=number, max_tokens=200 + longest // 2)
        said = extract_json((yield PlanQuestion(text, instructions, options, schema)))
        answer = _check_fields(cast("dict[str, Any]", said), fields) if isinstance(said, dict) else None
        if answer is not None:
            return answer
    return None


def _check_fields(said: dict[str, Any], fields: Mapping[str, tuple[str, ...]]) -> dict[str, str] | None:
    """Return the fields as they have to be: for a text that is one of some, that one, however it is spaced."""
    found: dict[str, str] = {}
    for name, allowed in fields.items():
        value = str(said.get(name, "")).strip()
        if allowed:
            value = next((each for each in allowed if "".join(each.split()) == "".join(value.split())), "")
        if not value:
            return None
        found[name] = value
    return found


def _fence_language(target: FaultTarget) -> str:
    return "python" if is_python_path(target.path) else ""


def _max_tokens(shown: str) -> int:
    """Return the token limit of an answer: what is shown, rewritten, and a little more."""
    return min(2_048, 300 + len(shown) // 2)


def _format_tests(failing: FailingTests) -> str:
    """Return the tests that fail, with what they saw; their outcome if their source isn't known."""
    if not failing.bodies:
        return f"```\n{_format_outcome(failing.outcome)}\n```\n"
    shown = "\n\n".join(map(_cut, failing.bodies[:3]))
    seen = "\n".join(
        dict.fromkeys(_cut(each.message.strip(), 300).rstrip() for each in failing.outcome.failures[:3] if each.message)
    )
    return f"```python\n{shown}```\n" + (f"\nThey fail with:\n\n```\n{seen}\n```\n" if seen else "")


def _format_outcome(outcome: CheckOutcome | None) -> str:
    return "" if outcome is None else _cut(format_outcome(outcome)).rstrip()


def _cut(text: str, most: int = _MAX_TEXT) -> str:
    """Return a text's whole lines up to a length, or the beginning of a longer first line."""
    text = text if text.endswith("\n") else f"{text}\n"
    if len(text) <= most:
        return text
    whole = text[:most].rpartition("\n")[0]
    return f"{whole or text[:most]}\n…\n"
