"""Three execution paths for asking a model about a file, as plan steps: at once, with a line-reading tool, in two stages. Pure.

Which path is taken, and what happens when one fails, is in `analysis_program`; what an answer has to be is in
`answer_validation`. `ask_for_json` asks about anything else that a prompt shows: the files of a folder, a change.

An answer that repeats the instructions instead of describing what was shown is asked for once more, and then refused.
"""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from typing import Any, cast

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from treadle import Call, Limits, Message, Options, Result, Text, TreadleError, Usage
from treadle.assistant import Host, configured_agent
from treadle.assistants.reading.answer_validation import CheckedAnswer, check_model_answer, find_echoes
from treadle.assistants.reading.file_units import MOST, fewest_blocks, find_units
from treadle.assistants.reading.group_descriptions import MOST_CHARS, FileGroups
from treadle.assistants.reading.outline.formatter import format_outline
from treadle.assistants.reading.reading_types import ExecutionPath, Range, Stage, TokenUsage, ToolRead
from treadle.assistants.reading.settings import MAX_TOOL_CALLS
from treadle.assistants.reading.source_files import NotReadable, OutlinedSource, SourceReader
from treadle.models import Request, Traits
from treadle.plans import PlanQuestion, extract_json

_TASK = "You tell a developer what a source file is for, before they read it: why it is there and what its parts do, never how."
_ANSWER = """\
Answer with one JSON object and nothing else, of this form:
{"file_intent": "…", "responsibilities": [{"label": "…", "description": "…", "ranges": [[1, 2]]}]}
file_intent says in 1 to 4 lines why the file exists. Give 3 to 6 responsibilities, each with a label of 2 to 5 words of its own. \
Each holds all that serves one purpose: functions, state, imports, types and constants, also where they are scattered. Every \
definition belongs to exactly one; give line ranges as they are numbered. No catch-all such as "helpers" or "misc"."""
OPTIONAL_PROMPT = """
A responsibility may also have "elements": {"functions": [], "state": [], "imports": [], "types": [], "constants": []}, names as \
the file has them, for what its ranges don't make clear; and the object "metadata": {"notes": "…"}, for what a reader should know \
besides."""

FAST_PROMPT = f"{_TASK}\nYou get the file with numbered lines.\n{_ANSWER}"
OUTLINE_PROMPT = f"{_TASK}\nYou get its outline: line ranges, definitions, the first words of comments.\n{_ANSWER}"
TOOLS_PROMPT = f"""\
{_TASK}
You get its outline: line ranges, definitions, the first words of comments. Where names and comments leave open what a part is \
for (names such as process, handle, data; long code without a comment), read its lines with refer_to_source_code, several \
ranges in one reply. What is clear needs no reading.
{_ANSWER}"""
GROUPS_PROMPT = f"""\
{_TASK}
Its definitions are divided into parts. Answer with one JSON object and nothing else, with every part by its name:
{{"file_intent": "…", "part_…": {{"description": "…", "label": "…"}}}}
file_intent says in 1 to 4 lines why the file exists. Each part gets a description of one or two sentences, of what its \
definitions do for whoever uses them, with the names of the most important ones, and a label: 2 to 5 words on what they are for, \
not their names."""
IDENTIFY_PROMPT = f"""\
{_TASK}
You get the file's shallow syntax tree. Which lines have to be read before that can be said? Answer with one JSON object and \
nothing else: {{"ranges_to_read": [{{"start_line": 1, "end_line": 9, "reason": "…", "element_type": "function", \
"element_name": "…", "priority": "high"}}]}}. What is clear from names and comments needs no reading."""
ANALYSE_PROMPT = f"{_TASK}\nYou get the file's shallow syntax tree, and the lines that had to be read.\n{_ANSWER}"
AGAIN_PROMPT = "That can't be used yet:\n{problems}\nGive the whole JSON object again, put right."
CHARS_PER_TOKEN = 3  # counted low, so that what has to fit does
TOOL = "refer_to_source_code"
_TRIES = 2


def format_echoes(phrases: Iterable[str]) -> str:
    """Format the problem of an answer that repeats its instructions."""
    said = ", ".join([f'"{phrase}"' for phrase in phrases])
    return f"{said} is in your instructions and not in the code. Say what this code does, in its own words."


def number_source_lines(lines: Sequence[str]) -> str:
    """Prefix source lines with their numbers: models count badly."""
    return "\n".join([f"{number}|{line}" for number, line in enumerate(lines, 1)])


