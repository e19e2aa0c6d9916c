"""Models with another one behind them: what is switched to, when, and that it is said."""

import asyncio
from contextlib import aclosing

import pytest

from treadle.core.errors import AllowanceSpent, MissingKey, ModelRefused, ModelUnavailable, ReplyBroken, SettingsError, ToolsRefused
from treadle.core.requests import Notice, TextDelta, Traits
from treadle.models.factory import ProviderConnection, make_model
from treadle.models.fallback import FallbackModel, ToolFallbackModel
from treadle.models.repairs import repair_memory
from treadle.models.scripted import Scripted
from treadle.plugins.models import resolve_model
from treadle.settings.calling_modes import enable_tool_calls
from wire import ADD, WireServer, ask, calls_in, hear, model, refuse, request, text_in


def failing(error, *before):
    """A model that fails, after what it says before."""

    class Failing(Scripted):
        async def reply(self, request):
            self.asked = getattr(self, "asked", 0) + 1
            for delta in before:
                yield delta
            raise error

    return Failing(name="down:a")


def notices(deltas):
    return [delta.text for delta in deltas if isinstance(delta, Notice)]


def chain(*models, clock=lambda: 0.0):
    return FallbackModel([lambda each=each: each for each in models], clock)


def test_the_first_that_answers_is_used_and_a_switch_is_said():
    both = chain(failing(ModelUnavailable("down:a can't answer now (503).", status=503)), Scripted("hello", name="up:b"))
    deltas = ask(both)
    assert text_in(deltas) == "hello"
    assert notices(deltas) == ["down:a can't answer now (503). Going on with up:b."]


@pytest.mark.parametrize("error", [ModelUnavailable("busy", status=429), ModelRefused("unpaid", status=402), ReplyBroken("broke")])
def test_outages_limits_and_broken_replies_are_passed_over(error):
    assert text_in(ask(chain(failing(error), Scripted("hello")))) == "hello"


def test_a_refusal_is_not_passed_over():
    deltas, error = hear(chain(failing(ModelRefused("a bad request", status=400)), Scripted("hello")))
    assert (deltas, str(error)) == ([], "a bad request")


def test_nothing_is_switched_once_a_reply_has_begun():
    deltas, error = hear(chain(failing(ReplyBroken("it broke"), TextDelta("half")), Scripted("another")))
    assert (deltas, str(error)) == ([TextDelta("half")], "it broke")


def test_the_last_failure_is_raised_where_all_fail():
    _, error = hear(chain(failing(ModelUnavailable("one")), failing(ModelUnavailable("two"))))
    assert str(error) == "two"


def test_a_model_that_failed_rests_and_is_asked_again_later():
    now = [0.0]
    down = failing(ModelUnavailable("busy", retry_after=30.0))
    both = chain(down, Scripted("one", "two", "three"), clock=lambda: now[0])
    assert [text_in(ask(both)), text_in(ask(both))] == ["one", "two"]
    assert down.asked == 1
    now[0] = 31.0
    assert text_in(ask(both)) == "three"
    assert down.asked == 2


def test_a_wrapped_one_knows_who_rests():
    down = failing(ModelUnavailable("busy", status=503))
    both = chain(down, Scripted("one", "two"))
    seen = []
    other = both.wrap(lambda model: seen.append(model.name) or model)
    assert text_in(ask(other)) == "one"
    assert text_in(ask(both)) == "two"
    assert (seen, down.asked) == ([down.name, "scripted"], 1)


def test_an_allowance_is_spent_for_all_models():
    _, error = hear(chain(failing(AllowanceSpent("Spent.", status=429)), Scripted("hello")))
    assert str(error) == "Spent."


def test_there_is_room_to_think_if_any_of_them_does():
    plain, thinking = Scripted("a"), Scripted("b", traits=Traits(reasons=True))
    assert chain(plain, thinking).traits.reasons
    assert not chain(plain, plain).traits.reasons


