"""When the model misbehaves."""

from itertools import count

import pytest

from treadle import Limits, ToolProblem, allow, tool
from treadle.core.entries import Judged
from treadle.core.errors import SettingsError
from treadle.core.events import TextArrived
from wire import call, reply, say, stall

ran: list[dict[str, object]] = []


@pytest.fixture(autouse=True)
def nothing_ran():
    ran.clear()


@tool(effect="read")
async def add(a: int, b: int = 0, exact: bool = True) -> int:
    """Add two numbers.

    :param a: the first
    :param b: the second
    """
    ran.append({"a": a, "b": b, "exact": exact})
    return a + b


@tool(effect="read")
async def look(where: str) -> str:
    """Look somewhere.

    :param where: the place
    """
    ran.append({"where": where})
    return f"nothing at {where}"


ALMOST = [
    '{"a": 1, "b": 2,}',
    "{'a': 1, 'b': 2}",
    "{a: 1, b: 2}",
    '{"a": 1, "b": 2, "exact": True}',
    '```json\n{"a": 1, "b": 2}\n```',
    '"{\\"a\\": 1, \\"b\\": 2}"',
]


@pytest.mark.parametrize("text", ALMOST)
def test_almost_json(story, text):
    if story.wire == "anthropic" and not story.stream:
        pytest.skip("this wire carries whole arguments as JSON, so they can't be almost JSON")
    played = story.play([call("add", text), "three"], [add])
    assert ran == [{"a": 1, "b": 2, "exact": True}]
    assert played.results() == ["3"]
    assert played.result.calls[0].mended
    assert [entry.mended for entry in played.result.entries if isinstance(entry, Judged)] == [played.result.calls[0].mended]
    assert played.result.output == "three"


@pytest.mark.parametrize("text", ['{"a": 1, "b": 2', '{"a": 1, "b": "tw', '{"a": 1,', "{"])
def test_cut_off(story, text):
    if story.wire == "anthropic" and not story.stream:
        pytest.skip("this wire carries whole arguments as JSON, so they can't be cut off")
    played = story.play([reply(call("add", text), finish="length"), "sorry"], [add])
    assert ran == []
    assert played.result.calls[0].problem == "cut_off"
    assert "cut off" in played.results()[0]
    assert played.result.output == "sorry"


def test_cut_off__the_rest_is_sent_in_another_call(story):
    if story.wire == "anthropic" and not story.stream:
        pytest.skip("this wire carries whole arguments as JSON, so they can't be cut off")
    where = "".join([f"behind shelf {number}, " for number in range(20)])
    begun, rest = f'{{"where": "{where[:250]}', where[220:]
    played = story.play([reply(call("look", begun), finish="length"), call("continue_call", {"rest": rest}), "sorry"], [look])
    assert ran == [{"where": where}]
    assert [(record.name, record.problem) for record in played.result.calls] == [("look", "cut_off"), ("look", None)]


def test_cut_answer(story):
    parts = ["It is on the top shelf, behind the third box from the le", "behind the third box from the left."]
    played = story.play([reply(say(parts[0]), finish="length"), say(parts[1])], [look])
    assert played.result.output == "It is on the top shelf, behind the third box from the left."
    assert len(played.result.history) == 2
    assert not played.result.truncated


def test_unknown_tool(story):
    played = story.play([call("ad", {"a": 1}), call("multiply_everything", {}), "never mind"], [add, look])
    assert ran == []
    assert [record.problem for record in played.result.calls] == ["unknown_tool", "unknown_tool"]
    assert "'ad'" in played.results()[0]
    assert "add" in played.results()[0]
    assert "look" in played.results()[1]
    assert played.result.stopped == "answered"


def test_certain_conversion(story):
    story.play([call("add", {"a": "5", "b": 2.0, "exact": "true"}), "seven"], [add])
    assert ran == [{"a": 5, "b": 2, "exact": True}]


def test_certain_conversion__text_stays_text(story):
    story.play([(call("look", {"where": "None"}), call("look", {"where": "007"}), call("look", {"where": "true"})), "done"], [look])
    assert ran == [{"where": "None"}, {"where": "007"}, {"where": "true"}]


def test_misfit(story):
    played = story.play([call("add", {"b": "many", "c": 3}), "oh"], [add])
    assert ran == []
    assert played.result.calls[0].problem == "invalid"
    (words,) = played.results()
    assert all(field in words for field in ("a", "b", "c"))
    assert "many" in words
    assert "integer" in words or "whole number" in words


