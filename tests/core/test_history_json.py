"""Conversations as JSON: the format. What applications call is tested with `stores.history`."""

from hashlib import sha256

import pytest

from treadle.core.calls import Media, Result
from treadle.core.entries import VERSION
from treadle.core.errors import MediaMissing, SettingsError
from treadle.core.history_json import decode_history, encode_history, list_media
from treadle.core.messages import History, Message, Summary, Text


class Blobs(dict[str, bytes]):
    def put(self, content: bytes) -> str:
        name = sha256(content).hexdigest()
        self[name] = content
        return name

    def get(self, name: str) -> bytes:  # type: ignore[override]
        return self[name]


def test_messages_and_the_bytes_of_their_media_survive_the_round_trip():
    blobs, others = Blobs(), Blobs()
    shown, drawn = (Media("image/png", blobs.put(content), len(content)) for content in (b"shown", b"drawn"))
    messages = (
        Message("person", (Summary(("Look.",), "notes"), Text("And this?"), shown)),
        Message("tools", (Result("c1", "draw", "[image]", media=(drawn,)),)),
    )
    assert list_media(messages) == [shown, drawn]
    assert decode_history(encode_history(messages, blobs), others) == History(messages)
    assert others == blobs


def test_media_whose_bytes_are_not_known_cannot_be_stored():
    with pytest.raises(MediaMissing, match="aren't known here"):
        encode_history([Message("person", (Media("image/png", "0" * 64, 1),))], None)


def test_what_was_not_written_by_us_or_by_a_newer_version_is_refused():
    with pytest.raises(SettingsError, match="This is no history"):
        decode_history("[]", Blobs())
    with pytest.raises(SettingsError, match="newer Treadle"):
        decode_history(f'{{"kind": "history", "v": {VERSION + 1}, "messages": []}}', Blobs())
    with pytest.raises(SettingsError, match="isn't what was written"):
        decode_history(f'{{"kind": "history", "v": {VERSION}, "messages": [], "media": {{"abc": "eHk="}}}}', Blobs())


def test_the_format_before_is_read():
    marked = "<untrusted-1>\\nData.\\n\\nBuy!\\n</untrusted-1>"
    result = f'{{"part": "result", "call_id": "c", "name": "n", "content": "{marked}", "untrusted": true}}'
    said = f'{{"role": "tools", "parts": [{result}]}}'
    [message] = decode_history(f'{{"kind": "history", "v": 1, "messages": [{said}]}}', Blobs())
    assert message.parts[0].content == "Buy!"
