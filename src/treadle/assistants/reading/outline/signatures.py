"""What a definition looks like from outside, on one line: its text up to its body, without comments and annotations."""

import re

from treadle.assistants.reading.outline.comments import Comments
from treadle.assistants.reading.outline.draft import Draft

_MOST = 300
_MOST_STATEMENT = 100
_TIGHT = re.compile(r"(?<=[(\[]) | (?=[)\]])|,(?= ?[)\]])")
_ENDINGS = ("=>", " do", " then")


def signature(draft: Draft, comments: Comments) -> str:
    """The signature of a draft; for a run of statements the first line of the first."""
    tail = min(draft.tail, draft.head + 4 * _MOST)
    text = comments.cut(draft.head, tail)
    if draft.gap is not None:
        text = comments.cut(draft.head, draft.gap[0]) + comments.cut(draft.gap[1], max(draft.tail, draft.gap[1]))
    if draft.kind == "statement":
        first = " ".join(text.strip().partition("\n")[0].split())
        return shortened(_without_ending(first) or first, _MOST_STATEMENT)
    flat = " ".join(text.split())
    if "\n" in text:
        flat = _TIGHT.sub("", flat)
    flat = shortened(_without_ending(flat), _MOST)
    unnamed = draft.kind != "import" and draft.name.isidentifier() and draft.name not in flat
    return f"{flat} {draft.name}" if unnamed else flat


def _without_ending(text: str) -> str:
    """A signature without the signs that its body begins with."""
    while True:
        bare = text.rstrip(" {:;=,\\")
        for ending in _ENDINGS:
            bare = bare.removesuffix(ending)
        if bare == text:
            return text
        text = bare


def shortened(text: str, most: int) -> str:
    """At most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
