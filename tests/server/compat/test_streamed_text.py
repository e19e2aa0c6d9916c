"""What is said on a wire when a reply is tried again: nothing twice where it is the same, and something to read where it isn't."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.server.compat.answer import SEPARATOR
from treadle.server.compat.streamed_text import StreamedText

PIECES = st.lists(st.text("ab ", min_size=1, max_size=3), max_size=6)


def told(*tries):
    """What listeners have in the end, of one reply."""
    spoken, heard = StreamedText(), ""
    for number, pieces in enumerate(tries):
        if number:
            spoken.mark_retry()
        spoken.start_request()
        heard += "".join([spoken.told(piece) for piece in pieces])
    return heard


def test_a_second_try_goes_on_where_the_first_broke_off():
    assert told(["The Rhine ", "is 1233 km "], ["The Rhine ", "is 1233 km ", "long."]) == "The Rhine is 1233 km long."
    assert told(["The Rhine "], ["The", " Rhine is", " long."]) == "The Rhine is long."
    assert told([], ["The Rhine."]) == "The Rhine."


def test_a_second_try_that_says_something_else_is_told_from_its_beginning():
    assert told(["The Rhine is "], ["The ", "Rhine has ", "1233 km."]) == f"The Rhine is {SEPARATOR}The Rhine has 1233 km."


def test_a_second_try_that_says_less_takes_nothing_back():
    assert told(["The Rhine. Or so."], ["The Rhine."]) == "The Rhine. Or so."


def test_another_reply_comes_after_a_gap_whatever_was_tried_before():
    spoken = StreamedText()
    spoken.start_request()
    first = spoken.told("One.")
    spoken.mark_retry()
    spoken.start_request()
    again = spoken.told("One.")
    spoken.start_request()
    assert (first, again, spoken.told("One."), spoken.told(" Two.")) == ("One.", "", f"{SEPARATOR}One.", " Two.")


@given(st.lists(PIECES, max_size=3), PIECES)
def test_listeners_always_have_the_last_try_at_the_end_and_once_if_all_say_the_same(before, last):
    whole = "".join(last)
    heard = told(*before, last)
    same = all(whole.startswith("".join(pieces)) for pieces in before)
    assert heard == whole if same else whole in heard or whole == "" or any("".join(each).startswith(whole) for each in before)
