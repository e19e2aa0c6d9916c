"""Stop sequences in text that arrives in pieces."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.models.programs.command import StopSequences


def passed(stops: StopSequences, *pieces: str) -> list[str]:
    return [stops.feed(piece) for piece in pieces]


def test_text_ends_before_the_first_sequence():
    stops = StopSequences(("END", "STOP"))
    assert passed(stops, "one STOP two END") == ["one "]
    assert stops.met
    assert (stops.feed("more"), stops.close()) == ("", "")


def test_only_what_may_be_a_beginning_is_held_back():
    stops = StopSequences(("\nUser:",))
    assert passed(stops, "Hello", "\nUs", "ed to it", "\nUser", ": hi") == ["Hello", "", "\nUsed to it", "", ""]
    assert stops.met


def test_what_was_held_back_for_nothing_comes_at_the_end():
    stops = StopSequences(("END",))
    assert passed(stops, "the EN") == ["the "]
    assert (stops.close(), stops.met) == ("EN", False)


def test_without_sequences_everything_passes():
    assert passed(StopSequences(("",)), "a", "b") == ["a", "b"]


@given(st.lists(st.text("ab", max_size=4)), st.lists(st.text("ab", min_size=1, max_size=3), max_size=3))
def test_the_pieces_do_not_matter(pieces, sequences):
    stops, text = StopSequences(sequences), "".join(pieces)
    given_out = "".join(passed(stops, *pieces))
    met = stops.met
    given_out += stops.close()
    ends = [text.find(sequence) for sequence in sequences if sequence in text]
    assert met == bool(ends)
    if ends:
        # in pieces, a sequence that is complete sooner counts, even where another one had begun before it
        assert text.startswith(given_out)
        assert len(given_out) >= min(ends)
        assert not any(sequence in given_out for sequence in sequences)
    else:
        assert given_out == text
