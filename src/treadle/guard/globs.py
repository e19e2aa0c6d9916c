"""Globs: `*` is any run of characters, `?` is one, everything else is itself. Case counts, and there are no brackets.

Matching takes time linear in the text, however hostile it is.
"""

import re
from collections.abc import Callable

Glob = Callable[[str], object]  # true or false, not always as a bool: this runs once per rule and call


def glob(pattern: str) -> Glob:
    """A test for `pattern`, ready made."""
    stars = pattern.count("*")
    if "?" in pattern or stars > 1:
        return re.compile(_regex(pattern), re.DOTALL).fullmatch
    if pattern == "*":
        return _anything
    if stars == 0:
        return pattern.__eq__
    before, after = pattern.split("*")
    return _between(before, after)


def _anything(text: str) -> bool:
    return True


def _between(before: str, after: str) -> Glob:
    least = len(before) + len(after)
    if not after:
        return lambda text: text.startswith(before)
    return lambda text: len(text) >= least and text.startswith(before) and text.endswith(after)


def _regex(pattern: str) -> str:
    """Each piece between stars is taken where it first fits and never given back, so nothing is tried twice."""
    first, *others = [_literal(piece) for piece in re.split(r"\*+", pattern)]
    if not others:
        return first
    *middle, last = others
    return first + "".join([f"(?>.*?{piece})" for piece in middle]) + ".*" + last


def _literal(piece: str) -> str:
    return ".".join([re.escape(part) for part in piece.split("?")])
