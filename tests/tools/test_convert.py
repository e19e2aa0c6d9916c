import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, TypedDict, cast

import annotated_types
import msgspec
import pydantic
import pydantic.dataclasses
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import TypeAliasType

from treadle.core.context import RunContext
from treadle.core.errors import BadArguments, BadTool, ToolProblem
from treadle.tools.convert import make_binder
from treadle.tools.schema import make_reader, read_signature, type_schema
from treadle.tools.text import to_json_value
from treadle.tools.validate import ValidArguments, validate_tool_arguments

DAY = datetime.date(2030, 1, 31)
Json = TypeAliasType("Json", "str | list[Json]")
Names = TypeAliasType("Names", list[str])
UserId = NewType("UserId", int)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


class Odd(enum.Enum):
    ONE = (1, 2)


@dataclasses.dataclass
class Point:
    x: int
    when: datetime.date = DAY

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x is below zero")


@dataclasses.dataclass
class Node:
    value: Color
    kids: "list[Node]" = dataclasses.field(default_factory=list)


class Row(TypedDict):
    when: datetime.date
    note: NotRequired[str]


class PlainRow(TypedDict):
    name: str


class Spot(NamedTuple):
    x: int
    color: Color = Color.RED


class Order(msgspec.Struct, rename="camel", tag="order"):
    item_number: str
    color: Color = Color.RED


class Machine(pydantic.BaseModel):
    name: str
    built: datetime.date
    parts: list[Annotated[int, pydantic.Field(gt=0)]] = []


READINGS: list[tuple[Any, Any, Any]] = [
    (Color, "red", Color.RED),
    (Level, 1, Level.LOW),
    (Level, 1.0, Level.LOW),
    (Odd, "ONE", Odd.ONE),
    (Literal["a", Color.RED], "red", Color.RED),
    (Color | None, None, None),
    (Color | None, "red", Color.RED),
    (list[Color], ["red", "blue"], [Color.RED, Color.BLUE]),
    (Sequence[Color], ["red"], [Color.RED]),
    (set[int], [1, 2], {1, 2}),
    (frozenset[Color], ["red"], frozenset([Color.RED])),
    (AbstractSet[int], [1], {1}),
    (deque[int], [1], deque([1])),
    (tuple[int, ...], [1, 2], (1, 2)),
    (tuple[int, Color], [1, "red"], (1, Color.RED)),
    (tuple[()], [], ()),
    (dict[str, Color], {"a": "red"}, {"a": Color.RED}),
    (Mapping[str, Color], {"a": "red"}, {"a": Color.RED}),
    (dict[int, str], {"5": "a"}, {5: "a"}),
    (dict[Color, int], {"red": 1}, {Color.RED: 1}),
    (OrderedDict[str, int], {"a": 1}, OrderedDict(a=1)),
    (OrderedDict[str, Color], {"a": "red"}, OrderedDict(a=Color.RED)),
    (datetime.datetime, "2030-01-31T09:30:00Z", datetime.datetime(2030, 1, 31, 9, 30, tzinfo=datetime.UTC)),
    (datetime.date, "2030-01-31", DAY),
    (datetime.time, "09:30", datetime.time(9, 30)),
    (datetime.timedelta, "PT1H30M", datetime.timedelta(minutes=90)),
    (uuid.UUID, "00000000-0000-0000-0000-000000000005", uuid.UUID(int=5)),
    (decimal.Decimal, "12.50", decimal.Decimal("12.50")),
    (decimal.Decimal, 0.1, decimal.Decimal("0.1")),
    (pathlib.PurePosixPath, "/a", pathlib.PurePosixPath("/a")),
    (bytes, "Grüße", "Grüße".encode()),
    (bytearray, "a", bytearray(b"a")),
    (Annotated[Color, "which"], "red", Color.RED),
    (Point, {"x": 1, "when": "2030-02-01"}, Point(1, datetime.date(2030, 2, 1))),
    (Point, {"x": 1}, Point(1)),
    (Node, {"value": "red", "kids": [{"value": "blue"}]}, Node(Color.RED, [Node(Color.BLUE)])),
    (Row, {"when": "2030-01-31", "note": "a"}, {"when": DAY, "note": "a"}),
    (Spot, {"x": 1, "color": "blue"}, Spot(1, Color.BLUE)),
    (Order, {"type": "order", "itemNumber": "A", "color": "blue"}, Order("A", Color.BLUE)),
    (Machine, {"name": "a", "built": "2030-01-31"}, Machine(name="a", built=DAY)),
    (list[Machine] | None, [{"name": "a", "built": "2030-01-31"}], [Machine(name="a", built=DAY)]),
    (datetime.date | str, "2030-01-31", DAY),
    (datetime.date | str, "soon", "soon"),
    (datetime.date | None, "null", None),
    (pathlib.PurePosixPath | None, "null", pathlib.PurePosixPath("null")),
    (str | datetime.date, "2030-01-31", "2030-01-31"),
    (Point | Spot | Color, {"x": 1, "color": "red"}, Spot(1)),
    (Point | Spot | Color, "red", Color.RED),
    (Node | list[Node], [{"value": "red"}], [Node(Color.RED)]),
    (Json, ["a", ["b"]], ["a", ["b"]]),
]


