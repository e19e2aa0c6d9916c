"""Bedrock's Converse: what the wire carries, and what Claude and Nova demand behind it."""

from collections.abc import Iterator

from providers.case import Case, Expect, Leg
from providers.cases.build import both, whole
from providers.cases.common import CALLED, PARIS, ROME, SUNNY, ask, common, sunny
from providers.script import Think, Tokens, reply

THOUGHT = Think("The user wants the weather.", "c2lnbmF0dXJlLTE=")
HIDDEN = Think("", "cmVkYWN0ZWQtMQ==", hidden=True)
TOOLS = ("weather", "stock")
BOTH = Expect("Both 21.", (PARIS, ROME))


def cases() -> Iterator[Case]:
    """The cases of this wire."""
    yield from common("bedrock", one_call=False, keep_alive=False, retry_after=None)
    yield from _thinking()
    yield from _more()


def _thinking() -> Iterator[Case]:
    at = "bedrock"
    yield from both(at, "thinking-and-call", "opaque parts", [reply(THOUGHT, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    yield from both(at, "redacted-thinking", "opaque parts", [reply(HIDDEN, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    parallel = [reply(THOUGHT, "Both at once.", ask(PARIS), ask(ROME)), reply("Both 21.")]
    yield from both(at, "thinking-parallel", "opaque parts", parallel, BOTH, tools=TOOLS)
    rounds = [reply(THOUGHT, ask(PARIS)), reply(Think("Now Rome.", "c2lnbmF0dXJlLTI="), ask(ROME)), reply("Both 21.")]
    yield from both(at, "thinking-in-rounds", "opaque parts", rounds, BOTH, tools=TOOLS)
    first = Leg("Paris?", (reply(THOUGHT, ask(PARIS)), reply(THOUGHT, SUNNY)))
    legs = (first, Leg("Rome?", (reply(THOUGHT, ask(ROME)), reply("Both 21."))))
    yield from both(at, "thinking-in-two-turns", "opaque parts", [], BOTH, legs=legs, tools=TOOLS)


def _more() -> Iterator[Case]:
    at = "bedrock"
    yield from both(at, "temperature", "options", [reply(ask(PARIS)), sunny()], CALLED, tools=TOOLS, options={"temperature": 0.2})
    warm = {"temperature": 0.2}
    yield from whole("nova", "temperature", "options", [sunny()], Expect(SUNNY), options=warm, sends=warm)
    yield from both("nova", "call", "tools", [reply(ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    used = Tokens(1000, 20, cached=700, written=200)
    yield from both(at, "cached", "usage", [sunny(tokens=used)], Expect(SUNNY, tokens=used))
    stopped = reply("Sorry, I can't answer that.", finish="refusal")
    yield from both(at, "guardrail", "refusals", [stopped], Expect("Sorry, I can't answer that."), Expect(error="filtered"))
    effort = {"reasoning": "high"}
    yield from whole(
        at,
        "effort",
        "options",
        [reply(THOUGHT, ask(PARIS)), sunny()],
        CALLED,
        tools=TOOLS,
        options=effort,
        sends={"reasoning": True},
    )
