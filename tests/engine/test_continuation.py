"""Answers and calls that are cut at the model's output limit are continued, not asked for again."""

import asyncio

import pytest

from treadle import Agent, Limits, Options, allow, tool
from treadle.core.entries import Judged, Replied, Returned, Started
from treadle.core.events import TextArrived
from treadle.models.scripted import Scripted, ScriptedCall, ScriptedReply, calls
from treadle.stores.memory import MemoryJournal

PART = "The first thing to know about bread is that it is made of flour, water, salt and ti"
REST = "made of flour, water, salt and time. It needs a warm oven, too."
WHOLE = "The first thing to know about bread is that it is made of flour, water, salt and time. It needs a warm oven, too."
LINES = "".join([f"line {number} of the file\n" for number in range(40)])


def cut(text):
    return ScriptedReply(text=text, finish="length")


def test_an_answer_is_continued_and_joined():
    model = Scripted(cut(PART), REST)
    result = asyncio.run(Agent(model).run("Tell me about bread."))
    assert result.output == WHOLE
    assert [message.role for message in model.requests[1].history] == ["person", "model"]
    assert model.requests[1].history[-1].text == PART
    assert "salt and ti" in model.requests[1].note
    assert [message.text for message in result.history] == ["Tell me about bread.", WHOLE]


def test_the_stream_has_every_word_once():
    agent = Agent(Scripted(cut(PART), REST, chunk=7))

    async def listen():
        return [event.text async for event in agent.stream("Tell me.") if isinstance(event, TextArrived)]

    assert "".join(asyncio.run(listen())) == WHOLE


def test_a_cut_at_the_users_own_max_tokens_is_the_answer():
    result = asyncio.run(Agent(Scripted(cut(PART)), options=Options(max_tokens=20)).run("Tell me."))
    assert result.output == PART
    assert result.truncated


def test_an_answer_that_stays_cut_is_taken_after_the_limit_and_says_so():
    model = Scripted(*[cut(f"part {number} of it, ") for number in range(3)])
    result = asyncio.run(Agent(model, limits=Limits(continuations=2)).run("Tell me."))
    assert result.output == "part 0 of it, part 1 of it, part 2 of it,"
    assert result.truncated
    assert not asyncio.run(Agent(Scripted("Done.")).run("Tell me.")).truncated


def test_thinking_between_the_parts_does_no_harm():
    model = Scripted(cut(PART), ScriptedReply(thinking="Where was I?", text=REST))
    assert asyncio.run(Agent(model).run("Tell me.")).output == WHOLE


written: list[tuple[str, str]] = []


@tool
def write(path: str, content: str, mode: str = "w") -> str:
    """Write a file."""
    written.append((path, content))
    return f"wrote {len(content)} characters"


@pytest.fixture(autouse=True)
def _clean():
    written.clear()


def cut_call(text: str, name: str = "write"):
    return ScriptedReply(calls=(ScriptedCall(name, text),), finish="length")


def escaped(text: str) -> str:
    return text.replace("\n", "\\n")


def test_a_call_that_is_cut_is_sent_in_two_parts_and_made_once():
    begun = '{"path": "a.txt", "content": "' + escaped(LINES[:400])
    model = Scripted(cut_call(begun), calls(("continue_call", {"rest": LINES[380:]})), "Written.")
    result = asyncio.run(Agent(model, tools=[write], policy=[allow("*")]).run("Write it."))
    assert result.output == "Written."
    assert written == [("a.txt", LINES)]
    assert "continue_call" not in [spec.name for spec in model.requests[0].tools]
    assert "continue_call" in [spec.name for spec in model.requests[1].tools]
    assert "continue_call" not in [spec.name for spec in model.requests[2].tools]
    judged = [entry for entry in result.entries if isinstance(entry, Judged)]
    assert [entry.call.name for entry in judged] == ["write", "write"]
    assert judged[1].call.arguments == {"path": "a.txt", "content": LINES}


