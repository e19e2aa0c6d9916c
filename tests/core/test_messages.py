"""Messages, and the history they make."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.calls import Call, Media, Opaque, Result
from treadle.core.messages import MEDIA_SIZE, History, Message, Text, Thinking, message_size, person_message, text_of


def test_the_words_of_a_reply_leave_out_everything_else():
    assert text_of((Thinking("hm"), Text("a"), Call("1", "t", {}), Text("b"))) == "ab"


def test_words_on_both_sides_of_an_image_do_not_run_into_each_other():
    image = Media("image/png", "hash", 9)
    assert Message("person", (Text("Compare"), image, Text("with"), image)).text == "Compare with"
    assert Message("person", (Text("a"), Text("b"))).text == "ab"


def test_the_size_counts_what_a_model_has_to_read():
    assert message_size(Message("model", (Text("abc"), Thinking("de"), Call("1", "tool", {})))) == 3 + 2 + 4 + 2
    assert message_size(Message("tools", (Result("1", "tool", "four"),))) == 4
    assert message_size(Message("model", (Opaque("responses", "{}"),))) == 2


def test_a_picture_counts_the_same_whatever_its_bytes():
    picture = Media("image/png", "ab" * 32, 9_000_000, "plan.png")
    assert message_size(Message("person", (Text("?"), picture))) == 1 + MEDIA_SIZE
    assert message_size(Message("tools", (Result("1", "draw", "done", media=(picture, picture)),))) == 4 + 2 * MEDIA_SIZE


def test_media_are_called_what_models_call_them():
    kinds = {kind: Media(kind, "", 0).kind for kind in ("image/png", "audio/wav", "application/pdf", "text/plain")}
    assert kinds == {"image/png": "image", "audio/wav": "audio", "application/pdf": "document", "text/plain": "document"}
    assert [Media("image/png", "", 0, name).label for name in ("plan.png", "")] == ["[image plan.png]", "[image image/png]"]
    assert message_size(Message("person", (Media("image/png", "hash", 9), Media("text/plain", "hash", 70_000)))) == 5_000 + 70_000


def test_a_longer_history_leaves_the_shorter_one_as_it_was():
    short = History([person_message("a")])
    long = short.plus(person_message("b"))
    assert [list(short), list(long)] == [[person_message("a")], [person_message("a"), person_message("b")]]
    assert (len(short), len(long), short.size, long.size) == (1, 2, 1, 2)


def test_two_ways_on_from_one_history_do_not_mix():
    base = History([person_message("a")])
    left, right = base.plus(person_message("l")), base.plus(person_message("r"))
    assert [message.parts[0].text for message in left] == ["a", "l"]
    assert [message.parts[0].text for message in right] == ["a", "r"]


def test_each_message_is_encoded_once():
    seen = []

    def encode(message):
        seen.append(message)
        return message.parts[0].text.encode()

    history = History([person_message("a")])
    for word in "bcd":
        history.encode("wire", encode)
        history = history.plus(person_message(word))
    assert history.encode("wire", encode) == b"a,b,c,d"
    assert len(seen) == 4


def test_a_shorter_history_is_encoded_afresh():
    short = History([person_message("a")])
    long = short.plus(person_message("b"))
    encode = lambda message: message.parts[0].text.encode()  # noqa: E731
    assert long.encode("wire", encode) == b"a,b"
    assert short.encode("wire", encode) == b"a"
    assert long.encode("wire", encode) == b"a,b"


def test_a_message_that_encodes_to_nothing_leaves_no_comma():
    encode = lambda message: b"" if message.parts[0].text == "-" else message.parts[0].text.encode()  # noqa: E731
    assert (
        History([person_message("-"), person_message("a"), person_message("-"), person_message("b")]).encode("wire", encode)
        == b"a,b"
    )


def test_a_message_that_could_not_be_encoded_is_encoded_again_and_those_before_it_are_not():
    missing = ["b"]

    def encode(message):
        if (text := message.parts[0].text) in missing:
            raise FileNotFoundError(text)
        return text.encode()

    history = History([person_message("a"), person_message("b")])
    with pytest.raises(FileNotFoundError):
        history.encode("wire", encode)
    missing.clear()
    assert history.encode("wire", encode) == b"a,b"


def test_a_wire_joins_messages_in_its_own_way():
    def join(buffer, added):
        buffer[-1:] = b"+" + added

    history = History([person_message("a"), person_message("b")])
    encode = lambda message: message.parts[0].text.encode() + b"."  # noqa: E731
    assert bytes(history.encode_joined("joined", encode, join).buffer) == b"+a+b."
    assert bytes(history.plus(person_message("c")).encode_joined("joined", encode, join).buffer) == b"+a+b+c."


def test_histories_are_values():
    assert History([person_message("a")]) == History([person_message("a")])
    assert History([person_message("a")]) != History([person_message("b")])
    assert History() != "history"
    assert hash(History([person_message("a")])) == hash(History([person_message("a")]))
    assert History([person_message("a"), person_message("b")])[1] == person_message("b")
    assert list(History([person_message("a"), person_message("b")])[:1]) == [person_message("a")]
    assert "person" in repr(History([person_message("a")]))


@given(st.lists(st.text(), max_size=20))
def test_a_history_grown_step_by_step_equals_one_made_at_once(words):
    grown = History()
    for word in words:
        grown = grown.plus(person_message(word))
    assert grown == History([person_message(word) for word in words])
    assert grown.size == sum(len(word) for word in words)


def test_each_message_is_retold_once():
    seen = []

    def shout(message):
        seen.append(message)
        return person_message(message.parts[0].text.upper())

    history = History([person_message("a")])
    for word in "bcd":
        history.convert("loud", shout)
        history = history.plus(person_message(word))
    assert [message.parts[0].text for message in history.convert("loud", shout)] == ["A", "B", "C", "D"]
    assert len(seen) == 4


def test_a_shorter_history_is_retold_afresh():
    short = History([person_message("a")])
    long = short.plus(person_message("b"))
    shout = lambda message: person_message(message.parts[0].text.upper())  # noqa: E731
    assert len(long.convert("loud", shout)) == 2
    assert [message.parts[0].text for message in short.convert("loud", shout)] == ["A"]
    assert len(long.convert("loud", shout)) == 2


def test_a_history_in_which_no_message_differs_is_its_own_conversion():
    shout = lambda message: person_message(message.parts[0].text.upper())  # noqa: E731
    loud = History([person_message("A")])
    assert loud.convert("loud", shout) is loud
    longer = loud.plus(person_message("B"))
    assert longer.convert("loud", shout) is longer
    assert loud.convert("loud", shout) is loud
    mixed = longer.plus(person_message("c"))
    assert [message.parts[0].text for message in mixed.convert("loud", shout)] == ["A", "B", "C"]
    assert [message.parts[0].text for message in mixed.plus(person_message("d")).convert("loud", shout)] == ["A", "B", "C", "D"]


def test_the_first_message():
    assert History().first is None
    assert History([person_message("a"), person_message("b")]).first == person_message("a")


def test_a_message_has_its_words_without_thinking_calls_and_results():
    parts = (Thinking("hm"), Text("Yes, "), Call("1", "stock", {}), Text("40."), Result("1", "stock", "40"))
    assert Message("model", parts).text == "Yes, 40."
    assert Message("tools", (Result("1", "stock", "40"),)).text == ""
