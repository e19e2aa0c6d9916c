"""What a run's result says, and what it raises where there is no answer."""

import asyncio
import logging
from dataclasses import dataclass

import pytest

from treadle import Agent, RunFailed, RunWaiting, ToolProblem, allow, tool
from treadle.agent.session import result_from_journal
from treadle.core.errors import ModelRefused
from treadle.errors import LimitReached, RunCancelled, RunStopped
from treadle.events import CallStarted, PathStep, RunEnded, TextArrived
from treadle.loop.limits import Limits
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted, calls


@dataclass
class Order:
    item: str
    count: int


ORDER = calls(("order", {"item": "nuts", "count": 3}))


@tool
async def order(item: str, count: int) -> str:
    """Order."""
    return f"ordered {count} {item}"


@tool(effect="read")
async def look(at: int = 1) -> str:
    """Look."""
    return f"at {at}"


@tool(effect="read")
async def stumble() -> str:
    """Stumble."""
    raise KeyError("where the author looks")


def run(*replies, tools=(order, look, stumble), run_id="r", **settings):
    return Agent(Scripted(*replies), tools=tools, **settings).run_sync("Go.", run_id=run_id)


# a run that waits


def test_the_output_of_a_run_that_waits_says_which_call_does_and_how_to_allow_it():
    result = run(ORDER, "done")
    with pytest.raises(RunWaiting) as raised:
        _ = result.output
    call_id = result.approvals[0].call_id
    assert str(raised.value) == (
        "The run waits for a person's approval of order(item='nuts', count=3). If order only reads, declare it with "
        '`@tool(effect="read")`; or allow it with `policy=[allow("order")]`. To be asked, pass `approver=`, or answer with '
        f"`agent.approve('r', '{call_id}')` or `agent.deny('r', '{call_id}')`; `agent.resume('r')` then continues."
    )
    assert raised.value.result is result
    assert (result.output_or_none, result.answer_at_limit) == (None, None)


def test_of_several_calls_that_wait_the_first_is_named_and_the_others_are_counted():
    several = calls(*[("order", {"item": name, "count": 1}) for name in "abc"])
    with pytest.raises(RunWaiting, match=r"order\(item='a', count=1\) and 2 more calls\. If"):
        _ = run(several, "done").output
    with pytest.raises(RunWaiting, match=r"order\(item='a', count=1\) and 1 more call\. If"):
        _ = run(calls(*[("order", {"item": name, "count": 1}) for name in "ab"]), "done").output


def test_long_arguments_are_shortened_and_secrets_masked():
    secret = "sk-proj-" + "a1B2" * 12
    with pytest.raises(RunWaiting, match=r"order\(item='x{54}… \(\d+ characters\)\)"):
        _ = run(calls(("order", {"item": "x" * 900, "count": 1})), "done").output
    with pytest.raises(RunWaiting) as raised:
        _ = run(calls(("order", {"count": 1, "item": secret})), "done").output
    assert secret not in str(raised.value)


def test_a_result_that_was_read_from_the_journal_says_how_to_list_what_waits():
    result = result_from_journal("r", run(ORDER, "done").entries)
    with pytest.raises(RunWaiting, match=r"A user must approve a call\. `await agent\.approvals\('r'\)` lists what waits"):
        _ = result.output


def test_a_typed_output_that_was_read_from_the_journal_is_as_it_was_journaled():
    result = run(calls(("give_answer", {"item": "nuts", "count": 3})), output_type=Order)
    assert result.output == Order("nuts", 3)
    assert result_from_journal("r", result.entries).output == {"item": "nuts", "count": 3}


# a run that stopped at a limit


def test_the_output_of_a_run_at_a_limit_says_which_limit_and_what_the_model_answered_by_then():
    result = run(calls(("look", {})), "So far: 1.", limits=Limits(rounds=1))
    with pytest.raises(LimitReached) as raised:
        _ = result.output
    assert str(raised.value) == (
        "The run stopped at the limit of 1 round before it had its answer; raise it with `limits=Limits(rounds=…)`. "
        "What the model answered by then is `result.answer_at_limit`."
    )
    assert (result.answer_at_limit, result.text, result.output_or_none) == ("So far: 1.", "So far: 1.", None)
    assert (result.limit, result.reason) == ("rounds", "the limit of 1 round")


def test_the_engine_never_speaks_for_a_model_that_said_nothing():
    result = run(calls(("look", {})), "", "", limits=Limits(rounds=1))
    assert (result.stopped, result.text, result.answer_at_limit) == ("limit", "", None)
    assert result_from_journal("r", result.entries).answer_at_limit is None
    assert result.message == "The run stopped at the limit of 1 round before it had an answer."
    with pytest.raises(LimitReached, match=r"raise it with `limits=Limits\(rounds=…\)`\.$"):
        _ = result.output


def test_a_repeated_call_that_is_refused_is_a_limit_too():
    limits = Limits(nudge_at=2, refuse_at=2)
    result = run(*[calls(("look", {}))] * 2, "I give up.", limits=limits)
    assert (result.stopped, result.limit) == ("limit", "refuse_at")
    with pytest.raises(LimitReached, match=r"limits=Limits\(refuse_at=…\)"):
        _ = result.output


def test_a_nested_agent_that_reached_a_limit_without_words_says_so_to_the_agent_around_it():
    inner = Agent(Scripted(calls(("look", {})), "", ""), tools=[look], name="inner", limits=Limits(rounds=1))
    outer = Agent(Scripted(calls(("inner", {"prompt": "Look."})), "done"), tools=[inner.as_tool()])
    (record,) = outer.run_sync("Go.").calls
    assert record.result.content == "The run stopped at the limit of 1 round before it had an answer."