def test_a_rest_that_is_cut_again_goes_on_from_there():
    begun = '{"path": "a.txt", "content": "' + escaped(LINES[:300])
    more = '{"rest": "' + escaped(LINES[280:600])
    model = Scripted(cut_call(begun), cut_call(more, "continue_call"), calls(("continue_call", {"rest": LINES[580:]})), "Written.")
    asyncio.run(Agent(model, tools=[write], policy=[allow("*")]).run("Write it."))
    assert written == [("a.txt", LINES)]


def test_arguments_after_the_value_come_with_the_rest():
    begun = '{"content": "' + escaped(LINES[:400])
    model = Scripted(cut_call(begun), calls(("continue_call", {"rest": LINES[380:], "arguments": {"path": "b.txt"}})), "Written.")
    asyncio.run(Agent(model, tools=[write], policy=[allow("*")]).run("Write it."))
    assert written == [("b.txt", LINES)]


def test_a_joined_call_that_is_invalid_is_not_made():
    begun = '{"content": "' + escaped(LINES[:400])
    model = Scripted(cut_call(begun), calls(("continue_call", {"rest": LINES[380:]})), "I gave up.")
    result = asyncio.run(Agent(model, tools=[write], policy=[allow("*")]).run("Write it."))
    assert written == []
    assert "path" in result.calls[-1].result.content


def test_a_short_call_is_sent_again():
    model = Scripted(cut_call('{"path": "a.t'), calls(("write", {"path": "a.txt", "content": "x"})), "Written.")
    asyncio.run(Agent(model, tools=[write], policy=[allow("*")]).run("Write it."))
    assert written == [("a.txt", "x")]
    assert "continue_call" not in [spec.name for spec in model.requests[1].tools]


@pytest.mark.parametrize("arguments", [{}, {"rest": 5}, "[]"])
def test_a_continuation_without_a_rest_says_what_it_needs(arguments):
    begun = '{"path": "a.txt", "content": "' + escaped(LINES[:400])
    model = Scripted(cut_call(begun), calls(("continue_call", arguments)), "I gave up.")
    result = asyncio.run(Agent(model, tools=[write], policy=[allow("*")]).run("Write it."))
    assert "needs the rest" in result.calls[-1].result.content
    assert written == []


def test_a_continuation_of_nothing_is_refused():
    model = Scripted(calls(("continue_call", {"rest": "more"})), "Oh.")
    result = asyncio.run(Agent(model, tools=[write], policy=[allow("*")]).run("Write it."))
    assert "no call to continue" in result.calls[-1].result.content


def test_a_joined_call_waits_for_approval_like_any_other():
    begun = '{"path": "a.txt", "content": "' + escaped(LINES[:400])
    model = Scripted(cut_call(begun), calls(("continue_call", {"rest": LINES[380:]})), "Written.")
    agent = Agent(model, tools=[write])
    result = asyncio.run(agent.run("Write it."))
    assert [(approval.name, approval.arguments["content"]) for approval in result.approvals] == [("write", LINES)]
    assert written == []


def test_killed_after_any_entry_the_rest_is_asked_for_and_calls_are_made_once():
    begun = '{"path": "a.txt", "content": "' + escaped(LINES[:400])
    script = (cut_call(begun), calls(("continue_call", {"rest": LINES[380:]})), cut(PART), REST)

    def go_on(journal, model, resumes):
        agent = Agent(model, tools=[write], policy=[allow("*")])
        return asyncio.run(agent.resume("r", journal=journal) if resumes else agent.run("Write it.", run_id="r", journal=journal))

    whole = go_on(MemoryJournal(), Scripted(*script), resumes=False)
    assert (whole.output, written) == (WHOLE, [("a.txt", LINES)])
    for kept in range(2, len(whole.entries)):
        journal, before = MemoryJournal(), whole.entries[:kept]
        if isinstance(before[-1], Started):  # a write that may have happened: a person is asked, as always
            continue
        journal.append("r", 0, before)
        replies = sum(isinstance(entry, Replied) for entry in before)
        is_written = any(isinstance(entry, Returned) and entry.result.name == "write" for entry in before)
        written.clear()
        resumed = go_on(journal, Scripted(*script[replies:]), resumes=True)
        assert (resumed.output, written) == (WHOLE, [] if is_written else [("a.txt", LINES)]), kept
