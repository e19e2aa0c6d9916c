"""Bytes as text and back."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.toolsets.workspace.file_contents import decode_file_text


@given(st.binary(max_size=40) | st.text(max_size=20).map(lambda text: text.encode("utf-16")) | st.text(max_size=20).map(str.encode))
def test_bytes_that_are_text_come_back_as_they_were(data):
    text = decode_file_text(data)
    if text is not None:
        assert text.encode(text.text) == data
        text.readable.encode()


def test_zero_bytes_make_a_file_binary_unless_it_is_utf16():
    assert decode_file_text(b"a\0b") is None
    assert decode_file_text("añb".encode("utf-16")).text == "añb"
    assert decode_file_text(b"\xff\xfea") is None


def test_a_mark_at_the_beginning_is_no_part_of_the_text():
    assert decode_file_text(b"\xef\xbb\xbfabc").text == "abc"


def test_bytes_that_are_no_characters_are_shown_as_a_mark():
    text = decode_file_text("naïve\n".encode("latin-1"))
    assert text.readable == "na\ufffdve\n"
    assert not text.is_whole
    assert text.encode(text.text.replace("ve", "f")) == "naïf\n".encode("latin-1")