WRAPPED = [
    ("add", '[{"a": 1, "b": 2}]'),
    ("add", '{"name": "add", "arguments": {"a": 1, "b": 2}}'),
    ("add", '{"arguments": "{\\"a\\": 1, \\"b\\": 2}"}'),
    ("functions.add", '{"a": 1, "b": 2}'),
    ('{"a": 1, "b": 2}', "add"),
]


@pytest.mark.parametrize(("name", "text"), WRAPPED)
def test_wrapped_call(story, name, text):
    if story.wire == "anthropic" and not story.stream and not text.startswith("{"):
        pytest.skip("this wire carries whole arguments as a JSON object")
    played = story.play([call(name, text), "three"], [add])
    assert ran == [{"a": 1, "b": 2, "exact": True}]
    assert played.results() == ["3"]
    assert played.result.calls[0].mended


def test_call_as_text(story):
    written = 'Let me add.\n<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>'
    played = story.play([written, "three"], [add])
    assert ran == [{"a": 1, "b": 2, "exact": True}]
    shown = "".join(event.text for event in played.of(TextArrived))
    assert "tool_call" not in shown
    assert "Let me add." in shown
    assert played.result.output == "three"


QUOTED = [
    'You could write `<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>` to add.',
    'For example:\n\n```json\n{"name": "add", "arguments": {"a": 1}}\n```\n\nThat adds one.',
    'The format is {"name": "add", "arguments": {"a": 1}} as you know.',
    '```xml\n<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>\n```\nis how it looks.',
]


@pytest.mark.parametrize("text", QUOTED)
def test_quoted_call(story, text):
    played = story.play([text], [add])
    assert ran == []
    assert played.result.output == text


def test_quoted_call__in_a_result(story):
    @tool(effect="read")
    async def page() -> str:
        """Read a page."""
        return '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'

    played = story.play([call("page"), "an odd page"], [page, add])
    assert ran == []
    assert played.result.output == "an odd page"


def test_repeats(story):
    played = story.play([*[call("look", {"where": "here"})] * 5, "It isn't here."], [look])
    assert len(ran) == 4
    results = played.results()
    assert "3 times" in results[2]
    assert "3 times" not in results[1]
    assert played.result.calls[4].problem == "repeat"
    assert played.offered(4) == ["look"]
    assert played.offered(5) == []
    assert (played.result.stopped, played.result.answer_at_limit) == ("limit", "It isn't here.")


def test_repeats__a_cycle(story):
    cycle = [call("look", {"where": "here"}), call("look", {"where": "there"})]
    played = story.play([*cycle * 4, cycle[0], "Neither."], [look])
    assert [record.problem for record in played.result.calls] == [None] * 8 + ["repeat"]
    assert played.result.stopped == "limit"


def test_repeats__the_same_mistake(story):
    played = story.play([*[call("lok", {})] * 5, "I give up."], [look])
    assert played.result.calls[-1].problem == "repeat"
    assert (played.result.stopped, played.result.answer_at_limit) == ("limit", "I give up.")


@tool(effect="read")
async def search(word: str) -> str:
    """Search."""
    return "No matches."


@tool(effect="read")
async def fetch(page: int) -> str:
    """Fetch a page."""
    raise ConnectionError("refused")


@pytest.mark.parametrize(("name", "arguments"), [("search", lambda n: {"word": f"w{n}"}), ("fetch", lambda n: {"page": n})])
def test_futile(story, name, arguments):
    script = [call(name, arguments(number), id=f"c{number}") for number in range(13)]
    played = story.play([*script, "Nothing came of it."], [search, fetch])
    assert played.result.stopped == "limit"
    assert "the last 12 calls" in played.result.calls[-1].result.content
    assert [record.problem for record in played.result.calls].count("repeat") == 1
    told = [
        number for number, content in enumerate(story.results(played.server)) if "all brought the same. Try another way" in content
    ]
    assert told == [6, 7, 8, 9, 10, 11]


def test_polling(story):
    ticks = iter(range(100))

    @tool(effect="read")
    async def progress() -> str:
        """How far is it?"""
        return f"{next(ticks)} %"

    played = story.play([*[call("progress")] * 8, "done"], [progress])
    assert [record.problem for record in played.result.calls] == [None] * 8
    assert played.result.stopped == "answered"


def test_empty_reply(story):
    played = story.play([say(""), "here"], [look])
    assert played.result.output == "here"
    assert len(played.server.requests) == 2


def test_empty_reply__twice(story):
    played = story.play([say(""), say("  ")], [look])
    assert played.result.stopped == "failed"
    assert "nothing" in played.result.reason
    assert len(played.server.requests) == 2


