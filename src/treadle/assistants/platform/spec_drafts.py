"""Drafts of a spec in a model's answer: found, checked, and the retry prompt if one has errors. Pure."""

import re
from collections.abc import Sequence

from msgspec import Struct

from treadle import History
from treadle.assistants.platform.score import PROVIDED, CheckedSpec, ScoreSpec, check_spec, find_spec


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
