"""Server-sent events and JSON lines come out whole, however they are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.models.splitting import Events, Lines, Records

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
    assert split(Events(), [STREAM]) == PAYLOADS


@pytest.mark.parametrize("place", range(len(STREAM)))
def test_events_may_be_cut_at_any_byte(place):
    assert split(Events(), [STREAM[:place], STREAM[place:]]) == PAYLOADS


def test_events_may_come_byte_by_byte():
    assert split(Events(), [bytes([byte]) for byte in STREAM]) == PAYLOADS


payload = st.binary(min_size=1).filter(lambda data: not {*b"\r\n"} & {*data})


@given(st.lists(payload), st.sampled_from([b"\n", b"\r\n", b"\r"]), st.data())
def test_any_payloads_survive_any_cuts(payloads, line_end, data):
    stream = b"".join(b"data: " + payload + 2 * line_end for payload in payloads)
    places = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    pieces = [stream[start:end] for start, end in zip([0, *places], [*places, len(stream)], strict=True)]
    assert split(Events(), pieces) == payloads


def test_an_event_without_its_blank_line_is_given_at_the_end():
    assert split(Events(), [b"data: [DONE]\n"]) == [b"[DONE]"]
    assert split(Events(), [b"data: [DO", b"NE]"]) == [b"[DONE]"]


def test_an_event_named_error_is_an_error_object():
    assert split(Events(), [b'event: error\ndata: {"message":"no"}\n\n']) == [b'{"error":{"message":"no"}}']
    assert split(Events(), [b'event: error\ndata: {"error":{"message":"no"}}\n\n']) == [b'{"error":{"message":"no"}}']


def test_a_field_named_error_is_an_error_object():
    assert split(Events(), [b'error: {"code":500}\n\ndata: {}\n\n']) == [b'{"error":{"code":500}}', b"{}"]


def test_the_name_of_an_event_holds_for_that_event_only():
    assert split(Events(), [b"event: error\ndata: 1\n\ndata: 2\n\n"]) == [b'{"error":1}', b"2"]


def test_an_event_without_data_does_not_name_the_next_one():
    assert split(Events(), [b"event: error\n\ndata: 2\n\n"]) == [b"2"]


def test_json_lines_come_out_one_by_one_and_blank_ones_do_not():
    assert split(Records(), [b'{"a":1}\n{"b"', b":2}\r\n\n  \n", b'{"c":3}']) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']
    assert split(Records(), [b'{"a":1}\n']) == [b'{"a":1}']


def test_one_long_line_in_many_pieces_takes_time_in_proportion():
    lines, pieces = Lines(), 20_000
    for _ in range(pieces):
        assert lines.feed(b"x" * 100) == []
    assert len(lines.feed(b"\n")[0]) == 100 * pieces
