"""Compaction: which messages a summary stands for, and what it keeps."""

from hypothesis import given
from hypothesis import strategies as st

from treadle.core.calls import Allow, Call, Opaque, Result, Written
from treadle.core.entries import Compacted, Entry, Finished, Judged, Opened, Overflowed, Replied, Returned, Said, Shortened
from treadle.core.messages import History, Message, Summary, Text, person_message
from treadle.core.requests import Usage
from treadle.loop.compaction import (
    collect_said,
    compaction_notice,
    excerpts,
    outline,
    transcript_text,
)
from treadle.loop.decide import OVERFLOW, AskModel, Compact, Finish, Shorten, TurnTerms, decide
from treadle.loop.limits import Limits
from treadle.loop.state import RunState, apply_entry, replay
from treadle.loop.window import (
    CHARACTERS_PER_TOKEN,
    TAIL,
    compact_history,
    find_summary,
    measure_density,
    scale_window,
    select_prefix,
    select_to_shorten,
)

SUMMARY = Summary(("Find the leak.",), "It is in pool.py.")


def model_says(text: str) -> Message:
    return Message("model", (Text(text),))


def round_of(number: int, content: str = "x" * 100, path: str = "") -> list[Message]:
    call = Call(f"c{number}", "read_file", {"path": path or f"{number}.py"})
    return [Message("model", (call,)), Message("tools", (Result(call.id, call.name, content),))]


def conversation(turns: int, size: int = 300) -> History:
    said: list[Message] = []
    for number in range(turns):
        said += [person_message(f"question {number} " + "q" * size), model_says(f"answer {number} " + "a" * size)]
    return History([*said, person_message("and now?")])


# what is compacted


def test_the_oldest_messages_are_compacted_so_that_the_newest_fill_less_than_half_of_the_window():
    history = conversation(20)
    prefix = select_prefix(history, 6_000)
    assert prefix is not None
    rest = History(history[prefix.messages :])
    assert rest.size <= 6_000 * TAIL
    assert History(history[prefix.messages - 1 :]).size > 6_000 * TAIL


def test_a_cut_is_never_between_a_call_and_its_result():
    history = History([person_message("look"), *[message for n in range(20) for message in round_of(n, "x" * 500)]])
    prefix = select_prefix(history, 4_000)
    assert prefix is not None
    assert history[prefix.messages].role == "model"


def test_one_message_that_is_too_long_by_itself_cannot_be_compacted():
    assert select_prefix(History([person_message("x" * 10_000)]), 4_000) is None


def test_what_would_save_next_to_nothing_is_not_compacted():
    assert select_prefix(History([person_message("hello"), model_says("hi"), person_message("x" * 10_000)]), 4_000) is None


@given(st.lists(st.integers(1, 900), min_size=1, max_size=30), st.integers(1_000, 20_000))
def test_a_compacted_history_is_smaller_and_keeps_calls_with_their_results(sizes: list[int], window: int):
    messages = [message for number, size in enumerate(sizes) for message in round_of(number, "x" * size)]
    history = History([person_message("look"), *messages])
    prefix = select_prefix(history, window)
    if prefix is None:
        return
    old = history[: prefix.messages]
    summary = Summary(collect_said(old, prefix.said_size)[0], outline(old, prefix.notes_size))
    compacted = compact_history(history, prefix.messages, summary)
    assert compacted.size < history.size
    asked = [part.id for message in compacted for part in message.parts if isinstance(part, Call)]
    answered = [part.call_id for message in compacted for part in message.parts if isinstance(part, Result)]
    assert asked == answered
    assert compacted[0].role == "person"
    assert compacted[-1] == history[-1]


# what a summary is


def test_a_summary_joins_the_users_next_message_so_that_roles_still_alternate():
    compacted = compact_history(conversation(3), 6, SUMMARY)
    assert list(compacted) == [Message("person", (SUMMARY, Text("and now?")))]
    assert find_summary(compacted) is compacted[0].parts[0]
    assert find_summary(conversation(3)) is None
    assert find_summary(History()) is None


def test_in_the_middle_of_a_turn_a_summary_is_a_message_of_its_own():
    history = History([person_message("look"), *round_of(1), *round_of(2)])
    assert list(compact_history(history, 3, SUMMARY)) == [Message("person", (SUMMARY,)), *round_of(2)]


def test_a_summary_keeps_the_users_messages_in_their_own_words():
    assert collect_said(conversation(2, 0), 1_000) == (("question 0 ", "question 1 ", "and now?"), 0)


