"""Hand-offs: another agent goes on with the same conversation."""

import asyncio

import pytest

from treadle import Agent, Limits, RunContext, ask, deny, tool
from treadle.core.events import RunEnded
from treadle.core.requests import Usage
from treadle.engine.setup import Answer
from treadle.errors import SettingsError
from treadle.guard.redaction import Redactor
from treadle.models.scripted import ScriptedReply, calls
from treadle.steps import RequestStep
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted


@tool
async def refund(ctx: RunContext[str], amount: int) -> str:
    """Refund."""
    return f"{amount} refunded by {ctx.deps}"


@tool(effect="read")
async def find_order() -> str:
    """Find."""
    return "Order 7"


def pair(triage_says, billing_says, *, triage=None, billing=None):
    """An agent, and another one that it can hand off to; with their models."""
    first, second = Scripted(*triage_says, name="first"), Scripted(*billing_says, name="second")
    other = Agent(second, name="billing", instructions="You do the bills.", tools=[refund], **(billing or {}))
    agent = Agent(first, name="triage", instructions="You sort.", tools=[find_order], handoffs=[other], **(triage or {}))
    return agent, first, second


TRANSFER = calls(("transfer_to_billing", {}), text="One moment.")


def test_the_other_agent_goes_on_with_the_conversation_in_the_same_run():
    agent, first, second = pair([TRANSFER], ["Paid."])
    result = agent.run_sync("I was charged twice.")
    assert (result.output, result.agent, len(first.requests)) == ("Paid.", "billing", 1)
    assert [spec.name for spec in first.requests[0].tools] == ["find_order", "transfer_to_billing"]
    request = second.requests[0]
    assert (request.instructions, [spec.name for spec in request.tools]) == ("You do the bills.", ["refund"])
    assert [message.role for message in request.history] == ["person", "model", "tools"]
    assert request.history[-1].parts[0].content == "The conversation goes on with billing."
    assert [record.model for record in result.requests] == ["first", "second"]


def test_it_stays_with_the_conversation_in_the_next_turn_and_after_a_restart():
    async def tale():
        journal = MemoryJournal()
        await pair([TRANSFER], ["Paid."])[0].run("I was charged twice.", run_id="r", journal=journal)
        agent, first, second = pair([], ["You are welcome."])
        result = await agent.run("Thanks.", run_id="r", journal=journal)
        return result, first, second

    result, first, second = asyncio.run(tale())
    assert (result.output, result.agent, first.requests) == ("You are welcome.", "billing", [])
    assert len(second.requests[0].history) == 5


def test_a_run_whose_process_died_at_any_entry_goes_on_with_the_right_agent():
    async def tale():
        journal = MemoryJournal()
        agent, *_ = pair([calls(("find_order", {}), ("transfer_to_billing", {}))], ["Paid."])
        whole = await agent.run("I was charged twice.", run_id="r", journal=journal)
        for at in range(2, len(whole.entries)):
            agent, _, second = pair([calls(("find_order", {}), ("transfer_to_billing", {}))], ["Paid."])
            await agent.fork("r", at, new_id=f"r{at}", journal=journal)
            result = await agent.resume(f"r{at}", journal=journal)
            assert (result.output, result.agent) == ("Paid.", "billing"), at
            assert list(result.history) == list(whole.history), at
            assert len(second.requests) == (at < len(whole.entries) - 1), at

    asyncio.run(tale())


def test_an_approval_of_the_other_agent_can_be_answered_and_resumed():
    async def tale():
        journal = MemoryJournal()
        says = [TRANSFER], [calls(("refund", {"amount": 5})), "Done."]
        agent, *_ = pair(*says, billing={"policy": [ask("refund")]})
        waiting = await agent.run("Go.", run_id="r", journal=journal)
        assert waiting.stopped == "waiting"
        agent, *_ = pair([], ["Done."], billing={"policy": [ask("refund")]})
        call_id = waiting.approvals[0].call_id
        with pytest.raises(Exception, match="amount"):
            await agent.answer("r", call_id, Answer(True, arguments={"amount": "much"}), journal=journal)
        await agent.approve("r", call_id, arguments={"amount": 4}, journal=journal)
        return await agent.resume("r", journal=journal, deps="Ann")

    result = asyncio.run(tale())
    assert (result.output, result.calls[-1].result.content) == ("Done.", "4 refunded by Ann")


