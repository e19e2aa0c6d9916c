"""Text of documents and servers for a model: without markup, and of limited length."""

import re
from html import unescape

_TAG = re.compile(r"<!--.*?-->|<(?:script|style)\b.*?</(?:script|style)\s*>|</?[a-zA-Z][^<>]*>", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(r"</(?:p|div|li|tr|h[1-6])\s*>|<br\s*/?>", re.IGNORECASE)
MAX_INPUT = 20_000  # characters that are looked at


def strip_markup(text: str) -> str:
    """Return text without tags, with single spaces."""
    text = text[:MAX_INPUT]
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", text))
    if "&" in text:
        text = unescape(text)
    return "\n".join(words for line in text.split("\n") if (words := " ".join(line.split())))


def truncate_plain_text(text: str, most: int) -> str:
    """Return the beginning of a text, to the end of a sentence or a word where there is one."""
    if len(text) <= most:
        return text
    cut = text[: max(most - 1, 0)]
    sentence = max(cut.rfind(". "), cut.rfind(".\n"))
    if sentence > most // 2:
        return cut[: sentence + 1]
    word = cut.rfind(" ")
    return cut[: word if word > most // 2 else None].rstrip() + "…" if cut else ""