def test_a_missing_key_is_passed_over_and_said(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    both = enable_tool_calls(["openai:gpt-6-sol", Scripted("hello", "hello", name="up:b")])
    deltas = ask(both)
    assert text_in(deltas) == "hello"
    assert notices(deltas)[0].startswith("openai:gpt-6-sol needs a key: set OPENAI_API_KEY.")
    assert notices(deltas)[0].endswith("Going on with up:b.")
    assert notices(ask(both)) == []


def test_where_every_key_is_missing_the_sentence_is_the_last_ones(monkeypatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(MissingKey, match="groq:x needs a key"):
        enable_tool_calls(["groq:x"])
    with pytest.raises(SettingsError, match="needs at least one"):
        enable_tool_calls([])


def test_the_window_is_one_that_all_have():
    windows = [200_000, 128_000]
    both = chain(
        *[make_model("openai", "m", ProviderConnection(base_url="http://127.0.0.1:1", context=each), {}) for each in windows]
    )
    assert both.traits.context == 128_000


def test_a_misspelt_provider_is_recognised():
    with pytest.raises(SettingsError, match=r"No kind of model is called 'opnai'\. Did you mean openai:gpt-5\?"):
        resolve_model("opnai:gpt-5")


# another API of the same provider


def test_a_model_that_belongs_to_responses_is_asked_there():
    words = "Function tools with reasoning_effort are not supported for x in /v1/chat/completions. Please use /v1/responses."
    with WireServer([refuse(400, words), "hello", "again"]) as server:
        either = make_model("openai", "x", ProviderConnection(base_url=f"{server.url}/v1", api_key="k"), {})
        deltas = ask(either, request(tools=(ADD,)))
        assert text_in(deltas) == "hello"
        assert notices(deltas) == ["openai:x is asked over another API of its provider from now on, as its server has no other."]
        assert text_in(ask(either)) == "again"
    assert [each.path for each in server.requests] == ["/v1/chat/completions", "/v1/responses", "/v1/responses"]


# calls in text


def test_a_server_without_tools_gets_calls_in_text_and_that_is_remembered():
    called = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'
    with WireServer([refuse(400, "wired does not support tools"), called, called]) as server:
        deltas = ask(enable_tool_calls(model(server)), request(tools=(ADD,)))
        (call,) = calls_in(deltas)
        assert (call.name, call.text.replace(" ", "")) == ("add", '{"a":1,"b":2}')
        assert notices(deltas) == ["openai:wired takes no tools: calls are asked for in its text from now on."]
        assert calls_in(ask(enable_tool_calls(model(server)), request(tools=(ADD,))))
    assert ["tools" in each.body for each in server.requests] == [True, False, False]


def test_without_tools_in_the_request_the_refusal_stays():
    with WireServer([refuse(400, "wired does not support tools")]) as server:
        _, error = hear(enable_tool_calls(model(server)), request())
    assert isinstance(error, ModelRefused)


def tools_refused(*before):
    return failing(ToolsRefused("no tools here.", status=400), *before)


def test_a_refusal_after_a_notice_is_one_before_the_reply():
    either = ToolFallbackModel(tools_refused(Notice("temperature isn't sent.")), lambda: Scripted("hello"))
    deltas = ask(either, request(tools=(ADD,)))
    assert text_in(deltas) == "hello"
    assert notices(deltas) == [
        "temperature isn't sent.",
        "down:a takes no tools: calls are asked for in its text from now on.",
    ]
    assert repair_memory.forget("down:a")


def test_a_refusal_of_tools_within_a_reply_switches_nothing():
    heard, error = hear(ToolFallbackModel(tools_refused(TextDelta("well")), lambda: Scripted("hello")), request(tools=(ADD,)))
    assert text_in(heard) == "well"
    assert isinstance(error, ToolsRefused)


def test_a_reply_that_is_left_early_is_closed():
    closed = []

    class Endless(Scripted):
        async def reply(self, request):
            try:
                while True:
                    yield TextDelta("on")
            finally:
                closed.append(True)

    async def leave():
        deltas = ToolFallbackModel(Endless(), lambda: Scripted("hello")).reply(request(tools=(ADD,)))
        async with aclosing(deltas):
            async for _ in deltas:
                break
        assert closed

    asyncio.run(leave())
