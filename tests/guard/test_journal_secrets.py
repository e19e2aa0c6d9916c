"""Whether a line of the journal holds a secret, and what it looks like without."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guard.credentials import Maker
from guard.planted import BY_LOOKS, MIXED
from treadle.core.calls import Allow, Call, Deny, Result, Written
from treadle.core.entries import Approved, Called, Finished, Judged, Opened, Replied, Returned, Said, encode
from treadle.core.messages import Message, Text, Thinking
from treadle.guard.journal_secrets import hold_secrets, holds_secret, mask_call, mask_entry
from treadle.guard.redaction import OWN_NAMES, Redactor, collect_texts
from treadle.guard.secret_names import classify_name

PLAIN = Redactor()
TEXTS = [f"it is {secret} now" for _, secret in BY_LOOKS] + [text for _, text, _ in Maker(5).all()]
SECRET = BY_LOOKS[0][1]
SPELLED = "".join([f"\\u{ord(letter):04x}" if place == 2 else letter for place, letter in enumerate(SECRET)])


def entries_with(text):
    """Every place of an entry that words and values from outside come to."""
    call = Call("c1", "takes", {"deep": [{"text": text}]})
    return [
        Said(text=text),
        Opened(origin={"instructions": text}),
        Opened(history=(Message("model", (Text(text), call, Result("c1", "takes", text))),)),
        Replied(parts=(Text(text),)),
        Replied(parts=(Thinking(text),)),
        Replied(parts=(Written("c1", "takes", json.dumps({"text": text})),)),
        Called(call=call, within="c0"),
        Judged(call=call, verdict=Allow()),
        Judged(call=Call("c1", "takes", {}), verdict=Deny("reading", text)),
        Approved(call_id="c1", arguments={"text": text}),
        Returned(result=Result("c1", "takes", text)),
        Finished(stopped="answered", text=text),
        Finished(stopped="answered", output={"text": text}),
    ]


@pytest.mark.parametrize("text", TEXTS)
def test_every_format_is_found_in_every_place_and_gone_once_masked(text):
    for entry in entries_with(text):
        assert holds_secret(encode(entry), PLAIN), entry
        masked = mask_entry(msgspec.to_builtins(entry), PLAIN)
        assert not holds_secret(msgspec.json.encode(masked), PLAIN)


@pytest.mark.parametrize(
    "text", ["max_tokens=4096", "a key: value pair, the author's signature", "9fceb02d0ae598e95dc970b74767f193", ""]
)
def test_what_is_no_secret_is_none_anywhere(text):
    for entry in entries_with(text):
        assert not holds_secret(encode(entry), PLAIN)
        assert mask_entry(msgspec.to_builtins(entry), PLAIN) == msgspec.to_builtins(entry)


@pytest.mark.parametrize(
    "arguments",
    [
        {"password": "open sesame"},
        {"password": 12345678},
        {"command": ["login", "--password", "open sesame"]},
        {"env": [{"name": "API_KEY", "value": "open sesame"}]},
        {SECRET: 1},
    ],
)
def test_names_decide_also_in_calls_as_they_were_written(arguments):
    written = Replied(parts=(Written("c1", "takes", json.dumps(arguments)),))
    assert holds_secret(encode(written), PLAIN)
    assert holds_secret(encode(Judged(call=Call("c1", "takes", arguments), verdict=Allow())), PLAIN)


@pytest.mark.parametrize(
    "text",
    [
        f'{{"text": "{SPELLED}"}}',
        f"{{'text': '{SPELLED}',}}",  # no JSON, and mended later
        json.dumps({"arguments": f'{{"text": "{SPELLED}"}}'}),  # encoded twice
        f'{{"text": "{SECRET}", "text": "nothing"}}',  # of two by one name, readers take the last
        r'{"text": "https:\/\/hooks.slack.com\/services\/T0\/B0\/' + MIXED[:24] + '"}',
        "{'text': '" + "".join([f"\\x{ord(letter):02x}" for letter in SECRET]) + "'}",
    ],
)
def test_spelled_letters_hide_nothing(text):
    assert holds_secret(encode(Replied(parts=(Written("c1", "takes", text),))), PLAIN)
    masked = mask_call(text, PLAIN)
    assert "[redacted:" in masked
    assert SECRET[4:] not in masked


def test_a_call_without_secrets_is_masked_to_itself():
    for text in ('{"a": "\\u0041 \\/ b"}', "no JSON at all", "", "{'a': '\\x41'}"):
        assert mask_call(text, PLAIN) == text


def test_names_and_values_that_only_one_redactor_knows_are_found_by_that_one():
    line = encode(Judged(call=Call("c1", "takes", {"pin": "4711", "note": "it is open sesame"}), verdict=Allow()))
    assert not holds_secret(line, PLAIN)
    assert holds_secret(line, Redactor(["pin"]))
    assert holds_secret(line, PLAIN.knowing(["open sesame"]))


def test_no_name_of_ours_stands_for_a_secret():
    assert {"input_tokens", "key", "signature", "digest", "call_id"} <= OWN_NAMES
    assert not [name for name in OWN_NAMES if classify_name(name, ()).kind]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([*TEXTS, "--token", "-p", "plain words"]) | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["password", "name", "value", "key", "token", "text", "at", SECRET]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(VALUES)
def test_what_is_found_is_what_would_be_masked(value):
    assert PLAIN.finds(value) == (PLAIN.value(value) != value)


def test_texts_are_gathered_from_tuples_and_from_names_that_are_no_texts():
    texts, is_named = collect_texts({1: ("a", 2.5, b"bytes"), "a_long_name_of_a_value": "b"}, ())
    assert (sorted(texts), is_named) == (["a", "a_long_name_of_a_value", "b"], False)


@pytest.mark.parametrize("line", ["{} and no JSON", "[{}", '["{}"]', '"{}"'])
def test_a_line_that_is_no_entry_is_looked_at_too(line):
    assert holds_secret(line.replace("{}", SECRET).encode(), PLAIN)
    assert not holds_secret(line.replace("{}", "plain").encode(), PLAIN)


def test_lines_that_are_written_together_are_looked_at_together():
    plain, secret = encode(Said(text="plain")), encode(Said(text=SECRET))
    assert hold_secrets([plain, secret, b"no JSON", plain], PLAIN) == [False, True, False, False]
    assert hold_secrets([plain, plain], PLAIN) == [False, False]
    assert hold_secrets([], PLAIN) == []


def test_a_value_beside_a_name_is_named_and_a_value_alone_is_not():
    assert collect_texts({"value": 1.5, "factor": 2}, ())[1] is False
    assert collect_texts({"key": "API_KEY", "value": "x"}, ())[1] is True
    assert collect_texts({"name": "API_KEY", "value": "x"}, ())[1] is True
    assert collect_texts({"name": "x"}, (("pin",),))[1] is False
