"""Models that misbehave: calls that can't be carried out, replies that are none, servers that fail, tools that raise."""

from typing import Any

from agent_exam.case import Case, Expect
from providers.script import Ask, Fail, reply

DONE = "A1 is paid."
PAY = Ask("pay", {"order": "A1", "amount": 5})
LOOK = Ask("look_up", {"order": "A1"})
PAID = Expect(DONE, ("A1 5",))


def _case(name: str, title: str, *replies: Any, expect: Expect = PAID, **more: Any) -> Case:
    if more.get("stream"):
        more["needs"] = frozenset({"stream"})
    return Case(f"misbehaviour/{name}", "misbehaviour", title, replies, expect, **more)


CASES = (
    _case(
        "broken-json",
        "arguments that are no JSON, then the right call",
        reply(Ask("pay", '{"order": "A1", "amount": 5, ')),
        reply(PAY),
        reply(DONE),
    ),
    _case(
        "wrong-type",
        "an argument of the wrong type, then the right call",
        reply(Ask("pay", {"order": "A1", "amount": "five"})),
        reply(PAY),
        reply(DONE),
    ),
    _case(
        "missing-argument",
        "a required argument is missing, then the right call",
        reply(Ask("pay", {"order": "A1"})),
        reply(PAY),
        reply(DONE),
    ),
    _case(
        "unknown-tool",
        "a tool that doesn't exist, then the right call",
        reply(Ask("pay_order", {"order": "A1", "amount": 5})),
        reply(PAY),
        reply(DONE),
    ),
    _case(
        "parallel-one-unknown",
        "two parallel calls, one of an unknown tool",
        reply(PAY, Ask("notify", {"order": "A1"})),
        reply(DONE),
    ),
    _case(
        "endless",
        "the same call over and over: stops by itself, without options",
        reply(LOOK),
        forever=True,
        expect=Expect(error="may"),
    ),
    _case(
        "limit",
        "the same call over and over, with a limit of 5 requests",
        reply(LOOK),
        forever=True,
        limit=5,
        needs=frozenset({"limit"}),
        expect=Expect(error="may", requests=6),
    ),
    _case(
        "tool-raises",
        "a tool raises: the model reads the problem and answers",
        reply(Ask("ship", {"order": "A1"})),
        reply("A1 can't be shipped."),
        tools=("ship", "pay"),
        expect=Expect("A1 can't be shipped."),
    ),
    _case(
        "parallel-one-raises",
        "two parallel calls, one of which raises: the model reads both",
        reply(PAY, Ask("ship", {"order": "A1"})),
        reply(DONE),
        tools=("ship", "pay"),
    ),
    _case(
        "huge-result",
        "a result of 3 MB, with a model that reads 0.6 MB: shortened",
        reply(Ask("export", {"order": "A1"})),
        reply("It was returned."),
        tools=("export",),
        expect=Expect("It was returned."),
    ),
    _case(
        "empty-reply",
        "an empty reply: repeated, or a documented error",
        reply(PAY),
        reply(),
        reply(DONE),
        expect=Expect(DONE, ("A1 5",), error="may"),
    ),
    _case(
        "cut-stream",
        "a stream breaks off in the answer: the request is repeated",
        reply(PAY),
        reply("A1 is being " * 20, cut=0.5),
        reply(DONE),
        stream=True,
    ),
    _case(
        "cut-call",
        "a stream breaks off inside a call: the request is repeated",
        reply(Ask("pay", {"order": "A1", "amount": 5}), cut=0.7),
        reply(PAY),
        reply(DONE),
        stream=True,
    ),
    _case(
        "rate-limit", "429 with Retry-After: 1: repeated, not earlier", Fail("rate_limit", retry_after=1), reply(PAY), reply(DONE)
    ),
    _case("server-error", "500, and 503 after the effect: repeated", Fail("server"), reply(PAY), Fail("overloaded"), reply(DONE)),
    _case(
        "refusal",
        "the model refuses: its words are the answer, or a documented error",
        reply("I can't help with that.", finish="refusal"),
        expect=Expect("I can't help with that.", error="may"),
    ),
    _case(
        "same-ids",
        "two parallel calls with the same id",
        reply(PAY, Ask("pay", {"order": "A2", "amount": 7}), quirks="same_ids"),
        reply("Both are paid."),
        expect=Expect("Both are paid.", ("A1 5", "A2 7")),
    ),
)