def test_of_too_many_messages_the_first_and_the_newest_are_kept():
    said, omitted = collect_said(conversation(50, 20), 300)
    assert said[0].startswith("question 0")
    assert said[-1] == "and now?"
    assert omitted == 51 - len(said) > 0
    assert sum(map(len, said)) <= 300
    text = Summary(said, "notes", omitted=omitted).text
    assert f"[… {omitted} left out]" in text
    assert "51. and now?" in text


def test_two_long_messages_fit_without_leaving_one_out():
    said = collect_said([person_message("a" * 900), person_message("b" * 500)], 1_000)
    assert said == (("a" * 222 + " […] " + "a" * 111, "b" * 500), 0)


def test_messages_that_were_compacted_before_are_kept_again():
    again = collect_said(compact_history(conversation(1, 0), 2, Summary(("Find the leak.",), "", omitted=4)), 1_000)
    assert again == (("Find the leak.", "and now?"), 4)


def test_an_outline_has_a_line_for_each_call_and_answer_the_newest_first_to_be_kept():
    history = [person_message("look"), *round_of(1, "not found"), Message("model", (Opaque("w", "{}"), Text("It is gone.")))]
    assert outline(history, 1_000).splitlines() == [
        "- called read_file {'path': '1.py'}",
        "result: not found",
        "- answered: It is gone.",
    ]
    assert outline(history, 40).splitlines() == ["[…]", "- answered: It is gone."]


def test_an_outline_goes_on_from_earlier_notes():
    history = compact_history(History([person_message("look"), *round_of(1)]), 1, SUMMARY)
    assert outline(history, 1_000).splitlines()[0] == "It is in pool.py."


def test_a_transcript_for_the_notes_is_shortened_to_what_a_model_can_read():
    history = compact_history(conversation(30), 2, SUMMARY)
    text = transcript_text(history, 8_000)
    assert text.startswith("Notes on what was before:\nIt is in pool.py.\n\nUser: question 1")
    assert len(text) < 10_000
    assert "Assistant: answer 29" in text


def test_excerpts_are_what_was_said_by_whom_in_pieces():
    messages = [person_message("find it"), *round_of(1, "y" * 15), model_says("done")]
    assert excerpts(messages, 10) == [
        "User: find it",
        "Call of read_file: {'path': '",
        "Call of read_file: 1.py'}",
        "Result of read_file: " + "y" * 10,
        "Result of read_file: " + "y" * 5,
        "Assistant: done",
    ]


def test_people_are_told_how_much_was_compacted_and_by_whom():
    by_model, outlined = Compacted(messages=12, summary=SUMMARY, model="m"), Compacted(messages=1, summary=SUMMARY)
    assert compaction_notice(by_model).endswith("notes by m in place of the first 12 messages.")
    assert compaction_notice(outlined).endswith("an outline in place of the first 1 message.")


# in a run

OPENED = Opened(agent="a", model="m")


def run_of(rounds: int, size: int = 400) -> list[Entry]:
    entries: list[Entry] = [OPENED, Said(text="look")]
    for number in range(rounds):
        call = Call(f"c{number}", "read_file", {"path": f"{number}.py"})
        entries += [
            Replied(parts=(Written(call.id, call.name, '{"path": "a"}'),), usage=Usage(requests=1)),
            Judged(call=call, verdict=Allow()),
            Returned(result=Result(call.id, call.name, "x" * size)),
        ]
    return entries


def test_results_are_shortened_before_anything_is_compacted():
    state = replay(run_of(20, 1_000))
    step = decide(state, TurnTerms(window=10_000))
    assert isinstance(step, Shorten)
    shortened = apply_entry(state, Shortened(call_ids=step.call_ids))
    assert isinstance(decide(shortened, TurnTerms(window=10_000)), AskModel)
    assert shortened.transcript == state.history


def test_what_is_still_too_long_is_compacted_and_the_transcript_keeps_it():
    state = replay(run_of(20))
    step = decide(state, TurnTerms(window=4_000))
    assert isinstance(step, Compact)
    compacted = apply_entry(state, Compacted(messages=step.prefix.messages, summary=SUMMARY, usage=Usage(requests=1)))
    assert compacted.history.size < 4_000
    assert compacted.transcript == state.history
    assert compacted.spent.usage.requests == 21
    more = replay([*run_of(1)[2:]], compacted)
    assert len(more.transcript) == len(state.transcript) + 2
    assert len(more.history) == len(compacted.history) + 2
    assert isinstance(decide(compacted, TurnTerms(window=4_000)), AskModel)


