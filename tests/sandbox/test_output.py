"""Output as plain text within a bound."""

import re

from hypothesis import given
from hypothesis import strategies as st

from treadle.sandbox.output import CommandOutput


def kept(pieces, most=1000):
    output = CommandOutput(most)
    told = "".join([*map(output.feed, pieces), output.close()])
    return output, told


def test_short_output_is_kept_as_it_is():
    output, told = kept([b"one\n", "zwölf\t\n".encode()])
    assert output.text == told == "one\nzwölf\t\n"
    assert not output.truncated


def test_of_long_output_the_beginning_and_the_end_are_kept():
    output, told = kept([b"begin", b"x" * 5000, b"end"], most=10)
    assert output.text == "begin\n… 4,998 characters left out …\nxxend"
    assert output.truncated
    assert len(told) == 5008


def test_a_bound_of_one_character_still_keeps_one():
    assert kept([b"abc"], most=1)[0].text == "a\n… 2 characters left out …\n"


def test_colours_titles_and_controls_are_gone_however_they_are_cut():
    data = b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b(B\x00\x08\x07\r\nnext\rover\x1b"
    whole = kept([data])[0].text
    assert whole == "red alink\nnext\rover"
    for cut in range(len(data)):
        assert kept([data[:cut], data[cut:]])[0].text == whole


def test_a_sequence_that_never_ends_is_taken_for_words():
    assert "x" * 9000 in kept([b"\x1b]0;" + b"x" * 9000], most=20_000)[0].text


def test_bytes_that_are_no_text_are_shown_as_such():
    assert kept([b"a\xff\xe2\x82"])[0].text == "a��"


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(1, 60))
def test_no_output_is_longer_than_its_bound_and_nothing_is_miscounted(pieces, most):
    output, told = kept(pieces, most)
    whole, _ = kept([b"".join(pieces)], 10_000)
    assert whole.text == told
    if not output.truncated:
        assert output.text == told
        return
    note = re.search(r"\n… ([\d,]+) characters left out …\n", output.text)
    assert note is not None
    assert len(output.text) - len(note[0]) == most == len(told) - int(note[1].replace(",", ""))
