"""Journals told as events."""

import asyncio

import pytest
from msgspec.structs import replace

from treadle import Agent, tool
from treadle.core.calls import Allow, Ask, Call, Deny, Result, Written
from treadle.core.entries import (
    Approved,
    Called,
    Finished,
    Forked,
    Informed,
    Judged,
    Noted,
    Opened,
    Previewed,
    Refused,
    Replied,
    Resumed,
    Returned,
    Said,
    Shortened,
    Started,
    UngroundedValue,
)
from treadle.core.events import ContextLoaded, ContextSource
from treadle.core.messages import ContextItem, Text, Thinking
from treadle.core.requests import ToolDecision, Usage
from treadle.guard.policy import digest_arguments
from treadle.server.runs.events import MAX_CONTENT
from treadle.server.runs.replay import all_events, events_from_journal, find_pending_approvals, reply_from_journal
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted, calls

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


def names(events):
    return [event.__struct_config__.tag for event in events]


def journal(*entries):
    """With a time for each."""
    return {"r": [_at(entry, float(number)) for number, entry in enumerate((Opened(agent="rivers", model="m"), *entries))]}


def _at(entry, at):
    return replace(entry, at=at)


def asked(*ids, **more):
    return Replied(parts=tuple([Written(each, "look", "{}") for each in ids]), usage=Usage(requests=1), **more)


def judged(call_id, verdict=Allow(), **arguments):  # noqa: B008 - a value
    return Judged(call=Call(call_id, "look", arguments), verdict=verdict)


def returned(call_id, content="seen", problem=None):
    return Returned(result=Result(call_id, "look", content, problem), seconds=0.5)


def test_a_reply_in_pieces_is_one_reply():
    events = events_from_journal(
        "r",
        journal(
            Said(text="x"),
            Replied(parts=(Thinking("Hm."), Text("I look."), Written("c1", "look", "{}")), more=True),
            judged("c1"),
            Replied(parts=(Text("And wait."),), usage=Usage(requests=1, input_tokens=3)),
            returned("c1"),
        ),
    )
    assert names(events) == [
        *("run_started", "said", "model_asked", "thinking_arrived", "text_arrived", "call_arrived", "call_judged"),
        *("text_arrived", "reply_arrived", "call_started", "call_returned"),
    ]
    assert (events[2].round, events[2].model) == (1, "m")
    assert events[8].usage.input_tokens == 3


def test_a_call_began_when_its_journal_says():
    calls = [asked("c1", "c2"), judged("c1"), judged("c2"), Started(call_id="c1"), returned("c1"), returned("c2")]
    events = events_from_journal("r", journal(Said(text="x"), *calls))  # an entry a second; each call took half a second
    assert [(event.call.id, event.at) for event in events if names([event]) == ["call_started"]] == [("c1", 5.0), ("c2", 6.5)]


def test_secrets_among_arguments_are_masked():
    events = events_from_journal(
        "r", journal(Said(text="x"), asked("c1"), judged("c1", token=SECRET), Started(call_id="c1"), returned("c1"))
    )
    assert SECRET not in str(events)
    assert [event.call.arguments for event in events if hasattr(event, "call")] == [{"token": "[redacted:token]"}] * 2


def test_results_that_are_too_large_are_cut_and_say_so():
    (event,) = events_from_journal(
        "r", journal(Said(text="x"), asked("c1"), judged("c1"), returned("c1", "y" * (MAX_CONTENT + 1234)))
    )[-1:]
    assert event.result.content.endswith("[… 1,234 more characters aren't shown …]")
    assert len(event.result.content) < MAX_CONTENT + 100


def test_a_call_that_never_ran_never_began():
    for verdict, ending in (
        (Deny(reason="No."), []),
        (Ask(), [Refused(call_id="c1", reason="No.")]),
        (Allow(), [returned("c1", problem="cancelled")]),
    ):
        events = events_from_journal("r", journal(Said(text="x"), asked("c1"), judged("c1", verdict), *ending))
        assert "call_started" not in names(events)
        assert names(events).count("call_returned") == len(ending)


def test_an_answer_to_a_call_that_is_over_tells_nothing():
    late = [Refused(call_id="c1"), Refused(call_id="never"), Started(call_id="never")]
    events = events_from_journal("r", journal(Said(text="x"), asked("c1", "c2"), judged("c1"), returned("c1"), *late))
    assert names(events).count("call_returned") == 1


def test_what_waits_is_asked_with_its_digest_and_its_preview():
    journals = journal(
        Said(text="x"),
        asked("c1", "c2"),
        judged("c1", Ask(reason="It is dear."), token=SECRET),
        judged("c2", Ask()),
        Previewed(call_id="c1", text="-1 €"),
        Finished(stopped="waiting"),
    )
    events = all_events("r", journals)
    needed = [event for event in events if names([event]) == ["approval_needed"]]
    assert [(event.call.id, event.reason, event.preview) for event in needed] == [("c1", "It is dear.", "-1 €"), ("c2", "", "")]
    assert needed[0].digest == digest_arguments({"token": SECRET})
    assert SECRET not in str(events)
    assert [approval.arguments for approval in find_pending_approvals(journals)] == [{"token": SECRET}, {}]
    reply = events[-1]
    assert (reply.stopped, [approval.call_id for approval in reply.approvals]) == ("waiting", ["c1", "c2"])
    assert reply.approvals[0].expires_at - reply.approvals[0].asked_at == 7 * 24 * 3600


