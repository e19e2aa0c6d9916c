"""Matches misspelt names: the intended one where that is certain, else the nearest ones; and the hint that names them."""

import re
from collections.abc import Iterable, Sequence

_PREFIX = r"(?i:functions?|tools?|default_api)[.:/]"
_AROUND = " \t\r\n\"'`"
_SEPARATORS = str.maketrans("", "", "-_ ")
_MOST = 3


def match_name(name: str, names: Iterable[str]) -> str | None:
    """Return the known name that is equal except for case, separators or a prefix such as `functions.`; None if uncertain."""
    known = list(names)
    if name in known:
        return name
    wanted = _normalize(name)
    same = [candidate for candidate in known if _normalize(candidate) == wanted]
    return same[0] if len(same) == 1 else None


def nearest_names(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three known names that may have been meant, the likeliest first."""
    known = list(names)
    certain = match_name(name, known)
    return [certain] if certain is not None else similar_names(_strip_prefix(name), known)


def hint_for(name: str, names: Iterable[str]) -> str:
    """Return the hint for an unknown name: the nearest known names, or all of them where none resembles it."""
    known = list(names)
    return format_hint(nearest_names(name, known), known)


def format_hint(meant: Sequence[str], known: Sequence[str]) -> str:
    """Return the sentence that suggests names, or lists the known ones where there is nothing to suggest."""
    return f"Did you mean {' or '.join(meant)}?" if meant else f"There are: {', '.join(known) or 'none'}."


def similar_names(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three names that resemble this one, ignoring case and separators."""
    from difflib import get_close_matches  # only a misspelt name pays for it

    by_reduced: dict[str, list[str]] = {}
    for known in names:
        by_reduced.setdefault(_normalize(known), []).append(known)
    found = get_close_matches(_normalize(name), by_reduced, n=_MOST)
    return [known for reduced in found for known in by_reduced[reduced]][:_MOST]


def _strip_prefix(name: str) -> str:
    stripped = name.strip(_AROUND).removesuffix("()")
    return re.sub(f"^{_PREFIX}", "", stripped)


def _normalize(name: str) -> str:
    return _strip_prefix(name).translate(_SEPARATORS).casefold()
