"""The three ways to ask a model about a file, as steps of a plan: at once, with a tool that reads lines, in two stages. Pure.

Which way is taken, and what happens when one fails, is `program`; what an answer has to be is `check`.
"""

import time
from collections.abc import Generator, Sequence
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from treadle import Call, Message, Question, Request, Result, Text, Traits, TreadleError, Usage, json_in
from treadle.assistants.reading import prompts
from treadle.assistants.reading.check import Settled, settle
from treadle.assistants.reading.outline.compact import compact
from treadle.assistants.reading.settings import MAX_TOOL_CALLS
from treadle.assistants.reading.source import Reads, Source
from treadle.assistants.reading.values import ExecutionPath, Range, Stage, Tokens, ToolRead

CHARS_A_TOKEN = 3  # counted low, so that what has to fit does
TOOL = "refer_to_source_code"


def _object(**fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _list(items: dict[str, Any], **more: int) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


# The shapes that answers are held to, where a model's server can do that.
_TEXT, _LINE = {"type": "string"}, {"type": "integer"}
_RANGES = _list(_list(_LINE, minItems=2, maxItems=2))
_ANSWER = _object(file_intent=_TEXT, responsibilities=_list(_object(label=_TEXT, description=_TEXT, ranges=_RANGES)))
_WANTED = _object(ranges_to_read=_list(_object(start_line=_LINE, end_line=_LINE, reason=_TEXT)))


class Unusable(TreadleError):
    """The model answered, but not with what can be used."""


class Asked(Struct, frozen=True):
    """What came of a path."""

    path: ExecutionPath
    settled: Settled
    reads: tuple[ToolRead, ...] = ()


class View(Struct, frozen=True):
    """What a path goes by besides the file: what the model can do, the run's request, and how many calls it may make.

    `stages` hear of every request, whether anything comes of it or not.
    """

    traits: Traits
    request: Request
    most_calls: int = MAX_TOOL_CALLS
    stages: list[Stage] = field(default_factory=list[Stage])

    @property
    def is_held(self) -> bool:
        """Whether the model's answers are held to a shape, since it doesn't call by itself."""
        return self.traits.holds and not self.traits.native_calls

    @property
    def rounds(self) -> tuple[Message, ...]:
        """What the model has called in this turn, and what that brought."""
        found: list[Message] = []
        for message in self.request.history:
            found = [] if message.role == "person" else [*found, message]
        return tuple(found)

    @property
    def may_read(self) -> bool:
        """Whether the model has calls left; without one it is asked to answer."""
        return (
            sum([isinstance(part, Call) and part.name == TOOL for message in self.rounds for part in message.parts])
            < self.most_calls
        )

    def question(self, text: str, instructions: str, shape: dict[str, Any]) -> Question:
        """A question about the file."""
        if self.is_held:
            return Question(text, instructions, self.request.options, shape)
        more = prompts.OPTIONAL if shape is _ANSWER else ""
        return Question(text, f"{instructions}{more}", self.request.options)


PathSteps = Generator[Question, str, Asked]


def fast(view: View, source: Source) -> PathSteps:
    """The whole file in one request."""
    prompt = prompts.about(source.filename, source.language, "numbered", prompts.numbered(source.lines))
    question = view.question(prompt, prompts.FAST, _ANSWER)
    return Asked("fast-path", (yield from _settled(view, question, source, "fast_path_analysis")))


def tool_calling(view: View, source: Source) -> PathSteps:
    """The outline, and a tool for what it leaves open.

    A model that has to be held to calls is a small one. Given the tool it asks for the whole file, piece by piece, and reading
    takes it minutes: it answers from the outline alone.
    """
    prompt = prompts.about(source.filename, source.language, f"{len(source.lines)} lines, its outline", _outline(view, source))
    question = view.question(prompt, prompts.OUTLINE if view.is_held else prompts.TOOLS, _ANSWER)
    if not view.is_held:
        tools = tuple([each for each in view.request.tools if each.name == TOOL])
        question = replace(question, tools=tools if view.may_read else ())
    if view.rounds:
        question = replace(question, text="", before=(_person(prompt), *view.rounds))
    settled = yield from _settled(view, question, source, "tool_calling_analysis")
    return Asked("tool-calling", settled, _reads_in(view.rounds, len(source.lines)))


def two_stage(view: View, source: Source, tree: str = "") -> PathSteps:
    """First what has to be read, then the answer. `tree` is the syntax tree to send; the outline unless there is one."""
    tree = tree or _outline(view, source)
    reads = Reads(source)
    prompt = prompts.about(source.filename, source.language, "its syntax tree", tree)
    wanted, _ = yield from _asked(view, view.question(prompt, prompts.IDENTIFY, _WANTED), "stage_1_identification")
    snippets = _read(reads, wanted, source, view.most_calls)
    told = prompts.with_snippets(source.filename, source.language, tree, snippets)
    settled = yield from _settled(view, view.question(told, prompts.ANALYSE, _ANSWER), source, "stage_2_analysis")
    return Asked("two-stage", settled, tuple(reads.log))


def _read(reads: Reads, wanted: object, source: Source, most: int) -> list[tuple[Range, str]]:
    """The lines that were asked for, as far as there are any, within what one request may hold."""
    ranges = cast("dict[str, Any]", wanted).get("ranges_to_read") if isinstance(wanted, dict) else None
    found: list[tuple[Range, str]] = []
    for item in cast("list[Any]", ranges)[:most] if isinstance(ranges, list) else ():
        fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        start, end = fields.get("start_line"), fields.get("end_line")
        if isinstance(start, int) and isinstance(end, int) and 1 <= start <= min(end, len(source.lines)):
            text = reads.read(start, end, str(fields.get("reason") or "the model asked"))
            found.append(((start, min(end, len(source.lines))), text))
    return found


def _reads_in(rounds: Sequence[Message], last: int) -> tuple[ToolRead, ...]:
    """The lines that the model read, in the order it asked for them."""
    parts = [part for message in rounds for part in message.parts]
    calls = {part.id: part.arguments for part in parts if isinstance(part, Call) and part.name == TOOL}
    read = [part.call_id for part in parts if isinstance(part, Result) and part.problem is None and part.call_id in calls]
    spans = [(calls[each]["start_line"], min(calls[each]["end_line"], last)) for each in read]
    return tuple([ToolRead(start, end, "the model asked") for start, end in spans])


def _outline(view: View, source: Source) -> str:
    """The outline, within two fifths of what the model can read."""
    context = view.traits.context
    return compact(source.outline, None if context is None else context * CHARS_A_TOKEN * 2 // 5)


def _settled(view: View, question: Question, source: Source, name: str) -> Generator[Question, str, Settled]:
    """The answer, asked for once more where it has problems; of the two, the one with fewer."""
    answer, text = yield from _asked(view, question, name)
    settled = settle(answer, source.parts, len(source.lines))
    if settled.problems:
        said = (*question.before, *([_person(question.text)] if question.text else ()), Message("model", (Text(text),)))
        again = replace(question, text=prompts.AGAIN.format(problems=_listed(settled.problems)), before=said)
        answer, _ = yield from _asked(view, again, name)
        better = settle(answer, source.parts, len(source.lines))
        settled = better if better.blocks and len(better.problems) <= len(settled.problems) else settled
    if not settled.blocks or not settled.file_intent:
        raise Unusable(f"The model's answer can't be used: {' '.join(settled.problems)}")
    return settled


def _listed(problems: Sequence[str]) -> str:
    return "\n".join([f"- {problem}" for problem in problems])


def _person(text: str) -> Message:
    return Message("person", (Text(text),))


def _asked(view: View, question: Question, name: str) -> Generator[Question, str, tuple[dict[str, Any], str]]:
    """One question, and what it was answered with: as an object, and as it was written."""
    began, prompt = time.time(), question.text or question.before[0].text

    def record(usage: Usage) -> None:
        """Hear of the reply before it is known whether it is words: a plan isn't told of calls."""
        view.stages.append(Stage(name, began, time.time(), Tokens.of(usage), prompt, ""))

    text = yield replace(question, used=record)
    value = json_in(text)
    answer = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    view.stages[-1] = replace(view.stages[-1], response=text, parsed_output=answer)
    return answer, text
