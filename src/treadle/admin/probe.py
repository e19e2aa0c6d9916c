"""Find out how a model calls tools best: the candidate modes, the questions, what counts as correct, and the best mode.

The questions are fixed, so that two probes can be compared. Questions are asked one mode after the other, none
twice, and nothing is stored here.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Call, Result, Written
from treadle.core.errors import ModelError, ModelUnavailable
from treadle.core.messages import History, Message, person_message
from treadle.core.requests import CallDone, Delta, Options, Request, TextDelta, ToolSpec
from treadle.core.seams import Model
from treadle.dialects import auto_dialect
from treadle.dialects.json_repair import JsonRead, read_object
from treadle.models.families import traits_of
from treadle.plugins.dialects import dialect_of
from treadle.settings.calling_modes import HELD, NATIVE, CallingMode, enable_tool_calls
from treadle.tools.validate import ValidArguments, validate_tool_arguments

CONSTRAINING_PROVIDERS = (
    "openai",
    "ollama",
)  # kinds whose servers may be able to hold a reply to a shape: that is found out by trying
FALLBACK_DIALECTS = ("json", "hermes")  # dialects that are worth a try with any model

_ExpectedCall = tuple[str, dict[str, Any]]


class ProbeQuestion(Struct, frozen=True):
    """A question with the calls it expects; without any, it expects an answer that contains `says`."""

    title: str
    messages: tuple[Message, ...]
    wanted: tuple[_ExpectedCall, ...] = ()
    says: str = ""

    @property
    def is_first(self) -> bool:
        """Whether no call was made yet."""
        return len(self.messages) == 1


class ProbeResult(Struct, frozen=True):
    """The result of one mode: the questions answered wrongly, or the problem that ended it."""

    way: CallingMode
    wrong: tuple[str, ...] = ()
    problem: str = ""
    seconds: float = 0.0


def _make_tool(name: str, description: str, **arguments: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name, description, {"type": "object", "properties": arguments, "required": list(arguments)})


TOOLS = (
    _make_tool(
        "stock",
        "How many of an item the warehouse in a city has.",
        item={"type": "string", "description": "The item's number."},
        city={"type": "string"},
    ),
    _make_tool("distance", "How many kilometres two cities are apart by road.", start={"type": "string"}, end={"type": "string"}),
    _make_tool("set_timer", "Set a timer.", minutes={"type": "integer"}, label={"type": "string"}),
)
QUESTIONS = (
    ProbeQuestion(
        "a call with two arguments",
        (person_message("How far is it by road from Porto to Lisbon?"),),
        (("distance", {"start": "Porto", "end": "Lisbon"}),),
    ),
    ProbeQuestion(
        "a call with a number",
        (person_message("Set a timer for 12 minutes with the label eggs."),),
        (("set_timer", {"minutes": 12, "label": "eggs"}),),
    ),
    ProbeQuestion(
        "two calls at once",
        (person_message("How many of item A-113 does the warehouse in Ghent have, and how many the one in Turin?"),),
        (("stock", {"item": "A-113", "city": "Ghent"}), ("stock", {"item": "A-113", "city": "Turin"})),
    ),
    ProbeQuestion("an answer where no tool fits", (person_message("Which river flows through Lisbon?"),)),
    ProbeQuestion("an answer where nothing is asked for", (person_message("Thank you, that was all."),)),
    ProbeQuestion(
        "an answer after a result",
        (
            person_message("How many of item B-20 does the warehouse in Ghent have?"),
            Message("model", (Call("call_1", "stock", {"item": "B-20", "city": "Ghent"}),)),
            Message("tools", (Result("call_1", "stock", "417"),)),
        ),
        says="417",
    ),
)


def candidate_modes(model: Model, template: str = "") -> list[str]:
    """Return the modes to try, best first where two score the same. Equivalent dialects are listed once."""
    kind, _, name = model.name.partition(":")
    native = [NATIVE] if model.traits.native_calls else []
    held = [HELD] if model.traits.holds or kind in CONSTRAINING_PROVIDERS else []
    own = [model.traits.dialect, traits_of(name).dialect, traits_of("", template).dialect]
    dialects: dict[str, str] = {}
    for each in (*own, *FALLBACK_DIALECTS):
        if each != "auto":  # it teaches what `hermes` teaches, and all ways hear what it hears
            dialects.setdefault(dialect_of(each).name, each)
    return [*native, *held, *dialects.values()]


def is_correct_reply(question: ProbeQuestion, calls: Sequence[Written], text: str) -> bool:
    """Whether a reply has exactly the expected calls, in any order; or text alone, where none is expected."""
    if not question.wanted:
        return not calls and bool(text.strip()) and question.says in text
    return sorted(map(_comparable_call, calls)) == sorted([_comparison_key(name, arguments) for name, arguments in question.wanted])


def _comparable_call(call: Written) -> bytes:
    """Return a call for comparison, with its arguments as the tool would get them; empty where they are invalid."""
    tool = next((tool for tool in TOOLS if tool.name == call.name), None)
    read = read_object(call.text)
    if tool is None or call.cut or not isinstance(read, JsonRead):
        return b""
    checked = validate_tool_arguments(read.value, tool.parameters)
    return _comparison_key(call.name, checked.arguments) if isinstance(checked, ValidArguments) else b""


def _comparison_key(name: str, arguments: dict[str, Any]) -> bytes:
    """Return a comparison key that ignores case and whitespace."""
    plain = {key: " ".join(value.casefold().split()) if isinstance(value, str) else value for key, value in arguments.items()}
    return msgspec.json.encode([name, plain], order="sorted")


def confidence_threshold(odds: Iterable[tuple[bool, float]]) -> float:
    """Return the confidence threshold for calling a tool.

    It is halfway between the questions where one fits and those where none does, if they can be separated.
    """
    told = list(odds)
    fits, others = [value for does, value in told if does], [value for does, value in told if not does]
    if not fits or not others or min(fits) <= max(others):
        return 0.0
    return round((min(fits) + max(others)) / 2, 2)


def best_result(tried: Iterable[ProbeResult]) -> ProbeResult | None:
    """Return the mode with the most correct answers, the earlier of equals; None where nothing was correct."""
    worked = [each for each in tried if not each.problem and each.way.right]
    return max(worked, key=lambda each: each.way.right, default=None)  # the first of the largest


def first_questions() -> Iterator[ProbeQuestion]:
    """Yield the questions at which a model decides whether a tool fits."""
    return (question for question in QUESTIONS if question.is_first)


INSTRUCTIONS = "You are a helpful assistant."
OPTIONS = Options(temperature=0, max_tokens=1024)
MAX_ANSWER = 1500  # characters of an answer: what is right shows by then, and small models may go on for ever
_UNSUPPORTED_STATUSES = (500, 501)  # how some servers say that they can't do a thing, rather than that they are down

OnQuestion = Callable[[str, int], None]


def ignore_probe_progress(way: str, number: int) -> None:
    """Ignore the progress."""


async def probe_model(
    model: Model, template: str = "", on_question: OnQuestion = ignore_probe_progress
) -> AsyncIterator[ProbeResult]:
    """Try each mode that makes sense for a model. Raises the server's error where no mode got an answer."""
    first: ModelError | None = None
    worked = False
    for name in candidate_modes(model, template):
        try:
            yield await _try_mode(model, name, on_question)
            worked = True
        except ModelError as error:
            if isinstance(error, ModelUnavailable) and error.status not in _UNSUPPORTED_STATUSES:
                raise
            first = first or error
            yield ProbeResult(CallingMode(name, of=len(QUESTIONS)), problem=str(error))
    if first is not None and not worked:
        raise first


