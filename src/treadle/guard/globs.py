"""Globs: `*` is any run of characters, `?` is one, everything else is literal. Case-sensitive, without brackets.

Matching takes time linear in the text, however hostile it is.
"""

import re
from collections.abc import Callable

Glob = Callable[[str], object]  # true or false, not always as a bool: this runs once per rule and call


def compile_glob(pattern: str) -> Glob:
    """Compile `pattern` into a predicate."""
    stars = pattern.count("*")
    if "?" in pattern or stars > 1:
        return re.compile(_to_regex(pattern), re.DOTALL).fullmatch
    if pattern == "*":
        return _match_all
    if stars == 0:
        return pattern.__eq__
    before, after = pattern.split("*")
    return _prefix_and_suffix(before, after)


def _match_all(text: str) -> bool:
    return True


def _prefix_and_suffix(before: str, after: str) -> Glob:
    least = len(before) + len(after)
    if not after:
        return lambda text: text.startswith(before)
    return lambda text: len(text) >= least and text.startswith(before) and text.endswith(after)


def _to_regex(pattern: str) -> str:
    """Return the regular expression. Each piece between stars is matched where it first fits and never backtracked."""
    first, *others = [_to_literal(piece) for piece in re.split(r"\*+", pattern)]
    if not others:
        return first
    *middle, last = others
    return first + "".join([f"(?>.*?{piece})" for piece in middle]) + ".*" + last


def _to_literal(piece: str) -> str:
    return ".".join([re.escape(part) for part in piece.split("?")])
