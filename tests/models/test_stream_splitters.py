"""Server-sent events, JSON lines and binary frames come out whole, however they are cut."""

import json
import struct
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.models.stream_splitters import AwsEventSplitter, JsonLinesSplitter, LineSplitter, SseSplitter
from wire.bedrock import event, exception, frame

STREAM = (
    b"\xef\xbb\xbf: hello\n"
    b'data: {"a":1}\n\n'
    b'data:{"b":"no blank after the colon"}\r\n\r\n'
    b": keep-alive\n\n"
    b'event: message\nid: 7\nretry: 10\ndata: {"c":\ndata: 3}\n\n'
    b"event: ping\n\n"
    b"data\n\n"
    b'data: {"d":"\xc3\xa4"}\r\r'
    b"data: [DONE]\n\n"
)
PAYLOADS = [b'{"a":1}', b'{"b":"no blank after the colon"}', b'{"c":\n3}', b"", b'{"d":"\xc3\xa4"}', b"[DONE]"]


def split(splitter, pieces):
    return [payload for piece in pieces for payload in splitter.feed(piece)] + splitter.close()


def test_the_data_of_each_event_is_a_payload():
    assert split(SseSplitter(), [STREAM]) == PAYLOADS


@pytest.mark.parametrize("place", range(len(STREAM)))
def test_events_may_be_cut_at_any_byte(place):
    assert split(SseSplitter(), [STREAM[:place], STREAM[place:]]) == PAYLOADS


def test_events_may_come_byte_by_byte():
    assert split(SseSplitter(), [bytes([byte]) for byte in STREAM]) == PAYLOADS


payload = st.binary(min_size=1).filter(lambda data: not {*b"\r\n"} & {*data})


@given(st.lists(payload), st.sampled_from([b"\n", b"\r\n", b"\r"]), st.data())
def test_any_payloads_survive_any_cuts(payloads, line_end, data):
    stream = b"".join(b"data: " + payload + 2 * line_end for payload in payloads)
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    pieces = [stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)]
    assert split(SseSplitter(), pieces) == payloads


def test_an_event_without_its_blank_line_is_given_at_the_end():
    assert split(SseSplitter(), [b"data: [DONE]\n"]) == [b"[DONE]"]
    assert split(SseSplitter(), [b"data: [DO", b"NE]"]) == [b"[DONE]"]


def test_an_event_named_error_is_an_error_object():
    assert split(SseSplitter(), [b'event: error\ndata: {"message":"no"}\n\n']) == [b'{"error":{"message":"no"}}']
    assert split(SseSplitter(), [b'event: error\ndata: {"error":{"message":"no"}}\n\n']) == [b'{"error":{"message":"no"}}']


def test_a_field_named_error_is_an_error_object():
    assert split(SseSplitter(), [b'error: {"code":500}\n\ndata: {}\n\n']) == [b'{"error":{"code":500}}', b"{}"]


def test_the_name_of_an_event_holds_for_that_event_only():
    assert split(SseSplitter(), [b"event: error\ndata: 1\n\ndata: 2\n\n"]) == [b'{"error":1}', b"2"]


def test_an_event_without_data_does_not_name_the_next_one():
    assert split(SseSplitter(), [b"event: error\n\ndata: 2\n\n"]) == [b"2"]


def test_json_lines_come_out_one_by_one_and_blank_ones_do_not():
    assert split(JsonLinesSplitter(), [b'{"a":1}\n{"b"', b":2}\r\n\n  \n", b'{"c":3}']) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']
    assert split(JsonLinesSplitter(), [b'{"a":1}\n']) == [b'{"a":1}']


def test_one_long_line_in_many_pieces_takes_time_in_proportion():
    lines, pieces = LineSplitter(), 20_000
    for _ in range(pieces):
        assert lines.feed(b"x" * 100) == []
    assert len(lines.feed(b"\n")[0]) == 100 * pieces


# The event stream of AWS

FRAMES = (
    event("messageStart", role="assistant"),
    event("contentBlockDelta", delta={"text": "ä☀ {}"}, contentBlockIndex=0),
    frame({":event-type": "ping", ":message-type": "event"}, b""),
    exception("throttlingException", "slow down"),
)
FRAMED = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"delta": {"text": "ä☀ {}"}, "contentBlockIndex": 0}},
    {"ping": {}},
    {"error": {"type": "throttlingException", "error": {"message": "slow down"}}},
]


