"""Text as shown to a person who has to approve it: nothing in it can hide, or look like something else. Pure.

Characters that can't be seen or that change how others are shown (controls, bidi, zero width, unusual blanks), and letters
that pass for others in a word of another script, are shown as JSON escapes. Long blanks are counted. The page does the same
in `server/static/visible.js`; a shared table of cases tests both.
"""

import re
from functools import lru_cache

HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u2800\u3164\ud800-\uf8ff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd"
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
)
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_HIDDEN = re.compile(
    f"[{HIDDEN}]"
    "|(?<![^\x00-\x7f\ufe00-\ufe0f])\ufe0f"  # honest after an emoji only
    f"|(?<=[{_MARKS}]{{3}})[{_MARKS}]"  # a pile that covers other lines
)
_SCRIPTS = [
    re.compile(f"[{letters}]")
    for letters in (
        "A-Za-z",
        "\u0370-\u03ff\u1f00-\u1fff",  # Greek
        "\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f",  # Cyrillic
        "\u0530-\u058f",  # Armenian
        "\u13a0-\u13ff\uab70-\uabbf",  # Cherokee
        "\uff10-\uff5a",  # full width
        "\U0001d400-\U0001d7ff",  # of mathematics
        "\u0251\u0261\u2160-\u217f",  # of phonetics, and Roman numerals
    )
]
_ALIKE = (
    "\u03b1\u03b3\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03c9\u03f2\u03f3\u0391\u0392\u0395\u0396\u0397\u0399\u039a"
    "\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u0430\u0435\u043a\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0475\u04bb\u04cf"
    "\u0501\u051b\u051d\u0410\u0412\u0415\u0417\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408\u0474\u04c0"
    "\u051a\u051c\u0570\u0578\u057d\u0585\u054d\u0555\u13a0-\u13ff\uab70-\uabbf\u0251\u0261\u2160-\u217f\uff10-\uff19\uff21-\uff3a"
    "\uff41-\uff5a\U0001d400-\U0001d7ff"
)
_PASSING = re.compile(f"[{_ALIKE}]")  # letters that pass for those of ASCII
_ONLY_PASSING = re.compile(f"[{_ALIKE}0-9]+")
_PUNCTUATION = re.compile("[\u2024\u2044\u2215\u29f8\u2236\ua789\ufe52\ufe68\uff0e\uff0f\uff1a\uff20\uff3c]")
_TOKEN = re.compile(r"\S+")
_WORD = re.compile(r"[^\W_]+")
_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){4,}")
_BLANKS = re.compile("[ \t\u3000]{41,}")


def make_visible(text: str) -> str:
    """Return the text with everything visible, on as many lines as it has, except for long runs of blank ones."""
    return _BLANKS.sub(_count_blanks, _LINES.sub(_count_lines, escape_hidden(text)))


def escape_hidden(text: str) -> str:
    """Return the text with hidden and confusable characters as escapes; in JSON, the same value."""
    if text.isascii():
        return text if text.isprintable() else _HIDDEN.sub(escape_match, text)
    return _HIDDEN.sub(escape_match, _TOKEN.sub(_escape_token, text))


def escape_match(found: "re.Match[str]") -> str:
    """Return a match as a JSON escape, two of them for a character beyond the first 65,536."""
    return _json_escape(found.group())


@lru_cache(1024)
def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join([f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2)])


def _escape_token(token: "re.Match[str]") -> str:
    text = token.group()
    if text.isascii():
        return text
    has_ascii = _SCRIPTS[0].search(text) is not None
    text = _WORD.sub(lambda word: _escape_word(word.group(), has_ascii), text)
    return _PUNCTUATION.sub(escape_match, text) if has_ascii else text


def _escape_word(word: str, has_ascii: bool) -> str:
    """Escape the confusable letters of a word of several scripts, and of a word of nothing else beside ASCII letters."""
    is_mixed = sum([script.search(word) is not None for script in _SCRIPTS]) > 1
    return _PASSING.sub(escape_match, word) if is_mixed or (has_ascii and _ONLY_PASSING.fullmatch(word)) else word


def _count_lines(found: "re.Match[str]") -> str:
    return f"\n[{found.group().count(chr(10)) - 1} blank lines]\n"


def _count_blanks(found: "re.Match[str]") -> str:
    return f"[{len(found.group())} blanks]"
