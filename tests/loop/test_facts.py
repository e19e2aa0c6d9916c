"""What a run says in figures."""

from itertools import chain

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from treadle.core.calls import Allow, Ask, Call, Deny, Result, Written
from treadle.core.entries import (
    Approved,
    Called,
    Finished,
    Forked,
    Judged,
    Noted,
    Opened,
    Previewed,
    Refused,
    Replied,
    Resumed,
    Returned,
    Said,
    Settled,
    Shortened,
    Started,
    Unclear,
)
from treadle.core.messages import Text
from treadle.core.requests import Usage
from treadle.loop.facts import LONGEST_NAME, CallFact, FoldState, RequestFact, fold_facts

OPENED = Opened(agent="clerk", model="m", user="ann", at=1.0)


def facts(*entries, nested=()):
    return fold_facts(FoldState(), [OPENED, *entries], nested)[1]


def calls(*entries, nested=()):
    return [fact for fact in facts(*entries, nested=nested) if isinstance(fact, CallFact)]


def requests(*entries, nested=()):
    return [fact for fact in facts(*entries, nested=nested) if isinstance(fact, RequestFact)]


def replied(*ids, tokens=0, at=2.0, **more):
    usage = {} if more.get("more") else {"usage": Usage(requests=1, input_tokens=tokens)}
    return Replied(parts=tuple([Written(each, "look", "{}") for each in ids]), at=at, **usage, **more)


def judged(call_id, verdict=None, name="look", at=3.0):
    return Judged(call=Call(call_id, name, {}), verdict=verdict or Allow(), at=at)


def came(call_id, problem=None, at=4.0, **more):
    return Returned(result=Result(call_id, "look", "5", problem), at=at, **more)


# calls


def test_a_call_that_came_back_is_a_fact():
    (fact,) = calls(replied("c1", tokens=70), judged("c1"), Started(call_id="c1"), came("c1", seconds=0.5))
    assert fact == CallFact(4.0, "look", None, False, 0.5, 70)


def test_a_call_that_is_not_over_is_none_yet():
    assert calls(replied("c1"), judged("c1", Ask()), Previewed(call_id="c1"), Approved(call_id="c1")) == []


def test_a_call_that_may_not_run_is_over_at_once_and_took_no_time():
    (fact,) = calls(replied("c1"), judged("c1", Deny(problem="unknown_tool"), "lok"))
    assert fact == CallFact(3.0, "lok", "unknown_tool")


def test_a_call_that_a_person_refused_is_denied_once():
    (fact,) = calls(replied("c1"), judged("c1", Ask()), Refused(call_id="c1", at=9.0), came("c1", "cancelled"))
    assert (fact.at, fact.problem, fact.tool) == (9.0, "denied", "look")


def test_what_a_person_says_became_of_a_call_is_a_fact_and_one_that_is_tried_again_is_not_over():
    def unclear(said, *more):
        begun = [judged("c1"), Started(call_id="c1"), Unclear(call_id="c1"), Settled(call_id="c1", said=said, at=9.0)]
        return [(fact.at, fact.problem, fact.seconds) for fact in calls(replied("c1"), *begun, *more)]

    assert unclear("happened") == [(9.0, None, None)]
    assert unclear("not_happened") == [(9.0, "interrupted", None)]
    assert unclear("again") == []
    assert unclear("again", came("c1", seconds=0.5)) == [(4.0, None, 0.5)]


def test_what_the_cache_had_or_nobody_carried_out_has_no_duration():
    found = calls(replied("c1", "c2"), judged("c1"), judged("c2"), came("c1", seconds=0.2, cached=True), came("c2", "interrupted"))
    assert [(fact.cached, fact.seconds) for fact in found] == [(True, None), (False, None)]


def test_a_name_that_a_model_made_up_is_not_kept_whole():
    (fact,) = calls(replied("c1"), judged("c1", Deny(problem="unknown_tool"), "x" * 5000))
    assert fact.tool == "x" * LONGEST_NAME


def test_what_comes_back_of_calls_that_nobody_asked_for_does_not_count():
    assert facts(judged("c9", Deny()), came("c9", usage=Usage(requests=1)), Refused(call_id="c9")) == []


def test_calls_in_an_answer_without_tools_do_not_count():
    assert calls(replied("c1", last=True), came("c1")) == []


def test_a_call_that_a_tool_asked_for_counts_and_shares_no_request():
    within = Called(call=Call("c1.1", "look", {}), within="c1")
    found = calls(replied("c1", tokens=10), judged("c1"), within, judged("c1.1"), came("c1.1"), came("c1"))
    assert [fact.tokens for fact in found] == [0, 10]


def test_what_a_tool_asked_for_and_never_got_is_forgotten_with_its_round():
    within = Called(call=Call("c1.1", "look", {}), within="c1")
    round_ = (replied("c1"), judged("c1"), within, judged("c1.1", Ask()), came("c1"))
    assert fold_facts(FoldState(), round_)[0].pending.keys() == {"c1.1"}
    assert fold_facts(FoldState(), [*round_, replied("c2")])[0].pending.keys() == {"c2"}


# tokens


def test_a_request_is_shared_among_the_calls_that_its_reply_asked_for_to_the_last_token():
    found = calls(
        replied("c1", "c2", "c3", tokens=100), judged("c1"), judged("c2"), judged("c3"), came("c3"), came("c1"), came("c2")
    )
    assert [fact.tokens for fact in found] == [34, 33, 33]


def test_a_call_that_came_back_before_its_reply_was_over_waits_for_its_share():
    early = (replied("c1", more=True), judged("c1"), came("c1"))
    assert facts(*early) == []
    found = calls(*early, replied("c2", tokens=9), judged("c2"), came("c2"))
    assert [(fact.at, fact.tokens) for fact in found] == [(4.0, 4), (4.0, 5)]


