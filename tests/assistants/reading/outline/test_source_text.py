import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.assistants.reading.outline.errors import NotText
from treadle.assistants.reading.outline.source_text import decode_source, is_minified

WORDS = "größe = 'Regal'\nnächste = 2\n"


@pytest.mark.parametrize(
    ("encoding", "known"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8"),
        ("utf-16", "utf-16-le"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32-le"),
        ("utf-32-le", "utf-32-le"),
        ("utf-32-be", "utf-32-be"),
    ],
)
def test_text_is_read_in_its_encoding(encoding: str, known: str):
    source = decode_source(WORDS.encode(encoding))
    assert (source.text, source.encoding, source.note) == (WORDS, known, "")


def test_a_mark_of_big_endian_text_is_taken_off():
    assert decode_source(b"\xfe\xff" + WORDS.encode("utf-16-be")).text == WORDS


def test_what_is_not_utf8_is_read_as_latin_1_and_says_so():
    source = decode_source(WORDS.encode("latin-1"))
    assert (source.text, source.encoding) == (WORDS, "latin-1")
    assert "Latin-1" in source.note


def test_a_file_may_say_its_encoding():
    text = "# -*- coding: cp1251 -*-\nимя = 1\n"
    source = decode_source(text.encode("cp1251"))
    assert (source.text, source.encoding, source.note) == (text, "cp1251", "")


def test_an_encoding_that_nobody_knows_is_passed_over():
    assert decode_source(b"# coding: nonsense\n\xe4\n").encoding == "latin-1"


def test_stray_surrogates_become_question_marks():
    assert decode_source("a\ud800b".encode("utf-8", "surrogatepass")).text == "a?b"


def test_text_that_belies_its_mark_is_read_as_far_as_possible():
    source = decode_source(b"\xef\xbb\xbfa\xffb")
    assert source.text == "a�b"
    assert "�" in source.note


@pytest.mark.parametrize(
    "data", [b"\x7fELF\x02\x01\x01\x00\x00", b"GIF89a\x01\x00\x01\x00", bytes(range(1, 32)) * 4, b"a" * 9000 + b"\0"]
)
def test_binary_is_refused_in_a_sentence(data: bytes):
    with pytest.raises(NotText, match="binary, so there is nothing to read"):
        decode_source(data)


def test_every_kind_of_line_end_counts_once_and_form_feeds_not_at_all():
    source = decode_source("a\r\nb\rc\nd\x0ce\u2028f\x85g\r\n".encode())
    assert source.lines == ("a", "b", "c", "d\x0ce\u2028f\x85g")
    assert source.text.count("\n") == 4


def test_the_last_line_needs_no_end():
    assert decode_source(b"a\nb").lines == decode_source(b"a\nb\n").lines == ("a", "b")
    assert decode_source(b"").lines == ()
    assert decode_source(b"\n").lines == ("",)


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_refused(data: bytes):
    try:
        source = decode_source(data)
    except NotText:
        return
    assert "\r" not in source.text
    assert "\n".join(source.lines) == source.text.removesuffix("\n")


def test_few_long_lines_are_minified():
    assert is_minified("x" * 501)
    assert is_minified("// words\n" + "f();" * 500)
    assert is_minified("\n".join(["f();" * 150] * 20))


def test_what_people_write_is_not_minified():
    assert not is_minified("")
    assert not is_minified("x = 1\n" * 1000)
    assert not is_minified("x = 1\n" * 100 + "y" * 600)
