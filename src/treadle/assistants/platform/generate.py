"""Writes a Score spec from a description: asked for, checked, and mended by the model as long as that helps."""

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from treadle import Model, Options, TreadleError, Usage, settled_agent
from treadle.assistants.platform.drafts import TRIES, Draft, again, best_of, drafted
from treadle.assistants.platform.prompts import GENERATE, documentation
from treadle.assistants.platform.score import Finding

if TYPE_CHECKING:
    from treadle.passages import Found


class NoSpec(TreadleError):
    """A model that writes no spec."""


class Generated(Struct, frozen=True):
    """A spec, what it is for, and what was found in it."""

    spec: str
    explanation: str
    citations: tuple[str, ...] = ()
    tokens_used: int = 0
    findings: tuple[Finding, ...] = ()


async def generate(
    model: Model, description: str, passages: "tuple[Found, ...]" = (), types: tuple[str, ...] = (), facts: str = ""
) -> Generated:
    """The best of a few tries: the first without errors, else the one with the fewest."""
    options = Options(temperature=0.3, max_tokens=3000).suited(model.traits)
    agent = settled_agent(None, model, parts={"instructions": GENERATE, "options": options, "name": "score"})
    asked = "\n\n".join([part for part in (documentation(passages) if passages else "", facts, description) if part])
    drafts: list[Draft] = []
    usage, history = Usage(), ()
    for _ in range(TRIES):
        result = await agent.run(asked, history=history)
        usage, history = usage + result.usage, tuple(result.history)
        if result.stopped != "answered":
            raise NoSpec(f"The spec couldn't be written: {result.reason or result.stopped}")
        draft = drafted(result.text, types)
        if draft is not None:
            drafts.append(draft)
            if draft.checked.ok:
                break
        asked = again(draft)
    if not drafts:
        raise NoSpec("The model wrote no spec. Describe the application in other words, or use a larger model.")
    best = best_of(drafts)
    cited = tuple(dict.fromkeys(each.passage.source for each in passages))
    return Generated(best.spec, best.explanation, cited, usage.total_tokens, best.checked.findings)


def as_json(generated: Generated) -> dict[str, object]:
    """As programs are told of it."""
    return {**msgspec.to_builtins(generated), "findings": [msgspec.to_builtins(each) for each in generated.findings]}