def test_what_a_nested_agent_answered_at_a_limit_is_its_result():
    inner = Agent(
        Scripted(calls(("look", {})), '{"value": [1]}'), tools=[look], name="inner", limits=Limits(rounds=1), output_type=list[int]
    )
    outer = Agent(Scripted(calls(("inner", {"prompt": "Look."})), "done"), tools=[inner.as_tool()])
    (record,) = outer.run_sync("Go.").calls
    assert (record.problem, record.result.data) == (None, [1])


# the other ends


def test_the_output_of_a_failed_run_is_its_reason_and_all_of_these_are_one_family():
    with pytest.raises(RunFailed, match=r"^The key is wrong\.$"):
        _ = run(ModelRefused("The key is wrong.")).output
    assert {error.__base__ for error in (RunWaiting, LimitReached, RunCancelled, RunFailed)} == {RunStopped}


def test_the_output_of_a_cancelled_run_raises():
    async def tale():
        begun = asyncio.Event()

        @tool(effect="read")
        async def wait() -> str:
            """Wait."""
            begun.set()
            await asyncio.Event().wait()
            return ""

        agent = Agent(Scripted(calls(("wait", {}), text="I wait.")), tools=[wait])
        running = asyncio.ensure_future(agent.run("Go.", run_id="r"))
        await begun.wait()
        await agent.cancel("r")
        return await running

    result = asyncio.run(tale())
    with pytest.raises(RunCancelled, match=r"The run was cancelled\."):
        _ = result.output
    assert result.output_or_none is None


@pytest.mark.parametrize(
    ("replies", "settings", "message"),
    [
        (["Fine."], {}, "Fine."),
        ([ModelRefused("No key.")], {}, "No key."),
        ([ORDER], {}, "A user must approve a call."),
        ([calls(("look", {}), text="Hm."), "", ""], {"limits": Limits(rounds=1)}, "Hm."),
    ],
)
def test_there_is_always_something_to_show_a_person(replies, settings, message):
    assert run(*replies, **settings).message == message


def test_a_run_that_failed_is_in_the_log_although_nobody_looks_at_it(caplog):
    run(ModelRefused("The key is wrong."), name="shop")
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("treadle", logging.ERROR)
    assert record.getMessage() == "Run r of shop with scripted failed: The key is wrong."


# calls


def test_a_call_shows_the_arguments_that_ran_and_those_that_were_requested():
    async def tale():
        journal, agent = MemoryJournal(), Agent(Scripted(ORDER, "done"), tools=[order])
        waiting = await agent.run("Go.", run_id="r", journal=journal)
        (approval,) = waiting.approvals
        await agent.approve("r", approval.call_id, arguments={"item": "nuts", "count": 1}, journal=journal)
        return await agent.resume("r", journal=journal)

    (record,) = asyncio.run(tale()).calls
    assert (record.arguments, record.requested) == ({"item": "nuts", "count": 1}, {"item": "nuts", "count": 3})
    assert record.result.content == "ordered 1 nuts"


def test_a_call_that_nobody_edited_was_requested_as_it_ran():
    (record,) = run(calls(("look", {"at": 2})), "done").calls
    assert record.arguments == record.requested == {"at": 2}


# exceptions in tools


def test_an_exception_in_a_tool_is_logged_once_with_its_traceback(caplog):
    result = run(calls(("stumble", {})), "Sorry.")
    assert (result.output, result.calls[0].problem) == ("Sorry.", "raised")
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("treadle", logging.ERROR)
    first, *trace = record.getMessage().splitlines()
    assert first == "Tool stumble failed in run r: KeyError: 'where the author looks'"
    assert any("in stumble" in line for line in trace)


def test_a_test_can_have_exceptions_in_tools_raised():
    with pytest.raises(KeyError, match="where the author looks"):
        run(calls(("stumble", {}), ("look", {})), "Sorry.", raise_tool_errors=True)
    inner = Agent(Scripted(calls(("stumble", {})), "Sorry."), tools=[stumble], name="inner")
    with pytest.raises(KeyError, match="where the author looks"):
        run(calls(("inner", {"prompt": "Go."})), "Sorry.", tools=[inner.as_tool()], raise_tool_errors=True)


def test_a_problem_that_a_tool_describes_to_the_model_is_never_raised():
    @tool(effect="read")
    async def closed() -> str:
        """Ask."""
        raise ToolProblem("It is closed.")

    assert run(calls(("closed", {})), "Sorry.", tools=[closed], raise_tool_errors=True).output == "Sorry."


# nested agents


def test_events_of_nested_agents_have_the_path_to_them():
    deepest = Agent(Scripted(calls(("look", {})), "Deep."), tools=[look], name="deepest")
    middle = Agent(Scripted(calls(("deepest", {"prompt": "Look."})), "Mid."), tools=[deepest.as_tool()], name="middle")
    outer = Agent(Scripted(calls(("middle", {"prompt": "Look."})), "Out."), tools=[middle.as_tool()], policy=[allow("*")])
    events = []
    result = outer.run_sync("Go.", run_id="r", watchers=[events.append])
    (call,) = result.calls
    said = {event.text: event.path for event in events if isinstance(event, TextArrived)}
    (first,) = said["Mid."]
    assert (said["Out."], first) == ((), PathStep("r", call.call.id, "middle"))
    (started,) = [event for event in events if isinstance(event, CallStarted) and event.call.name == "deepest"]
    assert said["Deep."] == (first, PathStep(started.run_id, started.call.id, "deepest"))
    assert [len(event.path) for event in events if isinstance(event, RunEnded)] == [2, 1, 0]
