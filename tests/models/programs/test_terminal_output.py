"""What programs write for a terminal, as plain text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.models.programs.program_text import TerminalText


def shown(*pieces: bytes) -> str:
    plain = TerminalText()
    return "".join([*[plain.feed(piece) for piece in pieces], plain.close()])


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (b"plain words\n\tand more\n", "plain words\n\tand more\n"),
        (b"\x1b[1;31mred\x1b[0m and \x1b[4mlined\x1b[m", "red and lined"),
        (b"\x1b]0;title\x07words", "words"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1bPsixel\x1b\\seen", "seen"),
        (b"\x1b(Bwords\x1b=", "words"),
        (b"\x1b[?25l\x1b[?2004hwords\x1b[?25h", "words"),
        (b"match\x1b[K kept", "match kept"),
        (b"one\r\ntwo\r\r\nthree\r", "one\ntwo\nthree"),
        (b"10 %\r50 %\r100 %\nanswer", "100 %\nanswer"),
        (b"\rloading\r\x1b[2K\x1b[1Ganswer", "answer"),
        (b"a\x1b[2J\x1b[Hb", "b"),
        (b"spin\x1b[Gdone\n", "done\n"),
        (b"bell\x07 nul\x00 del\x7f c1\xc2\x9b", "bell nul del c1"),
        ("héllo – 漢字 🙂".encode(), "héllo – 漢字 🙂"),
        (b"half a character \xe6\xbc", "half a character �"),
        (b"\xff\xfe", "��"),
        (b"words\x1b[3", "words"),
        (b"words\x1b]0;never ended", "words"),
    ],
)
def test_what_a_terminal_would_obey_is_gone(written, text):
    assert shown(written) == text


def test_a_line_is_given_as_it_comes():
    plain = TerminalText()
    assert [plain.feed(piece) for piece in (b"Hel", b"lo", b" there\nand")] == ["Hel", "lo", " there\nand"]


def test_sequences_may_be_cut_anywhere():
    written = "\x1b[1mbold\x1b[0m\r\nécrit\x1b]0;t\x07 done\n\rno\ryes\n".encode()
    for at in range(len(written)):
        assert shown(written[:at], written[at:]) == "bold\nécrit done\nyes\n"


def test_a_line_that_is_written_over_waits_until_it_is_over():
    plain = TerminalText()
    assert plain.feed(b"\r10 %") == ""
    assert plain.feed(b"\r100 %") == ""
    assert plain.feed(b" loaded\nHel") == "100 % loaded\nHel"
    assert plain.feed(b"lo") == "lo"


def test_what_was_given_of_a_line_before_it_is_written_over_stays_on_its_own():
    assert shown(b"10 %", b"\r20 %", b"\r30 %\nanswer") == "10 %\n30 %\nanswer"


def test_a_sequence_that_never_ends_is_taken_for_words_in_the_end():
    text = "x" * 10_000
    assert text in shown(b"\x1b]" + text.encode())


@given(st.text(), st.integers(1, 7))
def test_the_pieces_do_not_matter_for_text_on_lines_of_their_own(text, size):
    data = text.replace("\r", "").replace("\x1b", "").encode()
    whole = shown(data)
    assert shown(*[data[at : at + size] for at in range(0, len(data), size)]) == whole


@given(st.binary())
def test_nothing_that_moves_a_cursor_is_left(data):
    assert not any(character < " " and character not in "\n\t" for character in shown(data))


@pytest.mark.parametrize("unit", [b"\r", b"\x1b", b"\x1b]", b"\x1b[", b"\r\r\n", b"a\rb", b"\x1b]x\x07", b"\x1b[2K"])
def test_it_takes_time_linear_in_what_comes(unit):
    def seconds(count: int) -> float:
        data, plain, began = unit * count, TerminalText(), time.process_time()  # of this process alone, whatever others do
        for at in range(0, len(data), 65536):
            plain.feed(data[at : at + 65536])
        plain.close()
        return time.process_time() - began

    assert min(seconds(80_000) for _ in range(3)) < 40 * min(seconds(10_000) for _ in range(3)) + 0.05
