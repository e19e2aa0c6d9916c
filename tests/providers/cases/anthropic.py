"""Anthropic's messages: what the wire carries, and what its models demand."""

from collections.abc import Iterator

from providers.case import Case, Expect, Leg
from providers.cases.build import both, streamed, whole
from providers.cases.common import CALLED, PARIS, ROME, SUNNY, ask, common, sunny
from providers.script import Block, Think, Tokens, reply

THOUGHT = Think("The user wants the weather, so I call the tool.", "c2lnbmF0dXJlLTE=")
HIDDEN = Think("", "cmVkYWN0ZWQtMQ==", hidden=True)
OMITTED = Think("", "c2lnbmF0dXJlLTI=")
TOOLS = ("weather", "stock")
SEARCH = Block({"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "weather Paris"}})
_PAGE = {
    "type": "web_search_result",
    "url": "https://weather.example/paris",
    "title": "Paris",
    "encrypted_content": "ZW5j",
    "page_age": None,
}
FOUND = Block({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01", "content": [_PAGE]})
BOTH = Expect("Both 21.", (PARIS, ROME))


def cases() -> Iterator[Case]:
    """The cases of this wire."""
    yield from common("claude")
    yield from _thinking()
    yield from _pausing()
    yield from _limits()


def _thinking() -> Iterator[Case]:
    at = "claude"
    yield from both(at, "thinking-and-call", "opaque parts", [reply(THOUGHT, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    think = {"reasoning": "high"}
    yield from both(
        at,
        "effort",
        "opaque parts",
        [reply(THOUGHT, ask(PARIS)), sunny()],
        CALLED,
        tools=TOOLS,
        options=think,
        sends={"reasoning": True},
    )
    yield from both(at, "redacted-thinking", "opaque parts", [reply(THOUGHT, HIDDEN, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    yield from both(at, "omitted-thinking", "opaque parts", [reply(OMITTED, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    parallel = [reply(THOUGHT, "Both at once.", ask(PARIS), ask(ROME)), reply("Both 21.")]
    yield from both(at, "thinking-parallel", "opaque parts", parallel, BOTH, tools=TOOLS)
    rounds = [reply(THOUGHT, ask(PARIS)), reply(Think("Now Rome.", "c2lnbmF0dXJlLTM="), ask(ROME)), reply("Both 21.")]
    yield from both(at, "thinking-in-rounds", "opaque parts", rounds, BOTH, tools=TOOLS)
    legs = (
        Leg("Paris?", (reply(THOUGHT, ask(PARIS)), reply(THOUGHT, SUNNY))),
        Leg("Rome?", (reply(THOUGHT, ask(ROME)), reply("Both 21."))),
    )
    yield from both(at, "thinking-in-two-turns", "opaque parts", [], BOTH, legs=legs, tools=TOOLS)


def _pausing() -> Iterator[Case]:
    at = "claude"
    paused = reply(SEARCH, FOUND, finish="pause")
    yield from both(at, "pause", "finish reasons", [paused, sunny()], Expect(SUNNY), search=True)
    yield from both(
        at, "pause-in-search", "finish reasons", [reply(SEARCH, finish="pause"), reply(FOUND, SUNNY)], Expect(SUNNY), search=True
    )
    yield from both(
        at, "search-and-call", "opaque parts", [reply(SEARCH, FOUND, ask(PARIS)), sunny()], CALLED, tools=TOOLS, search=True
    )


def _limits() -> Iterator[Case]:
    at = "claude"
    yield from both(at, "temperature", "options", [reply(ask(PARIS)), sunny()], CALLED, tools=TOOLS, options={"temperature": 0.2})
    warm = {"temperature": 0.2}
    yield from whole("haiku", "temperature", "options", [sunny()], Expect(SUNNY), options=warm, sends=warm)
    long = "word " * 4000
    kept = ("keep", {"text": long})
    answers = [reply(ask(kept), tokens=Tokens(100, 20_000)), reply("Kept.")]
    yield from streamed(at, "long-reply", "limits", answers, Expect("Kept.", (kept,)), tools=("keep",))
    used = Tokens(1000, 20, cached=700, written=200)
    yield from both(at, "cached", "usage", [sunny(tokens=used)], Expect(SUNNY, tokens=used))
    full = reply("It is", finish="context")
    yield from both(at, "window-full", "finish reasons", [full], Expect("It is"), Expect(error="context"), Expect(error="length"))
    declined = reply("I can't", finish="refusal")
    yield from both(at, "refusal-after-words", "refusals", [declined], Expect("I can't"), Expect(error="filtered"))
    instructions = ("You know all about the weather. " * 200).strip()
    rounds = [reply(ask(PARIS)), reply(ask(ROME)), reply("Both 21.")]
    yield from whole(at, "cache-marks", "limits", rounds, BOTH, tools=TOOLS, instructions=instructions)
