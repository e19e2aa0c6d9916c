"""Arguments are called complete when they are, never before; ids are unique in a reply."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.calls import Written
from treadle.core.requests import CallDone
from treadle.models.wires.partial_calls import FREE_TRIES, CallIds, PartialCall, is_object

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(st.text(max_size=4), values, min_size=1, max_size=4)


def arriving(*pieces):
    call = PartialCall("id", "id")
    call.set_name("tool")
    for piece in pieces:
        call.add(piece)
    return call


@given(objects, st.integers(1, 9))
def test_no_beginning_of_arguments_is_complete(arguments, size):
    text = json.dumps(arguments)
    call = arriving()
    for start in range(0, len(text) - 1, size):
        call.add(text[start : min(start + size, len(text) - 1)])
        assert not call.complete
    call.add(text[-1])
    assert call.to_call() == CallDone(Written("id", "tool", text))


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a": {"b": [1, {"c": 2}]}}', '{"a": "}"}', '{"a": "{}"}', ' {"a": 1}\n'])
def test_arguments_are_complete_with_their_last_brace(text):
    assert arriving(*text).complete


def test_an_empty_object_may_be_a_beginning():
    call = arriving("{}")
    assert not call.complete
    call.settle()
    assert call.complete


def test_settling_does_not_complete_what_is_open():
    call = arriving('{"a": ')
    call.settle()
    assert not call.complete


def test_what_follows_complete_arguments_is_dropped():
    assert arriving('{"a": 1}', "}", " ").to_call() == CallDone(Written("id", "tool", '{"a": 1}'))


def test_no_arguments_at_all_are_an_empty_object_unless_they_were_cut():
    assert arriving("", " ").to_call() == CallDone(Written("id", "tool", "{}"))
    assert arriving().to_call(cut=True) == CallDone(Written("id", "tool", "", cut=True))


def test_whole_arguments_were_not_cut():
    assert arriving("{}").to_call(cut=True) == CallDone(Written("id", "tool", "{}"))
    assert arriving('{"a": 1').to_call(cut=True) == CallDone(Written("id", "tool", '{"a": 1', cut=True))


def test_braces_in_strings_do_not_make_it_read_again_and_again():
    call = arriving('{"a": "')
    for _ in range(10_000):
        call.add("}")
    assert call._tries <= FREE_TRIES + 15
    assert not call.complete


def test_an_object_is_an_object_to_its_end():
    assert is_object('{"a": [1]}')
    assert not any(map(is_object, ["", "[]", "1", '{"a": 1', '{"a": 1} x', "{a: 1}", "[" * 100_000]))


def test_an_id_of_the_server_is_kept():
    assert CallIds(3).unique("call_abc") == "call_abc"


def test_a_missing_or_repeated_id_is_replaced_by_one_that_no_other_call_of_the_reply_has():
    ids = CallIds(3)
    assert [ids.unique(None), ids.unique(""), ids.unique("x"), ids.unique("x")] == ["call_3_1", "call_3_2", "x", "call_3_4"]


def test_an_id_we_make_is_none_that_the_server_gave():
    ids = CallIds(3)
    assert [ids.unique("call_3_2"), ids.unique(None), ids.unique(None)] == ["call_3_2", "call_3_3", "call_3_4"]
