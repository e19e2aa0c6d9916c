"""Values so simple that a reader wants them in the outline: numbers, short strings, true, false, null, empty containers."""

import re

_MOST = 60  # characters of a string
_NUMBER = re.compile(r"[-+]?\s?(?:0[xXbBoO][\da-fA-F_]+|(?:\d[\d_]*)?\.?\d[\d_]*\.?(?:[eE][-+]?\d+)?)[a-zA-Z_]{0,3}\d{0,3}")
_STRING = re.compile(
    r"""[bBrRuUL@$]{0,2}(?P<quote>'''|\"{3}|["'`])(?P<inside>(?:\\.|(?!(?P=quote))[^\\\n])*)(?P=quote)(?:\.to_string\(\)|\.into\(\)|\.freeze)?"""
)
_EMPTY_ARRAYS = re.compile(
    r"\[\]|\(\)|list\(\)|tuple\(\)|set\(\)|array\(\)|new Set\(\)|new \w*List(?:<.*>)?\(\)|vec!\[\]|Vec::new\(\)"
)
_EMPTY_OBJECTS = re.compile(r"\{\}|dict\(\)|new Map\(\)|new Object\(\)|\[:\]|new \w*Map(?:<.*>)?\(\)|HashMap::new\(\)")
_WORDS = {
    "true": "boolean",
    "false": "boolean",
    "null": "null",
    "nil": "null",
    "none": "null",
    "nullptr": "null",
    "undefined": "undefined",
}


def literal(text: str) -> tuple[str, str]:
    """A simple value as written and what it is: number, string, boolean, null, undefined, array, object. Empty for any other."""
    if not text or len(text) > _MOST + 8:
        return "", ""
    word = _WORDS.get(text.lower())
    if word:
        return text, word
    for pattern, said in ((_NUMBER, "number"), (_EMPTY_ARRAYS, "array"), (_EMPTY_OBJECTS, "object")):
        if pattern.fullmatch(text):
            return text, said
    string = _STRING.fullmatch(text)
    if string and len(string["inside"]) <= _MOST and not (text[0] in "`$" and "{" in text):
        return text, "string"
    return "", ""
