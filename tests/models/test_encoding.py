"""What a server sends is decoded even where it isn't quite text."""

import msgspec
import pytest
from msgspec import Struct

import wire
from treadle.models.encoding import make_decoder
from wire import WireServer, ask, events, text_in


class Said(Struct):
    text: str


decode = make_decoder(Said)


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b'{"text": "plain"}', "plain"),
        (b'{"text": "half \\ud83d of it"}', "half ? of it"),
        (b'{"text": "whole \\ud83d\\ude00"}', "whole \U0001f600"),
        (b'{"text": "stray \xff byte"}', "stray \ufffd byte"),
    ],
)
def test_what_is_no_text_is_replaced(payload, text):
    assert decode(payload) == Said(text)


@pytest.mark.parametrize("payload", [b"", b"{", b"no json", b'{"text": 5}', b"[" * 100_000])
def test_what_is_no_json_is_still_refused(payload):
    with pytest.raises(msgspec.DecodeError):
        decode(payload)


def test_a_reply_with_half_a_character_is_heard():
    chunk = '{"choices":[{"delta":{"content":"so \\ud83d far"},"finish_reason":null}]}'
    end = '{"choices":[{"delta":{},"finish_reason":"stop"}]}'
    with WireServer([events(chunk, end)]) as server:
        assert text_in(ask(wire.model(server))) == "so ? far"
