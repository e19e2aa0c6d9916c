import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle.dialects.json_repair import MAX_DEPTH, JsonCutOff, JsonRead, JsonUnreadable, extract_json, read_json, read_object

unhurried = settings(deadline=None)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)
objects = st.dictionaries(st.text(), values, max_size=5)
almost = st.text(alphabet="{}[]:,;\"'\\ \n\t/*#`abtrueTN01.-+e_x\u201c\u201d\u2018\u2019\ud800\ufeff", max_size=40)


@unhurried
@given(values)
def test_strict_json_is_read_as_it_is(value: Any) -> None:
    assert read_json(json.dumps(value)) == JsonRead(value)
    assert read_json(json.dumps(value, ensure_ascii=False)) == JsonRead(value)


@unhurried
@given(values)
def test_what_python_prints_for_a_value_is_read_as_that_value(value: Any) -> None:
    outcome = read_json(repr(value))
    assert isinstance(outcome, JsonRead)
    assert outcome.value == value


@unhurried
@given(objects, st.data())
def test_no_beginning_of_an_object_is_read(value: dict[str, Any], data: st.DataObject) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=2), repr(value)):
        cut = data.draw(st.integers(0, len(text) - 1))
        assert not isinstance(read_json(text[:cut]), JsonRead)
        assert not isinstance(read_object(text[:cut]), JsonRead) or cut == 0  # no text at all is no arguments


@unhurried
@given(values.filter(lambda value: isinstance(value, str | list | dict | bool)), st.data())
def test_of_all_values_only_numbers_have_beginnings_that_are_values(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text) - 1))
    assert not isinstance(read_json(text[:cut]), JsonRead)


@unhurried
@given(st.text() | almost)
def test_no_text_makes_it_raise(text: str) -> None:
    assert isinstance(read_json(text), JsonRead | JsonCutOff | JsonUnreadable)
    assert isinstance(read_object(text), JsonRead | JsonCutOff | JsonUnreadable)


@unhurried
@given(almost)
def test_what_was_mended_can_be_written_as_json_again(text: str) -> None:
    outcome = read_json(text)
    if isinstance(outcome, JsonRead):
        assert read_json(json.dumps(outcome.value)) == JsonRead(outcome.value)


@pytest.mark.parametrize(
    ("text", "value", "note"),
    [
        ('{"a": [1, 2,],}', {"a": [1, 2]}, "removed a trailing comma"),
        ("{'a': 'b'}", {"a": "b"}, "read single quotes as double quotes"),
        ("{\u201ca\u201d: \u2018b\u2019}", {"a": "b"}, "read typographic quotes as plain ones"),
        ("{a: 1, $b-c: 2}", {"a": 1, "$b-c": 2}, "put quotes around a bare key"),
        ('{"a": True, "b": False, "c": None}', {"a": True, "b": False, "c": None}, "read True, False or None"),
        ('{"a": 1, // one\n"b": 2 # two\n}', {"a": 1, "b": 2}, "removed a comment"),
        ('/* so */ {"a": /* here */ 1}', {"a": 1}, "removed a comment"),
        ('{"a": 1} // done', {"a": 1}, "removed a comment"),
        ('{"a": "x\n\ty"}', {"a": "x\n\ty"}, "kept a raw line break or tab in a string"),
        (r'{"a": "\d+"}', {"a": r"\d+"}, "read an escape that JSON doesn't have"),
        (r'{"a": "it\'s \x41 \U0001f600"}', {"a": "it's A 😀"}, "read an escape that JSON doesn't have"),
        (r'{"a": "C:\users \u12 \xq"}', {"a": r"C:\users \u12 \xq"}, "read an escape that JSON doesn't have"),
        ('```json\n{"a": 1}\n```', {"a": 1}, "removed a code fence"),
        ('``` {"a": 1}```\n', {"a": 1}, "removed a code fence"),
        ('```json\n{"a": 1}', {"a": 1}, "removed a code fence"),
        ('{"a": 1};', {"a": 1}, "removed a semicolon"),
        ("[+5, .5, 5., -.5, 0x1F, 5.e1]", [5, 0.5, 5.0, -0.5, 31, 50.0], "read a number JSON spells otherwise"),
        ('{"a": 1\n"b": 2}', {"a": 1, "b": 2}, "added a missing comma"),
        ('{"a": "\\ud83d\\ude00", }', {"a": "😀"}, "removed a trailing comma"),
        ('{"a": "\\ud800"}', {"a": "\ufffd"}, "replaced half a character"),
        ('{"a": "\ud800"}', {"a": "\ufffd"}, "replaced half a character"),
        ('\ufeff{"a":\u00a01}', {"a": 1}, "removed unusual spaces"),
    ],
)
def test_what_has_one_reading_is_mended_and_noted(text: str, value: Any, note: str) -> None:
    outcome = read_json(text)
    assert isinstance(outcome, JsonRead)
    assert outcome.value == value
    assert note in outcome.mended
    assert len(set(outcome.mended)) == len(outcome.mended)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("hello", "a value needs quotes"),
        ('{"a": NaN}', "JSON has no such value"),
        ('{"a": -Infinity}', "no JSON number"),
        ('{"a": 1 "b": 2}', "a ',' or '}' is missing"),
        ('["a"\n"b"]', "a ',' or ']' is missing"),
        ('{"a": "he said "hi""}', "a ',' or '}' is missing"),
        ("{'a': 'it's'}", "a ',' or '}' is missing"),
        ('{"a" 1}', "a ':' is missing after the key 'a'"),
        ("{,}", "a key in quotes is missing"),
        ('{"a": 1,,}', "a key in quotes is missing"),
        ('{"a": `x`}', "a value is missing"),
        ('{"a": 1} {"b": 2}', "something follows the value"),
        ('{"a": 1} ```', "something follows the value"),
        ("01", "no JSON number"),
        ("1.2.3", "no JSON number"),
        ("1e999", "too large"),
        ("9" * 5000, "too many digits"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested too deeply"),
        ("[" * (MAX_DEPTH + 1) + "'a'" + "]" * (MAX_DEPTH + 1), "nested too deeply"),
        ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "nested too deeply"),
    ],
)
def test_what_has_no_single_reading_is_left_alone(text: str, reason: str) -> None:
    outcome = read_json(text)
    assert isinstance(outcome, JsonUnreadable)
    assert reason in outcome.reason


