"""Words of documents and servers, as a model gets them: plain, and not too many."""

import re
from html import unescape

_TAG = re.compile(r"<!--.*?-->|<(?:script|style)\b.*?</(?:script|style)\s*>|</?[a-zA-Z][^<>]*>", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(r"</(?:p|div|li|tr|h[1-6])\s*>|<br\s*/?>", re.IGNORECASE)
LONGEST = 20_000  # characters that are looked at


def plain(text: str) -> str:
    """Text without tags, with single spaces and without empty lines."""
    text = text[:LONGEST]
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub("\n", text))
    if "&" in text:
        text = unescape(text)
    return "\n".join(words for line in text.split("\n") if (words := " ".join(line.split())))


def shortened(text: str, most: int) -> str:
    """The beginning of a text, to the end of a sentence or a word where there is one."""
    if len(text) <= most:
        return text
    cut = text[: max(most - 1, 0)]
    sentence = max(cut.rfind(". "), cut.rfind(".\n"))
    if sentence > most // 2:
        return cut[: sentence + 1]
    word = cut.rfind(" ")
    return cut[: word if word > most // 2 else None].rstrip() + "…" if cut else ""
