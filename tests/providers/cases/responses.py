"""OpenAI's Responses: what the wire carries, and which items have to come back."""

from collections.abc import Iterator

from providers.case import Case, Expect, Leg
from providers.cases.build import both, streamed, whole
from providers.cases.common import CALLED, PARIS, ROME, SUNNY, ask, common, sunny
from providers.script import Ask, Block, Fail, Think, Tokens, reply

THOUGHT = Think("The user wants the weather.", "ZW5jcnlwdGVkLTE=")
HIDDEN = Think("", "ZW5jcnlwdGVkLTI=")
TOOLS = ("weather", "stock")
BOTH = Expect("Both 21.", (PARIS, ROME))
SEARCH = Block({"type": "web_search_call", "id": "ws_01", "status": "completed", "action": {"type": "search", "query": "weather"}})


def cases() -> Iterator[Case]:
    """The cases of this wire."""
    yield from common("gpt-6", stops=False)
    yield from _reasoning()
    yield from _more()


def _reasoning() -> Iterator[Case]:
    at = "gpt-6"
    yield from both(at, "reasoning-and-call", "opaque parts", [reply(THOUGHT, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    yield from both(at, "hidden-reasoning", "opaque parts", [reply(HIDDEN, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    parallel = [reply(THOUGHT, "Both at once.", ask(PARIS), ask(ROME)), reply("Both 21.")]
    yield from both(at, "reasoning-parallel", "opaque parts", parallel, BOTH, tools=TOOLS)
    rounds = [reply(THOUGHT, ask(PARIS)), reply(HIDDEN, ask(ROME)), reply("Both 21.")]
    yield from both(at, "reasoning-in-rounds", "opaque parts", rounds, BOTH, tools=TOOLS)
    twice = [reply(THOUGHT, HIDDEN, ask(PARIS)), sunny()]
    yield from both(at, "two-reasoning-items", "opaque parts", twice, CALLED, tools=TOOLS)
    legs = (
        Leg("Paris?", (reply(THOUGHT, ask(PARIS)), reply(HIDDEN, SUNNY))),
        Leg("Rome?", (reply(THOUGHT, ask(ROME)), reply("Both 21."))),
    )
    yield from both(at, "reasoning-in-two-turns", "opaque parts", [], BOTH, legs=legs, tools=TOOLS)
    yield from both("no-retention", "reasoning-in-rounds", "opaque parts", rounds, BOTH, tools=TOOLS)
    yield from both("no-retention", "reasoning-in-two-turns", "opaque parts", [], BOTH, legs=legs, tools=TOOLS)
    high = {"reasoning": "high"}
    yield from both(at, "effort", "options", [reply(THOUGHT, ask(PARIS)), sunny()], CALLED, tools=TOOLS, options=high, sends=high)


def _more() -> Iterator[Case]:
    at = "gpt-6"
    yield from both(at, "temperature", "options", [reply(ask(PARIS)), sunny()], CALLED, tools=TOOLS, options={"temperature": 0.2})
    warm = {"temperature": 0.2}
    yield from whole("gpt-4.1", "temperature", "options", [sunny()], Expect(SUNNY), options=warm, sends=warm)
    yield from both("gpt-4.1", "call", "tools", [reply(ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    declined = reply("I can't help with that.", finish="refusal")
    yield from both(at, "refusal", "refusals", [declined], Expect("I can't help with that."), Expect(error="filtered"))
    used = Tokens(1000, 60, cached=700, reasoning=40)
    counted = Tokens(1000, 60, cached=700)
    yield from both(at, "cached", "usage", [sunny(tokens=used)], Expect(SUNNY, tokens=counted))
    yield from both(at, "search", "opaque parts", [reply(THOUGHT, SEARCH, SUNNY)], Expect(SUNNY), search=True)
    yield from both(at, "search-and-call", "opaque parts", [reply(SEARCH, ask(PARIS)), sunny()], CALLED, tools=TOOLS, search=True)
    nothing, day = [reply(Ask("today", "null")), reply("Monday.")], Expect("Monday.", (("today", {}),))
    yield from both(at, "null-arguments", "tools", nothing, day, tools=("today",))
    limited = [reply("It", failure=Fail("rate_limit")), sunny()]
    yield from streamed(at, "rate-limit-in-stream", "broken streams", limited, Expect(SUNNY))
