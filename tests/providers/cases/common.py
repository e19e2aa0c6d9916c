"""What every wire has to carry: words, calls, failures, schemas. The same cases for each of them."""

from collections.abc import Iterator

from providers.case import Case, Expect, Leg
from providers.cases.build import both, streamed, whole
from providers.script import Ask, Fail, Give, Reply, Tokens, reply
from providers.toolbox import City

PARIS = ("weather", {"city": "Paris"})
ROME = ("weather", {"city": "Rome"})
ODD = 'Zoë said: "naïve" \\ 東京 🌧️ — ﷽\n\tend\u2028'
LONG = "a long line of text, with “quotes” and {braces}\n" * 1200


def ask(call: tuple[str, object], id: str | None = None) -> Ask:  # noqa: A002 - its name on every wire
    return Ask(call[0], call[1], id)  # type: ignore[arg-type]


def sunny(**settings: object) -> Reply:
    return reply("It is 21 degrees.", **settings)


SUNNY = "It is 21 degrees."
CALLED = Expect(SUNNY, (PARIS,))


def common(
    at: str, *, stops: bool = True, one_call: bool = True, keep_alive: bool = True, retry_after: float | None = 1
) -> Iterator[Case]:
    """The cases that every wire has.

    Not every one takes stop sequences, can be told to make one call at a time, keeps connections alive, or says when to come back.
    """
    yield from _talking(at, stops)
    yield from _calling(at)
    if one_call:
        single = {"parallel_calls": False}
        exchange = [reply(ask(PARIS)), sunny()]
        yield from whole(at, "one-call-at-a-time", "options", exchange, CALLED, tools=("weather",), options=single, sends=single)
    yield from _schemas(at)
    yield from _answers(at)
    yield from _failing(at, retry_after)
    yield from _breaking(at)
    if keep_alive:
        alive = [reply(ask(PARIS), quirks="keep_alive"), sunny(quirks="keep_alive")]
        yield from streamed(at, "keep-alive", "keep-alives", alive, CALLED, tools=("weather",))


def _talking(at: str, stops: bool) -> Iterator[Case]:
    used = Tokens(120, 30)
    yield from both(at, "plain", "plain", [sunny(tokens=used)], Expect(SUNNY, tokens=used), instructions="Answer in one sentence.")
    yield from both(at, "odd-characters", "plain", [reply(ODD)], Expect(ODD.strip()), prompt=f"Repeat: {ODD.strip()}")
    legs = (Leg("Who wrote Emma?", (reply("Jane Austen."),)), Leg("When?", (reply("In 1815."),)))
    yield from both(at, "second-prompt", "role order", [], Expect("In 1815."), legs=legs, instructions="Be brief.")
    yield from whole(
        at, "image", "images", [reply("A red dot.")], Expect("A red dot."), prompt="What is in the picture?", image=True
    )
    sends = {"max_tokens": 300, **({"stop": ("END",)} if stops else {})}
    yield from whole(at, "limits", "options", [sunny()], Expect(SUNNY), options=sends, sends=sends)


def _calling(at: str) -> Iterator[Case]:
    tools = ("weather", "stock")
    yield from both(at, "call", "tools", [reply(ask(PARIS)), sunny()], CALLED, tools=tools, instructions="Use the tools.")
    yield from both(at, "words-and-call", "tools", [reply("I look.", ask(PARIS)), sunny()], CALLED, tools=tools)
    two = (PARIS, ROME)
    yield from both(
        at, "parallel", "parallel", [reply(ask(PARIS), ask(ROME)), reply("Both 21.")], Expect("Both 21.", two), tools=tools
    )
    shoes = ("stock", {"item": "shoes", "size": 42})
    rounds = [reply(ask(PARIS)), reply(ask(ROME)), reply(ask(shoes)), reply("Done.", tokens=Tokens(400, 50, cached=300))]
    used = Tokens(700, 110, cached=300)
    yield from both(at, "three-rounds", "rounds", rounds, Expect("Done.", (PARIS, ROME, shoes), tokens=used), tools=tools)
    legs = (Leg("Paris?", (reply(ask(PARIS)), sunny())), Leg("And Rome?", (reply(ask(ROME)), reply("The same."))))
    yield from both(at, "calls-in-two-turns", "role order", [], Expect("The same.", two), legs=legs, tools=tools)
    keep = ("keep", {"text": LONG})
    yield from both(
        at, "long-arguments", "huge arguments", [reply(ask(keep)), reply("Kept.")], Expect("Kept.", (keep,)), tools=("keep",)
    )
    odd = ("keep", {"text": ODD})
    yield from both(at, "odd-arguments", "tools", [reply(ask(odd)), reply("Kept.")], Expect("Kept.", (odd,)), tools=("keep",))
    day = ("today", {})
    yield from both(at, "no-arguments", "tools", [reply(ask(day)), reply("Monday.")], Expect("Monday.", (day,)), tools=("today",))
    unknown = [reply(Ask("wheather", {"city": "Paris"})), reply(ask(PARIS)), sunny()]
    yield from both(at, "unknown-tool", "tools", unknown, CALLED, tools=tools)
    odd_name = [reply(Ask("the weather/öl", {"city": "Paris"})), reply(ask(PARIS)), sunny()]
    yield from both(at, "odd-tool-name", "ids and names", odd_name, CALLED, tools=tools)
    wrong = [reply(Ask("weather", {"town": 5})), reply(ask(PARIS)), sunny()]
    yield from whole(at, "wrong-arguments", "tools", wrong, CALLED, tools=tools)