async def _try_mode(model: Model, name: str, on_question: OnQuestion) -> ProbeResult:
    began = perf_counter()
    on_question(name, 1)
    flat = model.traits.flat or traits_of(model.name.partition(":")[2]).flat
    way = CallingMode(name, await _measure_confidence(model) if name == HELD else 0.0, flat, of=len(QUESTIONS))
    asked = enable_tool_calls(model, way=way)
    wrong: list[str] = []
    for number, question in enumerate(QUESTIONS, 1):
        on_question(name, number)
        if not await _is_answered_correctly(asked, question, native=name == NATIVE):
            wrong.append(question.title)
    return ProbeResult(replace(way, right=len(QUESTIONS) - len(wrong)), tuple(wrong), seconds=perf_counter() - began)


async def _measure_confidence(model: Model) -> float:
    from treadle.models.calling.tool_fit import judge_tool_fit

    return confidence_threshold(
        [
            (bool(question.wanted), (await judge_tool_fit(model, _make_request(question, model))).odds)
            for question in first_questions()
        ]
    )


def _make_request(question: ProbeQuestion, model: Model) -> Request:
    return Request(INSTRUCTIONS, History(question.messages), TOOLS, options=OPTIONS.for_model(model.traits))


async def _is_answered_correctly(model: Model, question: ProbeQuestion, *, native: bool) -> bool:
    """Whether a reply is correct. The text of a native one is searched for calls as the engine does."""
    text, calls = await _collect_reply(model.reply(_make_request(question, model)))
    if native and text:
        parser = auto_dialect(strict=True).parser(TOOLS)
        heard = (parser.feed(text), parser.close())
        text = "".join([each.text for each in heard])
        calls += [call for each in heard for call in each.calls]
    return is_correct_reply(question, calls, text)


async def _collect_reply(reply: AsyncIterator[Delta]) -> tuple[str, list[Written]]:
    """Collect a reply's text and calls. An endless reply is abandoned after enough text."""
    text, calls = "", list[Written]()
    async for delta in reply:
        if isinstance(delta, TextDelta):
            text += delta.text
        elif isinstance(delta, CallDone):
            calls.append(delta.call)
        if len(text) > MAX_ANSWER:
            break
    if isinstance(reply, AsyncGenerator):
        await reply.aclose()
    return text, calls
