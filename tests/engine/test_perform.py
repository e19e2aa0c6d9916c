"""Tools that call other tools: same policy, journal and audit."""

import asyncio
import json
from typing import Literal

import pytest

from treadle import Agent, Answer, RunContext, allow, ask, deny, open_home, tool
from treadle.core.calls import Allow, Call, Written
from treadle.core.entries import Called, Judged, Opened, Replied, Returned, Said, Started
from treadle.models.scripted import calls
from treadle.stores.memory import MemoryJournal
from treadle.testing import Scripted

done: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done():
    done.clear()


@tool(effect="read")
async def price(item: str) -> float:
    """The price."""
    done.append(f"price {item}")
    return 2.5


@tool
async def pay(amount: float) -> str:
    """Pay."""
    done.append(f"pay {amount}")
    return f"paid {amount}"


@tool(effect="read", retry="idempotent")
async def buy(ctx: RunContext, item: str) -> str:
    """Look the price up and pay."""
    amount = await ctx.call("price", item=item)
    return await ctx.call("pay", amount=amount)


TOOLS = [price, pay, buy]


def test_inner_calls_are_journaled_and_audited_and_the_model_sees_one_result(tmp_path):
    async def tale():
        home = open_home(tmp_path)
        model = Scripted(calls(("buy", {"item": "tin"})), "bought")
        result = await Agent(model, tools=TOOLS, policy=[allow("*")]).run("Go.", run_id="r", journal=home.services())
        return result, model, await home.audit.records("r")

    result, model, records = asyncio.run(tale())
    assert [part.content for part in model.requests[1].history[-1].parts] == ["paid 2.5"]
    assert [(record.name, record.within) for record in result.calls] == [
        ("buy", ""),
        ("price", "call_1_1"),
        ("pay", "call_1_1"),
    ]
    assert [(link.record.tool_name, link.record.stage) for link in records] == [
        ("price", "ended"),
        ("pay", "begins"),
        ("pay", "ended"),
        ("buy", "ended"),
    ]
    assert [type(entry) for entry in result.entries if isinstance(entry, Called | Started)] == [Called, Called, Started]
    assert result.usage.calls == 3


def test_what_the_policy_denies_is_denied_inside_too():
    result = Agent(Scripted(calls(("buy", {"item": "tin"})), "no"), tools=TOOLS, policy=[allow("*"), deny("pay")]).run_sync("Go.")
    assert done == ["price tin"]
    assert result.calls[0].problem == "raised"


def test_an_approval_inside_surfaces_and_the_rest_is_not_done_twice():
    async def tale():
        agent = Agent(Scripted(calls(("buy", {"item": "tin"})), "bought"), tools=TOOLS)
        waiting = await agent.run("Go.")
        (approval,) = waiting.approvals
        assert (approval.name, approval.call_id) == ("pay", "call_1_1.2")
        await agent.approve(waiting.run_id, approval.call_id)
        return await agent.resume(waiting.run_id)

    assert asyncio.run(tale()).output == "bought"
    assert done == ["price tin", "pay 2.5"]


def test_an_approval_inside_a_tool_that_may_run_only_once_is_a_problem_for_the_model():
    @tool
    async def buy_once(ctx: RunContext) -> str:
        """Buy."""
        done.append("began")
        return await ctx.call("pay", amount=1.0)

    model = Scripted(calls(("buy_once", {})), "no")
    result = Agent(model, tools=[pay, buy_once], policy=[allow("buy_once")]).run_sync("Go.")
    assert result.output == "no"
    assert "call it directly" in result.calls[0].result.content
    assert done == ["began"]


def test_a_person_on_the_spot_can_approve_inside():
    model = Scripted(calls(("buy", {"item": "tin"})), "bought")
    assert Agent(model, tools=TOOLS, approver=lambda approval: True).run_sync("Go.").output == "bought"
    assert done == ["price tin", "pay 2.5"]


