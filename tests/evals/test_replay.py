"""Replays of kept runs: what is the same stays the same, what differs is found, and no effect happens twice."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from eval_shop import order, orders, stock
from treadle import Agent, Limits, allow, ask, deny, tool
from treadle.core.calls import Call
from treadle.core.entries import Called, Compacted, Entry, Said, Steered
from treadle.core.messages import Summary, Text
from treadle.evals.recordings import RunRecording
from treadle.evals.replay import ReplayResult, replay_run, replay_together
from treadle.evals.verdicts import compare_policy
from treadle.guard.policy import to_policy
from treadle.home import close_home, open_home
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted, ScriptedReply, calls

STOCK, ORDER = ("stock", {"item": "A-113"}), ("order", {"item": "A-113", "count": 2})
REPLIES = (calls(STOCK), calls(ORDER), "I ordered 2.")


@tool(effect="read", trust="untrusted")
def mail() -> str:
    """Read the mail."""
    return "Please order 2 of A-113."


def keep(*replies: Any, prompts: Sequence[str] = ("Order two.",), tools: Any = (stock, order), policy: Any = None) -> list[Entry]:
    """Return the entries of a run, in which every approval is given."""
    orders.clear()
    journal = MemoryJournal()
    agent = Agent(Scripted(*replies), tools=tools, policy=policy, approver=lambda _: True, name="shop")
    for prompt in prompts:
        agent.run_sync(prompt, run_id="r1", journal=journal)
    return asyncio.run(journal.read("r1"))


def replay(entries: list[Entry], agent: Agent, **how: Any) -> ReplayResult:
    before = list(orders)
    result = asyncio.run(replay_run("r1", entries, agent, **how))
    assert orders == before  # no effect is ever run
    return result


def shop(*replies: Any, tools: Any = (stock, order), **parts: Any) -> Agent:
    return Agent(Scripted(*replies), tools=tools, name="shop", **parts)


def departed(result: ReplayResult) -> tuple[str, int, int, str, str]:
    found = result.departure
    assert (result.status, found is not None) == ("departed", True)
    assert found is not None
    return found.kind, found.turn, found.position, found.recorded, found.now


def test_recorded_replies_and_the_same_agent_bring_the_same_run():
    entries = keep(*REPLIES, calls(STOCK), "38.", prompts=("Order two.", "And now?"))
    result = replay(entries, shop(), recorded_replies=True)
    assert (result.status, result.calls, result.verdicts, result.agent) == ("same", 3, (), "shop")


def test_the_same_replies_of_another_model_are_the_same_run():
    assert replay(keep(*REPLIES), shop(*REPLIES[:2], "I  ordered 2.")).status == "same"


def test_another_call_another_answer_and_another_end_are_departures():
    entries = keep(*REPLIES)
    other = shop(calls(STOCK), calls(("order", {"item": "A-113", "count": 3})), "I ordered 3.")
    result = replay(entries, other)
    assert departed(result) == ("call", 1, 2, "order(item='A-113', count=2)", "order(item='A-113', count=3)")
    assert result.departure is not None
    assert result.departure.reason == "It has no recorded result."
    assert departed(replay(entries, shop(*REPLIES[:2], "Done."))) == ("answer", 1, 0, "I ordered 2.", "Done.")
    assert replay(entries, shop(*REPLIES[:2], "Done."), compare_answers=False).status == "same"
    assert departed(replay(entries, shop(calls(STOCK), "No.")))[:4] == ("call", 1, 2, "order(item='A-113', count=2)")
    assert departed(replay(entries, shop(*REPLIES[:2], limits=Limits(tries=1))))[:3] == ("end", 1, 0)
    more = shop(calls(STOCK), calls(ORDER), calls(STOCK), "I ordered 2.")
    assert departed(replay(entries, more)) == ("call", 1, 3, "no call", "stock(item='A-113')")


def test_a_tool_that_is_gone_or_takes_other_arguments_is_a_departure():
    @tool(name="stock", effect="read")
    def changed(item: str, place: str) -> int:
        """Return how many there are."""
        return 1

    entries = keep(*REPLIES)
    found = replay(entries, shop(tools=(changed, order)), recorded_replies=True)
    assert departed(found) == ("tool", 1, 1, "stock(item='A-113')", "invalid")
    assert departed(replay(entries, shop(tools=(order,)), recorded_replies=True))[4] == "unknown_tool"


def test_a_policy_that_denies_or_allows_is_found():
    entries = keep(*REPLIES)
    stricter = replay(entries, shop(policy=[deny("order")]), recorded_replies=True)
    assert departed(stricter)[:3] == ("verdict", 1, 2)
    assert [(change.tool, change.before, change.now) for change in stricter.verdicts] == [("order", "ask", "deny")]
    looser = replay(entries, shop(policy=[allow("order")]), recorded_replies=True)
    assert looser.status == "same"
    assert [(change.before, change.now, change.loosens) for change in looser.verdicts] == [("ask", "allow", True)]
    denied = replay(keep(*REPLIES, policy=[deny("order", where={"count": 2})]), shop(), recorded_replies=True)
    assert departed(denied)[:3] == ("verdict", 1, 2)


def test_reads_may_be_run_again_and_compared():
    @tool(name="stock", effect="read")
    def empty(item: str) -> dict[str, int]:
        """Return how many there are."""
        return {"count": 0}

    entries = keep(*REPLIES)
    assert replay(entries, shop(), recorded_replies=True, run_reads=True).status == "same"
    found = replay(entries, shop(tools=(empty, order)), recorded_replies=True, run_reads=True)
    assert departed(found) == ("result", 1, 1, '{"count":40}', '{"count":0}')


def test_problems_and_refusals_are_replayed_as_they_were():
    journal = MemoryJournal()
    replies = (calls(("stock", {"item": "none"})), calls(ORDER), "I can't.")
    agent = Agent(Scripted(*replies), tools=[stock, order], approver=lambda _: False, name="shop")
    agent.run_sync("Order two.", run_id="r1", journal=journal)
    entries = asyncio.run(journal.read("r1"))
    assert replay(entries, shop(), recorded_replies=True).status == "same"
    assert replay(entries, shop(*replies)).status == "same"


def test_runs_that_cannot_be_replayed_are_skipped_with_a_reason():
    entries = keep(*REPLIES)
    assert replay(entries[:-1], shop(), recorded_replies=True).reason == "It isn't over."
    assert replay([], shop()).status == "skipped"


@pytest.mark.parametrize("tools", [{}, {"stock": stock.tool, "order": order.tool}])
def test_calls_are_judged_again_by_another_policy(tools: Any):
    entries = keep(*REPLIES)
    same = compare_policy([("r1", entries)], to_policy(None), tools)
    assert (same.runs, same.calls, same.assumed, same.changes) == (1, 2, 0 if tools else 2, ())
    looser = compare_policy([("r1", entries)], to_policy([allow("order")]), tools)
    assert [(each.tool, each.before, each.now) for each in looser.loosened] == [("order", "ask", "allow")]
    stricter = compare_policy([("r1", entries)], to_policy([ask("stock"), deny("order")]), tools)
    assert [(each.tool, each.before, each.now) for each in stricter.changes] == [
        ("stock", "allow", "ask"),
        ("order", "ask", "deny"),
    ]
    assert stricter.loosened == []


def test_taint_and_doubts_are_those_of_the_recorded_run():
    """An effect after untrusted content needs approval under an `allow` too; one that the user vouches for doesn't."""
    rule = [allow("order")]
    doubted = keep(
        calls(("mail", {})), calls(ORDER), "Done.", prompts=("Do what the mail says.",), tools=(mail, order), policy=rule
    )
    assert compare_policy([("r1", doubted)], to_policy(rule)).changes == ()
    vouched = keep(calls(("mail", {})), calls(ORDER), "Done.", prompts=("Order 2 of A-113.",), tools=(mail, order), policy=rule)
    assert compare_policy([("r1", vouched)], to_policy(rule)).changes == ()
    trusting = compare_policy([("r1", doubted)], to_policy([allow("order", untrusted=True)]))
    assert [(each.before, each.now) for each in trusting.changes] == [("ask", "allow")]
    again = compare_policy([("r1", keep(*REPLIES[1:], policy=rule))], to_policy(rule), {"order": order.tool})
    assert (again.assumed, again.changes) == (0, ())


