"""Drafts of a spec that a model wrote: found in its words, checked, and what to tell it where one has errors. Pure."""

import re
from collections.abc import Sequence

from msgspec import Struct

from treadle.assistants.platform.score import PROVIDED, Checked, Spec, check, spec_in

TRIES = 3
SHORT = 20  # characters below which an explanation explains nothing

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


class Draft(Struct, frozen=True):
    """A spec, the words around it, and what was found in it."""

    spec: str
    words: str
    checked: Checked

    @property
    def explanation(self) -> str:
        """The model's own words; where it has next to none, what is in the spec."""
        if len(self.words) >= SHORT and self.words != self.spec.strip():
            return self.words
        return _summed_up(self.checked.spec or Spec())


def drafted(text: str, types: Sequence[str] = ()) -> Draft | None:
    """The draft in a model's words; None where there is none."""
    spec = spec_in(text)
    return None if spec is None else Draft(spec, _FENCE.sub("", text).strip(), check(spec, {*PROVIDED, *types}))


def again(draft: Draft | None) -> str:
    """What a model is asked to do about its draft."""
    if draft is None:
        return "Write the whole spec in one ```yaml block."
    found = "\n".join([str(each) for each in draft.checked.errors])
    return f"The spec has errors. Mend them, and write the whole spec again in one ```yaml block:\n{found}"


def best_of(drafts: Sequence[Draft]) -> Draft:
    """The one with the fewest errors."""
    return min(drafts, key=lambda draft: len(draft.checked.errors))


def _summed_up(spec: Spec) -> str:
    containers = ", ".join([f"{name} ({each.image})" for name, each in spec.containers.items()]) or "nothing yet"
    resources = ", ".join([f"{name} ({each.type})" for name, each in spec.resources.items()])
    return f"The application {spec.name or 'without a name'} runs {containers}{f', with {resources}' if resources else ''}."
