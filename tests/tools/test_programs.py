"""What a program says before it is run: whether it awaits, which values it has for its calls, and what can't be read."""

from datetime import date

import pytest

from treadle.core.requests import ToolSpec
from treadle.tools.programs import ProgramMistake, bind_arguments, read_program, strip_fence, to_plain
from treadle.tools.python_signatures import to_identifier, write_functions

SEND = ToolSpec("send", "Send.", {"properties": {"to": {"type": "string"}, "amount": {"type": "number"}}, "required": ["to"]})
LOOK = ToolSpec("look", "Look.", {})
FUNCTIONS = write_functions([SEND, LOOK], {}, ("look",))


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
        ("x = 1\ndef send(to):\n    pass", "Line 2: send is defined already: call it without a definition of your own."),
    ],
)
def test_a_program_that_cant_be_read(source, says):
    with pytest.raises(ProgramMistake, match=r".") as caught:
        read_program(source, FUNCTIONS)
    assert says in str(caught.value)


def test_the_fence_of_a_code_block_is_left_out():
    assert strip_fence("```python\nx = 1\n```\n") == "x = 1"
    assert strip_fence("This is it:\n```\nx = 1\n```\nIt sets x.") == "x = 1"
    assert strip_fence("x = '```'") == "x = '```'"
    assert strip_fence("x = '''\n```\ny\n```\n'''") == "x = '''\n```\ny\n```\n'''"
    assert strip_fence("One:\n```\n1\n```\nTwo:\n```\n2\n```").startswith("One:")


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("", ""),
        ("x = send('a')", "x = send('a')\nx"),
        ("x = 0\nx += 1", "x = 0\nx += 1\nx"),
        ("x = 1\nprint(x)\nx = 2", None),
        ("x = y = 1", None),
        ("x['a'] = 1", None),
        ("for y in z:\n    x = y", None),
        ("def main():\n    return send('a')", "def main():\n    return send('a')\nmain()"),
        ("def main(x=1, *, y=2):\n    return x", "def main(x=1, *, y=2):\n    return x\nmain()"),
        ("async def main():\n    return 1", "async def main():\n    return 1\nawait main()"),
        ("def main(x):\n    return x", None),
        ("def main(*, x):\n    return x", None),
        ("def main():\n    return main()", None),
        ("async def main():\n    return 'ä'\n'ä'; main()", "async def main():\n    return 'ä'\n'ä'; await main()"),
        ("async def main():\n    return 1\nawait main()", None),
        ("def main():\n    return 1\nmain()", None),
        ("async def main():\n    return 1\nimport asyncio\nasyncio.run(main())", None),
    ],
)
def test_a_program_ends_in_the_value_that_it_has_worked_out(source, read):
    assert read_program(source, FUNCTIONS).source == (source if read is None else read)


@pytest.mark.parametrize(
    ("source", "read", "left_out"),
    [
        ("def look(to):\n    return 1\n\nlook('a')", "pass\n\n\nlook('a')", ("look",)),
        ("x = 1\n@cache\nasync def look(to):\n    return 1\nx", "x = 1\npass\n\n\nx", ("look",)),
        ("def other():\n    return 1\nother()", None, ()),
        ("from shop import send\nsend('a')", "pass\nsend('a')", ()),
        ("x = 'ä'; from shop import (\n    send,\n); y = 2\nx", "x = 'ä'; pass; y = 2\n\n\nx", ()),
        ("from shop import send as post\npost('a')", None, ()),
        ("from shop import send, other\nsend('a')", None, ()),
        ("class A:\n    def send(self):\n        return 1\nA().send()", None, ()),
    ],
)
def test_definitions_of_the_functions_are_left_out_and_the_other_lines_keep_their_numbers(source, read, left_out):
    program = read_program(source, FUNCTIONS)
    assert (program.source, program.left_out) == (source if read is None else read, left_out)


def test_modules_that_are_used_without_an_import():
    assert read_program("re.findall('a', json.dumps(math.pi))", FUNCTIONS).modules == ("json", "math", "re")
    assert read_program("import json, re\nmath = 1\n[json, re, math, datetime]", FUNCTIONS).modules == ()


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


def test_a_function_for_a_program_that_awaits_nothing():
    assert FUNCTIONS["send"].text.startswith("async def send(")
    assert FUNCTIONS["send"].plain_text.startswith("send(")


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
