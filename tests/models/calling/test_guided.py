"""A model that is led makes the calls that its plan decides on, and is asked only what the plan asks."""

import asyncio
from collections.abc import AsyncIterator, Generator

from msgspec.structs import replace

from treadle.agent.agent import Agent
from treadle.core.calls import Result
from treadle.core.events import Event, ModelProgressed
from treadle.core.messages import person_message
from treadle.core.requests import Delta, Options, Progress, ReplyEnded, Request, TextDelta, Traits, Usage
from treadle.models.calling.guided import GuidedModel, PlanQuestion, PlanStep
from treadle.models.scripted import Scripted, ScriptedReply, calls
from treadle.plans import load_plan_state
from treadle.tools.tool import tool

Steps = Generator[PlanQuestion, str, PlanStep]
SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz"


@tool(effect="read")
def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


def plan(request: Request) -> Steps:
    results = [part for message in request.history for part in message.parts if isinstance(part, Result)]
    if not results:
        number = yield PlanQuestion("Which number?", "You name numbers.")
        return PlanStep((("add", {"left": int(number), "right": 1}),))
    words = yield PlanQuestion(f"Say {results[-1].content} in words.")
    return PlanStep(text=words)


def test_the_plan_decides_and_the_model_only_answers_its_questions() -> None:
    model = Scripted(
        ScriptedReply("41", usage=Usage(requests=1, input_tokens=10)),
        ScriptedReply("forty-two", usage=Usage(requests=1, input_tokens=5)),
    )
    result = asyncio.run(Agent(GuidedModel(model, plan), tools=[add]).run("Go."))
    assert (result.stopped, result.output) == ("answered", "forty-two")
    assert [(call.name, call.arguments) for call in result.calls] == [("add", {"left": 41, "right": 1})]
    assert [request.history[0].text for request in model.requests] == ["Which number?", "Say 42 in words."]
    assert model.requests[0].instructions == "You name numbers."
    assert (result.usage.requests, result.usage.input_tokens) == (2, 15)


def test_a_plan_that_asks_nothing_needs_no_model() -> None:
    def steps(request: Request) -> Steps:
        yield from ()
        return PlanStep(text="Done.")

    result = asyncio.run(Agent(GuidedModel(Scripted(), steps)).run("Go."))
    assert result.output == "Done."


def test_what_the_model_says_is_held_to_a_shape_only_where_that_works() -> None:
    def steps(request: Request) -> Steps:
        yield PlanQuestion("?", shape={"type": "object"})
        return PlanStep(text="Done.")

    plain = Scripted("x")
    asyncio.run(Agent(GuidedModel(plain, steps)).run("Go."))
    assert plain.requests[0].shape is None


def test_a_model_that_thinks_has_room_for_it() -> None:
    def steps(request: Request) -> Steps:
        yield PlanQuestion("?", options=Options(temperature=0, max_tokens=60))
        return PlanStep(text="Done.")

    for reasons, limit in ((True, None), (False, 60)):
        model = Scripted("x", traits=Traits(reasons=reasons))
        asyncio.run(Agent(GuidedModel(model, steps)).run("Go."))
        assert model.requests[0].options.max_tokens == limit


def test_what_a_plan_has_to_know_again_stays_in_the_history() -> None:
    known = []

    def counting(request: Request) -> Steps:
        known.append(load_plan_state(request.history))
        yield from ()
        tried = known[-1]["tried"] if known[-1] else 0
        return (
            PlanStep((("add", {"left": tried, "right": 1}),), "Trying.", {"tried": tried + 1})
            if tried < 2
            else PlanStep(text="Done.")
        )

    result = asyncio.run(Agent(GuidedModel(Scripted(), counting), tools=[add]).run("Go."))
    assert (known, result.output) == ([None, {"tried": 1}, {"tried": 2}], "Done.")


def test_a_question_may_have_a_past_and_tools_and_what_the_model_calls_is_the_move() -> None:
    used: list[Usage] = []

    def steps(request: Request) -> Steps:
        rounds = tuple([message for message in request.history if message.role != "person"])
        words = yield PlanQuestion(
            text="" if rounds else "Add.",
            before=(person_message("Add."), *rounds) if rounds else (),
            tools=request.tools,
            used=used.append,
        )
        return PlanStep(text=f"It says {words}")

    call = replace(calls(("add", {"left": 1, "right": 2})), usage=Usage(requests=1, input_tokens=7))
    model = Scripted(call, ScriptedReply("three", usage=Usage(requests=1, input_tokens=9)))
    result = asyncio.run(Agent(GuidedModel(model, steps), tools=[add]).run("Go."))
    assert result.output == "It says three"
    assert [(each.name, each.arguments) for each in result.calls] == [("add", {"left": 1, "right": 2})]
    assert [message.role for message in model.requests[1].history] == ["person", "model", "tools"]
    assert ([each.input_tokens for each in used], result.usage.input_tokens) == ([7, 9], 16)


def test_a_watcher_hears_of_each_request_that_a_plan_makes() -> None:
    def steps(request: Request) -> Steps:
        first = yield PlanQuestion("One?")
        second = yield PlanQuestion("Two?")
        return PlanStep(text=f"{first} {second}")

    class Reporting(Scripted):
        def reply(self, request: Request) -> AsyncIterator[Delta]:
            assert request.progress is not None
            request.progress(Progress("reading", 3, 4))
            return super().reply(request)

    heard: list[Event] = []
    agent = Agent(GuidedModel(Reporting("one", "two"), steps))
    assert asyncio.run(agent.run("Go.", watchers=[heard.append])).output == "one two"
    told = [(event.stage, event.done, event.total, event.request) for event in heard if isinstance(event, ModelProgressed)]
    assert told == [("waiting", 0, 0, 1), ("reading", 3, 4, 1), ("waiting", 0, 0, 2), ("reading", 3, 4, 2)]


class ReportsWriting(Scripted):
    async def reply(self, request: Request) -> AsyncIterator[Delta]:
        assert request.progress is not None
        async for delta in super().reply(request):
            yield delta
            request.progress(Progress("writing", 1))


def drafts_of(*pieces: str) -> list[str]:
    """What is reported of an answer while it is written in these pieces."""

    def steps(request: Request) -> Steps:
        about = yield PlanQuestion("About?")
        words = yield PlanQuestion("Answer.", answers=True)
        return PlanStep(text=f"{about}: {words}")

    heard: list[Event] = []
    model = ReportsWriting("Keys", [*map(TextDelta, pieces), ReplyEnded("done")])
    asyncio.run(Agent(GuidedModel(model, steps)).run("Go.", watchers=[heard.append]))
    return [event.draft for event in heard if isinstance(event, ModelProgressed) and event.request == 2]


def test_an_answer_is_reported_while_it_is_written_and_another_question_is_not() -> None:
    assert drafts_of("There", " are ", "three lessons.") == ["", "", "There are ", *["There are three "] * 2]


def test_no_part_of_a_secret_is_reported() -> None:
    one = drafts_of("The key is ", SECRET[:9], f"{SECRET[9:]}, and", " no", " other")
    assert one[-1] == "The key is [redacted:api_key], and no "
    lines = drafts_of(
        "It is\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\n", "Bgkqhkia\n", "-----END PRIVATE KEY-----\n", "and no", " other"
    )
    assert not [each for each in (*one, *lines) if "sk-" in each or "MII" in each or "Bgk" in each]