def test_a_request_that_was_refused_as_too_long_leads_to_compaction_although_the_window_is_not_known():
    state = apply_entry(replay(run_of(20)), Overflowed(size=8_000, reason="Too long.", usage=Usage(requests=1)))
    assert state.capacity == 4_800
    assert isinstance(decide(state, TurnTerms()), Compact)
    again = apply_entry(state, Overflowed(size=8_000))
    assert again.capacity == 2_880
    answered = apply_entry(again, Replied(parts=(Text("Done."),)))
    assert answered.overflowed == ""


def test_what_is_refused_and_cannot_be_compacted_fails_and_says_what_to_do():
    state = replay([OPENED, Said(text="x" * 9_000), Overflowed(size=9_000, reason="Too long.")])
    assert decide(state, TurnTerms()) == Finish("failed", reason=f"Too long. {OVERFLOW}")


def test_what_does_not_fit_by_our_own_estimate_is_sent_anyway():
    state = replay([OPENED, Said(text="x" * 9_000)])
    assert decide(state, TurnTerms(window=4_000)) == AskModel()


def test_after_the_last_round_the_answer_is_asked_for_in_a_window_that_it_fits():
    state = apply_entry(replay(run_of(20)), Overflowed(size=8_000, reason="Too long."))
    assert isinstance(decide(state, TurnTerms(limits=Limits(rounds=20))), Compact)


def test_the_answer_of_a_compacted_run_is_in_both_the_history_and_the_transcript():
    state = apply_entry(replay(run_of(20)), Compacted(messages=10, summary=SUMMARY))
    ended = replay([Replied(parts=(Text("Done."),)), Finished(stopped="answered"), Said(text="thanks")], state)
    assert ended.history[-2:] == ended.transcript[-2:]
    paused = replay([Replied(parts=(Text("Hm"),), finish="paused")], state)
    assert paused.history[-1] == paused.transcript[-1]


# how much fits


def of_size(size: int) -> History:
    return History([person_message("x" * size)])


def test_tokens_are_counted_as_the_server_counts_them():
    counted = Usage(requests=1, input_tokens=2_000)
    assert measure_density(of_size(4_000), counted) == 2.0
    assert measure_density(of_size(400_000), counted) == CHARACTERS_PER_TOKEN
    assert measure_density(of_size(100), counted) == 1.0


def test_a_count_of_several_tries_or_of_next_to_nothing_tells_nothing():
    assert measure_density(of_size(4_000), Usage(requests=2, input_tokens=2_000)) is None
    assert measure_density(of_size(4_000), Usage(requests=1, input_tokens=20)) is None
    assert measure_density(History(), Usage(requests=1, input_tokens=2_000)) is None


def test_dense_text_fills_the_window_sooner():
    state = apply_entry(replay(run_of(20)), Replied(parts=(Text(" "),), usage=Usage(requests=1, input_tokens=8_000)))
    assert state.density < 1.2
    assert isinstance(decide(state, TurnTerms(window=16_000)), Compact)
    assert isinstance(decide(RunState(), TurnTerms(window=16_000)), AskModel)


def test_the_window_is_the_smaller_of_what_is_known_and_what_was_refused():
    assert scale_window(None, 2.0, None) is None
    assert scale_window(3_500, 3.5, None) == 3_500
    assert scale_window(3_500, 1.75, 3_000) == 1_750
    assert scale_window(3_500, 3.5, 3_000) == 3_000
    assert scale_window(None, 3.5, 3_000) == 3_000


def test_results_that_were_superseded_by_the_same_call_are_shortened_first():
    old = [*round_of(1, "x" * 1_000, "a.py"), *round_of(2, "x" * 1_000, "b.py"), *round_of(3, "x" * 1_000, "b.py")]
    failed = [
        Message("model", (Call("c4", "read_file", {"path": "a.py"}),)),
        Message("tools", (Result("c4", "read_file", "no", "raised"),)),
    ]
    history = History([person_message("look"), *old, *failed, *round_of(5)])
    assert select_to_shorten(history, history.size - 1)[0] == "c2"


def test_earlier_notes_stay_whole_however_long_the_transcript_is():
    notes = "\n".join([f"The code of depot {number} is {number * 7919}." for number in range(60)])
    history = compact_history(conversation(60), 2, Summary(("Find the leak.",), notes))
    text = transcript_text(history, 8_000)
    assert notes in text
    assert "[…]" in text
