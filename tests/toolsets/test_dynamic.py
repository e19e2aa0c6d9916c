"""Tools that are decided by the run: once for each run, or for each request."""

import asyncio

import pytest

from treadle import Agent, RunContext, allow, ask, tool
from treadle.core.calls import Allow, Call, Written
from treadle.core.entries import Judged, Opened, Replied, Said
from treadle.core.errors import BadTool, SettingsError
from treadle.models.scripted import Scripted, calls
from treadle.stores.memory import MemoryJournal
from treadle.toolsets.dynamic import DynamicToolset, prepared
from treadle.toolsets.functions import FunctionToolset
from treadle.toolsets.wrappers import CombinedToolset, LazyToolset, only, prefixed

CITIES = {"type": "object", "properties": {"name": {"enum": ["Ur"]}}, "required": ["name"]}


@tool(effect="read")
async def look(name: str) -> str:
    """Look."""
    return f"seen {name}"


def for_admins(ctx: RunContext[str], tool):
    return tool if ctx.deps == "admin" else None


@tool(effect="read", prepare=for_admins)
async def remove(name: str) -> str:
    """Remove."""
    return f"removed {name}"


def narrowed(ctx, tool):
    return tool.copy_with(description="Look at a city.", parameters=CITIES)


def asked(*replies, deps=None, prompt="Go.", **how):
    """The result of a run, and the tools offered with each request."""
    model = Scripted(*replies)
    result = Agent(model, policy=[allow("*")], **how).run_sync(prompt, deps=deps)
    return result, [{spec.name: spec for spec in request.tools} for request in model.requests]


def test_a_tool_is_left_out_by_its_hook():
    assert list(asked("Hi.", tools=[look, remove])[1][0]) == ["look"]
    assert list(asked("Hi.", tools=[look, remove], deps="admin")[1][0]) == ["look", "remove"]


def test_a_call_to_a_tool_that_was_left_out_is_to_an_unknown_one():
    result, _ = asked(calls(("remove", {"name": "Ur"})), "No.", tools=[look, remove])
    assert [record.problem for record in result.calls] == ["unknown_tool"]
    assert "There are: look." in result.calls[0].result.content


def test_a_tool_that_calls_one_that_was_left_out_is_told_so_too():
    @tool(effect="read")
    async def act(ctx: RunContext[str]) -> str:
        """Act."""
        return await ctx.call("remove", name="Ur")

    result, _ = asked(calls(("act", {})), "No.", tools=[act, remove])
    assert [record.result.content for record in result.calls if record.name == "act"] == ["There is no tool 'remove'."]


def test_a_call_is_judged_by_what_was_offered():
    made = tool(look.function, effect="read", prepare=narrowed)
    replies = (calls(("look", {"name": "Uruk"})), calls(("look", {"name": "Ur"})), "Seen.")
    result, offered = asked(*replies, tools=[made])
    assert (offered[0]["look"].description, offered[0]["look"].parameters) == ("Look at a city.", CITIES)
    assert [(record.problem, record.result.content) for record in result.calls][1] == (None, "seen Ur")
    assert result.calls[0].problem == "invalid"


def test_a_hook_decides_anew_for_each_request():
    async def once(ctx, tool):
        await asyncio.sleep(0)
        return None if any(message.role == "tools" for message in ctx.history) else tool

    made = tool(look.function, effect="read", prepare=once)
    result, offered = asked(calls(("look", {"name": "Ur"})), calls(("look", {"name": "Ur"})), "So.", tools=[made])
    assert [list(each) for each in offered] == [["look"], [], []]
    assert [record.problem for record in result.calls] == [None, "unknown_tool"]


def test_equal_tools_are_encoded_once():
    model = Scripted(calls(("look", {"name": "Ur"})), "So.")
    Agent(model, tools=[tool(look.function, effect="read", prepare=narrowed)]).run_sync("Go.")
    assert model.requests[0].tools is model.requests[1].tools


@pytest.mark.parametrize("made", ["look", look.tool.copy_with().spec])
def test_a_hook_returns_a_tool(made):
    with pytest.raises(BadTool, match="has to return the tool, a copy of that name, or None"):
        asked("Hi.", tools=[tool(look.function, effect="read", prepare=lambda ctx, tool: made)])


def test_a_hook_cannot_rename_a_tool():
    with pytest.raises(BadTool, match="has to return the tool"):
        asked("Hi.", tools=[tool(look.function, effect="read", prepare=lambda ctx, tool: remove.tool)])


def test_any_toolset_can_be_prepared():
    async def hook(ctx, tool):
        return None if tool.name == "docs_remove" else tool.copy_with(description="Prepared.")

    def open_lazily():
        from contextlib import nullcontext

        return nullcontext(FunctionToolset([look, remove]))

    toolset = prepared(prefixed(LazyToolset(open_lazily), "docs"), hook)
    result, offered = asked(calls(("docs_look", {"name": "Ur"})), "So.", toolsets=[toolset], deps="admin")
    assert {name: spec.description for name, spec in offered[0].items()} == {"docs_look": "Prepared."}
    assert result.calls[0].result.content == "seen Ur"


def test_a_wrapper_maps_what_was_prepared():
    _, offered = asked("Hi.", toolsets=[only(FunctionToolset([look, remove]), "remove")], deps="admin")
    assert list(offered[0]) == ["remove"]
    _, offered = asked("Hi.", toolsets=[only(FunctionToolset([look, remove]), "remove"), FunctionToolset([look])])
    assert list(offered[0]) == ["look"]