def test_what_an_agent_spent_that_was_asked_counts_with_its_own_run_and_is_told_of_the_call():
    spent = Usage(requests=2, input_tokens=30, output_tokens=3)
    asked = (replied("c1", tokens=5), judged("c1"), came("c1", usage=spent))
    assert [fact.usage.total_tokens for fact in requests(*asked, nested={"c1"})] == [5]
    assert [fact.inner_tokens for fact in calls(*asked, nested={"c1"})] == [33]


def test_a_summary_of_a_large_result_has_no_run_of_its_own_and_counts_here():
    asked = (replied("c1", tokens=5), judged("c1"), came("c1", usage=Usage(requests=1, input_tokens=30)))
    assert [fact.usage.total_tokens for fact in requests(*asked)] == [5, 30]


def test_requests_that_brought_nothing_count():
    wasted = Usage(requests=3, cost=0.5)
    found = requests(Noted(text="", usage=wasted, at=5.0), Noted(text="a note"), Finished(stopped="failed", usage=wasted, at=6.0))
    assert found == [RequestFact(5.0, wasted), RequestFact(6.0, wasted)]


# runs


def test_it_is_known_whose_run_it_is():
    carried, _ = fold_facts(FoldState(), [OPENED, Said(text="x"), Shortened(call_ids=()), Resumed()])
    assert carried == FoldState(4, "clerk", "m", "ann", 1.0)


def test_what_was_copied_into_a_fork_counts_where_it_happened():
    copied = (replied("c1", "c2", tokens=10), judged("c1"), judged("c2"), came("c1"))
    fork = (*copied, Forked(run_id="r1", entries=4, at=50.0))
    assert facts(*fork) == []
    assert facts(*fork, came("c2", at=51.0)) == [CallFact(51.0, "look")]
    assert fold_facts(FoldState(), [OPENED, *fork])[0].opened_at == 50.0


def test_a_fork_in_the_middle_of_a_reply_does_not_count_what_came_back_before_it():
    copied = (replied("c1", "c2", more=True), judged("c1"), came("c1"), Forked(run_id="r1", entries=3))
    closed = Replied(parts=(), finish="broken")
    assert [fact.tool for fact in calls(*copied, closed, judged("c2"), came("c2"))] == ["look"]


# whatever happens

PROBLEMS = [None, "raised", "timeout", "invalid", "cancelled"]


@st.composite
def rounds(draw, number):
    """A round whose calls are judged, denied, refused and carried out in any order, some of them while the reply is coming."""
    ids = [f"c{number}_{place}" for place in range(draw(st.integers(0, 4)))]
    early = draw(st.integers(0, len(ids)))
    first = [replied(*ids[:early], more=True)] if early else []
    last = replied(*ids[early:], tokens=draw(st.integers(0, 1000)))
    handled = [[judged(each, draw(st.sampled_from([Allow(), Ask(), Deny()]))), *_ending(draw, each)] for each in ids]
    before = draw(st.integers(0, early))
    return [*first, *chain(*handled[:before]), last, *chain(*draw(st.permutations(handled[before:])))]


def _ending(draw, call_id):
    back = came(call_id, draw(st.sampled_from(PROBLEMS)), seconds=draw(st.floats(0, 9)), cached=draw(st.booleans()))
    return draw(st.sampled_from([[back], [Refused(call_id=call_id)], []]))


@st.composite
def journals(draw):
    entries = [OPENED]
    for number in range(draw(st.integers(0, 4))):
        entries += [Said(text="?"), *draw(rounds(number))]
    return [*entries, Replied(parts=(Text("!"),), usage=Usage(requests=1, output_tokens=7)), Finished(stopped="answered")]


@given(journals())
def test_every_call_that_is_over_counts_once_and_tokens_add_up(entries):
    _, found = fold_facts(FoldState(), entries)
    over = {entry.result.call_id for entry in entries if isinstance(entry, Returned)}
    over |= {entry.call_id for entry in entries if isinstance(entry, Refused)}
    over |= {entry.call.id for entry in entries if isinstance(entry, Judged) and isinstance(entry.verdict, Deny)}
    counted = [fact for fact in found if isinstance(fact, CallFact)]
    assert len(counted) == len(over)
    asked = sum(entry.usage.total_tokens for entry in entries if isinstance(entry, Replied) and _asks(entries, entry))
    shared = sum(fact.tokens for fact in counted)
    assert shared <= asked
    if over == {part.id for entry in entries if isinstance(entry, Replied) for part in entry.parts if isinstance(part, Written)}:
        assert shared == asked
    assert sum(fact.usage.total_tokens for fact in found if isinstance(fact, RequestFact)) == sum(
        entry.usage.total_tokens for entry in entries if isinstance(entry, Replied)
    )


def _asks(entries, reply):
    """Whether a reply, with the pieces before it, asks for calls."""
    place = next(at for at, entry in enumerate(entries) if entry is reply)
    while True:
        if any(isinstance(part, Written) for part in entries[place].parts):
            return True
        before = [at for at, entry in enumerate(entries[:place]) if isinstance(entry, Replied)]
        if not before or not entries[before[-1]].more:
            return False
        place = before[-1]


@given(journals(), st.data())
def test_folding_in_pieces_is_folding_at_once_also_when_what_is_carried_was_on_disk(entries, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(entries)), max_size=6)))
    carried, found = FoldState(), []
    for start, end in zip([0, *cuts], [*cuts, len(entries)], strict=True):
        carried, more = fold_facts(msgspec.msgpack.decode(msgspec.msgpack.encode(carried), type=FoldState), entries[start:end])
        found += more
    assert (carried, found) == fold_facts(FoldState(), entries)
