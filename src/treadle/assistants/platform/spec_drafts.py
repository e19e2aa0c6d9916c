"""Drafts of a spec in a model's answer: found, checked, and the retry prompt if one has errors.

Generate a Score spec from a description: requested, checked, and corrected by the model as long as that helps.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from treadle import History, Model, Options, TreadleError, Usage
from treadle.assistant import configured_agent
from treadle.assistants.platform.prompts import GENERATE, format_documentation
from treadle.assistants.platform.score import PROVIDED, CheckedSpec, ScoreSpec, SpecFinding, check_spec, find_spec

if TYPE_CHECKING:
    from treadle.passages import PassageHit


def find_last_spec(history: History | None, words: str = "") -> str:
    """Return the spec that was shown or pasted last, first of all in `words`; empty if there is none."""
    if found := find_spec(words):
        return found
    for message in reversed(history or ()):
        if message.role in ("model", "person") and (found := find_spec(message.text)):
            return found
    return ""


def find_last_question(history: History | None) -> str:
    """Return the user's last message."""
    return next((message.text for message in reversed(history or ()) if message.role == "person"), "")


MAX_TRIES = 3
SHORT = 20  # characters below which an explanation explains nothing

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


class SpecDraft(Struct, frozen=True):
    """A spec, the text around it, and the findings in it."""

    spec: str
    words: str
    checked: CheckedSpec

    @property
    def explanation(self) -> str:
        """The model's own text; if it is too short, a summary of the spec."""
        if len(self.words) >= SHORT and self.words != self.spec.strip():
            return self.words
        return _summarize_spec(self.checked.spec or ScoreSpec())


def find_draft(text: str, types: Sequence[str] = ()) -> SpecDraft | None:
    """Return the draft in a model's answer; None if there is none."""
    spec = find_spec(text)
    return None if spec is None else SpecDraft(spec, _FENCE.sub("", text).strip(), check_spec(spec, {*PROVIDED, *types}))


def format_retry_prompt(draft: SpecDraft | None) -> str:
    """Return the prompt that asks a model to correct its draft."""
    if draft is None:
        return "Write the whole spec in one ```yaml block."
    found = "\n".join([str(each) for each in draft.checked.errors])
    return f"The spec has errors. Fix them, and write the whole spec again in one ```yaml block:\n{found}"


def best_draft(drafts: Sequence[SpecDraft]) -> SpecDraft:
    """Return the draft with the fewest errors."""
    return min(drafts, key=lambda draft: len(draft.checked.errors))


def _summarize_spec(spec: ScoreSpec) -> str:
    containers = ", ".join([f"{name} ({each.image})" for name, each in spec.containers.items()]) or "nothing yet"
    resources = ", ".join([f"{name} ({each.type})" for name, each in spec.resources.items()])
    return f"The application {spec.name or 'without a name'} runs {containers}{f', with {resources}' if resources else ''}."


class NoSpecGenerated(TreadleError):
    """The model wrote no spec."""


class GeneratedSpec(Struct, frozen=True):
    """A spec, its explanation, and the findings in it."""

    spec: str
    explanation: str
    citations: tuple[str, ...] = ()
    tokens_used: int = 0
    findings: tuple[SpecFinding, ...] = ()


async def generate_spec(
    model: Model, description: str, passages: "tuple[PassageHit, ...]" = (), types: tuple[str, ...] = (), facts: str = ""
) -> GeneratedSpec:
    """Return the best of a few tries: the first without errors, else the one with the fewest."""
    options = Options(temperature=0.3, max_tokens=3000).for_model(model.traits)
    agent = configured_agent(None, model, parts={"instructions": GENERATE, "options": options, "name": "score"})
    asked = "\n\n".join([part for part in (format_documentation(passages) if passages else "", facts, description) if part])
    drafts: list[SpecDraft] = []
    usage, history = Usage(), ()
    for _ in range(MAX_TRIES):
        result = await agent.run(asked, history=history)
        usage, history = usage + result.usage, tuple(result.history)
        if result.stopped != "answered":
            raise NoSpecGenerated(f"The spec couldn't be written: {result.reason or result.stopped}")
        draft = find_draft(result.text, types)
        if draft is not None:
            drafts.append(draft)
            if draft.checked.ok:
                break
        asked = format_retry_prompt(draft)
    if not drafts:
        raise NoSpecGenerated("The model wrote no spec. Describe the application in other words, or use a larger model.")
    best = best_draft(drafts)
    cited = tuple(dict.fromkeys(each.passage.source for each in passages))
    return GeneratedSpec(best.spec, best.explanation, cited, usage.total_tokens, best.checked.findings)


def generated_spec_to_json(generated: GeneratedSpec) -> dict[str, object]:
    """Serialize a generated spec for API clients."""
    return {**msgspec.to_builtins(generated), "findings": [msgspec.to_builtins(each) for each in generated.findings]}