@pytest.mark.parametrize(
    "text",
    [
        '{"a',
        '{"a"',
        '{"a":',
        '{"a": 1',
        '{"a": 1,',
        '{"a": tru',
        '{"a": "\\',
        "[1, 2",
        "tru",
        "Non",
        "-",
        "0x",
        "1e",
        "/* so",
        "['a",
        "```json",
    ],
)
def test_text_that_ends_inside_a_value_is_cut_off(text: str) -> None:
    assert read_json(text) == JsonCutOff()


def test_as_much_nesting_as_is_allowed_is_read() -> None:
    for middle in ("", '"a",'):
        text = "[" * MAX_DEPTH + middle + "]" * MAX_DEPTH
        assert isinstance(read_json(text), JsonRead)
    wide = json.dumps({"a": [[1, 2]] * 100})
    assert isinstance(read_json(wide), JsonRead)


def test_huge_whole_numbers_stay_whole() -> None:
    assert read_json(str(10**400)) == JsonRead(10**400)
    assert read_json(f"[{10**400},]") == JsonRead([10**400], ("removed a trailing comma",))


def test_an_object_is_read_as_it_is() -> None:
    assert read_object('{"a": [1, "b"]}') == JsonRead({"a": [1, "b"]})


@pytest.mark.parametrize("text", ["", "  \n", "null", "None"])
def test_no_arguments_are_an_empty_object(text: str) -> None:
    outcome = read_object(text)
    assert isinstance(outcome, JsonRead)
    assert outcome.value == {}


def test_an_object_inside_a_string_is_taken_out() -> None:
    assert read_object(json.dumps(json.dumps({"a": 1}))) == JsonRead({"a": 1}, ("read the JSON inside a string",))
    outcome = read_object("'{\"a\": 1,}'")
    assert isinstance(outcome, JsonRead)
    assert outcome.value == {"a": 1}
    assert outcome.mended[-1] == "removed a trailing comma"
    assert read_object(json.dumps('{"a": 1')) == JsonCutOff()


@pytest.mark.parametrize(
    ("text", "kind"), [("[1]", "a list"), ("5", "a number"), ("true", "true or false"), ('"x"', "a string"), ('"[1]"', "a string")]
)
def test_an_object_that_is_something_else_says_what_it_is(text: str, kind: str) -> None:
    assert read_object(text) == JsonUnreadable(f"it should be a JSON object, and is {kind}")


def test_an_object_that_is_cut_off_or_unreadable_says_so() -> None:
    assert read_object('{"a"') == JsonCutOff()
    assert isinstance(read_object("so?"), JsonUnreadable)


def calls_made(text: str) -> int:
    """How many functions run to read `text`, built-in ones included."""
    count = 0

    def tally(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(tally)
    try:
        read_json(text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("unit", ["'a',", "{'a': 1},", "# a\n1,", "'\\d',", "'\\u12 ", "/**/", "{a: 1\n'b': 2},", "1234567890"])
def test_work_grows_with_the_text_and_no_faster(unit: str) -> None:
    small, large = (calls_made("[" + unit * size) for size in (500, 1000))
    assert large < 2.6 * small


def test_json_is_found_in_a_models_words() -> None:
    assert extract_json('{"a": 1}') == {"a": 1}
    assert extract_json('Here it is:\n```json\n{"a": [1, 2,]}\n```\nThat is all.') == {"a": [1, 2]}
    assert extract_json("I can't say.") is None
