"""Ask a model for one JSON object about what a prompt shows it: a folder's files, a change.

An answer that repeats the instructions instead of describing what was shown is asked for once more, and then refused.
"""

from typing import Any, cast

from msgspec import Struct

from treadle import Limits, Options, Usage
from treadle.assistant import Host, configured_agent
from treadle.assistants.reading import prompts
from treadle.assistants.reading.answer_validation import find_echoes
from treadle.assistants.reading.reading_types import TokenUsage
from treadle.assistants.reading.source_files import NotReadable
from treadle.plans import extract_json

_TRIES = 2


class JsonAnswer(Struct, frozen=True):
    """A model's answer: its intent, which is never empty, all its fields, and what it cost."""

    intent: str
    fields: dict[str, Any]
    tokens: TokenUsage
    run_id: str


async def ask_for_json(host: Host, name: str, instructions: str, question: str, intent: str) -> JsonAnswer:
    """Return a model's answer, whose field `intent` says what it is all for; raise `NotReadable` if it can't be used."""
    model = await host.model()
    parts: dict[str, Any] = {
        "name": name,
        "instructions": instructions,
        "limits": Limits(rounds=2, tries=3),
        "options": Options(temperature=0.1, max_tokens=2000).suited(model.traits),
    }
    agent = configured_agent(None, model, parts=parts)
    kept: dict[str, Any] = {"journal": host.home.services(), "user": host.user, "origin": host.remember({})}
    asked, spent = question, Usage()
    for _ in range(_TRIES):
        result = await agent.run(asked, **kept)
        spent += result.usage
        answer = extract_json(result.output)
        fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        words = fields.get(intent)
        if not isinstance(words, str) or not any(map(str.isalnum, words)):
            raise NotReadable("what it answered can't be read.")
        echoes = find_echoes(collect_strings(fields), instructions, question)
        if not echoes:
            return JsonAnswer(words.strip(), fields, TokenUsage.of(spent), result.run_id)
        asked = f"{question}\n\n{prompts.format_echoes(echoes)}"
    raise NotReadable("it repeats its instructions.")


def collect_strings(value: object) -> list[str]:
    """Return every text in a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = list(cast("dict[str, object]", value).values()) if isinstance(value, dict) else value
    return [text for each in cast("list[object]", inner) for text in collect_strings(each)] if isinstance(inner, list) else []
