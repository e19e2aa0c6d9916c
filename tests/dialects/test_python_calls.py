import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.parsing import cut, tool
from treadle.core.calls import Written
from treadle.dialects.forms import OfferedTools
from treadle.dialects.python_calls import PythonCall, parse_scalar, read_python_call, spell_python_call, unescape_python
from treadle.dialects.scanner import Tape

OFFER = OfferedTools([tool("f", a="string", b="integer")])
END = "</end>"


def read(inside: str, size: int = 0, end: str = END) -> PythonCall:
    """A call of `f`, read from pieces of some size, or at once."""
    tape = Tape()
    tape.begin_hold()
    reading = read_python_call(tape, "f", end, OFFER)
    try:
        for piece in cut(inside, size) if size else [inside]:
            next(reading)
            tape.more(piece)
        next(reading)
        tape.ended = True
        next(reading)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("It waits for more of a reply that is over.")


def call(inside: str, end: str = END) -> PythonCall:
    whole = read(inside, 0, end)
    for size in (1, 2, 3, 7):
        assert read(inside, size, end) == whole
    return whole


def arguments(inside: str) -> object:
    made = call(inside + ")]" + END)
    assert made.ending == "whole"
    assert made.sound, made
    return msgspec.json.decode(made.written.text)


@pytest.mark.parametrize(
    ("inside", "given"),
    [
        ("", {}),
        (" ", {}),
        ("a='x'", {"a": "x"}),
        (' a = "x" , b = 2 ,', {"a": "x", "b": 2}),
        ("a='x',\n  b=None,\n", {"a": "x", "b": None}),
        ("x=True, y=False, z=None, u=true, v=false, w=null", {"x": True, "y": False, "z": None, "u": True, "v": False, "w": None}),
        ("x=-1, y=+2.5, z=.5, u=5., v=1e3, w=1_000", {"x": -1, "y": 2.5, "z": 0.5, "u": 5.0, "v": 1000.0, "w": 1000}),
        ("x=007, y=0x1F, z=0b11, u=-0o17", {"x": 7, "y": 31, "z": 3, "u": -15}),
        ("x=123456789012345678901234567890", {"x": 123456789012345678901234567890}),
        (
            "x=[], y={}, z=(), u=[1, 'b', [None]], v=(1,), w=(1), q=('a')",
            {"x": [], "y": {}, "z": [], "u": [1, "b", [None]], "v": [1], "w": 1, "q": "a"},
        ),
        ("x={'a': {'b': [1, {'c': ()}]}, \"d\": 'e'}", {"x": {"a": {"b": [1, {"c": []}]}, "d": "e"}}),
        ("x={1: 2, None: 3, True: 4, 1.5: 5}", {"x": {"1": 2, "null": 3, "true": 4, "1.5": 5}}),
        ("x={'a', 'b',}", {"x": ["a", "b"]}),
        ("x=['a','b', 'c' ,'d']", {"x": ["a", "b", "c", "d"]}),
        ("**{'a b': 1}, c=2", {"a b": 1, "c": 2}),
        ("'x', 2", {"a": "x", "b": 2}),
        ("'x', b=2", {"a": "x", "b": 2}),
        ("user-id='x', n.m=1", {"user-id": "x", "n.m": 1}),
        ("a='x', a='y'", {"a": "y"}),
        ("a='é世🎯'", {"a": "é世🎯"}),
        ("a=r'\\d\\n', b=u'x', c=f'x'", {"a": "\\d\\n", "b": "x", "c": "x"}),
        ("a='''it's\n\"so\" ''x'' ''', b=\"\"\"\"q\"\"\"", {"a": "it's\n\"so\" ''x'' ", "b": '"q'}),
        ("a='', b=\"\"", {"a": "", "b": ""}),
        ("a='one\ntwo\x00'", {"a": "one\ntwo\x00"}),
        ("a='b=1, c=[2], d)]</end>'", {"a": "b=1, c=[2], d)]</end>"}),
    ],
)
def test_arguments_are_literals_of_python_or_json(inside: str, given: object) -> None:
    assert arguments(inside) == given


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (r"\n\t\r\a\b\f\v\\\'\"", "\n\t\r\a\b\f\v\\'\""),
        (r"\x41\101\0\u00e9\U0001F3AF", "AA\0é\U0001f3af"),
        (r"\ud83c\udfaf", "\U0001f3af"),
        (r"\ud83c!", "\ufffd!"),
        ("a\\\nb\\\r\nc", "abc"),
        (r"\d\w\q\/\x4\u12\U00110000", r"\d\w\q\/\x4\u12\U00110000"),
        ("plain", "plain"),
    ],
)
def test_escapes_are_pythons_and_others_keep_their_backslash(raw: str, text: str) -> None:
    assert unescape_python(raw) == text


