"""Signatures on one line: a definition's text up to its body, without comments and annotations."""

import re

from treadle.assistants.reading.outline.comments import Comments
from treadle.assistants.reading.outline.node_draft import NodeDraft

_MOST = 300
_MOST_STATEMENT = 100
_TIGHT = re.compile(r"(?<=[(\[]) | (?=[)\]])|,(?= ?[)\]])")
_ENDINGS = ("=>", " do", " then")


def format_signature(draft: NodeDraft, comments: Comments) -> str:
    """Return the signature of a draft; for a run of statements the first line of the first."""
    tail = min(draft.tail, draft.head + 4 * _MOST)
    text = comments.cut(draft.head, tail)
    if draft.gap is not None:
        text = comments.cut(draft.head, draft.gap[0]) + comments.cut(draft.gap[1], max(draft.tail, draft.gap[1]))
    if draft.kind == "statement":
        first = " ".join(text.strip().partition("\n")[0].split())
        return truncate_signature(_strip_body_start(first) or first, _MOST_STATEMENT)
    flat = " ".join(text.split())
    if "\n" in text:
        flat = _TIGHT.sub("", flat)
    flat = truncate_signature(_strip_body_start(flat), _MOST)
    unnamed = draft.kind != "import" and draft.name.isidentifier() and draft.name not in flat
    return f"{flat} {draft.name}" if unnamed else flat


def _strip_body_start(text: str) -> str:
    """Return a signature without the characters that begin its body."""
    while True:
        bare = text.rstrip(" {:;=,\\")
        for ending in _ENDINGS:
            bare = bare.removesuffix(ending)
        if bare == text:
            return text
        text = bare


def truncate_signature(text: str, most: int) -> str:
    """Truncate to a number of characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
