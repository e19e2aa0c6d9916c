"""A conversation that begins with one provider and goes on with another: calls, their ids and their reasoning included."""

from collections.abc import Iterator

from providers.case import Case, Expect, Leg
from providers.cases.build import whole
from providers.cases.common import PARIS, ROME, ask, sunny
from providers.script import Think, reply

# Where to, and from where: what is opaque to the new server has to stay behind, and ids have to be as it wants them.
MOVES = {
    "gpt-4o": "mistral deepseek openrouter gemini-chat claude gpt-6 gemini",
    "mistral": "gpt-4o kimi claude gemini",
    "groq": "deepseek",
    "deepseek": "gpt-4o claude",
    "claude": "gpt-4o kimi deepseek gpt-6 gemini bedrock",
    "gpt-6": "gpt-4o kimi claude gemini",
    "gemini": "gpt-4o claude gpt-6",
    "bedrock": "kimi gpt-6 gemini",
}


def cases() -> Iterator[Case]:
    """The cases of conversations that move."""
    for to, origins in MOVES.items():
        for origin in origins.split():
            first = Leg("Paris?", (reply(Think("I call the tool.", "b3JpZ2lu"), ask(PARIS)), sunny()), origin)
            second = Leg("And Rome?", (reply(Think("Once more.", "dGFyZ2V0"), ask(ROME)), reply("The same.")))
            both = Expect("The same.", (PARIS, ROME))
            yield from whole(
                to, f"after-{origin}", "another provider's history", [], both, legs=(first, second), tools=("weather",)
            )
