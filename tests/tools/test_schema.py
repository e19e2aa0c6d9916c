import dataclasses
import datetime
import decimal
import enum
import functools
import pathlib
import re
import uuid
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    LiteralString,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    Required,
    TypedDict,
    TypeVar,
    Union,
)

import annotated_types
import msgspec
import pydantic
import pytest
from typing_extensions import Doc, TypeAliasType

from tools import written_as_text
from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.core.requests import ToolSpec
from treadle.tools.schema import read_return_type, read_signature, to_anthropic, to_openai, type_schema

T = TypeVar("T")
Bound = TypeVar("Bound", bound=int)
Narrow = TypeVar("Narrow", int, str)
UserId = NewType("UserId", int)
Json = TypeAliasType("Json", "str | list[Json] | dict[str, Json]")
Pair = TypeAliasType("Pair", tuple[T, T], type_params=(T,))


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Size(enum.StrEnum):
    S = "s"


class Odd(enum.Enum):
    ONE = (1, 2)
    TWO = "two"


@dataclasses.dataclass
class Point:
    """A place on the map.

    :param x: to the right
    """

    x: int
    y: int = 0
    tags: list[str] = dataclasses.field(default_factory=list)
    hidden: int = dataclasses.field(init=False, default=5)


@dataclasses.dataclass
class Given:
    seed: dataclasses.InitVar[int]


@dataclasses.dataclass
class Node:
    value: int
    left: Optional["Node"] = None
    right: Optional["Node"] = None


@dataclasses.dataclass
class Wife:
    of: "Husband | None" = None


@dataclasses.dataclass
class Husband:
    of: Wife | None = None


@dataclasses.dataclass
class Box(Generic[T]):
    content: T
    others: list[T]


class Row(TypedDict, total=False):
    """A row.

    Attributes:
        name: what it is called
    """

    name: Required[str]
    note: str


class Tight(TypedDict):
    a: int
    b: NotRequired[int]


class Spot(NamedTuple):
    x: int
    y: int = 0


Bare = namedtuple("Bare", ["a", "b"])


class Order(msgspec.Struct, rename="camel", tag="order"):
    """What is ordered."""

    item_number: Annotated[str, msgspec.Meta(min_length=2, description="as printed")]
    count: int = 1


class Part(pydantic.BaseModel):
    name: str


class Machine(pydantic.BaseModel):
    """A machine."""

    title: str
    parts: list[Part]
    main: Part
    spare: "Machine | None" = None
    kind: Literal["a", "b"] = "a"


class Vehicle(pydantic.BaseModel):
    parts: list[Part]


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    a: int


def schema(annotation: Any) -> dict[str, Any]:
    def function(x):
        pass

    function.__annotations__ = {"x": annotation}
    return read_signature(function).parameters["properties"]["x"]