def format_file_prompt(filename: str, language: str, what: str, content: str) -> str:
    """Format the one message about a file."""
    return f"{filename} ({language}), {what}:\n{content}"


def format_snippets_prompt(filename: str, language: str, tree: str, snippets: Iterable[tuple[Range, str]]) -> str:
    """Format the second message of the two-stage path: the tree again, and the lines that were read."""
    read = {f"{start}-{end}": text for (start, end), text in snippets}
    return format_file_prompt(filename, language, "its syntax tree", f"{tree}\n\nLines read:\n{msgspec.json.encode(read).decode()}")


def _object_schema(**fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _list_schema(items: dict[str, Any], **more: int) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


# The shapes that answers are held to, where a model's server can do that.
_TEXT, _LINE = {"type": "string"}, {"type": "integer"}
_RANGES = _list_schema(_list_schema(_LINE, minItems=2, maxItems=2))
_BLOCK = _object_schema(label=_TEXT, description=_TEXT, ranges=_RANGES)
_RANGES_TO_READ = _object_schema(ranges_to_read=_list_schema(_object_schema(start_line=_LINE, end_line=_LINE, reason=_TEXT)))


def _answer_shape(source: OutlinedSource) -> dict[str, Any]:
    """Return the shape of an answer: three to six blocks, fewer if there is little to tell apart."""
    least = fewest_blocks(find_units(source.parts, source.language, opened=True))
    blocks = _list_schema(_BLOCK, minItems=least, maxItems=MOST)
    return _object_schema(file_intent=_TEXT, responsibilities=blocks)


def _descriptions_shape(keys: Iterable[str]) -> dict[str, Any]:
    """Return the shape of an answer that describes these groups."""
    described = _object_schema(description=_TEXT, label=_TEXT)
    return _object_schema(file_intent=_TEXT, **dict.fromkeys(keys, described))


class UnusableAnswer(TreadleError):
    """The model's answer can't be used."""


class PathResult(Struct, frozen=True):
    """The result of an execution path."""

    path: ExecutionPath
    settled: CheckedAnswer
    reads: tuple[ToolRead, ...] = ()


class PathContext(Struct, frozen=True):
    """Context of an execution path besides the file: the model's traits, the run's request, and how many calls it may make.

    `stages` records every request, whether it succeeds or not.
    """

    traits: Traits
    request: Request
    most_calls: int = MAX_TOOL_CALLS
    stages: list[Stage] = field(default_factory=list[Stage])

    @property
    def is_held(self) -> bool:
        """Whether the model's answers are constrained to a schema, because it doesn't call tools by itself."""
        return self.traits.holds and not self.traits.native_calls

    @property
    def rounds(self) -> tuple[Message, ...]:
        """The model's calls in this turn, with their results."""
        found: list[Message] = []
        for message in self.request.history:
            found = [] if message.role == "person" else [*found, message]
        return tuple(found)

    @property
    def may_read(self) -> bool:
        """Whether the model has calls left; without any it is asked to answer."""
        return (
            sum([isinstance(part, Call) and part.name == TOOL for message in self.rounds for part in message.parts])
            < self.most_calls
        )

    def question(self, text: str, instructions: str, shape: dict[str, Any]) -> PlanQuestion:
        """Build a question about the file."""
        if self.is_held:
            return PlanQuestion(text, instructions, self.request.options, shape)
        more = OPTIONAL_PROMPT if shape is not _RANGES_TO_READ else ""
        return PlanQuestion(text, f"{instructions}{more}", self.request.options)


PathSteps = Generator[PlanQuestion, str, PathResult]


def run_fast_path(view: PathContext, source: OutlinedSource) -> PathSteps:
    """Send the whole file in one request."""
    name, groups = "fast_path_analysis", FileGroups.find(source) if view.is_held else None
    if groups is not None:
        content = f"{source.text.rstrip()}\n\n{groups.format_names()}"
        return PathResult("fast-path", (yield from _ask_descriptions(view, source, groups, "with its parts", content, name)))
    prompt = format_file_prompt(source.filename, source.language, "numbered", number_source_lines(source.lines))
    question = view.question(prompt, FAST_PROMPT, _answer_shape(source))
    return PathResult("fast-path", (yield from _ask_checked(view, question, source, name)))


def run_tool_calling(view: PathContext, source: OutlinedSource) -> PathSteps:
    """Send the outline, and a tool for the lines it leaves open.

    A model that has to be constrained to calls is a small one. Given the tool it asks for the whole file, piece by piece,
    and reading takes it minutes: it answers from the outline alone.
    """
    name, groups = "tool_calling_analysis", FileGroups.find(source) if view.is_held else None
    if groups is not None:
        content = groups.format_definitions(min(MOST_CHARS, _most_chars(view) or MOST_CHARS))
        about = f"{len(source.lines)} lines, its parts"
        return PathResult("tool-calling", (yield from _ask_descriptions(view, source, groups, about, content, name)))
    prompt = format_file_prompt(
        source.filename, source.language, f"{len(source.lines)} lines, its outline", _format_outline(view, source)
    )
    question = view.question(prompt, OUTLINE_PROMPT if view.is_held else TOOLS_PROMPT, _answer_shape(source))
    if not view.is_held:
        tools = tuple([each for each in view.request.tools if each.name == TOOL])
        question = replace(question, tools=tools if view.may_read else ())
    if view.rounds:
        question = replace(question, text="", before=(_user_message(prompt), *view.rounds))
    settled = yield from _ask_checked(view, question, source, name)
    return PathResult("tool-calling", settled, _collect_reads(view.rounds, len(source.lines)))


def run_two_stage(view: PathContext, source: OutlinedSource, tree: str = "") -> PathSteps:
    """Ask first what has to be read, then for the answer. `tree` is the syntax tree to send; by default the outline."""
    tree = tree or _format_outline(view, source)
    reads = SourceReader(source)
    prompt = format_file_prompt(source.filename, source.language, "its syntax tree", tree)
    wanted, _ = yield from _ask(view, view.question(prompt, IDENTIFY_PROMPT, _RANGES_TO_READ), "stage_1_identification")
    snippets = _read_ranges(reads, wanted, source, view.most_calls)
    told = format_snippets_prompt(source.filename, source.language, tree, snippets)
    settled = yield from _ask_checked(view, view.question(told, ANALYSE_PROMPT, _answer_shape(source)), source, "stage_2_analysis")
    return PathResult("two-stage", settled, tuple(reads.log))


def _read_ranges(reads: SourceReader, wanted: object, source: OutlinedSource, most: int) -> list[tuple[Range, str]]:
    """Return the requested lines, as far as they exist, within what one request may contain."""
    ranges = cast("dict[str, Any]", wanted).get("ranges_to_read") if isinstance(wanted, dict) else None
    found: list[tuple[Range, str]] = []
    for item in cast("list[Any]", ranges)[:most] if isinstance(ranges, list) else ():
        fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        start, end = fields.get("start_line"), fields.get("end_line")
        if isinstance(start, int) and isinstance(end, int) and 1 <= start <= min(end, len(source.lines)):
            text = reads.read(start, end, str(fields.get("reason") or "the model asked"))
            found.append(((start, min(end, len(source.lines))), text))
    return found


def _collect_reads(rounds: Sequence[Message], last: int) -> tuple[ToolRead, ...]:
    """Return the line ranges that the model read, in order."""
    parts = [part for message in rounds for part in message.parts]
    calls = {part.id: part.arguments for part in parts if isinstance(part, Call) and part.name == TOOL}
    read = [part.call_id for part in parts if isinstance(part, Result) and part.problem is None and part.call_id in calls]
    spans = [(calls[each]["start_line"], min(calls[each]["end_line"], last)) for each in read]
    return tuple([ToolRead(start, end, "the model asked") for start, end in spans])


def _format_outline(view: PathContext, source: OutlinedSource) -> str:
    """Format the outline within two fifths of the model's context."""
    return format_outline(source.outline, _most_chars(view))


def _most_chars(view: PathContext) -> int | None:
    context = view.traits.context
    return None if context is None else context * CHARS_PER_TOKEN * 2 // 5


def _ask_descriptions(
    view: PathContext, source: OutlinedSource, groups: FileGroups, about: str, content: str, name: str
) -> Generator[PlanQuestion, str, CheckedAnswer]:
    """Have a small model describe the groups of a file that were found in code."""
    prompt = format_file_prompt(source.filename, source.language, about, content)
    question = view.question(prompt, GROUPS_PROMPT, _descriptions_shape(groups.keys))
    return (yield from _ask_checked(view, question, source, name, groups.check))


AnswerCheck = Callable[[object], CheckedAnswer]


def _ask_checked(
    view: PathContext, question: PlanQuestion, source: OutlinedSource, name: str, check: AnswerCheck | None = None
) -> Generator[PlanQuestion, str, CheckedAnswer]:
    """Return the checked answer, retried once if it has problems; of the two, the one with fewer."""
    check = check or partial(check_model_answer, parts=source.parts, lines=len(source.lines), language=source.language)
    answer, text = yield from _ask(view, question, name)
    settled = _check_answer(check(answer), question, source)
    if settled.problems:
        said = (*question.before, *([_user_message(question.text)] if question.text else ()), Message("model", (Text(text),)))
        again = replace(question, text=AGAIN_PROMPT.format(problems=_format_problems(settled.problems)), before=said)
        answer, _ = yield from _ask(view, again, name)
        better = _check_answer(check(answer), question, source)
        ranks = [(bool(each.echoes), len(each.problems)) for each in (better, settled)]
        settled = better if better.blocks and ranks[0] <= ranks[1] else settled
    if settled.echoes:
        raise UnusableAnswer("The model's answer can't be used: it repeats its instructions.")
    if not settled.blocks or not settled.file_intent:
        raise UnusableAnswer(f"The model's answer can't be used: {' '.join(settled.problems)}")
    return settled


def _check_answer(settled: CheckedAnswer, question: PlanQuestion, source: OutlinedSource) -> CheckedAnswer:
    """Validate an answer against its question too: what repeats the instructions isn't about the file."""
    echoes = find_echoes(settled.texts, question.instructions, f"{source.filename}\n{source.text}")
    return replace(settled, problems=(*settled.problems, format_echoes(echoes)), echoes=echoes) if echoes else settled


def _format_problems(problems: Sequence[str]) -> str:
    return "\n".join([f"- {problem}" for problem in problems])


def _user_message(text: str) -> Message:
    return Message("person", (Text(text),))


def _ask(view: PathContext, question: PlanQuestion, name: str) -> Generator[PlanQuestion, str, tuple[dict[str, Any], str]]:
    """Ask one question; return its answer as an object and as text."""
    began, prompt = time.time(), question.text or question.before[0].text

    def record(usage: Usage) -> None:
        """Hear of the reply before it is known whether it is words: a plan isn't told of calls."""
        view.stages.append(Stage(name, began, time.time(), TokenUsage.of(usage), prompt, ""))

    text = yield replace(question, used=record)
    value = extract_json(text)
    answer = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    view.stages[-1] = replace(view.stages[-1], response=text, parsed_output=answer)
    return answer, text


class JsonAnswer(Struct, frozen=True):
    """A model's answer: its intent, which is never empty, all its fields, and what it cost."""

    intent: str
    fields: dict[str, Any]
    tokens: TokenUsage
    run_id: str


async def ask_for_json(host: Host, name: str, instructions: str, question: str, intent: str) -> JsonAnswer:
    """Return a model's answer, whose field `intent` says what it is all for; raise `NotReadable` if it can't be used."""
    model = await host.model()
    parts: dict[str, Any] = {
        "name": name,
        "instructions": instructions,
        "limits": Limits(rounds=2, tries=3),
        "options": Options(temperature=0.1, max_tokens=2000).for_model(model.traits),
    }
    agent = configured_agent(None, model, parts=parts)
    kept: dict[str, Any] = {"journal": host.home.services(), "user": host.user, "origin": host.remember({})}
    asked, spent = question, Usage()
    for _ in range(_TRIES):
        result = await agent.run(asked, **kept)
        spent += result.usage
        answer = extract_json(result.output)
        fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        words = fields.get(intent)
        if not isinstance(words, str) or not any(map(str.isalnum, words)):
            raise NotReadable("what it answered can't be read.")
        echoes = find_echoes(collect_strings(fields), instructions, question)
        if not echoes:
            return JsonAnswer(words.strip(), fields, TokenUsage.of(spent), result.run_id)
        asked = f"{question}\n\n{format_echoes(echoes)}"
    raise NotReadable("it repeats its instructions.")


def collect_strings(value: object) -> list[str]:
    """Return every text in a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = list(cast("dict[str, object]", value).values()) if isinstance(value, dict) else value
    return [text for each in cast("list[object]", inner) for text in collect_strings(each)] if isinstance(inner, list) else []
