"""The desk, without HTTP around it: which turn it is, who carries it out, and how it ends."""

import asyncio

import pytest
from msgspec.structs import replace

from packages import Deferred
from server.compat.clients import MODEL, anthropic_client, asked, openai_client, openai_tool, rivers, several, user
from server.running import host
from treadle import Agent, FunctionToolset, RunContext, ToolProblem, tool
from treadle.core.calls import Call, Result, Written
from treadle.core.errors import BadPrompt, BadTool, MissingKey, ModelUnavailable, RunTaken, TreadleError, UnknownModel
from treadle.core.messages import Message, person_message
from treadle.core.requests import CallDelta, CallDone, ReplyEnded, TextDelta, ToolSpec
from treadle.models.scripted import Scripted
from treadle.server.compat.agents import TurnContext
from treadle.server.compat.answer import client_calls_in
from treadle.server.compat.client_tools import ClientTools, name_only_spec
from treadle.server.compat.errors import CompatError, compat_error_from
from treadle.server.compat.turn_request import CompatTurnRequest, find_results
from treadle.server.compat.turns import TurnManager
from treadle.server.limits import RunLimiter
from treadle.stores.accounts import Allowance, User

anthropic = Deferred("anthropic")

HI = CompatTurnRequest(MODEL, (person_message("Hi."),))
WEATHER = (ToolSpec("weather", "", {"type": "object"}),)


async def unoffered(name):
    raise UnknownModel("No other model is offered.")


def desk_of(folder, *replies, made=None, choose=unoffered, **more):
    return TurnManager([made or rivers()], replace(host(folder, Scripted(*replies)), **more), choose)


def run(work):
    async def bounded():
        async with asyncio.timeout(120):
            return await work

    return asyncio.run(bounded())


async def answered(desk, asked):
    turn = await desk.turn(asked, TurnContext())
    try:
        return await turn.task
    finally:
        desk.leave(turn)
        await desk.close()


def brought(answer, *contents):
    """The conversation with the result of the calls in an answer."""
    calls = [Call(f"call_{call.path}", call.name, call.arguments) for call in answer.calls]
    results = [Result(call.id, call.name, content) for call, content in zip(calls, contents, strict=True)]
    return replace(HI, messages=(*HI.messages, Message("model", tuple(calls)), Message("tools", tuple(results))), tools=WEATHER)


def test_that_there_is_no_model_is_said(tmp_path):
    async def none():
        raise UnknownModel("No model was named.")

    async def work():
        desk = TurnManager([rivers()], replace(host(tmp_path), model=none), unoffered)
        with pytest.raises(CompatError, match="No model was named") as refused:
            await desk.turn(CompatTurnRequest(MODEL, (person_message("Hi."),)), TurnContext())
        return refused.value.status

    assert asyncio.run(work()) == 503


def test_a_policy_of_ours_that_breaks_is_a_sentence_and_no_traceback(tmp_path, caplog):
    def broken(call, tool, situation):
        raise RuntimeError("secret detail")

    with (
        anthropic_client(tmp_path, asked("length", {"river": "R"}), made=rivers(policy=broken)) as (client, _),
        pytest.raises(anthropic.InternalServerError) as refused,
    ):
        client.messages.create(model=MODEL, max_tokens=9, messages=[user("?")])
    assert refused.value.body["error"]["message"] == "Something went wrong in the server; its log says what."
    assert "secret detail" in caplog.text


def test_what_was_opened_for_a_turn_that_cannot_begin_is_closed(tmp_path):
    opened, closed = [], []

    def toolsets(lent):
        opened.append(1)
        lent.on_close(lambda: closed.append(1))
        return rivers().toolsets(lent)

    async def work():
        run_limiter = RunLimiter(User("ann", allowance=Allowance(runs=1)))
        desk = TurnManager([rivers(toolsets=toolsets)], host(tmp_path, Scripted("a")), unoffered)
        turn = await desk.turn(CompatTurnRequest(MODEL, (person_message("Hi."),)), TurnContext(run_limiter=run_limiter))
        with pytest.raises(Exception, match="1 runs under way"):
            await desk.turn(CompatTurnRequest(MODEL, (person_message("Hi."),)), TurnContext(run_limiter=run_limiter))
        await turn.task
        taken = CompatTurnRequest(MODEL, (person_message("Hi."),), tools=(ToolSpec("length", "Ours.", {"type": "object"}),))
        with pytest.raises(CompatError):
            await desk.turn(taken, TurnContext(run_limiter=run_limiter))
        desk.leave(turn)
        await desk.close()
        return run_limiter.inside

    assert asyncio.run(work()) == 0
    assert len(opened) == len(closed) >= 2


