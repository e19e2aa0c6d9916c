"""Generate a Score spec from a description: requested, checked, and corrected by the model as long as that helps."""

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from treadle import Model, Options, TreadleError, Usage
from treadle.assistant import configured_agent
from treadle.assistants.platform.prompts import GENERATE, format_documentation
from treadle.assistants.platform.score import SpecFinding
from treadle.assistants.platform.spec_drafts import MAX_TRIES, SpecDraft, best_draft, find_draft, format_retry_prompt

if TYPE_CHECKING:
    from treadle.passages import PassageHit


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
    options = Options(temperature=0.3, max_tokens=3000).suited(model.traits)
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