@pytest.mark.parametrize(("name", "arguments", "words"), [("nothing", {}, "no tool"), ("price", {"itm": 1}, "item")])
def test_mistakes_inside_are_told_to_the_tool(name, arguments, words):
    @tool(effect="read")
    async def outer(ctx: RunContext) -> str:
        """Outer."""
        return await ctx.call(name, **arguments)

    result = Agent(Scripted(calls(("outer", {})), "ok"), tools=[price, outer]).run_sync("Go.")
    assert result.calls[0].problem == "raised"
    assert words in result.calls[0].result.content


def test_after_a_crash_inner_results_come_from_the_journal():
    async def tale():
        journal = MemoryJournal()
        begun = [
            Opened(),
            Said(text="Go."),
            Replied(parts=(Written("c1", "buy", '{"item": "tin"}'),)),
            Judged(call=Call("c1", "buy", {"item": "tin"}), verdict=Allow()),
            Called(call=Call("c1.1", "price", {"item": "tin"}), within="c1"),
            Judged(call=Call("c1.1", "price", {"item": "tin"}), verdict=Allow()),
            Returned(result=result_of("c1.1", "price", "9.5")),
            Called(call=Call("c1.2", "pay", {"amount": 9.5}), within="c1"),
            Judged(call=Call("c1.2", "pay", {"amount": 9.5}), verdict=Allow()),
            Started(call_id="c1.2", key="k"),
        ]
        await journal.append("r", 0, begun)
        return await Agent(Scripted("so"), tools=TOOLS, policy=[allow("*")], attended=False).resume("r", journal=journal)

    result = asyncio.run(tale())
    assert done == []
    assert result.output == "so"
    assert [record.problem for record in result.calls] == ["raised", None, "interrupted"]


def result_of(call_id, name, content):
    from treadle.core.calls import Result

    return Result(call_id, name, content)


def test_a_tool_that_cannot_say_what_became_of_its_call_is_not_run_again():
    def unsure() -> str:
        raise OSError("no network")

    @tool(retry="checkable", reconcile=unsure)
    async def send() -> str:
        """Send."""
        done.append("send")
        return "sent"

    async def tale():
        journal = MemoryJournal()
        call = Call("c1", "send", {})
        parts = (Written("c1", "send", "{}"),)
        begun = [Opened(), Said(text="Go."), Replied(parts=parts), Judged(call=call, verdict=Allow()), Started(call_id="c1")]
        await journal.append("r", 0, begun)
        return await Agent(Scripted("so"), tools=[send], attended=False).resume("r", journal=journal)

    assert asyncio.run(tale()).calls[0].problem == "interrupted"
    assert done == []


def test_a_tool_that_is_gone_after_a_crash_is_reported_too():
    async def tale():
        journal = MemoryJournal()
        call = Call("c1", "gone", {})
        parts = (Written("c1", "gone", "{}"),)
        begun = [Opened(), Said(text="Go."), Replied(parts=parts), Judged(call=call, verdict=Allow()), Started(call_id="c1")]
        await journal.append("r", 0, begun)
        return await Agent(Scripted("so"), attended=False).resume("r", journal=journal)

    assert asyncio.run(tale()).calls[0].problem == "interrupted"


def test_after_a_kill_a_sequential_call_still_waits_for_the_one_before_it():
    @tool(retry="idempotent", sequential=True)
    async def stage(name: str) -> str:
        """Stage."""
        done.append(f"stage {name}")
        return "staged"

    @tool(retry="idempotent", sequential=True)
    async def commit() -> str:
        """Commit."""
        done.append("commit")
        return "committed"

    async def tale():
        journal = MemoryJournal()
        made = [Call("c1", "stage", {"name": "a"}), Call("c2", "commit", {})]
        await journal.append(
            "r",
            0,
            [
                Opened(agent="agent"),
                Said(text="Go."),
                Replied(parts=(Written("c1", "stage", '{"name": "a"}'), Written("c2", "commit", "{}"))),
                *[Judged(call=call, verdict=Allow()) for call in made],
                Started(call_id="c1", key="r:c1"),  # and here its process died
            ],
        )
        return await Agent(Scripted("done"), tools=[stage, commit]).resume("r", journal=journal)

    result = asyncio.run(tale())
    assert done == ["stage a", "commit"]
    assert [(record.name, record.result.content) for record in result.calls] == [("stage", "staged"), ("commit", "committed")]