def test_a_turn_counts_as_a_run_under_way(tmp_path):
    async def work():
        run_limiter = RunLimiter(User("ann", allowance=Allowance(runs=1)))
        desk = TurnManager([rivers()], host(tmp_path, Scripted("a", "b")), unoffered)
        ask = CompatTurnRequest(MODEL, (person_message("Hi."),))
        turn = await desk.turn(ask, TurnContext(run_limiter=run_limiter))
        assert run_limiter.inside == 1
        with pytest.raises(Exception, match="1 runs under way"):
            await desk.turn(ask, TurnContext(run_limiter=run_limiter))
        await turn.task
        await asyncio.sleep(0)
        assert run_limiter.inside == 0
        desk.leave(turn)
        await desk.close()

    asyncio.run(work())


# which


def test_a_model_that_is_offered_may_be_named(tmp_path):
    async def choose(name):
        return Scripted("From another.", name=name)

    desk = desk_of(tmp_path, choose=choose)
    assert run(answered(desk, replace(HI, model="rivers@other"))).text == "From another."


def test_a_listed_model_needs_no_default(tmp_path):
    async def none():
        raise UnknownModel("No model was named.")

    async def choose(name):
        return Scripted("From another.", name=name)

    desk = desk_of(tmp_path, choose=choose, model=none)
    assert run(answered(desk, replace(HI, model="rivers@other"))).text == "From another."


def test_an_assistants_tools_are_lent_the_model_of_the_turn_and_what_they_open_is_closed_after_it(tmp_path):
    closed = []

    def toolsets(host):
        host.on_close(lambda: closed.append("closed"))

        @tool(effect="read")
        async def which() -> str:
            """Which model."""
            return (await host.model()).name

        return [FunctionToolset([which])]

    model = Scripted(asked("which", {}), lambda request: request.history[-1].parts[0].content, name="mine")
    desk = TurnManager([rivers(toolsets=toolsets)], host(tmp_path, model), unoffered)
    assert (run(answered(desk, HI)).text, closed) == ("mine", ["closed"])


class Late:
    """A toolset that knows its tools once it is entered."""

    def __init__(self):
        self._inner = FunctionToolset([])

    async def __aenter__(self):
        @tool(effect="read")
        def weather() -> str:
            """Ours."""
            return "sun"

        self._inner = FunctionToolset([weather])
        return self

    async def __aexit__(self, *_):
        pass

    def tools(self):
        return self._inner.tools()

    async def call(self, call, context):
        return await self._inner.call(call, context)


def test_a_name_that_turns_out_to_be_taken_is_refused(tmp_path):
    desk = desk_of(tmp_path, "never", made=rivers(toolsets=lambda host: [Late()]))
    with pytest.raises(CompatError, match="two tools called weather") as refused:
        run(answered(desk, replace(HI, tools=WEATHER)))
    assert (refused.value.status, refused.value.param) == (400, "tools")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ModelUnavailable("x"), 503),
        (BadPrompt("x"), 400),
        (BadTool("x"), 400),
        (RunTaken("x"), 409),
        (MissingKey("x"), 503),
        (TreadleError("x"), 500),
    ],
)
def test_everything_that_treadle_raises_has_a_status(error, status):
    assert compat_error_from(error).status == status


# how it goes


def test_words_of_one_reply_are_not_torn_apart_by_calls_in_it(tmp_path):
    async def both():
        yield TextDelta("I look")
        yield CallDelta("c", "length")
        yield CallDone(Written("c", "length", '{"river": "Rhine"}'))
        await asyncio.sleep(0.01)
        yield TextDelta(" it up.")
        yield ReplyEnded("calls")

    with openai_client(tmp_path, lambda request: both(), "1233 km.") as (client, _):
        stream = client.chat.completions.create(model=MODEL, messages=[user("?")], stream=True)
        assert "".join([chunk.choices[0].delta.content or "" for chunk in stream]) == "I look it up.\n\n1233 km."
    desk = desk_of(tmp_path, lambda request: both(), "1233 km.")
    assert run(answered(desk, HI)).text == "I look it up.\n\n1233 km."


