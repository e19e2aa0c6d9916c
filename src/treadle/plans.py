"""Public names of plans, which guide a small model (`GuidedModel`), and helpers for them. Pure.

Helpers classify a message, find what was done so far, and format JSON results. A small model that may choose
among tools mostly chooses none; asked what a message is about, it is right.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from treadle.core.calls import Opaque
from treadle.core.messages import Message
from treadle.core.requests import Options, Request
from treadle.guard.text_index import stem_tokens
from treadle.lazy import lazy_exports
from treadle.models.calling.guided import WIRE, FindingsQuestion, FixedPlan, GuidedModel, PartialPlan, Plan, PlanQuestion, PlanStep
from treadle.models.calling.turn_results import format_result_lines, last_turn

if TYPE_CHECKING:
    from treadle.dialects.json_repair import extract_json
    from treadle.models.calling.one_call import one_call

__all__ = [
    "FindingsQuestion",
    "FixedPlan",
    "GuidedModel",
    "IntentClassifier",
    "PartialPlan",
    "Plan",
    "PlanQuestion",
    "PlanStep",
    "extract_json",
    "format_plan_question",
    "format_result_lines",
    "last_turn",
    "load_plan_state",
    "one_call",
    "select_relevant",
]


class IntentClassifier(Struct, frozen=True):
    """The intents a message may have: names with their descriptions, and examples.

    `other` is for messages that are none of them.
    """

    intro: str
    about: Mapping[str, str]
    examples: tuple[tuple[str, str], ...]
    other: str = "talk"

    def question(self, message: str, among: Collection[str] = ()) -> PlanQuestion:
        """Return the question for the model. All but the message is always the same, so that a server can cache it.

        `among` are the intents that are possible for this message, where something else decides about the rest.
        """
        told = [f"- {name}: {what}" for name, what in self.about.items()]
        shown = [f'\nMessage: {text}\n{{"about": "{about}"}}' for text, about in self.examples]
        names = {"about": {"type": "string", "enum": [name for name in self.about if not among or name in among]}}
        shape = {"type": "object", "properties": names, "required": ["about"], "additionalProperties": False}
        instructions = "\n".join([self.intro, *told, *shown])
        return PlanQuestion(
            f"Message: {' '.join(message.split())[:2000]}", instructions, Options(temperature=0, max_tokens=30), shape
        )

    def read(self, said: str) -> str:
        """Return the intent that the model named."""
        try:
            about = msgspec.json.decode(said, type=dict[str, Any]).get("about")
        except msgspec.DecodeError:
            return self.other
        return about if isinstance(about, str) and about in self.about else self.other


def format_plan_question(message: str, request: Request) -> str:
    """Return the question about what was found; with the request's note, such as why an answer is asked for again."""
    asked = f"Question: {message}"
    return f"{asked}\n\n{request.note}" if request.note else asked


def select_relevant(message: str, documents: Sequence[str]) -> list[str]:
    """Return the documents that have most of a message's words, in any inflection; all of them where none has any."""
    asked = stem_tokens(message)
    shared = [len(asked & stem_tokens(each)) for each in documents]
    return [each for each, count in zip(documents, shared, strict=True) if count == max(shared)]


def load_plan_state(history: Iterable[Message]) -> Any:
    """Return the state of the plan's last move that had one; None if none had."""
    states = [part.json for each in history for part in each.parts if isinstance(part, Opaque) and part.wire == WIRE]
    return msgspec.json.decode(states[-1]) if states else None


_HOMES = {"extract_json": "treadle.dialects.json_repair", "one_call": "treadle.models.calling.one_call"}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
