"""Macros in C and C++ that the grammars stumble on, blanked out before a second try at parsing. No preprocessor: patterns only."""

import re

_CAPITALS = rb"[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]"
_FOR_CPP = rb"^[ \t]*#[ \t]*if(?:def[ \t]+__cplusplus|[ \t]+defined[ \t(]*__cplusplus\)?)[ \t]*\n\s*"
_ENDIF = rb"\s*\n[ \t]*#[ \t]*endif[^\n]*"
_NESTED = rb"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*"

_STUMBLES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # extern "C" { that only C++ sees, and its end
        _FOR_CPP + rb"extern[ \t]+\"C\"[ \t]*\n?[ \t]*\{" + _ENDIF,
        _FOR_CPP + rb"\}[^\n]*?" + _ENDIF,
        # a macro alone on its line: BEGIN_NAMESPACE
        rb"^[ \t]*" + _CAPITALS + rb"[ \t]*(?=\n)|^[ \t]*__(?:BEGIN|END)_[A-Z_]+[ \t]*(?=\n)",
        # class SHELF_API Shelf
        rb"(?<=class |truct )[A-Z][A-Z0-9_]+(?:\([^()\n]*\))?(?=\s+[A-Za-z_][\w:<>, ]*?\s*(?:final\s*)?(?::(?!:)|\{))",
        # SHELF_API int put(…)
        rb"^[ \t]*" + _CAPITALS + rb"(?=[ \t]+(?!=)(?:[\w:<>,]+[ \t*&]+)+~?\w[\w:]*[ \t]*[({;=])",
        # int SHELF_CALL put(…), int (SHELF_CALL *put)(…)
        rb"(?<=[\w*] )" + _CAPITALS + rb"(?=[ \t]+\*?\w+[ \t]*\()|(?<=\()" + _CAPITALS + rb"(?=[ \t]+\*[ \t]*\w+\)[ \t]*\()",
        # a call of a macro alone on its line, unless it begins a function
        rb"^[ \t]*" + _CAPITALS + rb"\([^\n;{}]*\)[ \t]*(?=\n)(?!\s*\{)",
        # __attribute__((…)), __declspec(…), and the macros of C libraries behind a prototype
        rb"__attribute__[ \t]*\(\("
        + _NESTED
        + rb"\)\)|__declspec\([^()]*\)|__extension__|\b__(?:restrict|inline|volatile)(?:__)?\b",
        rb"(?<=\))(?:\s*\b__(?!attribute)\w+(?:[ \t]*\(\([^()]*\)\)|[ \t]*\([^()]*\))?)+(?=\s*;)",
    )
)


def without_macros(source: bytes) -> bytes:
    """The text with what only a preprocessor understands blanked out, and everything else where it was."""
    for pattern in _STUMBLES:
        source = pattern.sub(_blank, source)
    return source


def _blank(match: "re.Match[bytes]") -> bytes:
    return re.sub(rb"[^\n]", b" ", match[0])