def test_where_nothing_is_prepared_the_tools_stay_the_same_value():
    toolset = CombinedToolset(FunctionToolset([look]), only(FunctionToolset([tool(remove.function)]), "*"))
    assert asyncio.run(toolset.prepare(RunContext())) is toolset.tools()


def test_a_function_of_the_context_chooses_the_tools_of_a_run():
    chosen = []

    def choose(ctx: RunContext[str]):
        chosen.append(ctx.run_id)
        return [look, remove] if ctx.deps == "admin" else [look]

    result, offered = asked(calls(("look", {"name": "Ur"})), "So.", tools=choose)
    assert [list(each) for each in offered] == [["look"], ["look"]]
    assert (result.calls[0].result.content, chosen) == ("seen Ur", [result.run_id])
    assert list(asked("Hi.", tools=choose, deps="admin")[1][0]) == ["look", "remove"]


def test_functions_of_the_context_stand_beside_other_toolsets():
    async def choose(ctx):
        return FunctionToolset([tool(look.function, effect="read", name=f"look_{ctx.deps}")])

    how = {"tools": [look], "toolsets": [prefixed(DynamicToolset(choose), "my"), choose]}
    result, offered = asked(calls(("my_look_b", {"name": "Ur"})), "So.", deps="b", **how)
    assert list(offered[0]) == ["look", "my_look_b", "look_b"]
    assert result.calls[0].result.content == "seen Ur"


def test_concurrent_runs_have_their_own_tools():
    def choose(ctx):
        return [tool(look.function, effect="read", name=f"look_{ctx.deps}")]

    def reply(request):
        names = [spec.name for spec in request.tools]
        done = any(message.role == "tools" for message in request.history)
        return "+".join(names) if done else calls((names[0], {"name": "Ur"}))

    async def both():
        agent = Agent(Scripted(reply, reply, reply, reply), toolsets=[FunctionToolset([]), choose])
        return await asyncio.gather(*[agent.run("Go.", deps=name) for name in ("a", "b")])

    results = asyncio.run(both())
    assert [result.output for result in results] == ["look_a", "look_b"]
    assert [result.calls[0].problem for result in results] == [None, None]


def test_one_runs_tools_are_added_to_chosen_ones():
    model = Scripted("Hi.")
    Agent(model, tools=lambda ctx: [look]).run_sync("Go.", tools=[remove], deps="admin")
    assert {spec.name for spec in model.requests[0].tools} == {"look", "remove"}


def without_context():
    return [look]


@pytest.mark.parametrize("wrong", [look, look.function, print, int, without_context, lambda *, ctx: []])
def test_a_tool_outside_of_a_list_is_refused_with_what_to_write(wrong):
    with pytest.raises(BadTool, match=r"isn't a function of the RunContext; if it is a tool, put it into a list: `tools=\["):
        DynamicToolset(wrong)
    with pytest.raises(SettingsError, match=r"`tools` takes a list of functions and toolsets: write tools=\["):
        Agent(Scripted("Hi."), tools=wrong)


def test_outside_of_a_run_nothing_can_be_called():
    async def outside():
        async with DynamicToolset(lambda ctx: [look]) as toolset:
            assert toolset.tools() == ()
            await toolset.call(Call("c", "look", {}), RunContext())

    with pytest.raises(BadTool, match="look is chosen for each run"):
        asyncio.run(outside())


def resumed(entries, **how):
    async def tale():
        journal = MemoryJournal()
        reply = Replied(parts=(Written("c1", "remove", '{"name": "Ur"}'),))
        await journal.append("r", 0, [Opened(), Said(text="Go."), reply, *entries])
        return await Agent(Scripted("So."), **how).resume("r", journal=journal, deps="user")

    return asyncio.run(tale())


def test_a_call_that_was_asked_in_another_process_is_judged_by_what_is_offered_now():
    assert resumed([], tools=[look, remove]).calls[0].problem == "unknown_tool"


def test_a_call_that_was_judged_in_another_process_runs_although_its_tool_is_offered_no_more():
    judged = Judged(call=Call("c1", "remove", {"name": "Ur"}), verdict=Allow())
    assert resumed([judged], tools=[look, remove]).calls[0].result.content == "removed Ur"


def test_a_call_whose_tool_is_gone_when_its_run_is_resumed_gets_a_result():
    judged = Judged(call=Call("c1", "remove", {"name": "Ur"}), verdict=Allow())
    result = resumed([judged], tools=lambda ctx: [look])
    assert (result.calls[0].problem, result.output) == ("unknown_tool", "So.")


def test_previews_and_reconciling_reach_the_prepared_toolset():
    @tool(retry="checkable", reconcile=lambda: "it happened", preview=lambda: "It would act.")
    async def act() -> str:
        """Act."""
        return "done"

    async def tale():
        toolset = prepared(FunctionToolset([act]), lambda ctx, tool: tool)
        agent = Agent(Scripted(calls(("act", {})), "So."), toolsets=[toolset], policy=[ask("*")])
        waiting = await agent.run("Go.")
        return waiting.approvals[0].preview, await toolset.reconcile(Call("c", "act", {}), RunContext())

    assert asyncio.run(tale()) == ("It would act.", "it happened")
