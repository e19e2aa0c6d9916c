"""Chat completions: what the wire carries, and what each of its servers demands."""

from collections.abc import Iterator

from providers.case import Case, Expect, Leg
from providers.cases.build import both, streamed, whole
from providers.cases.common import CALLED, PARIS, ROME, SUNNY, ask, common, sunny
from providers.script import Ask, Fail, Give, Think, Tokens, reply
from providers.toolbox import City

THOUGHT = Think("The user wants the weather, so I call the tool.", "c2lnbmF0dXJlLTE=")
HIDDEN = Think("", "ZW5jcnlwdGVkLTE=", hidden=True)
TOOLS = ("weather", "stock")
_DIALECT = '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>'


def cases() -> Iterator[Case]:
    """The cases of this wire."""
    yield from common("gpt-4o")
    yield from _openai()
    yield from _azure()
    yield from _mistral()
    yield from _thinking()
    yield from _gemini()
    yield from _groq()
    yield from _without_tools()
    yield from _local()


def _openai() -> Iterator[Case]:
    sampling = {"temperature": 0.2, "seed": 7}
    yield from whole("gpt-4o", "sampling", "options", [sunny()], Expect(SUNNY), options=sampling, sends=sampling)
    declined = reply("I can't help with that.", finish="refusal")
    yield from both("gpt-4o", "refusal", "refusals", [declined], Expect("I can't help with that."), Expect(error="filtered"))
    exchange = [reply(ask(PARIS)), sunny()]
    yield from both("gpt-5.6", "call", "tools", exchange, CALLED, tools=TOOLS)
    yield from both("gpt-5.6", "temperature", "options", exchange, CALLED, tools=TOOLS, options={"temperature": 0.2})
    yield from both("gpt-5.6", "limit", "options", [sunny()], Expect(SUNNY), options={"max_tokens": 500}, sends={"max_tokens": 500})
    thinking = [reply(Think("", "ZW5jcnlwdGVkLTE=", hidden=True), ask(PARIS)), sunny()]
    yield from both("gpt-5.6", "thinking-and-call", "opaque parts", thinking, CALLED, tools=TOOLS)
    yield from both("o3", "temperature", "options", exchange, CALLED, tools=TOOLS, options={"temperature": 0.2})
    yield from both("o3", "limit", "options", exchange, CALLED, tools=TOOLS, options={"max_tokens": 500}, sends={"max_tokens": 500})
    yield from whole(
        "o3", "effort", "options", exchange, CALLED, tools=TOOLS, options={"reasoning": "low"}, sends={"reasoning": "low"}
    )