def test_calls_beyond_limit(story):
    asked = tuple(call("look", {"where": str(number)}) for number in range(5))
    played = story.play([asked, "two places"], [look], limits=Limits(calls=2))
    assert len(ran) == 2
    assert [record.problem for record in played.result.calls] == [None, None, "limit", "limit", "limit"]
    assert len(played.results()) == 5
    assert all("limit of 2 calls" in words for words in played.results()[2:])
    assert (played.result.stopped, played.result.answer_at_limit) == ("limit", "two places")


LIMITS = [
    Limits(rounds=2),
    Limits(calls=2),
    Limits(tokens=400),
    Limits(per_tool={"look": 2}, rounds=3),
]


@pytest.mark.parametrize("limits", LIMITS)
def test_limit_reached(story, limits):
    def script(received):
        return call("look", {"where": str(len(ran))}) if received.body.get("tools") else "so far so good"

    played = story.play(script, [look], limits=limits)
    assert len(ran) == 2
    assert (played.result.stopped, played.result.answer_at_limit) == ("limit", "so far so good")
    assert played.offered(-1) == []
    assert "limit" in played.result.reason


def test_limit_reached__seconds(story):
    news = count()

    @tool(effect="read")
    async def wait() -> str:
        """Wait."""
        return str(next(news))

    def script(received):
        return call("wait") if received.body.get("tools") else "time is up"

    played = story.play(script, [wait], limits=Limits(seconds=0.2, rounds=None))
    assert (played.result.stopped, played.result.answer_at_limit) == ("limit", "time is up")
    assert "0.2 seconds" in played.result.reason


def test_limit_reached__seconds_of_a_model_that_takes_its_time(story):
    def script(received):
        return reply("thinking…", stall()) if received.body.get("tools") else "time is up"

    played = story.play(script, [look], limits=Limits(seconds=0.2))
    assert (played.result.stopped, played.result.answer_at_limit) == ("limit", "time is up")
    assert played.result.usage.requests == 2


def test_limit_reached__seconds_and_what_came_complete_is_kept(story):
    def script(received):
        return reply(call("look", {"where": "here"}), stall()) if received.body.get("tools") else "here"

    played = story.play(script, [look], limits=Limits(seconds=0.2))
    assert (played.result.stopped, played.result.answer_at_limit) == ("limit", "here")
    assert [record.problem for record in played.result.calls] == ([None] if story.stream else [])


def test_limit_reached__money(story):
    with pytest.raises(SettingsError, match=r"The price of \S+ isn't known, so a limit of \$0\.01 can't be kept\. Set it in your"):
        story.play([call("look", {"where": "a"}), "done"], [look], limits=Limits(cost=0.01))


def test_output_rejected(story):
    def below_ten(value: int) -> None:
        if value >= 10:
            raise ToolProblem("Stay below 10.")

    def give(value):
        return call("give_answer", {"value": value})

    settings = {"output_type": int, "output_validators": [below_ten], "limits": Limits(output_retries=2, backoff=0.0)}
    played = story.play([give(12), give("far"), give(7)], **settings)
    assert played.result.output == 7
    assert "Stay below 10." in played.results(1)[0]
    assert "give_answer" in played.results(2)[-1]
    played = story.play([give(12), give(13), give(14)], **settings)
    assert (played.result.stopped, len(played.server.requests)) == ("failed", 3)
    assert "Stay below 10." in played.result.reason


def test_ungrounded_answer(story):
    made_up, right = say("There are 17 of them in Rome."), say("There are 5.")
    played = story.play([call("add", {"a": 2, "b": 3}), made_up, right], tools=[add], grounded=True)
    assert (played.result.output, played.result.ungrounded) == ("There are 5.", ())
    played = story.play([call("add", {"a": 2, "b": 3}), made_up, made_up], tools=[add], grounded=True)
    assert [value.text for value in played.result.ungrounded] == ["17", "Rome"]
    assert (played.result.stopped, len(played.server.requests)) == ("answered", 3)
    assert played.result.message == "There are 17 [?] of them in Rome [?]."


@pytest.mark.parametrize(
    ("limits", "stopped", "text"),
    [
        (Limits(rounds=1, at_limit="words", words="Ask for less."), "limit", "Ask for less."),
        (Limits(rounds=1, at_limit="last_text"), "limit", "Looking."),
        (Limits(rounds=1, at_limit="fail"), "failed", "Looking."),
    ],
)
def test_limit_endings(story, limits, stopped, text):
    played = story.play([reply("Looking.", call("look", {"where": "here"}))], [look], limits=limits, policy=[allow("*")])
    assert (played.result.stopped, played.result.text) == (stopped, text)
    assert len(ran) == 1
    assert len(played.result.calls) == 1
