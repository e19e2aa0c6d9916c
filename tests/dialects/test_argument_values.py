from typing import Any

import pytest

from treadle.dialects.argument_values import convert_value, convert_values

ROOT = {"$defs": {"Count": {"type": "integer"}, "odd": 3}}


@pytest.mark.parametrize(
    ("raw", "schema", "value"),
    [
        ("007", {"type": "string"}, "007"),
        ("7", {"type": "integer"}, 7),
        (" -7\n", {"type": "integer"}, -7),
        ("7.5", {"type": "integer"}, "7.5"),
        ("7.5", {"type": "number"}, 7.5),
        ("7", {"type": "number"}, 7),
        (".5e3", {"type": "number"}, 500.0),
        ("many", {"type": "number"}, "many"),
        ("true", {"type": "boolean"}, True),
        ("False", {"type": "boolean"}, False),
        ("FALSE", {"type": "boolean"}, False),
        ("yes", {"type": "boolean"}, "yes"),
        ("7.5", {"type": "float"}, 7.5),
        ("[7]", {"type": ["list", "null"]}, [7]),
        ("null", {"type": ["integer", "null"]}, None),
        ("5", {"type": ["string", "integer"]}, 5),
        ("five", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "five"),
        ("5", {"oneOf": [{"$ref": "#/$defs/Count"}, {"type": "null"}]}, 5),
        ("5", {"$ref": "#/$defs/Count"}, 5),
        ("5", {"$ref": "#/$defs/Nowhere"}, "5"),
        ("5", {"$ref": "#/$defs/odd"}, "5"),
        ("5", {"$ref": "elsewhere"}, "5"),
        ("5", {"type": ["string", "integer"], "enum": ["5", 6]}, "5"),
        ("[1, 2,]", {"type": "array"}, [1, 2]),
        ("a", {"type": "array", "items": {"type": "string"}}, ["a"]),
        ("5", {"type": "array", "items": {"type": "integer"}}, [5]),
        ("a", {"type": "array"}, ["a"]),
        ("", {"type": "array"}, []),
        ("a", {"type": ["array", "string"]}, "a"),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("{'a'", {"type": "object"}, "{'a'"),
        ("5", {}, "5"),
        ('{"a": 1}', {}, {"a": 1}),
        ("[so]", {}, "[so]"),
        ("b", {"enum": ["a", "b"]}, "b"),
        ("5", {"enum": ["a", 5]}, 5),
        ("6", {"enum": ["a", 5]}, "6"),
        ("true", {"const": True}, True),
    ],
)
def test_a_schema_says_what_text_means(raw: str, schema: dict[str, Any], value: object) -> None:
    got = convert_value(raw, schema, ROOT)
    assert got == value
    assert type(got) is type(value)


def test_several_texts_are_a_list_of_what_the_items_are() -> None:
    assert convert_values(["1", "2"], {"type": "array", "items": {"type": "integer"}}, ROOT) == [1, 2]
    assert convert_values(["1", "2"], {"type": "integer"}, ROOT) == ["1", "2"]
    assert convert_values(["1"], {"type": "integer"}, ROOT) == 1