# actions


@tool(effects={"look": "read", "put": "write", "drop": "destroy"}, retry="once", sequential=True, cache=60)
async def shelf(action: Literal["look", "put", "drop"], item: str) -> str:
    """Look at a shelf, or change it."""
    done.append(f"{action} {item}")
    return f"{action} {item}"


def started(result):
    return [entry.call_id for entry in result.entries if isinstance(entry, Started)]


def test_only_an_action_with_an_effect_is_written_down_before_it_begins(tmp_path):
    async def tale():
        home = open_home(tmp_path)
        model = Scripted(calls(("shelf", {"action": "look", "item": "a"}), ("shelf", {"action": "put", "item": "b"})), "done")
        result = await Agent(model, tools=[shelf], policy=[allow("*")]).run("Go.", run_id="r", journal=home.services())
        return result, await home.audit.records("r")

    result, records = asyncio.run(tale())
    assert started(result) == ["call_1_2"]
    assert [(link.record.arguments["action"], link.record.stage) for link in records] == [
        ("look", "ended"),
        ("put", "begins"),
        ("put", "ended"),
    ]


def test_a_result_is_reused_for_an_action_that_reads_and_never_for_one_that_writes():
    asked = [("shelf", {"action": action, "item": "a"}) for action in ("look", "put")]
    Agent(Scripted(calls(*asked), calls(*asked), "done"), tools=[shelf], policy=[allow("*")]).run_sync("Go.")
    assert done.count("put a") == 2


def test_arguments_that_a_person_edited_have_the_effect_of_their_own_action():
    asked: list[str] = []

    def approver(approval):
        asked.append(approval.arguments["action"])
        return Answer(True, by="P", arguments={"action": "drop" if approval.arguments["item"] == "a" else "put", "item": "b"})

    def run(item):
        model = Scripted(calls(("shelf", {"action": "look", "item": item})), "done")
        policy = [ask(effect="read"), ask(effect="write"), deny(effect="destroy")]
        return Agent(model, tools=[shelf], policy=policy, approver=approver).run_sync("Go.")

    assert (run("a").calls[0].problem, done) == ("denied", [])  # what reads was made into what is denied
    assert (started(run("c")), done, asked) == (["call_1_1"], ["put b"], ["look", "look"])


def test_after_a_crash_an_action_that_had_begun_is_not_run_again_and_one_that_reads_is():
    def entries(action):
        call = Call("c1", "shelf", {"action": action, "item": "a"})
        begun = (Started(call_id="c1", key="r:c1", attempt=1),) if action == "put" else ()
        return [
            Opened(),
            Said(text="Go."),
            Replied(parts=(Written("c1", "shelf", json.dumps(call.arguments)),)),
            Judged(call=call, verdict=Allow()),
            *begun,
        ]

    async def resume(action):
        journal = MemoryJournal()
        await journal.append("r", 0, entries(action))
        return await Agent(Scripted("done"), tools=[shelf], policy=[allow("*")]).resume("r", journal=journal)

    assert (asyncio.run(resume("put")).stopped, done) == ("waiting", [])
    assert (asyncio.run(resume("look")).stopped, done) == ("answered", ["look a"])


def test_actions_that_read_run_beside_each_other_and_one_that_writes_waits_for_them():
    both = asyncio.Event()
    under_way: list[str] = []

    @tool(effects={"look": "read", "put": "write"}, sequential=True)
    async def room(action: Literal["look", "put"], item: str) -> str:
        """Look at a room, or change it."""
        under_way.append(item)
        if action == "look":
            if len(under_way) == 2:
                both.set()
            await asyncio.wait_for(both.wait(), 120)
        done.append(item)
        return item

    asked = [("room", {"action": action, "item": item}) for action, item in (("look", "a"), ("look", "b"), ("put", "c"))]
    result = Agent(Scripted(calls(*asked), "done"), tools=[room], policy=[allow("*")]).run_sync("Go.")
    assert [record.problem for record in result.calls] == [None, None, None]
    assert (sorted(done[:2]), done[2]) == (["a", "b"], "c")