def test_every_turn_ends_and_the_last_one_ends_all():
    turn = [
        Said(text="x"),
        Replied(parts=(Text("y"),), usage=Usage(requests=1, input_tokens=5, cost=0.5)),
        Finished(stopped="answered", text="y"),
    ]
    journals = journal(*turn, *turn, Forked(run_id="other", entries=6))
    assert names(events_from_journal("r", journals)).count("run_ended") == 2
    events = all_events("r", journals)
    assert (names(events).count("run_ended"), names(events).count("reply"), names(events)[-1]) == (1, 1, "reply")
    assert (events[-1].tokens_used, events[-1].cost, events[-1].seconds) == (5, 0.5, 2.0)


def test_what_is_answered_after_a_turn_ended_comes_before_the_reply():
    events = all_events(
        "r",
        journal(
            Said(text="x"),
            asked("c1", "c2"),
            judged("c1", Ask()),
            judged("c2", Ask()),
            Finished(stopped="waiting"),
            Refused(call_id="c1", reason="No."),
            Approved(call_id="c2"),
        ),
    )
    assert names(events)[-2:] == ["call_returned", "reply"]
    assert (events[-1].stopped, events[-1].approvals) == ("waiting", ())


def test_a_decision_against_calling_and_an_answer_that_is_asked_for_again_are_told():
    doubtful = (UngroundedValue(0, 2, "17", "number"),)
    decided = Replied(parts=(Text("17"),), usage=Usage(requests=1), decision=ToolDecision(0.34, called=False))
    finished = Finished(stopped="answered", text="17", ungrounded=doubtful)
    journals = journal(Said(text="x"), decided, Noted(text="n", ungrounded=doubtful), replace(decided, decision=None), finished)
    events = all_events("r", journals)
    assert [name for name in names(events) if name in ("no_tool_fit", "answer_ungrounded")] == ["no_tool_fit", "answer_ungrounded"]
    assert (events[3].probability, events[6].values) == (0.34, doubtful)
    assert (events[-1].message, events[-1].ungrounded) == ("17", doubtful)


def test_what_no_event_tells_of_is_not_told():
    silent = [
        Noted(text="n"),
        Informed(agent="a"),
        Shortened(call_ids=()),
        Called(call=Call("c1.1", "look", {}), within="c1"),
        Resumed(),
    ]
    assert names(events_from_journal("r", journal(Said(text="x"), *silent))) == ["run_started", "said", "run_started"]


def test_a_run_without_its_beginning_is_told_as_far_as_it_goes():
    assert names(events_from_journal("r", {"r": [Said(text="x"), Replied(parts=(Text("y"),))]})) == [
        *("run_started", "said", "model_asked", "text_arrived", "reply_arrived")
    ]


def nested(inner_from=3.5):
    inner = [
        Opened(agent="helper", parent="r", at=inner_from),
        Said(text="Look there.", at=inner_from),
        Replied(parts=(Text("There."),), at=inner_from + 0.1),
        Finished(stopped="answered", text="There.", at=inner_from + 0.2),
    ]
    outer = journal(
        Said(text="x"), asked("c1"), judged("c1"), returned("c1"), Replied(parts=(Text("y"),)), Finished(stopped="answered")
    )
    return {**outer, "r.c1": inner, "r.c9": inner}


def test_runs_inside_are_told_where_they_happened():
    events = events_from_journal("r", nested())
    inside = [event.run_id for event in events]
    assert "r.c9" not in inside  # nobody called it
    assert inside.index("r.c1") < names(events).index("call_returned")
    assert names([event for event in events if event.run_id == "r.c1"]) == [
        *("run_started", "model_asked", "text_arrived", "reply_arrived", "run_ended")
    ]


@pytest.mark.parametrize("position", range(8))
def test_the_first_entries_tell_the_beginning_of_what_all_tell(position):
    events = events_from_journal("r", nested())
    assert events_from_journal("r", nested(), position) == events[: len(events_from_journal("r", nested(), position))]


def test_how_a_run_stands_is_its_last_word():
    journals = journal(Said(text="x"))
    assert (reply_from_journal("r", journals).stopped, reply_from_journal("r", journals).approvals) == ("open", ())
    failed = journal(Said(text="x"), Finished(stopped="failed", reason="No."))
    assert (reply_from_journal("r", failed).stopped, reply_from_journal("r", failed).reason) == ("failed", "No.")


def test_events_of_nested_agents_have_the_path_that_they_had_when_they_were_published():
    @tool(effect="read")
    async def look() -> str:
        """Look."""
        return "5"

    async def tale():
        journal, live = MemoryJournal(), []
        inner = Agent(Scripted(calls(("look", {})), "Looked."), tools=[look], name="inner")
        middle = Agent(Scripted(calls(("inner", {"prompt": "Look."})), "Asked."), tools=[inner.as_tool()], name="middle")
        outer = Agent(Scripted(calls(("middle", {"prompt": "Ask."})), "Done."), tools=[middle.as_tool()])
        await outer.run("Go.", run_id="r", journal=journal, watchers=[live.append])
        return live, {each: await journal.read(each) for each in ("r", *await journal.children("r"))}

    live, journals = asyncio.run(tale())
    told = {(event.run_id, event.path) for event in live}
    assert len(told) == 3
    assert {(event.run_id, getattr(event, "path", ())) for event in events_from_journal("r", journals)} == told


def test_context_that_was_loaded_is_an_event_with_its_sources():
    informed = Informed(agent="a", items=(ContextItem("AGENTS.md", "Use tabs.", untrusted=True),))
    (loaded,) = [event for event in events_from_journal("r", journal(Said(text="x"), informed)) if isinstance(event, ContextLoaded)]
    assert loaded.sources == (ContextSource("AGENTS.md", 9, untrusted=True),)