@pytest.mark.parametrize(("annotation", "json", "wanted"), READINGS, ids=[str(number) for number in range(len(READINGS))])
def test_json_becomes_what_the_annotation_wants(annotation: Any, json: Any, wanted: Any):
    found = make_reader(annotation)(json)
    assert found == wanted
    assert type(found) is type(wanted)


UNTOUCHED: list[tuple[Any, Any]] = [
    (str, "a"),
    (float, 5),
    (Any, [1]),
    (list[int], [1]),
    (list, ["a"]),
    (dict[str, Any], {"a": 1}),
    (PlainRow, {"name": "a"}),
    (Literal["a", "b"], "a"),
    (int | str | None, 5),
    (UserId, 5),
    (Names, ["a"]),
]


@pytest.mark.parametrize(("annotation", "json"), UNTOUCHED, ids=[str(number) for number in range(len(UNTOUCHED))])
def test_what_fits_already_is_not_even_copied(annotation: Any, json: Any):
    assert make_reader(annotation)(json) is json


@pytest.mark.parametrize(
    ("annotation", "json", "words"),
    [
        (datetime.date, "2030-02-30", "- arguments: expected a date such as 2030-01-31; got the text"),
        (datetime.date, "2030-02-30", "(day is out of range for month)"),
        (datetime.timedelta, "soon", "expected a duration such as PT1H30M"),
        (uuid.UUID, "x", "expected a UUID"),
        (list[datetime.date], ["2030-01-31", "x"], "- [1]: expected a date"),
        (dict[str, datetime.date], {"a": "x"}, "- a: expected a date"),
        (dict[int, str], {"a": "x"}, "- a: expected a whole number as the key"),
        (tuple[int, datetime.date], [1, "x"], "- [1]: expected a date"),
        (Point, {"x": -1}, "expected what Point allows (x is below zero); got an object with x"),
        (list[Point], [{"x": 1, "when": "x"}], "- [0].when: expected a date"),
        (
            Machine,
            {"name": "a", "built": "x", "parts": [1, 0]},
            "- parts[1]: expected what Machine allows (Input",
        ),
        (list[Machine], [{"name": "a"}], "- [0].built: expected what Machine allows (Field required)"),
        (datetime.date | uuid.UUID, "x", "expected a UUID"),
        (bytes, "\ud800", "expected text"),
        (dict[Color, int], {"green": 1}, '- green: expected one of "red", "blue"; got the text "green"'),
    ],
)
def test_what_can_not_be_made_is_a_problem_that_names_the_field(annotation: Any, json: Any, words: str):
    with pytest.raises(ToolProblem) as caught:
        make_reader(annotation)(json)
    assert words in str(caught.value)


def test_a_class_that_fails_in_its_own_way_is_a_problem_too():
    class Odd:
        @staticmethod
        def model_json_schema() -> dict[str, Any]:
            return {"type": "object"}

        @staticmethod
        def model_validate_json(value: bytes) -> Any:
            raise OSError("no disk")

    with pytest.raises(ToolProblem, match=r"expected what Odd allows \(no disk\)"):
        make_reader(Odd)({})


def no_bad(text: str) -> str:
    if text == "bad":
        raise ValueError("no bad text")
    return text


class Account(pydantic.BaseModel, strict=True):
    opened: datetime.date


@pydantic.dataclasses.dataclass
class Share:
    percent: Annotated[int, pydantic.Field(le=100, description="of the whole")]

    @pydantic.field_validator("percent")
    @classmethod
    def is_even(cls, percent: int) -> int:
        if percent % 2:
            raise ValueError("an even number, please")
        return percent


class Celsius:
    def __init__(self, degrees: float) -> None:
        self.degrees = degrees

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(cls, core_schema.float_schema(ge=-273))


