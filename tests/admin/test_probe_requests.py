"""A model is asked the questions of a probe in each way: natively, held, and in text."""

import asyncio
import json

import pytest

import wire
from treadle.admin.probe import QUESTIONS, best_result, probe_model
from treadle.core.calls import Call
from treadle.core.errors import ModelRefused, ModelUnavailable, ReplyBroken
from treadle.core.messages import text_of
from treadle.core.requests import ReplyEnded, Request, TextDelta, Traits
from treadle.dialects import get_dialect
from treadle.models.scripted import Scripted, calls
from wire import WireServer, refuse, reply, say

SIX = len(QUESTIONS)


def question_in(request: Request):
    """Which question a request asks; none where it asks whether a tool fits."""
    asked = [text_of(message.parts) for message in request.history if message.role == "person"]
    return next(question for question in QUESTIONS if text_of(question.messages[0].parts).split("\n")[0] in asked[0])


def fits(request: Request) -> bool:
    return "Reply with yes or no." in request.instructions


def natively(request: Request):
    """Calls if it is offered tools, and only says something else."""
    if fits(request) or not request.tools:
        return "I would call something."
    question = question_in(request)
    return calls(*question.wanted) if question.wanted else f"It is {question.says}."


def in_json(request: Request):
    question = question_in(request)
    if not question.wanted or "thoughts" not in request.instructions:
        return f"It is {question.says}."
    return spelled("json", question.wanted)


def spelled(dialect, wanted):
    return get_dialect(dialect).spell([Call("", name, arguments) for name, arguments in wanted])


def model(reply, name="scripted:x", **traits):
    return Scripted(*[reply] * 200, name=name, traits=Traits(**traits))


def probed(asked, template=""):
    seen = []

    async def all_of_it():
        return [tried async for tried in probe_model(asked, template, lambda way, number: seen.append((way, number)))]

    tried = asyncio.run(all_of_it())
    return tried, seen


def scores(tried):
    return {each.way.dialect: each.way.right for each in tried}


def test_a_model_that_calls_natively_does_that_best():
    tried, seen = probed(model(natively))
    assert scores(tried) == {"native": SIX, "json": 2, "hermes": 2}
    assert best_result(tried) is tried[0]
    assert tried[1].wrong == tuple(question.title for question in QUESTIONS if question.wanted or question.says)
    assert [number for way, number in seen if way == "json"] == [1, *range(1, SIX + 1)]


def test_a_model_that_only_knows_its_own_text_does_that_best():
    tried, _ = probed(model(in_json, native_calls=False))
    assert scores(tried) == {"json": SIX, "hermes": 3}
    assert best_result(tried).way.dialect == "json"


def test_a_call_that_is_written_as_text_counts_natively_too():
    def reply(request):
        question = question_in(request)
        if not (request.tools and question.wanted):
            return f"It is {question.says}."
        return spelled("hermes", question.wanted)

    assert scores(probed(model(reply))[0])["native"] == SIX


def held(request: Request):
    """Is never quite sure, but surer where a tool fits."""
    if fits(request):
        asked = text_of(request.history[-1].parts)
        question = next(each for each in QUESTIONS if text_of(each.messages[0].parts) in asked)
        odds = 5.0 if question.wanted else 3.0
        return [TextDelta("yes"), ReplyEnded("done", chances={"yes": odds, "no": 0.0})]
    question = question_in(request)
    if request.shape is None:
        return f"It is {question.says}."
    if question.says:
        return json.dumps({"answer": question.says})
    return json.dumps({"calls": [{"name": name, "arguments": arguments} for name, arguments in question.wanted]})


def test_held_is_tried_with_what_tells_fitting_from_not_fitting():
    tried, _ = probed(model(held, "llamacpp:x-1b", native_calls=False, holds=True))
    assert (tried[0].way.dialect, tried[0].way.sure, tried[0].way.right) == ("held", 4.0, SIX)
    assert tried[0].way.flat
    assert best_result(tried) is tried[0]


def test_a_way_that_is_refused_is_out_and_the_others_are_tried():
    def reply(request):
        if request.tools:
            raise ModelRefused("It takes no tools.", status=400)
        return in_json(request)

    tried, _ = probed(model(reply))
    assert (tried[0].problem, tried[0].way.right) == ("It takes no tools.", 0)
    assert best_result(tried).way.dialect == "json"


def test_a_server_that_cannot_hold_says_so_with_500():
    def reply(request):
        if fits(request):
            raise ModelUnavailable("failed to parse grammar", status=500)
        return natively(request)

    tried, _ = probed(model(reply, "openai:x"))
    assert tried[1].problem == "failed to parse grammar"
    assert best_result(tried).way.dialect == "native"


@pytest.mark.parametrize("error", [ModelUnavailable("down"), ModelUnavailable("busy", status=429)])
def test_a_server_that_is_not_there_ends_the_probe_at_once(error):
    asked = model(error)
    with pytest.raises(ModelUnavailable):
        probed(asked)
    assert len(asked.requests) == 1


@pytest.mark.parametrize("error", [ModelRefused("no such model", status=404), ReplyBroken("broke off")])
def test_where_every_way_fails_the_first_reason_is_raised(error):
    asked = model(error)
    with pytest.raises(type(error), match=str(error)):
        probed(asked)
    assert len(asked.requests) == 3  # none of them twice


def test_a_model_that_goes_on_for_ever_is_left():
    async def endless():
        while True:
            yield TextDelta("and so on ")

    tried, _ = probed(model(lambda _: endless(), native_calls=False))
    assert scores(tried) == {"json": 2, "hermes": 2}


# Over the wire


def answered(received):
    """A server's reply: it takes no tools, and can hold."""
    body = received.body
    if "tools" in body:
        return refuse(400, "wired does not support tools")
    words = " ".join(message["content"] for message in body["messages"])
    if "Reply with yes or no." in words:
        last = body["messages"][-1]["content"]
        return reply("yes" if any(text_of(each.messages[0].parts) in last for each in QUESTIONS if each.wanted) else "no")
    question = next(each for each in QUESTIONS if text_of(each.messages[0].parts) in words)
    if "format" not in body and "response_format" not in body:
        return reply(say("It is 417."))
    if question.says:
        return reply(say('{"answer": "It is 417."}'))
    return reply(say(json.dumps({"calls": [{"name": name, "arguments": arguments} for name, arguments in question.wanted]})))


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_a_server_without_native_calls_that_can_hold_is_held(kind):
    with WireServer(answered) as server:
        tried, _ = probed(wire.model(server, kind))
    assert "takes no tools" in tried[0].problem
    assert scores(tried) == {"native": 0, "held": SIX, "json": 3, "hermes": 3}
