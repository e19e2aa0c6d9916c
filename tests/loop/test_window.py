"""What fits into a model's view."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.calls import Call, Media, Result
from treadle.core.messages import History, Message, Text, person_message
from treadle.loop.window import KEEP, history_window, select_to_shorten, shorten_results


def rounds(*sizes: int) -> History:
    messages = [person_message("Find it.")]
    for number, size in enumerate(sizes):
        messages.append(Message("model", (Call(f"c{number}", "look", {}),)))
        messages.append(Message("tools", (Result(f"c{number}", "look", "x" * size),)))
    return History(messages)


def test_nothing_is_shortened_while_everything_fits():
    assert select_to_shorten(rounds(1000, 1000, 1000, 1000), 100_000) == ()


def test_the_oldest_results_go_first():
    assert select_to_shorten(rounds(5000, 5000, 5000, 5000, 5000), 24_000) == ("c0", "c1")


def test_the_newest_rounds_stay_whole():
    assert select_to_shorten(rounds(9000, 9000), 1000) == ()


def test_short_results_are_left_alone():
    assert select_to_shorten(rounds(KEEP, 9000, 9000, 9000), 20_000) == ("c1",)


def test_shortening_keeps_the_head_and_says_what_is_missing():
    shorter = shorten_results(rounds(5000, 300, 10), ("c0", "c1"))
    first, second, third = [message.parts[0] for message in shorter if message.role == "tools"]
    assert first.content.startswith("x" * KEEP)
    assert f"{5000 - KEEP} characters" in first.content
    assert second.content == "x" * 300
    assert third.content == "x" * 10


@given(st.lists(st.integers(0, 3000), max_size=8), st.integers(2000, 20_000))
def test_a_persons_words_are_never_touched_and_every_call_keeps_its_result(sizes, window):
    history = rounds(*sizes)
    shorter = shorten_results(history, select_to_shorten(history, window))
    assert [message for message in shorter if message.role == "person"] == [person_message("Find it.")]
    assert [part.call_id for message in shorter for part in message.parts if isinstance(part, Result)] == [
        f"c{number}" for number in range(len(sizes))
    ]
    assert shorter.size <= history.size + 0


SHOWN = Media("image/png", "hash", 9)


def with_images(*counts: int) -> History:
    messages = [person_message("Look.")]
    for number, count in enumerate(counts):
        messages.append(Message("model", (Call(f"c{number}", "look", {}),)))
        messages.append(Message("tools", (Result(f"c{number}", "look", "seen", media=(SHOWN,) * count),)))
    return History(messages)


def test_images_of_old_results_go_too():
    history = with_images(1, 0, 2, 1, 1)
    chosen = select_to_shorten(history, 20_000)
    assert chosen == ("c0", "c2")
    shorter = shorten_results(history, chosen)
    assert shorter.size < 20_000
    results = [message.parts[0] for message in shorter if message.role == "tools"]
    assert [len(result.media) for result in results] == [0, 0, 0, 1, 1]
    assert results[2].content == "seen\n[… 2 images or files of this earlier result left out to save room]"
    assert results[1].content == "seen"


def test_a_long_result_with_an_image_loses_both():
    history = History([Message("tools", (Result("c", "look", "x" * 5000, media=(SHOWN,)),))])
    (result,) = shorten_results(history, ("c",))[0].parts
    assert (result.media, "4800 characters" in result.content, "1 images or files" in result.content) == ((), True, True)


def test_text_of_the_model_stays():
    history = History([person_message("a"), Message("model", (Text("b"),))])
    assert shorten_results(history, ("c0",)) == history


def test_the_window_follows_from_what_the_model_can_read():
    assert history_window(None, 100) is None
    assert history_window(8000, 2000) == 21_000
    assert history_window(1000, 2000) == 2000