class Label(TypedDict):
    text: Annotated[str, pydantic.AfterValidator(no_bad)]


CHECKED_BY_PYDANTIC: list[tuple[Any, Any, Any]] = [
    (Annotated[str, pydantic.AfterValidator(str.upper)], "a", "A"),
    (Annotated[int, pydantic.BeforeValidator(lambda value: value + 1)], 1, 2),
    (Annotated[str, pydantic.StringConstraints(to_lower=True, strip_whitespace=True)], " Ab ", "ab"),
    (Annotated[str, pydantic.Field(description="a name"), pydantic.AfterValidator(str.upper)] | None, None, None),
    (list[Annotated[str, pydantic.AfterValidator(str.upper)]], ["a"], ["A"]),
    (pydantic.Base64Bytes, "aGk=", b"hi"),
    (pydantic.AwareDatetime, "2030-01-31T00:00:00Z", datetime.datetime(2030, 1, 31, tzinfo=datetime.UTC)),
    (pydantic.HttpUrl, "https://a.example", pydantic.HttpUrl("https://a.example")),
    (pydantic.SecretStr, "s", pydantic.SecretStr("s")),
    (Account, {"opened": "2030-01-31"}, Account(opened=DAY)),
    (Share, {"percent": 4}, Share(4)),
]


@pytest.mark.parametrize(("annotation", "json", "wanted"), CHECKED_BY_PYDANTIC)
def test_what_pydantic_does_beside_a_schema_is_done(annotation: Any, json: Any, wanted: Any):
    assert make_reader(annotation)(json) == wanted


@pytest.mark.parametrize(
    ("annotation", "json", "words"),
    [
        (
            Annotated[str, pydantic.AfterValidator(no_bad)],
            "bad",
            "expected what str allows (Value error, no bad text)",
        ),
        (
            list[Annotated[str, pydantic.AfterValidator(no_bad)]],
            ["a", "bad"],
            "- [1]: expected what str allows",
        ),
        (Label, {"text": "bad"}, "- text: expected what str allows (Value error, no bad text)"),
        (Annotated[str, annotated_types.Predicate(str.isalpha)], "5", "expected what str allows"),
        (pydantic.StrictInt, 5.0, "expected what int allows"),
        (pydantic.UUID1, str(uuid.UUID(int=5, version=4)), "expected what UUID allows (UUID version 1 expected)"),
        (pydantic.AwareDatetime, "2030-01-31T00:00:00", "expected what AwareDatetime allows (Input should have timezone info)"),
        (Share, {"percent": 3}, "- percent: expected what Share allows (Value error, an even number, please); got 3"),
        (Celsius, -300, "expected what Celsius allows"),
    ],
)
def test_what_pydantic_rejects_beside_a_schema_is_a_problem(annotation: Any, json: Any, words: str):
    with pytest.raises(BadArguments) as caught:
        make_reader(annotation)(json)
    assert words in str(caught.value)


def test_what_pydantic_checks_is_part_of_the_schema():
    assert type_schema(Share)["properties"] == {"percent": {"type": "integer", "maximum": 100, "description": "of the whole"}}
    assert type_schema(Celsius) == {"type": "number", "minimum": -273}
    assert type_schema(Annotated[str, pydantic.AfterValidator(no_bad), "a label"]) == {"type": "string", "description": "a label"}


def test_an_optional_parameter_keeps_the_validator_of_its_value():
    def name(text: Annotated[str, pydantic.AfterValidator(str.upper)] = cast("Any", None)) -> None: ...

    signature = read_signature(name)
    assert signature.parameters["properties"]["text"]["anyOf"] == [{"type": "string"}, {"type": "null"}]
    bind = make_binder(signature)
    assert (bind({"text": "a"}, None), bind({"text": None}, None)) == (((), {"text": "A"}), ((), {"text": None}))


def test_a_type_that_pydantic_can_not_validate_is_refused():
    with pytest.raises(BadTool, match="pydantic can't validate Order"):
        type_schema(Annotated[Order, pydantic.AfterValidator(str)])


def test_a_value_nested_too_deeply_to_be_made_is_a_problem():
    deep: dict[str, Any] = {"value": "red"}
    for _ in range(2000):
        deep = {"value": "red", "kids": [deep]}
    with pytest.raises(
        ToolProblem, match="- arguments: expected a value that is nested less deeply; got an object with value, kids"
    ):
        make_reader(Node)(deep)


# Calls


