"""What fits into a model's view."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.calls import Call, Result
from treadle.core.messages import History, Message, Text, person
from treadle.loop.window import KEEP, shorten, to_shorten, window_of


def rounds(*sizes: int) -> History:
    messages = [person("Find it.")]
    for number, size in enumerate(sizes):
        messages.append(Message("model", (Call(f"c{number}", "look", {}),)))
        messages.append(Message("tools", (Result(f"c{number}", "look", "x" * size),)))
    return History(messages)


def test_nothing_is_shortened_while_everything_fits():
    assert to_shorten(rounds(1000, 1000, 1000, 1000), 100_000) == ()


def test_the_oldest_results_go_first():
    assert to_shorten(rounds(5000, 5000, 5000, 5000, 5000), 24_000) == ("c0", "c1")


def test_the_newest_rounds_stay_whole():
    assert to_shorten(rounds(9000, 9000), 1000) == ()


def test_short_results_are_left_alone():
    assert to_shorten(rounds(KEEP, 9000, 9000, 9000), 20_000) == ("c1",)


def test_shortening_keeps_the_head_and_says_what_is_missing():
    shorter = shorten(rounds(5000, 300, 10), ("c0", "c1"))
    first, second, third = [message.parts[0] for message in shorter if message.role == "tools"]
    assert first.content.startswith("x" * KEEP)
    assert f"{5000 - KEEP} characters" in first.content
    assert second.content == "x" * 300
    assert third.content == "x" * 10


@given(st.lists(st.integers(0, 3000), max_size=8), st.integers(2000, 20_000))
def test_a_persons_words_are_never_touched_and_every_call_keeps_its_result(sizes, window):
    history = rounds(*sizes)
    shorter = shorten(history, to_shorten(history, window))
    assert [message for message in shorter if message.role == "person"] == [person("Find it.")]
    assert [part.call_id for message in shorter for part in message.parts if isinstance(part, Result)] == [
        f"c{number}" for number in range(len(sizes))
    ]
    assert shorter.size <= history.size + 0


def test_text_of_the_model_stays():
    history = History([person("a"), Message("model", (Text("b"),))])
    assert shorten(history, ("c0",)) == history


def test_the_window_follows_from_what_the_model_can_read():
    assert window_of(None, 100) is None
    assert window_of(8000, 2000) == 21_000
    assert window_of(1000, 2000) == 2000