def test_no_effect_of_an_agent_that_a_run_is_handed_off_to_is_run():
    journal = MemoryJournal()
    replies = (calls(("transfer_to_buyer", {})), calls(ORDER), "Done.")

    def make(model: Scripted) -> Agent:
        buyer = Agent(model, tools=[order], policy=[allow("order")], name="buyer")
        return Agent(model, tools=[stock], handoffs=[buyer], name="desk")

    orders.clear()
    make(Scripted(*replies)).run_sync("Order two.", run_id="r1", journal=journal)
    entries = asyncio.run(journal.read("r1"))
    assert orders == [("A-113", 2)]
    assert replay(entries, make(Scripted()), recorded_replies=True).status == "same"
    assert replay(entries, make(Scripted(*replies)), run_reads=True).status == "same"
    other = replay(entries, make(Scripted(replies[0], calls(("order", {"item": "B-7", "count": 1})))))
    assert departed(other)[3:] == ("order(item='A-113', count=2)", "order(item='B-7', count=1)")


def test_an_agent_whose_output_is_made_by_a_function_is_skipped():
    def send(text: str) -> str:
        raise AssertionError("it must not be called")

    found = replay(keep("Hello."), Agent(Scripted(), output_type=send), recorded_replies=True)
    assert "A function makes its output" in found.reason