def _azure() -> Iterator[Case]:
    yield from both("azure", "plain", "plain", [sunny()], Expect(SUNNY))
    yield from both("azure", "call", "tools", [reply(ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    yield from both("azure", "prompt-filtered", "refusals", [Fail("filter")], Expect(error="filtered"))


def _mistral() -> Iterator[Case]:
    at = "mistral"
    yield from both(
        at, "plain", "plain", [sunny(tokens=Tokens(120, 30))], Expect(SUNNY, tokens=Tokens(120, 30)), instructions="Be brief."
    )
    yield from both(at, "call", "ids and names", [reply(ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    two = Expect("Both 21.", (PARIS, ROME))
    yield from both(at, "parallel", "parallel", [reply(ask(PARIS), ask(ROME)), reply("Both 21.")], two, tools=TOOLS)
    yield from both(at, "empty-after-call", "role order", [reply(ask(PARIS)), reply(), sunny()], CALLED, tools=TOOLS)
    legs = (Leg("Paris?", (reply(ask(PARIS)), sunny())), Leg("And Rome?", (reply(ask(ROME)), reply("Both 21."))))
    yield from both(at, "calls-in-two-turns", "role order", [], two, legs=legs, tools=TOOLS)
    yield from whole(at, "seed", "options", [sunny()], Expect(SUNNY), options={"seed": 7}, sends={"seed": 7})
    limits = {"max_tokens": 300, "stop": ("END",)}
    yield from both(at, "limits", "options", [sunny()], Expect(SUNNY), options=limits, sends=limits)
    yield from both(at, "thinking", "opaque parts", [reply(THOUGHT, "It is 21 degrees.")], Expect(SUNNY))
    yield from both(at, "thinking-and-call", "opaque parts", [reply(THOUGHT, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    rome = {"name": "Rome", "population": 2_800_000, "rivers": ["Tiber"]}
    yield from both(at, "structured", "structured output", [reply(Give(rome))], Expect(output=rome), output=City)
    yield from whole(at, "too-long", "overflow", [Fail("context")], Expect(error="context"))
    yield from whole(at, "rate-limit", "rate limits", [Fail("rate_limit", retry_after=1), sunny()], Expect(SUNNY))


def _thinking() -> Iterator[Case]:
    """Servers whose reasoning has to come back."""
    call = [reply(THOUGHT, ask(PARIS)), sunny()]
    for at in ("deepseek", "kimi", "glm", "openrouter"):
        yield from both(at, "thinking-and-call", "opaque parts", call, CALLED, tools=TOOLS)
    rounds = [reply(THOUGHT, ask(PARIS)), reply(Think("And now Rome."), "Now Rome.", ask(ROME)), reply("Both 21.")]
    for at in ("deepseek", "kimi", "openrouter"):
        yield from both(at, "thinking-in-rounds", "opaque parts", rounds, Expect("Both 21.", (PARIS, ROME)), tools=TOOLS)
    legs = (
        Leg("Paris?", (reply(THOUGHT, ask(PARIS)), reply(THOUGHT, SUNNY))),
        Leg("Rome?", (reply(THOUGHT, ask(ROME)), reply("The same."))),
    )
    yield from both(
        "deepseek", "thinking-in-two-turns", "opaque parts", [], Expect("The same.", (PARIS, ROME)), legs=legs, tools=TOOLS
    )
    used = Tokens(900, 40, cached=800)
    yield from both("deepseek", "cached", "usage", [sunny(tokens=used)], Expect(SUNNY, tokens=used))
    yield from both("openrouter", "hidden-thinking", "opaque parts", [reply(HIDDEN, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    two = [reply(HIDDEN, ask(PARIS), ask(ROME)), reply("Both 21.")]
    yield from both("openrouter", "hidden-thinking-parallel", "opaque parts", two, Expect("Both 21.", (PARIS, ROME)), tools=TOOLS)
    on_top = sunny(tokens=used, quirks="cached_on_top")
    yield from both("kimi", "cached", "usage", [on_top], Expect(SUNNY, tokens=used))
    failed = [Fail("overloaded", 200), sunny()]
    yield from whole("openrouter", "error-as-reply", "errors", failed, Expect(SUNNY), Expect(error="any", answers=1))


def _gemini() -> Iterator[Case]:
    at = "gemini-chat"
    yield from both(at, "signature", "opaque parts", [reply(HIDDEN, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    two = Expect("Both 21.", (PARIS, ROME))
    parallel = reply(HIDDEN, ask(PARIS), ask(ROME))
    yield from both(at, "signature-parallel", "opaque parts", [parallel, reply("Both 21.")], two, tools=TOOLS)
    rounds = [reply(HIDDEN, ask(PARIS)), reply(Think("", "c2Vjb25k", hidden=True), ask(ROME)), reply("Both 21.")]
    yield from both(at, "signature-in-rounds", "opaque parts", rounds, two, tools=TOOLS)

    own_words = "gemini_finish"
    yield from both(at, "filtered", "refusals", [reply(finish="filter", quirks=own_words)], Expect(error="filtered"))
    again = [reply(finish="malformed", quirks=own_words), reply(HIDDEN, ask(PARIS)), sunny()]
    yield from both(at, "malformed-call", "finish reasons", again, CALLED, tools=TOOLS)


def _groq() -> Iterator[Case]:
    yield from both("groq", "thinking-and-call", "opaque parts", [reply(THOUGHT, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    yield from whole("groq", "call-refused", "errors", [Fail("bad_call"), reply(ask(PARIS)), sunny()], CALLED, tools=TOOLS)


def _without_tools() -> Iterator[Case]:
    """A server that takes no tools: calls are asked for, and written, in the text."""
    exchange = [reply(_DIALECT), sunny()]
    yield from both("no-tools", "call", "no tools", exchange, CALLED, tools=TOOLS)
    rounds = [reply(_DIALECT), reply(_DIALECT.replace("Paris", "Rome")), reply("Both 21.")]
    yield from both("no-tools", "rounds", "no tools", rounds, Expect("Both 21.", (PARIS, ROME)), tools=TOOLS)
    yield from both("no-tools", "plain", "plain", [sunny()], Expect(SUNNY))


def _local() -> Iterator[Case]:
    """vLLM, llama.cpp and their like: oddities of compatible servers."""
    at = "vllm"
    two = Expect("Both 21.", (PARIS, ROME))

    def parallel(quirks: str) -> list[object]:
        return [reply(ask(PARIS), ask(ROME), quirks=quirks), reply("Both 21.", quirks=quirks)]

    yield from both(at, "object-arguments", "odd servers", parallel("object_arguments"), two, tools=TOOLS)
    yield from both(at, "no-ids", "ids and names", parallel("no_ids"), two, tools=TOOLS)
    yield from both(at, "same-ids", "ids and names", parallel("same_ids"), two, tools=TOOLS)
    yield from both(at, "stop-with-calls", "finish reasons", parallel("stop_with_calls"), two, tools=TOOLS)
    yield from both(at, "no-usage", "usage", parallel("no_usage"), two, tools=TOOLS)
    yield from streamed(at, "no-index", "odd servers", parallel("no_index"), two, tools=TOOLS)
    yield from streamed(at, "index-zero", "odd servers", parallel("whole_calls index_zero"), two, tools=TOOLS)  # gcli2api#406
    yield from streamed(at, "whole-calls", "odd servers", parallel("whole_calls"), two, tools=TOOLS)
    yield from streamed(at, "no-done", "odd servers", parallel("no_done"), two, tools=TOOLS)
    flat = [reply("It is", failure=Fail("server"), quirks="flat_error"), sunny()]
    yield from streamed(at, "flat-error-in-stream", "broken streams", flat, Expect(SUNNY))
    yield from both(at, "thinking", "odd servers", [reply(THOUGHT, SUNNY)], Expect(SUNNY))
    day = Expect("Monday.", (("today", {}),))
    yield from both(at, "empty-arguments", "odd servers", [reply(Ask("today", "")), reply("Monday.")], day, tools=("today",))
    yield from both(at, "null-arguments", "odd servers", [reply(Ask("today", "null")), reply("Monday.")], day, tools=("today",))
    broken = [reply(Ask("weather", '{"city": Paris')), reply(ask(PARIS)), sunny()]
    mended = Expect(SUNNY, (PARIS,), answers=2)
    yield from both(at, "broken-arguments", "odd servers", broken, CALLED, mended, tools=TOOLS)