_AWKWARD = {
    "nested": ("book", {"trip": {"stops": [{"place": "Oslo", "nights": 2}, {"place": "Bergen"}], "last": {"place": "Oslo"}}}),
    "optional": ("book", {"trip": {"stops": [], "contact": None}, "back": {"place": "Rome", "nights": 3}}),
    "enum": ("paint", {"color": "blue", "finish": "gloss"}),
    "defaults": ("paint", {"color": "red"}),
    "union": ("measure", {"value": [1.5, 2.5]}),
    "recursive": ("search", {"rule": {"name": "all", "any_of": [{"name": "a", "equals": "1"}, {"name": "b", "any_of": []}]}}),
    "map": ("label", {"labels": {"a": "x", "b": "y"}}),
}


def _schemas(at: str) -> Iterator[Case]:
    for name, call in _AWKWARD.items():
        yield from whole(
            at, f"schema-{name}", "schemas", [reply(ask(call)), reply("Done.")], Expect("Done.", (call,)), tools=(call[0],)
        )


def _answers(at: str) -> Iterator[Case]:
    rome = {"name": "Rome", "population": 2_800_000, "rivers": ["Tiber", "Aniene"]}
    given = Expect(output=rome)
    yield from both(at, "structured", "structured output", [reply(Give(rome))], given, output=City, prompt="Tell me about Rome.")
    after = [reply(ask(ROME)), reply(Give(rome))]
    yield from both(
        at, "structured-after-call", "structured output", after, Expect(output=rome, calls=(ROME,)), output=City, tools=("weather",)
    )
    empty = [reply(tokens=Tokens(100, 0)), sunny()]
    yield from both(at, "empty", "finish reasons", empty, Expect(SUNNY))
    late = [reply(ask(PARIS)), reply(tokens=Tokens(100, 0)), sunny()]
    yield from both(at, "empty-after-call", "role order", late, CALLED, tools=("weather",))
    cut = reply(Ask("weather", '{"city": "Par'), finish="length")
    resumed = [cut, reply(ask(PARIS)), sunny()]
    yield from both(at, "call-cut-off", "finish reasons", resumed, CALLED, Expect(error="length", answers=1), tools=("weather",))
    yield from both(at, "filtered", "refusals", [reply(finish="filter")], Expect(error="filtered"))


def _failing(at: str, retry_after: float | None) -> Iterator[Case]:
    yield from whole(at, "key-refused", "errors", [Fail("auth")], Expect(error="auth"))
    yield from whole(at, "no-such-model", "errors", [Fail("not_found")], Expect(error="not_found"))
    yield from both(at, "too-long", "overflow", [Fail("context")], Expect(error="context"))
    yield from both(at, "rate-limit", "rate limits", [Fail("rate_limit", retry_after=retry_after), sunny()], Expect(SUNNY))
    yield from whole(at, "overloaded", "rate limits", [Fail("overloaded"), sunny()], Expect(SUNNY))
    yield from whole(at, "proxy-page", "errors", [Fail("page"), sunny()], Expect(SUNNY))
    yield from both(at, "page-for-reply", "errors", [Fail("page", 200)] * 6, *(Expect(error="any", answers=n) for n in range(1, 7)))


def _breaking(at: str) -> Iterator[Case]:
    yield from streamed(at, "cut-in-words", "broken streams", [reply("It is" * 30, cut=0.5), sunny()], Expect(SUNNY))
    broken = [reply(ask(("keep", {"text": "x" * 300})), cut=0.6), reply(ask(PARIS)), sunny()]
    yield from streamed(at, "cut-in-call", "broken streams", broken, CALLED, tools=("weather", "keep"))
    failed = [reply("It is", failure=Fail("overloaded")), sunny()]
    yield from streamed(at, "error-in-stream", "broken streams", failed, Expect(SUNNY))