def read(payloads):
    return [json.loads(payload) for payload in payloads]


def test_each_frame_is_a_payload_under_the_name_of_its_event():
    assert read(split(AwsEventSplitter(), [b"".join(FRAMES)])) == FRAMED


@pytest.mark.parametrize("place", range(len(b"".join(FRAMES))))
def test_frames_may_be_cut_at_any_byte(place):
    stream = b"".join(FRAMES)
    assert read(split(AwsEventSplitter(), [stream[:place], stream[place:]])) == FRAMED


def test_frames_may_come_byte_by_byte():
    assert read(split(AwsEventSplitter(), [bytes([byte]) for byte in b"".join(FRAMES)])) == FRAMED


@given(st.lists(st.dictionaries(st.text(), st.text(), max_size=3)), st.data())
def test_any_frames_survive_any_cuts(fields, data):
    stream = b"".join(frame({":event-type": "e", ":message-type": "event"}, json.dumps(each).encode()) for each in fields)
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    pieces = [stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)]
    assert read(split(AwsEventSplitter(), pieces)) == [{"e": each} for each in fields]


def test_an_error_without_an_exception_says_what_it_is():
    told = frame({":message-type": "error", ":error-code": "InternalError", ":error-message": "oh"}, b"")
    assert read(split(AwsEventSplitter(), [told])) == [{"error": {"type": "InternalError", "message": "oh"}}]


def test_headers_of_every_type_are_passed_over():
    values = {0: b"", 1: b"", 2: b"x", 3: b"xx", 4: b"x" * 4, 5: b"x" * 8, 6: b"\0\3xxx", 8: b"x" * 8, 9: b"x" * 16}
    before = b"".join(b"\1h" + bytes([kind]) + value for kind, value in values.items())
    framed = frame({":event-type": "e", ":message-type": "event"}, b"{}", before=before)
    assert read(split(AwsEventSplitter(), [framed])) == [{"e": {}}]


@pytest.mark.parametrize("place", range(len(FRAMES[1])))
def test_a_frame_that_is_damaged_anywhere_is_no_json_and_nothing_comes_after_it(place):
    damaged = bytearray(FRAMES[1])
    damaged[place] ^= 0x10
    first, *rest = split(AwsEventSplitter(), [FRAMES[0] + damaged + FRAMES[2], FRAMES[2]])
    assert json.loads(first) == FRAMED[0]
    assert [payload.startswith(b"a damaged frame (") for payload in rest] == [True]


@pytest.mark.parametrize(("total", "headers"), [(15, 0), (0, 0), (20, 5), (2**31, 0)])
def test_a_length_that_cannot_be_is_damage_at_once(total, headers):
    prelude = struct.pack(">II", total, headers)
    assert AwsEventSplitter().feed(prelude + struct.pack(">I", crc32(prelude))) == [b"a damaged frame (impossible length)"]


@pytest.mark.parametrize("headers", [b"\x05ab", b"\x01h", b"\x01h\x07\0", b"\x01h\x07\0\x09x", b"\x01h\x05x", b"\x01h\x07\0\1\xff"])
def test_headers_that_cannot_be_read_are_damage(headers):
    (payload,) = AwsEventSplitter().feed(frame({}, b"{}", before=headers))
    assert payload.startswith(b"a damaged frame (")


def test_a_frame_that_was_cut_off_is_no_payload():
    assert split(AwsEventSplitter(), [FRAMES[0] + FRAMES[1][:-1]])[1:] == []


def test_one_large_frame_in_many_pieces_takes_time_in_proportion():
    stream, framed = AwsEventSplitter(), frame({":event-type": "e", ":message-type": "event"}, b'"%b"' % (b"x" * 2_000_000))
    pieces = [framed[start : start + 100] for start in range(0, len(framed), 100)]
    assert [payload for piece in pieces for payload in stream.feed(piece)] == [b'{"e":"%b"}' % (b"x" * 2_000_000)]