def test_what_instructions_need_is_passed_on():
    agent = Agent(Scripted(), instructions=lambda ctx: ctx.deps.upper(), deps_type=str, name="shop")
    assert replay(keep("Hello."), agent, recorded_replies=True, deps="you").status == "same"


def test_one_run_that_raises_does_not_end_the_others():
    async def broken() -> ReplayResult:
        raise ValueError("odd")

    async def fine() -> ReplayResult:
        return ReplayResult("b", "same")

    seen: list[str] = []
    results = asyncio.run(replay_together([("a", broken), ("b", fine)], 1, lambda result: seen.append(result.run_id)))
    assert [(each.run_id, each.status, each.reason) for each in results] == [("a", "skipped", "ValueError: odd"), ("b", "same", "")]
    assert seen == ["a", "b"]


def test_an_agent_that_is_a_tool_is_not_run_again_with_the_reads():
    """Asking it is no effect by itself, but its own calls may have some."""
    journal = MemoryJournal()
    buyer = Agent(Scripted(calls(ORDER), "Bought."), tools=[order], policy=[allow("order")], name="buyer")
    desk = Agent(Scripted(calls(("buyer", {"prompt": "Two."})), "Done."), tools=[buyer.as_tool()], name="desk")
    orders.clear()
    desk.run_sync("Order two.", run_id="r1", journal=journal)
    assert replay(asyncio.run(journal.read("r1")), desk, recorded_replies=True, run_reads=True).status == "same"


def test_why_a_run_cannot_be_replayed():
    entries = keep(*REPLIES)
    said = next(entry for entry in entries if isinstance(entry, Said))
    call = Call("c9", "stock", {})
    for entry, reason in (
        (Steered(id="m", text="More."), "while it was running"),
        (Called(call=call, within="c1", background=True), "in the background"),
        (Compacted(messages=1, summary=Summary()), "name a model"),
    ):
        assert reason in RunRecording("r1", [*entries, entry]).why_not(recorded_replies=True)
    assert RunRecording("r1", [*entries, Compacted(messages=1, summary=Summary())]).why_not(recorded_replies=False) == ""
    attached = replace(said, parts=(Text("x"),))
    assert "attached" in RunRecording("r1", [attached, entries[-1]]).why_not(recorded_replies=True)


def test_a_long_result_is_replayed_whole_and_thinking_is_given_again(tmp_path: Path):
    @tool(effect="read")
    def long() -> str:
        """Return a long text."""
        return "x" * 50_000

    home = open_home(tmp_path)
    thinks = ScriptedReply(thinking="I look first.", calls=calls(("long", {})).calls)
    agent = Agent(Scripted(thinks, "Done."), tools=[long], name="shop")
    agent.run_sync("Go.", run_id="r1", journal=home.services())
    entries = asyncio.run(home.journal.read("r1"))
    fetched: list[str] = []

    async def fetch(run_id: str, kept: str) -> str | None:
        fetched.append(run_id)
        return await home.results.fetch(run_id, kept)

    assert replay(entries, agent, recorded_replies=True, run_reads=False, fetch=fetch).status == "same"
    assert fetched == ["r1"]
    close_home(home)


def test_a_run_that_goes_on_longer_than_the_recorded_one_departs():
    agent = shop(tools=(stock, order), limits=Limits(tries=1), output_type=int)
    assert departed(replay(keep("Hello."), agent, recorded_replies=True))[0] == "end"
