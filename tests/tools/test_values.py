from hypothesis import given
from hypothesis import strategies as st

from treadle.tools.values import as_list, as_object, format_json_value, freeze, shorten_json_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def test_equal_numbers_are_the_same_and_truth_is_no_number():
    assert freeze([1, {"a": 2.0}]) == freeze([1.0, {"a": 2}])
    assert freeze(True) != freeze(1)
    assert freeze([]) != freeze({})


def test_what_is_no_json_stands_for_itself():
    assert freeze(b"a") == b"a"


@given(JSON)
def test_any_json_value_can_be_frozen_and_shown(value: object):
    assert freeze(value) == freeze(value)
    hash(freeze(value))
    assert len(format_json_value(value)) < 120


def test_values_are_shown_in_a_few_words():
    assert format_json_value(None) == "null"
    assert format_json_value(True) == "true"
    assert format_json_value(False) == "false"
    assert format_json_value("five") == 'the text "five"'
    assert format_json_value({"a": 1, "b": 2}) == "an object with a, b"
    assert format_json_value({}) == "an empty object"
    assert format_json_value([1, 2]) == "a list of 2"
    assert format_json_value(2.5) == "2.5"
    assert format_json_value(10**5000) == "a very long number"


def test_long_text_is_shortened_with_its_length():
    assert shorten_json_text("x" * 1000) == "x" * 60 + "… (1000 characters)"


def test_narrowing():
    assert as_object({"a": 1}) == {"a": 1}
    assert as_object([]) is None
    assert as_list([1]) == [1]
    assert as_list({}) is None
