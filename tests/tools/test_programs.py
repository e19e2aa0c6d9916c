"""What a program says before it is run: whether it awaits, which values it has for its calls, and what can't be read."""

from datetime import date

import pytest

from treadle.core.requests import ToolSpec
from treadle.tools.programs import ProgramMistake, bind_arguments, read_program, strip_fence, to_plain
from treadle.tools.python_signatures import to_identifier, write_functions

SEND = ToolSpec("send", "Send.", {"properties": {"to": {"type": "string"}, "amount": {"type": "number"}}, "required": ["to"]})
FUNCTIONS = write_functions([SEND], {})


@pytest.mark.parametrize(
    ("source", "waits"),
    [("send('a')", False), ("await send('a')", True), ("async def f():\n    pass", True), ("def f():\n    return 1", False)],
)
def test_whether_it_awaits_its_calls(source, waits):
    assert read_program(source, FUNCTIONS).waits is waits


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("send('a')", {("to", "a")}),
        ("send(to='a', amount=-5)", {("to", "a"), ("amount", -5)}),
        ("send(['a', 'b'], (1, 2.5))", {("to", "a"), ("to", "b"), ("amount", 1), ("amount", 2.5)}),
        ("X = 'a'\nsend(X)", {("to", "a")}),
        ("X = -3\nsend('b', X)", {("to", "b"), ("amount", -3)}),
        ("send('a', 'b', 'c')", {("to", "a"), ("amount", "b")}),
        ("send(other='a')", {("other", "a")}),
        ("send(x)", set()),
        ("send(f'{x}')", set()),
        ("send('a' + x)", set()),
        ("send(not 1)", set()),
        ("send(-x)", set()),
        ("send(None)", set()),
        ("send(**{'to': 'a'})", None),
        ("other('a')", None),
        ("send.to('a')", None),
        ("X = ['a']\nsend(X)", set()),
        ("X = 'a'\nX = 'b'\nsend(X)", set()),
        ("X = Y = 'a'\nsend(X)", set()),
        ("X = 'a'\nX += 'b'\nsend(X)", set()),
        ("X = 'a'\nfor X in y:\n    send(X)", set()),
        ("X = 'a'\ndef f(X):\n    send(X)", set()),
        ("X = 'a'\ndef X():\n    send(X)", set()),
        ("X = 'a'\nasync def X():\n    send(X)", set()),
        ("X = 'a'\nclass X:\n    send(X)", set()),
        ("X = 'a'\nimport b as X\nsend(X)", set()),
        ("X = 'a'\nimport X\nsend(X)", set()),
        ("X = 'a'\ntry:\n    pass\nexcept E as X:\n    send(X)", set()),
        ("X = 'a'\nmatch y:\n    case X:\n        send(X)", set()),
        ("X = 'a'\nmatch y:\n    case [*X]:\n        send(X)", set()),
        ("X = 'a'\nmatch y:\n    case {**X}:\n        send(X)", set()),
        ("if y:\n    X = 'a'\nsend(X)", set()),
        ("X: str = 'a'\nsend(X)", set()),
    ],
)
def test_only_values_that_are_written_out_are_literals(source, found):
    literals = read_program(source, FUNCTIONS).literals
    assert literals == ({} if found is None else {"send": frozenset(found)})


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = 1\ny = (", "Line 2: SyntaxError: '(' was never closed\n    y = ("),
        ("x" * 20_001, "20,001 characters"),
        ("x = 1\0", "null characters"),
        ("(" * 250 + ")" * 250, "SyntaxError"),
        ("-" * 15_000 + "1", "nested too deeply"),
    ],
)
def test_a_program_that_cant_be_read(source, says):
    with pytest.raises(ProgramMistake, match=r".") as caught:
        read_program(source, FUNCTIONS)
    assert says in str(caught.value)


def test_the_fence_of_a_code_block_is_left_out():
    assert strip_fence("```python\nx = 1\n```\n") == "x = 1"
    assert strip_fence("x = '```'") == "x = '```'"


def test_arguments_are_bound_as_python_binds_them():
    send = FUNCTIONS["send"]
    assert bind_arguments(send, ("a",), {"amount": 2}) == {"to": "a", "amount": 2}
    assert bind_arguments(send, (), {"to": "a", "other": 1}) == {"to": "a", "other": 1}
    with pytest.raises(TypeError, match="takes 2 arguments, and 3 were given"):
        bind_arguments(send, (1, 2, 3), {})
    with pytest.raises(TypeError, match="more than one value for 'to'"):
        bind_arguments(send, (1,), {"to": 2})


def test_values_as_json_has_them():
    value = {1: (1, 2.5), "a": {"y", "x"}, "d": date(2026, 1, 2), "n": [None, True]}
    assert to_plain(value) == {"1": [1, 2.5], "a": ["x", "y"], "d": "2026-01-02", "n": [None, True]}
    with pytest.raises(TypeError, match="object can't be passed on"):
        to_plain(object())


def written(parameters, returns=None, name="f", description=""):
    (function,) = write_functions([ToolSpec(name, description, parameters)], {} if returns is None else {name: returns}).values()
    return function.text


def type_of(schema, **whole):
    text = written({"properties": {"x": schema}, "required": ["x"], **whole})
    return text.removeprefix("async def f(x: ").removesuffix(") -> Any")


@pytest.mark.parametrize(
    ("schema", "type_"),
    [
        ({"type": "string"}, "str"),
        ({"type": "integer"}, "int"),
        ({"type": ["number", "null"]}, "float | None"),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]"),
        ({"type": "array"}, "list[Any]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "{'a': str}"),
        ({"enum": ["a", 1]}, "Literal['a', 1]"),
        ({"enum": [*range(20)], "type": "integer"}, "int"),
        ({"const": "a"}, "Literal['a']"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "str | None"),
        ({"oneOf": [{"type": "string"}, {}]}, "Any"),
        ({"$ref": "#/$defs/P"}, "{'town': str}"),
        ({"$ref": "#/$defs/None"}, "Any"),
        (True, "Any"),
    ],
)
def test_types(schema, type_):
    assert type_of(schema, **{"$defs": {"P": {"type": "object", "properties": {"town": {"type": "string"}}}}}) == type_


def test_a_type_that_contains_itself_ends():
    loop = {"type": "object", "properties": {"next": {"$ref": "#/$defs/L"}}}
    assert type_of({"$ref": "#/$defs/L"}, **{"$defs": {"L": loop}}).endswith("Any}}}")


def test_defaults_descriptions_and_results():
    parameters = {
        "properties": {
            "limit": {"type": "integer", "default": 5},
            "tags": {"type": "array", "default": []},
            "path": {"type": "string", "description": "where\n to look"},
        },
        "required": ["path"],
    }
    text = written(parameters, {"type": "array", "items": {"type": "string"}}, description="List files.\n\nAll of them.")
    assert text.splitlines() == [
        "async def f(path: str, limit: int = 5, tags: list[Any] = ...) -> list[str]",
        "    # List files.",
        "    #",
        "    # All of them.",
        "    # path: where to look",
    ]


def test_names_are_changed_until_python_takes_them():
    specs = [ToolSpec(name, "", {"properties": {"from": {}, "from_": {}}}) for name in ("a-b", "a_b", "class", "2nd")]
    functions = write_functions(specs, {})
    assert {name: function.tool for name, function in functions.items()} == {
        "a_b": "a-b",
        "a_b_": "a_b",
        "class_": "class",
        "_2nd": "2nd",
    }
    assert functions["a_b"].parameters == {"from_": "from", "from__": "from_"}
    assert to_identifier("") == "_"