@pytest.mark.parametrize(
    ("inside", "value"),
    [
        ("a='sed -n '3,5p' a.py'", "sed -n '3,5p' a.py"),
        ("a='sed -n '3,5p' a.py', b=1", "sed -n '3,5p' a.py"),
        ("a='python -c \"print('x', 2, 'z')\"'", "python -c \"print('x', 2, 'z')\""),
        ("a='f('x')', b=1", "f('x')"),
        ("a='it's so', b=1", "it's so"),
        ("a='don't', b=1", "don't"),
        ('a="say "hi" to", b=1', 'say "hi" to'),
        ("a='x': 'y'", "x': 'y"),
        ("a='x' == 'y'", "x' == 'y"),
    ],
)
def test_a_quote_inside_a_string_belongs_to_it_where_a_string_cant_end(inside: str, value: str) -> None:
    given = arguments(inside)
    assert isinstance(given, dict)
    assert given["a"] == value


def test_quotes_inside_strings_in_lists_and_dictionaries_belong_to_them_too() -> None:
    assert arguments("x=['it's', 'so 'and' so'], y={'k': 'it's', 'l': ['a 'b' c']}") == {
        "x": ["it's", "so 'and' so"],
        "y": {"k": "it's", "l": ["a 'b' c"]},
    }


@pytest.mark.parametrize(
    "inside",
    [
        "x=b'z'",
        "x=f'{y}'",
        "x=1e999",
        "x=nan",
        "x=y",
        "x=",
        "x=1 2",
        "x=1 + 2",
        "x='a' 'b', y=1, z='c 'd'",
        "x=g(1)",
        "x=[1; 2]",
        "x={'a': 1, 'b'}",
        "x={[1]: 2}",
        "x={{}: 2}",
        "*x",
        "**[1]",
        "'x', 2, 3",
        "x=" + "9" * 5000,
        "x=0_",
        "x=[1 2]",
        "x=" + "[" * 101 + "]" * 101,
        "=1",
    ],
)
def test_what_is_no_literal_is_passed_on_as_it_is_so_that_the_model_can_be_told(inside: str) -> None:
    assert call(inside + ")]") == PythonCall("whole", Written("", "f", inside))


@pytest.mark.parametrize(
    ("inside", "ending"),
    [
        ("", "cut"),
        ("a=", "cut"),
        ("a='x", "cut"),
        ("a='x\\", "cut"),
        ("a='x', ", "cut"),
        ("a='x', b", "cut"),
        ("a=5", "cut"),
        ("a=[1", "cut"),
        ("a='''x''", "cut"),
        ("a='x 'y", "broken"),
        ("a=[1)", "broken"),
        ("a=1]", "broken"),
        ("a=[1</end>", "broken"),
        ("</end>", "broken"),
        ("a='x'", "whole"),
        ("a='x' ", "whole"),
        ("a=[1]", "whole"),
        ("a=(1,)", "whole"),
        ("a=1</end>", "whole"),
        ("a='x'</end>", "whole"),
    ],
)
def test_a_call_without_its_parenthesis_counts_if_its_last_value_is_closed(inside: str, ending: str) -> None:
    made = call(inside)
    assert (made.ending, made.written.cut) == (ending, ending == "cut")


def test_a_call_may_be_followed_by_another_on_its_line_or_the_next() -> None:
    for after in (", g()", "]", ";", "\ng()", " </end>", ""):
        assert call("a='x')" + after).written.text == '{"a":"x"}'
    assert call("a='x') g()", end="").ending == "broken"


def test_only_a_few_spaces_are_looked_over_for_what_follows_a_string() -> None:
    assert call("a='x'" + " " * 100 + ", b=1)").sound
    assert call("a='x'" + " " * 300 + ", b=1)").ending == "broken"


def test_a_word_that_is_no_value_is_odd() -> None:
    assert (parse_scalar("12"), parse_scalar("-1.5"), parse_scalar("None")) == (12, -1.5, None)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.text("'\"\\,)]}=: "),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=5), values, max_size=4), st.sampled_from([0, 1, 2, 5]))
def test_any_arguments_come_back_as_they_were_spelled(given_arguments: dict[str, object], size: int) -> None:
    text = spell_python_call("f", given_arguments).removeprefix("f(")
    assert msgspec.json.decode(read(text + "]", size).written.text) == given_arguments