def test_what_an_agent_inside_says_is_not_the_answer(tmp_path):
    inner = Agent(Scripted("Psst."), name="inner")
    made = rivers(toolsets=lambda host: [inner.as_tool()])
    with openai_client(tmp_path, asked("inner", {"prompt": "?"}), "Aloud.", made=made) as (client, _):
        stream = client.chat.completions.create(model=MODEL, messages=[user("?")], stream=True)
        words = [chunk.choices[0].delta.content or "" for chunk in stream]
    assert "Psst." not in "".join(words)


def test_one_that_leaves_at_once_stops_a_turn_that_has_hardly_begun(tmp_path):
    async def work():
        desk = desk_of(tmp_path, "never heard")
        turn = await desk.turn(HI, TurnContext())
        desk.leave(turn)
        await desk.close()
        return turn.task

    assert run(work()).cancelled()


def test_results_of_which_only_some_were_written_down_are_all_gone_on_with(tmp_path):
    replies = [several(("weather", {"city": "Bonn"}), ("weather", {"city": "Ulm"})), "Rain."]

    async def work():
        desk = desk_of(tmp_path, *replies)
        first = await answered(desk, replace(HI, tools=WEATHER))
        again = brought(first, "rain", "sun")
        batch = find_results(again.messages)
        home = host(tmp_path).home
        calls = client_calls_in(await home.journal.read(batch.run_id))
        mark = next(iter(batch.results))
        by = f"The caller, with the result {batch.mark(mark)}"
        await Agent(Scripted()).approve(batch.run_id, calls[mark].id, by=by, journal=home.services())
        return await answered(desk, again)

    assert run(work()).text == "Rain."


def test_calls_that_expired_are_another_conversation(tmp_path):
    async def work():
        desk = desk_of(tmp_path, asked("weather", {}), "Anew.")
        first = await answered(desk, replace(HI, tools=WEATHER))
        home = host(tmp_path).home
        (call,) = client_calls_in(await home.journal.read(first.run_id)).values()
        await Agent(Scripted()).deny(first.run_id, call.id, "Too late.", journal=home.services())
        return first, await answered(desk, brought(first, "rain"))

    first, again = run(work())
    assert (again.text, again.run_id != first.run_id) == ("Anew.", True)


def test_a_tool_of_ours_may_ask_for_one_of_theirs(tmp_path):
    @tool(effect="read")
    async def plan(ctx: RunContext) -> str:
        """Plan."""
        return f"planned for {await ctx.call('weather')}"

    def last(request):
        return request.history[-1].parts[0].content

    async def work():
        desk = desk_of(tmp_path, asked("plan", {}), last, made=rivers(toolsets=lambda host: [FunctionToolset([plan])]))
        first = await answered(desk, replace(HI, tools=WEATHER))
        assert [call.name for call in first.calls] == ["weather"]
        return await answered(desk, brought(first, "rain"))

    assert "rain" in run(work()).text


def test_an_answer_that_is_only_calls_can_be_streamed_again(tmp_path):
    with openai_client(tmp_path, asked("weather", {}), asked("weather", {"city": "Ulm"}), "Rain.") as (client, _):
        how = {"model": MODEL, "tools": [openai_tool(parameters=None)]}
        first = client.chat.completions.create(messages=[user("?")], **how).choices[0].message
        told = [user("?"), first, {"role": "tool", "tool_call_id": first.tool_calls[0].id, "content": "rain"}]
        second = client.chat.completions.create(messages=told, **how).choices[0].message
        with client.chat.completions.stream(messages=told, **how) as stream:
            again = stream.get_final_completion().choices[0].message
        assert [call.id for call in again.tool_calls] == [call.id for call in second.tool_calls]


def test_nobody_else_can_carry_out_what_is_the_callers():
    with pytest.raises(ToolProblem, match="Only the program that brought weather"):
        asyncio.run(ClientTools([name_only_spec("weather")]).call(Call("c", "weather", {}), RunContext()))
