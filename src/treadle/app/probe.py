"""Finding out how a model calls best: the ways worth trying, the questions, what counts as right, and which way is the best.

Values and decisions only; asking is `probing`. The questions are fixed, so that two probes can be compared.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from treadle.app.dialects import dialect_of
from treadle.app.ways import HELD, NATIVE, Way
from treadle.core.calls import Call, Result, Written
from treadle.core.messages import Message, person
from treadle.core.requests import ToolSpec
from treadle.core.seams import Model
from treadle.dialects.mend import Read, read_object
from treadle.models.known import traits_of
from treadle.tools.validate import Valid, validate

SERVERS = ("openai", "ollama")  # kinds whose servers may be able to hold a reply to a shape: that is found out by trying
OTHERS = ("json", "hermes")  # dialects that are worth a try with any model

_Wanted = tuple[str, dict[str, Any]]


class Question(Struct, frozen=True):
    """A question with the calls it wants; without any, it wants an answer that `says` this."""

    title: str
    messages: tuple[Message, ...]
    wanted: tuple[_Wanted, ...] = ()
    says: str = ""

    @property
    def is_first(self) -> bool:
        """Whether nothing was called yet."""
        return len(self.messages) == 1


class Tried(Struct, frozen=True):
    """What came of one way: the questions that went wrong, or the problem that ended it."""

    way: Way
    wrong: tuple[str, ...] = ()
    problem: str = ""
    seconds: float = 0.0


def _tool(name: str, description: str, **arguments: dict[str, Any]) -> ToolSpec:
    return ToolSpec(name, description, {"type": "object", "properties": arguments, "required": list(arguments)})


TOOLS = (
    _tool(
        "stock",
        "How many of an item the warehouse in a city has.",
        item={"type": "string", "description": "The item's number."},
        city={"type": "string"},
    ),
    _tool("distance", "How many kilometres two cities are apart by road.", start={"type": "string"}, end={"type": "string"}),
    _tool("set_timer", "Set a timer.", minutes={"type": "integer"}, label={"type": "string"}),
)
QUESTIONS = (
    Question(
        "a call with two arguments",
        (person("How far is it by road from Porto to Lisbon?"),),
        (("distance", {"start": "Porto", "end": "Lisbon"}),),
    ),
    Question(
        "a call with a number",
        (person("Set a timer for 12 minutes with the label eggs."),),
        (("set_timer", {"minutes": 12, "label": "eggs"}),),
    ),
    Question(
        "two calls at once",
        (person("How many of item A-113 does the warehouse in Ghent have, and how many the one in Turin?"),),
        (("stock", {"item": "A-113", "city": "Ghent"}), ("stock", {"item": "A-113", "city": "Turin"})),
    ),
    Question("an answer where no tool fits", (person("Which river flows through Lisbon?"),)),
    Question("an answer where nothing is asked for", (person("Thank you, that was all."),)),
    Question(
        "an answer after a result",
        (
            person("How many of item B-20 does the warehouse in Ghent have?"),
            Message("model", (Call("call_1", "stock", {"item": "B-20", "city": "Ghent"}),)),
            Message("tools", (Result("call_1", "stock", "417"),)),
        ),
        says="417",
    ),
)


def worth_trying(model: Model, template: str = "") -> list[str]:
    """The ways to try, in the order in which they win where two are equally good. Dialects that are the same come once."""
    kind, _, name = model.name.partition(":")
    native = [NATIVE] if model.traits.native_calls else []
    held = [HELD] if model.traits.holds or kind in SERVERS else []
    own = [model.traits.dialect, traits_of(name).dialect, traits_of("", template).dialect]
    dialects: dict[str, str] = {}
    for each in (*own, *OTHERS):
        if each != "auto":  # it teaches what `hermes` teaches, and all ways hear what it hears
            dialects.setdefault(dialect_of(each).name, each)
    return [*native, *held, *dialects.values()]


def is_right(question: Question, calls: Sequence[Written], text: str) -> bool:
    """Whether a reply has exactly the calls that are wanted, in any order; or words alone, where none is."""
    if not question.wanted:
        return not calls and bool(text.strip()) and question.says in text
    return sorted(map(_made, calls)) == sorted([_key(name, arguments) for name, arguments in question.wanted])


def _made(call: Written) -> bytes:
    """A call as it is compared, with its arguments as the tool would get them; nothing where it would get none."""
    tool = next((tool for tool in TOOLS if tool.name == call.name), None)
    read = read_object(call.text)
    if tool is None or call.cut or not isinstance(read, Read):
        return b""
    checked = validate(read.value, tool.parameters)
    return _key(call.name, checked.arguments) if isinstance(checked, Valid) else b""


def _key(name: str, arguments: dict[str, Any]) -> bytes:
    """Capitals and spaces don't matter."""
    plain = {key: " ".join(value.casefold().split()) if isinstance(value, str) else value for key, value in arguments.items()}
    return msgspec.json.encode([name, plain], order="sorted")


def sure_enough(odds: Iterable[tuple[bool, float]]) -> float:
    """How sure a model has to be that a tool fits: halfway between where one does and where none does, if that can be told."""
    told = list(odds)
    fits, others = [value for does, value in told if does], [value for does, value in told if not does]
    if not fits or not others or min(fits) <= max(others):
        return 0.0
    return round((min(fits) + max(others)) / 2, 2)


def best(tried: Iterable[Tried]) -> Tried | None:
    """The way with the most right, the earlier one where two have as many; None where nothing went right."""
    worked = [each for each in tried if not each.problem and each.way.right]
    return max(worked, key=lambda each: each.way.right, default=None)  # the first of the largest


def firsts() -> Iterator[Question]:
    """The questions at which a model decides whether a tool fits."""
    return (question for question in QUESTIONS if question.is_first)