TYPES: list[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (object, {}),
    (T, {}),
    (Bound, {"type": "integer"}),
    (Narrow, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (UserId, {"type": "integer"}),
    (LiteralString, {"type": "string"}),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045  another object than `int | None`
    (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007  another object than `int | str`
    (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2]}),
    (Literal[True], {"type": "boolean", "enum": [True]}),
    (Literal["a", 1, None], {"enum": ["a", 1, None]}),
    (Literal[Color.RED], {"type": "string", "enum": ["red"]}),
    (Color, {"type": "string", "enum": ["red", "blue"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (Size, {"type": "string", "enum": ["s"]}),
    (Odd, {"type": "string", "enum": ["ONE", "TWO"]}),
    (list, {"type": "array", "items": {}}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
    (Iterable[int], {"type": "array", "items": {"type": "integer"}}),
    (deque[int], {"type": "array", "items": {"type": "integer"}}),
    (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
    (frozenset[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
    (AbstractSet[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
    (tuple, {"type": "array", "items": {}}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (tuple[()], {"type": "array", "items": {}, "maxItems": 0}),
    (tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}),
    (Pair[int], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "minItems": 2, "maxItems": 2}),
    (dict, {"type": "object"}),
    (dict[str, Any], {"type": "object"}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (dict[int, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (dict[Color, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (OrderedDict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (datetime.date, {"type": "string", "format": "date"}),
    (datetime.time, {"type": "string", "format": "time"}),
    (datetime.timedelta, {"type": "string", "format": "duration"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (pathlib.Path, {"type": "string"}),
    (pathlib.PurePosixPath, {"type": "string"}),
    (bytes, {"type": "string"}),
    (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
    (Annotated[int, "inner", "outer"], {"type": "integer", "description": "outer"}),
    (Annotated[int, pydantic.Field(description="how many", ge=1)], {"type": "integer", "minimum": 1, "description": "how many"}),
    (Annotated[int, Doc("how many")], {"type": "integer", "description": "how many"}),
    (Annotated[UserId, "who"], {"type": "integer", "description": "who"}),
    (Annotated[int, annotated_types.Ge(1), annotated_types.Lt(5)], {"type": "integer", "minimum": 1, "exclusiveMaximum": 5}),
    (Annotated[float, annotated_types.Gt(1), annotated_types.Le(5)], {"type": "number", "exclusiveMinimum": 1, "maximum": 5}),
    (Annotated[int, annotated_types.MultipleOf(2)], {"type": "integer", "multipleOf": 2}),
    (Annotated[str, annotated_types.Len(1, 5)], {"type": "string", "minLength": 1, "maxLength": 5}),
    (Annotated[str, annotated_types.Len(0, 5)], {"type": "string", "maxLength": 5}),
    (Annotated[list[int], annotated_types.MinLen(1)], {"type": "array", "items": {"type": "integer"}, "minItems": 1}),
    (Annotated[dict[str, Any], annotated_types.MaxLen(3)], {"type": "object", "maxProperties": 3}),
    (Annotated[int, annotated_types.MaxLen(3)], {"type": "integer"}),
    (Annotated[str | None, annotated_types.MaxLen(3)], {"anyOf": [{"type": "string"}, {"type": "null"}], "maxLength": 3}),
    (Annotated[str, re.compile("^a")], {"type": "string", "pattern": "^a"}),
    (Annotated[str, pydantic.Field(pattern="^a")], {"type": "string", "pattern": "^a"}),
    (Annotated[str, pydantic.StringConstraints(pattern=re.compile("^a"))], {"type": "string", "pattern": "^a"}),
    (Annotated[datetime.date, annotated_types.Ge(datetime.date(2030, 1, 1))], {"type": "string", "format": "date"}),
    (list[Annotated[int, "each"]], {"type": "array", "items": {"type": "integer", "description": "each"}}),
    (
        Point,
        {
            "type": "object",
            "properties": {
                "x": {"type": "integer", "description": "to the right"},
                "y": {"type": "integer", "default": 0},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["x"],
            "additionalProperties": False,
            "description": "A place on the map.",
        },
    ),
    (
        Given,
        {"type": "object", "properties": {"seed": {"type": "integer"}}, "required": ["seed"], "additionalProperties": False},
    ),
    (
        Box[int],
        {
            "type": "object",
            "properties": {"content": {"type": "integer"}, "others": {"type": "array", "items": {"type": "integer"}}},
            "required": ["content", "others"],
            "additionalProperties": False,
        },
    ),
    (
        Row,
        {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "what it is called"}, "note": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
            "description": "A row.",
        },
    ),
    (
        Tight,
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a"],
            "additionalProperties": False,
        },
    ),
    (
        Spot,
        {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
            "required": ["x"],
            "additionalProperties": False,
        },
    ),
    (Bare, {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"], "additionalProperties": False}),
    (
        Order,
        {
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": ["order"]},
                "itemNumber": {"type": "string", "minLength": 2, "description": "as printed"},
                "count": {"type": "integer", "default": 1},
            },
            "required": ["type", "itemNumber"],
            "additionalProperties": False,
            "description": "What is ordered.",
        },
    ),
    (Open, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": True}),
]


@pytest.mark.parametrize(("annotation", "wanted"), TYPES, ids=[str(number) for number in range(len(TYPES))])
def test_the_schema_of_a_type(annotation: Any, wanted: dict[str, Any]):
    assert schema(annotation) == wanted
    assert type_schema(annotation) == wanted


def test_a_decimal_may_be_a_number_or_text():
    number, text = schema(decimal.Decimal)["anyOf"]
    assert number == {"type": "number"}
    assert re.search(text["pattern"], "-12.50")
    assert not re.search(text["pattern"], "NaN")


def test_a_type_that_contains_itself_is_told_by_reference():
    def plant(tree: Node, other: Node) -> None:
        """Plant."""

    told = read_signature(plant).parameters
    nothing = {"type": "null"}
    either = {"anyOf": [{"$ref": "#/$defs/Node"}, nothing], "default": None}
    assert told["properties"] == {"tree": {"$ref": "#/$defs/Node"}, "other": {"$ref": "#/$defs/Node"}}
    assert told["$defs"]["Node"]["properties"] == {"value": {"type": "integer"}, "left": either, "right": either}


def test_types_that_contain_each_other_are_told_by_reference():
    told = type_schema(Husband)
    assert told["$ref"] == "#/$defs/Husband"
    wife = told["$defs"]["Husband"]["properties"]["of"]["anyOf"][0]
    assert wife["properties"]["of"]["anyOf"][0] == {"$ref": "#/$defs/Husband"}


def test_two_types_of_one_name_get_two_names():
    def local() -> Any:
        @dataclasses.dataclass
        class Leaf:
            kids: "list[Leaf]"

        return Leaf

    def plant(a: Node, b: Any, c: Any) -> None:
        """Plant."""

    plant.__annotations__ |= {"b": local(), "c": local()}
    assert list(read_signature(plant).parameters["$defs"]) == ["Node", "Leaf", "Leaf2"]


def test_an_alias_that_mentions_itself_is_told_by_reference():
    told = type_schema(Json)
    assert told["$ref"] == "#/$defs/Json"
    assert told["$defs"]["Json"]["anyOf"][1] == {"type": "array", "items": {"$ref": "#/$defs/Json"}}


def test_a_pydantic_model_brings_its_own_schema_without_its_noise():
    def build(machine: Machine, again: Machine, vehicle: Vehicle) -> None:
        """Build.

        :param machine: which one
        """

    told = read_signature(build).parameters
    assert told["properties"]["machine"] == {"$ref": "#/$defs/Machine", "description": "which one"}
    assert told["properties"]["again"] == {"$ref": "#/$defs/Machine"}
    machine = told["$defs"]["Machine"]
    assert machine["additionalProperties"] is False
    assert machine["description"] == "A machine."
    assert machine["properties"]["title"] == {"type": "string"}
    assert machine["properties"]["kind"] == {"type": "string", "enum": ["a", "b"], "default": "a"}
    assert machine["properties"]["parts"]["items"] == {"$ref": "#/$defs/Part"}
    assert told["properties"]["vehicle"]["properties"]["parts"]["items"] == {"$ref": "#/$defs/Part2"}
    assert told["$defs"]["Part"] == told["$defs"]["Part2"]


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (complex, "complex can't be told to a model"),
        (Callable[[int], int], "can't be told"),
        (type[int], "can't be told"),
        ([int], "can't be told"),
        (Literal[[1]], "aren't all values that JSON has"),
        (dict[float, int], "keys of an object in JSON are text, not float"),
        (Literal[b"a"], "aren't all values that JSON has"),
        (list[RunContext[Any]], "can't be told"),
    ],
)
def test_a_type_that_no_model_can_be_told_is_refused_in_a_sentence(annotation: Any, words: str):
    with pytest.raises(BadTool, match="The parameter x of function has a type that no model can be told") as caught:
        schema(annotation)
    assert words in str(caught.value)
    with pytest.raises(BadTool, match="No model can be told of"):
        type_schema(annotation)


# Signatures


def test_a_function_with_descriptions_and_defaults():
    def stock(item: str, warehouse: str = "north", color: Color = Color.RED, when: datetime.date | None = None) -> int:
        """How many of an item are on the shelf.

        Only what is unpacked.

        :param item: article number
        """
        return 5

    signature = read_signature(stock)
    assert signature.name == "stock"
    assert signature.description == "How many of an item are on the shelf.\n\nOnly what is unpacked."
    assert signature.context is None
    assert signature.parameters == {
        "type": "object",
        "properties": {
            "item": {"type": "string", "description": "article number"},
            "warehouse": {"type": "string", "default": "north"},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None},
        },
        "required": ["item"],
        "additionalProperties": False,
    }
    assert signature.annotations["color"] is Color


def test_what_annotated_says_counts_for_more_than_the_docstring():
    def add(a: Annotated[int, "the first"], b: int) -> int:
        """Add.

        Args:
            a: whatever
            b: the second
        """
        return a + b

    told = read_signature(add).parameters["properties"]
    assert (told["a"]["description"], told["b"]["description"]) == ("the first", "the second")


def test_a_default_that_json_has_no_word_for_is_not_told():
    def function(a: Any = object(), b: float = float("nan"), c: Odd = Odd.ONE, d: str = "\ud800", e: bytes = b"\xff") -> None:  # noqa: B008
        """Do."""

    told = read_signature(function).parameters
    assert all("default" not in schema for schema in told["properties"].values())
    assert told["required"] == []


def test_a_parameter_whose_default_is_none_takes_null():
    def function(a: int = None, b: Annotated[str, "words"] = None) -> None:  # noqa: RUF013  as people write it
        """Do."""

    told = read_signature(function).parameters["properties"]
    assert told["a"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert told["b"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "words", "default": None}


def test_a_parameter_without_a_type_takes_that_of_its_default():
    def function(a=5, b=Color.RED) -> None:
        """Do."""

    assert read_signature(function).parameters["properties"] == {
        "a": {"type": "integer", "default": 5},
        "b": {"type": "string", "enum": ["red", "blue"], "default": "red"},
    }


def test_a_parameter_without_any_type_is_refused_in_a_sentence():
    def order(item, count: int) -> None:
        """Do."""

    def maybe(item=None) -> None:
        """Do."""

    with pytest.raises(BadTool, match=r"The parameter item of order has no type; write one, as in `item: str`\."):
        read_signature(order)
    with pytest.raises(BadTool, match="The parameter item of maybe has no type"):
        read_signature(maybe)


def test_what_is_no_type_is_refused_whatever_its_default():
    def order(items: [int] = None) -> None:  # pyright: ignore[reportInvalidTypeForm] - the mistake under test
        """Do."""

    with pytest.raises(BadTool, match="The parameter items of order has a type that no model can be told"):
        read_signature(order)


def test_a_field_as_a_default_is_refused_in_a_sentence():
    def order(count: int = pydantic.Field(description="how many")) -> None:
        """Do."""

    with pytest.raises(BadTool, match=r"The default of count of order is a pydantic Field.*write `count: Annotated\[\.\.\., Field"):
        read_signature(order)


@pytest.mark.parametrize("annotation", [RunContext, RunContext[int], RunContext[int] | None, Annotated[RunContext[int], "run"]])
def test_the_context_is_left_out_wherever_it_stands(annotation: Any):
    def function(a: int, ctx: Any) -> None:
        """Do."""

    function.__annotations__["ctx"] = annotation
    signature = read_signature(function)
    assert signature.context == "ctx"
    assert list(signature.parameters["properties"]) == ["a"]
    assert list(signature.annotations) == ["a"]


def test_the_context_is_taken_once():
    def function(one: RunContext[Any], other: RunContext[Any]) -> None:
        """Do."""

    with pytest.raises(BadTool, match="function takes the run twice, as one and other"):
        read_signature(function)


def test_star_arguments_are_a_list_and_double_star_lets_others_through():
    def function(a: int, /, *rest: str, b: bool = True, **others: int) -> None:
        """Do.

        :param rest: more of it
        """

    told = read_signature(function).parameters
    assert told["properties"]["rest"] == {"type": "array", "items": {"type": "string"}, "description": "more of it"}
    assert told["required"] == ["a"]
    assert told["additionalProperties"] == {"type": "integer"}


def test_double_star_of_any_type_lets_anything_through():
    def function(**others: Any) -> None:
        """Do."""

    assert read_signature(function).parameters["additionalProperties"] is True


def test_annotations_that_are_text_are_looked_up():
    signature = read_signature(written_as_text.everything)
    assert signature.context == "ctx"
    told = signature.parameters
    assert told["properties"]["node"] == {"$ref": "#/$defs/Node"}
    assert told["properties"]["row"]["required"] == ["name"]
    assert told["properties"]["count"] == {"type": "integer", "description": "how many", "default": 1}


@pytest.mark.parametrize("function", [written_as_text.hidden, written_as_text.hidden_context, written_as_text.no_type])
def test_annotations_that_can_not_be_looked_up_are_refused_in_a_sentence(function: Any):
    with pytest.raises(BadTool, match=f"The annotations of {function.__name__} can't be read"):
        read_signature(function)


# Whatever can be called


class Shop:
    """A shop."""

    def price(self, item: str) -> int:
        """What it costs."""
        return len(item)

    @staticmethod
    def hours(day: str) -> str:
        """When it is open."""
        return day

    @classmethod
    def open(cls, name: str) -> str:
        """Open one."""
        return name

    def __call__(self, item: str) -> None:
        """Buy."""


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@decorated
def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


@pytest.mark.parametrize(
    ("function", "name", "description", "properties"),
    [
        (Shop().price, "price", "What it costs.", ["item"]),
        (Shop.hours, "hours", "When it is open.", ["day"]),
        (vars(Shop)["hours"], "hours", "When it is open.", ["day"]),
        (Shop.open, "open", "Open one.", ["name"]),
        (Shop(), "Shop", "A shop.", ["item"]),
        (Point, "Point", "A place on the map.", ["x", "y", "tags"]),
        (add, "add", "Add.", ["a", "b"]),
        (functools.partial(add, 1), "add", "Add.", ["b"]),
        (functools.partial(add, b=1), "add", "Add.", ["a"]),
        (functools.partial(functools.partial(add, 1), b=1), "add", "Add.", []),
        (functools.partial(Shop().price), "price", "What it costs.", ["item"]),
    ],
)
def test_anything_that_can_be_called(function: Any, name: str, description: str, properties: list[str]):
    signature = read_signature(function)
    assert (signature.name, signature.description) == (name, description)
    assert list(signature.parameters["properties"]) == properties


def test_a_method_without_its_object_is_refused_in_a_sentence():
    with pytest.raises(BadTool, match=r"price is a method without its object; offer it from an instance, as in `thing\.price`\."):
        read_signature(Shop.price)


def test_a_function_without_a_readable_signature_is_refused_in_a_sentence():
    with pytest.raises(BadTool, match="Python doesn't know its parameters"):
        read_signature(iter)


def test_a_builtin_whose_parameters_have_no_types_is_refused():
    with pytest.raises(BadTool, match="The parameter obj of len has no type"):
        read_signature(len)


# Wires


SPEC = ToolSpec("stock", "How many.", {"properties": {"item": {"type": "string"}}})


def test_a_tool_as_openai_wants_it():
    assert to_openai(SPEC) == {
        "type": "function",
        "function": {
            "name": "stock",
            "description": "How many.",
            "parameters": {"type": "object", "properties": {"item": {"type": "string"}}},
        },
    }


def test_a_tool_as_anthropic_wants_it():
    assert to_anthropic(SPEC) == {
        "name": "stock",
        "description": "How many.",
        "input_schema": {"type": "object", "properties": {"item": {"type": "string"}}},
    }


def test_the_return_type_of_a_function_is_read_from_its_annotation():
    def typed() -> "list[int]": ...

    def untyped(): ...

    assert read_return_type(typed) == list[int]
    assert read_return_type(untyped) is Any
