"""Gemini's own API: what the wire carries, signatures that have to come back, and its ways to end a reply."""

from collections.abc import Iterator

from providers.case import Case, Expect, Leg
from providers.cases.build import both, whole
from providers.cases.common import CALLED, PARIS, ROME, SUNNY, ask, common, sunny
from providers.script import Think, Tokens, reply

HIDDEN = Think("", "c2lnbmF0dXJlLTE=", hidden=True)
THOUGHT = Think("The user wants the weather.", "c2lnbmF0dXJlLTI=")
TOOLS = ("weather", "stock")
BOTH = Expect("Both 21.", (PARIS, ROME))


def cases() -> Iterator[Case]:
    """The cases of this wire."""
    yield from common("gemini", one_call=False, keep_alive=False)
    yield from _signatures()
    yield from _ends()
    yield from _more()


def _signatures() -> Iterator[Case]:
    at = "gemini"
    yield from both(at, "signature", "opaque parts", [reply(HIDDEN, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    yield from both(at, "thought-and-signature", "opaque parts", [reply(THOUGHT, ask(PARIS)), sunny()], CALLED, tools=TOOLS)
    parallel = [reply(HIDDEN, ask(PARIS), ask(ROME)), reply("Both 21.")]
    yield from both(at, "signature-parallel", "opaque parts", parallel, BOTH, tools=TOOLS)
    rounds = [reply(HIDDEN, ask(PARIS)), reply(THOUGHT, ask(ROME)), reply("Both 21.")]
    yield from both(at, "signature-in-rounds", "opaque parts", rounds, BOTH, tools=TOOLS)
    first = Leg("Paris?", (reply(HIDDEN, ask(PARIS)), reply(HIDDEN, SUNNY)))
    legs = (first, Leg("Rome?", (reply(HIDDEN, ask(ROME)), reply("Both 21."))))
    yield from both(at, "signature-in-two-turns", "opaque parts", [], BOTH, legs=legs, tools=TOOLS)
    yield from both(at, "thought-is-no-answer", "opaque parts", [reply(THOUGHT, SUNNY)], Expect(SUNNY))


def _ends() -> Iterator[Case]:
    at = "gemini"
    again = [reply(finish="malformed"), reply(HIDDEN, ask(PARIS)), sunny()]
    yield from both(at, "malformed-call", "finish reasons", again, CALLED, tools=TOOLS)
    yield from both(at, "prompt-blocked", "refusals", [reply(quirks="blocked")], Expect(error="filtered"))
    yield from both(at, "prohibited", "refusals", [reply(finish="refusal")], Expect(error="filtered"))


def _more() -> Iterator[Case]:
    at = "gemini"
    used = Tokens(1000, 60, cached=700, reasoning=40)
    yield from both(at, "cached", "usage", [sunny(tokens=used)], Expect(SUNNY, tokens=Tokens(1000, 60, cached=700)))
    sampling = {"temperature": 0.2, "seed": 7}
    yield from whole(at, "sampling", "options", [sunny()], Expect(SUNNY), options=sampling, sends=sampling)
    effort = {"reasoning": "low"}
    yield from both(
        at,
        "effort",
        "options",
        [reply(HIDDEN, ask(PARIS)), sunny()],
        CALLED,
        tools=TOOLS,
        options=effort,
        sends={"reasoning": True},
    )
