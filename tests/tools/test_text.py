import collections
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import types
import uuid
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attachments import png
from treadle import Image
from treadle.tools.convert import to_text
from treadle.tools.text import to_data, to_json_value, try_parse_json


class Color(enum.Enum):
    RED = "red"
    ODD = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: int
    y: Any = None


class Order(msgspec.Struct):
    item: str
    data: Any = None


class Model(pydantic.BaseModel):
    when: datetime.date
    items: list[Point] = []


class Shouting(str):
    __slots__ = ()


class Silent:
    pass


class Speaking:
    def __str__(self) -> str:
        return "my own words"


class Broken:
    def __str__(self) -> str:
        raise ValueError("no")

    __repr__ = __str__


class BrokenMapping(collections.UserDict[str, int]):
    def items(self):
        raise OSError("gone")


TABLE: list[tuple[Any, str]] = [
    ("as it is", "as it is"),
    ("", ""),
    ("Grüße", "Grüße"),
    (None, "(no result)"),
    (True, "true"),
    (5, "5"),
    (2.5, "2.5"),
    (float("nan"), "NaN"),
    (float("inf"), "Infinity"),
    (float("-inf"), "-Infinity"),
    ([1, "a", None], '[1,"a",null]'),
    ({"a": {"b": (1, 2)}}, '{"a":{"b":[1,2]}}'),
    ({1: "a"}, '{"1":"a"}'),
    ({(1, 2): "a"}, '{"[1,2]":"a"}'),
    ({None: 1, "a": b"b"}, '{"null":1,"a":"b"}'),
    (Shouting("LOUD"), "LOUD"),
    (Color.RED, "red"),
    ([Shouting("LOUD")], '["LOUD"]'),
    (Level.LOW, "1"),
    ([Color.ODD], "[[1,2]]"),
    (Point(1), '{"x":1,"y":null}'),
    (Order("A"), '{"item":"A","data":null}'),
    (Model(when=datetime.date(2030, 1, 31), items=[Point(1)]), '{"when":"2030-01-31","items":[{"x":1,"y":null}]}'),
    ([Model(when=datetime.date(2030, 1, 31))], '[{"when":"2030-01-31","items":[]}]'),
    (datetime.datetime(2030, 1, 31, 9), "2030-01-31T09:00:00"),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (decimal.Decimal("1.50"), "1.50"),
    (pathlib.PurePosixPath("/a/b"), "/a/b"),
    (b"text", "text"),
    (bytearray(b"text"), "text"),
    (b"\xff\xfe", "(2 bytes, not text)"),
    ({"out": b"text", "raw": memoryview(b"\xff")}, '{"out":"text","raw":"(1 bytes, not text)"}'),
    ([b"text", 1.5, float("nan"), Point(1), Order("A", b"b")], '["text",1.5,"NaN",{"x":1,"y":null},{"item":"A","data":"b"}]'),
    ([b"", datetime.date(2030, 1, 31), Color.RED, Level.LOW], '["","2030-01-31","red",1]'),
    (range(3), "[0,1,2]"),
    ({"a": 1}.keys(), '["a"]'),
    (types.MappingProxyType({"a": 1}), '{"a":1}'),
    (collections.Counter("aa"), '{"a":2}'),
    (2**70, str(2**70)),
    (10**6000, "(a whole number of 19932 bits)"),
    (Speaking(), "my own words"),
    (ValueError("too late"), "ValueError: too late"),
    (Silent(), "(a Silent, which can't be shown as text)"),
    (Broken(), "(a Broken that can't be shown: ValueError)"),
    (BrokenMapping(), "(a BrokenMapping that can't be shown: OSError)"),
    (Model, str(Model)),
    ({"a": "\ud800"}, '{"a":"\ufffd"}'),
    ("\ud83d\ude00", "\U0001f600"),
    ("half \ud800", "half \ufffd"),
]


@pytest.mark.parametrize(("value", "text"), TABLE, ids=[str(number) for number in range(len(TABLE))])
def test_what_a_model_reads(value: Any, text: str):
    assert to_text(value) == text


def test_images_in_a_value_have_labels_there_and_are_found():
    image = Image(png(), name="a.png")
    for value, text in (
        (image, "[image a.png]"),
        ({"a": [image, Point(image, image)]}, '{"a":["[image a.png]",{"x":"[image a.png]","y":"[image a.png]"}]}'),
        ([b"x", image, Broken()], '["x","[image a.png]","(a Broken that can\'t be shown: ValueError)"]'),
        ([image, Broken()], '["[image a.png]","(a Broken that can\'t be shown: ValueError)"]'),
    ):
        found: list[Any] = []
        assert (to_text(value, found), found) == (text, [image])
        assert to_text(value) == text


def test_a_generator_is_said_to_be_one():
    assert to_text(x for x in "a") == "(a generator, which can't be shown as text)"


def test_a_structure_that_contains_itself_says_so():
    cyclic: dict[str, Any] = {"a": 1}
    cyclic["self"] = cyclic
    assert to_text(cyclic) == '{"a":1,"self":"(itself again)"}'


def test_a_structure_nested_very_deeply_is_cut():
    deep: Any = "end"
    for _ in range(5000):
        deep = [deep]
    assert "(nested too deeply)" in to_text(deep)


def test_an_object_that_dumps_itself_for_ever_is_cut():
    class Endless:
        def model_dump(self, mode: str) -> Any:
            return Endless()

    assert "(nested too deeply)" in to_text(Endless())


def test_a_number_of_an_own_kind_is_a_number():
    class Metres(float):
        pass

    class Count(int):
        pass

    assert to_text([Metres(2.5), Count(5), Metres("nan"), b""]) == '[2.5,5,"NaN",""]'
    assert to_text({"a": Metres(2.5), "b": Count(5)}) == '{"a":2.5,"b":5}'


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(max_size=5)
    | st.dates()
    | st.decimals()
    | st.timedeltas()
    | st.sampled_from([Color.RED, Color.ODD, Level.LOW, object(), Model])
    | st.builds(Silent)
    | st.builds(Broken)
    | st.just(5000).map(lambda digits: 10**digits)
    | st.text(st.characters()).map(Shouting),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(st.characters(), max_size=3) | st.integers() | st.tuples(st.integers()), inner, max_size=4)
        | inner.map(lambda value: Point(1, value))
        | inner.map(lambda value: Order("A", value))
        | st.frozensets(st.integers() | st.text())
    ),
    max_leaves=10,
)


@given(ANYTHING)
def test_there_is_text_for_anything(value: Any):
    text = to_text(value)
    text.encode()
    if isinstance(value, dict | list | Point | Order):
        json.loads(text)


def test_a_value_as_the_json_that_stands_for_it():
    assert to_json_value({"a": (1, Color.RED), "b": Point(1)}) == {"a": [1, "red"], "b": {"x": 1, "y": None}}
    assert to_json_value(b"text") == "text"
    assert to_json_value(Model(when=datetime.date(2030, 1, 31))) == {"when": "2030-01-31", "items": []}
    with pytest.raises(TypeError):
        to_json_value(Silent())


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (None, None),
        ("text", "text"),
        ("\ud800", "\ufffd"),
        (5, 5),
        ({"a": (1, {2})}, {"a": [1, [2]]}),
        (float("inf"), None),
        (b"5 o'clock", None),
    ],
)
def test_data_is_plain_json_or_none(value, data):
    assert to_data(value) == data


def test_json_of_a_text_that_is_none_or_too_deep_is_none():
    assert (try_parse_json("[1]"), try_parse_json("no"), try_parse_json("[" * 100_000)) == ([1], None, None)