def bound(function: Callable[..., Any], arguments: dict[str, Any], context: Any = None) -> Any:
    """What the function returns when it is called with JSON arguments."""
    signature = read_signature(function)
    checked = validate_tool_arguments(arguments, signature.parameters)
    assert isinstance(checked, ValidArguments), checked
    args, kwargs = make_binder(signature)(checked.arguments, context)
    return function(*args, **kwargs)


CONTEXT: RunContext[Any] = RunContext(run_id="r")


def test_a_function_whose_arguments_need_nothing_gets_them_as_they_are():
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    arguments = {"a": 1}
    args, kwargs = make_binder(read_signature(add))(arguments, CONTEXT)
    assert args == ()
    assert kwargs is arguments
    assert bound(add, {"a": "1", "b": 5}) == 6


def test_the_context_is_handed_in_wherever_it_stands():
    def first(ctx: RunContext[Any], a: int) -> Any:
        """Do."""
        return ctx, a

    def last(a: int, ctx: RunContext[Any]) -> Any:
        """Do."""
        return ctx, a

    def keyword(a: int, *, ctx: RunContext[Any] | None = None) -> Any:
        """Do."""
        return ctx, a

    def only_keyword(*, ctx: RunContext[Any], a: int) -> Any:
        """Do."""
        return ctx, a

    def positional(ctx: RunContext[Any], a: int, /) -> Any:
        """Do."""
        return ctx, a

    def before_rest(ctx: RunContext[Any], *rest: int) -> Any:
        """Do."""
        return ctx, rest[0]

    for function in (first, last, keyword, only_keyword, positional):
        assert bound(function, {"a": 1}, CONTEXT) == (CONTEXT, 1)
    assert bound(before_rest, {"rest": [1]}, CONTEXT) == (CONTEXT, 1)
    assert bound(keyword, {"a": 1}) == (None, 1)


def test_positions_are_kept():
    def function(a: int, b: int = 2, /, c: int = 3, *rest: Color, d: int = 4, **others: Color) -> Any:
        """Do."""
        return a, b, c, rest, d, others

    assert bound(function, {"a": 1}) == (1, 2, 3, (), 4, {})
    assert bound(function, {"a": 1, "rest": ["red"], "d": 5, "e": "blue"}) == (1, 2, 3, (Color.RED,), 5, {"e": Color.BLUE})
    assert bound(function, {"a": 1, "c": 7, "rest": []}) == (1, 2, 7, (), 4, {})


def test_other_arguments_are_read_by_their_own_type_only():
    def function(a: Color, b: str = "", **others: int) -> Any:
        """Do."""
        return a, b, others

    assert bound(function, {"a": "red", "b": "blue", "c": 1}) == (Color.RED, "blue", {"c": 1})


def test_an_argument_can_not_take_the_place_of_the_context():
    def function(ctx: RunContext[Any], **others: str) -> Any:
        """Do."""

    with pytest.raises(ToolProblem, match="- ctx: expected nothing of this name"):
        bound(function, {"ctx": "mine"}, CONTEXT)


def test_an_argument_that_is_missing_after_all_is_pythons_business():
    def function(a: int, b: int, /) -> Any:
        """Do."""

    assert make_binder(read_signature(function))({"b": 1}, None) == ((1,), {})


def test_every_argument_that_can_not_be_made_is_named():
    def function(start: datetime.date, end: datetime.date, color: Color) -> None:
        """Do."""

    with pytest.raises(ToolProblem) as caught:
        bound(function, {"start": "x", "end": "2030-02-30", "color": "red"})
    assert "The arguments don't fit function" in str(caught.value)
    assert "- start: expected a date" in str(caught.value)
    assert "- end: expected a date" in str(caught.value)


@given(
    st.builds(Point, x=st.integers(0), when=st.dates())
    | st.builds(Spot)
    | st.builds(Order)
    | st.builds(Node, value=st.sampled_from(Color), kids=st.lists(st.builds(Node, value=st.sampled_from(Color), kids=st.just([]))))
    | st.builds(Machine, parts=st.lists(st.integers(1)))
)
def test_a_value_told_as_json_fits_its_schema_and_comes_back_as_it_was(value: Any):
    told = value._asdict() | {"color": value.color.value} if isinstance(value, Spot) else to_json_value(value)
    schema = type_schema(type(value))
    checked = validate_tool_arguments({"value": told}, {"properties": {"value": schema}, "$defs": schema.get("$defs", {})})
    assert isinstance(checked, ValidArguments)
    assert make_reader(type(value))(checked.arguments["value"]) == value