def test_policies_are_each_agents_own_and_the_limits_are_the_turns():
    agent, *_ = pair([TRANSFER, "I stay."], [], triage={"policy": [deny("transfer_to_*")]})
    result = agent.run_sync("Go.")
    assert (result.output, result.agent) == ("I stay.", "triage")
    limited = {"triage": {"limits": Limits(rounds=2)}, "billing": {"policy": [deny("refund")], "limits": Limits(rounds=99)}}
    agent, _, second = pair([TRANSFER], [calls(("refund", {"amount": 5})), "Enough."], **limited)
    result = agent.run_sync("Go.")
    assert (result.stopped, result.reason, len(second.requests)) == ("limit", "the limit of 2 rounds", 2)


def test_money_is_counted_after_a_hand_off_too():
    usage = Usage(1, 0, 100_000, 1000)
    first = Scripted(ScriptedReply(calls=TRANSFER.calls, usage=usage), name="openai:gpt-4o-mini")
    second = Scripted(ScriptedReply("Paid.", usage=usage), name="openai:gpt-4o-mini")
    result = Agent(first, name="triage", limits=Limits(cost=1), handoffs=[Agent(second, name="billing")]).run_sync("Go.")
    assert [record.cost for record in result.requests] == [pytest.approx(result.cost / 2)] * 2
    with pytest.raises(SettingsError, match="price of plugin:x isn't known"):
        Agent(first, name="triage", limits=Limits(cost=1), handoffs=[Agent(Scripted(name="plugin:x"), name="billing")])


def test_only_one_agent_goes_on_and_the_first_that_was_called_does():
    sales = Agent(Scripted("Buy!"), name="sales").as_handoff("to_sales", "For buyers.")
    billing = Agent(Scripted("Paid."), name="billing")
    model = Scripted(calls(("transfer_to_billing", {}), ("to_sales", {})))
    result = Agent(model, name="triage", handoffs=[billing, sales]).run_sync("Go.")
    assert (result.output, result.calls[1].result.problem) == ("Paid.", "denied")
    assert model.requests[0].tools[1].description == "For buyers."


def test_agents_hand_off_further_and_each_has_its_own_output_type_and_overrides():
    last = Agent(Scripted("real"), name="last one", output_type=int)
    middle = Agent(Scripted(calls(("transfer_to_last_one", {}))), name="middle", handoffs=[last])
    agent = Agent(Scripted(calls(("transfer_to_middle", {}))), name="first", handoffs=[middle])
    with last.override(model=Scripted(calls(("give_answer", {"value": 7})))):
        result = agent.run_sync("Go.")
    assert (result.output, result.agent) == (7, "last one")


def test_secrets_of_either_agent_are_redacted():
    secret, other = "first-agents-secret", "other-agents-secret"
    redactors = {"triage": {"redactor": Redactor(known_secrets=[secret])}, "billing": {"redactor": Redactor(known_secrets=[other])}}

    @tool(effect="read")
    async def leak() -> str:
        """Leak."""
        return f"{secret} {other}"

    agent, _, second = pair([TRANSFER], [calls(("leak", {})), "Hm."], **redactors)
    with_leak = Agent(second, name="billing", tools=[leak], **redactors["billing"])
    agent = Agent(Scripted(TRANSFER), name="triage", handoffs=[with_leak], **redactors["triage"])
    shown = agent.run_sync("Go.").calls[-1].result.content
    assert (secret in shown, other in shown) == (False, False)


def test_steps_and_events_are_those_of_one_run():
    async def tale():
        agent, *_ = pair([TRANSFER], ["Paid."])
        async with agent.iter("Go.") as steps:
            asked = [(step.agent, step.round) async for step in steps if isinstance(step, RequestStep)]
        agent, *_ = pair([TRANSFER], ["Paid."])
        return asked, [event async for event in agent.stream("Go.") if isinstance(event, RunEnded)]

    asked, ended = asyncio.run(tale())
    assert asked == [("triage", 1), ("billing", 2)]
    assert [event.result.output for event in ended] == ["Paid."]


def test_an_agent_that_is_gone_or_named_twice_is_said():
    async def tale():
        journal = MemoryJournal()
        await pair([TRANSFER], ["Paid."])[0].run("Go.", run_id="r", journal=journal)
        await Agent(Scripted("a"), name="triage").run("Go.", run_id="r", journal=journal)

    with pytest.raises(SettingsError, match="handed off to billing"):
        asyncio.run(tale())
    with pytest.raises(SettingsError, match="called agent"):
        Agent(Scripted("a"), handoffs=[Agent(Scripted("b"))])
