"""Names a model misspelt: the one that was meant where that is certain, else the nearest ones."""

import re
from collections.abc import Iterable

_PREFIX = r"(?i:functions?|tools?|default_api)[.:/]"
_AROUND = " \t\r\n\"'`"
_SEPARATORS = str.maketrans("", "", "-_ ")
_MOST = 3


def canonical(name: str, names: Iterable[str]) -> str | None:
    """The known name that is the same but for case, separators or a prefix such as `functions.`; None where that isn't certain."""
    known = list(names)
    if name in known:
        return name
    wanted = _reduced(name)
    same = [candidate for candidate in known if _reduced(candidate) == wanted]
    return same[0] if len(same) == 1 else None


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Up to three known names that may have been meant, the likeliest first."""
    known = list(names)
    certain = canonical(name, known)
    return [certain] if certain is not None else alike(_bare(name), known)


def alike(name: str, names: Iterable[str]) -> list[str]:
    """Up to three names that look like this one, whatever their case and separators."""
    from difflib import get_close_matches  # only a misspelt name pays for it

    by_reduced: dict[str, list[str]] = {}
    for known in names:
        by_reduced.setdefault(_reduced(known), []).append(known)
    found = get_close_matches(_reduced(name), by_reduced, n=_MOST)
    return [known for reduced in found for known in by_reduced[reduced]][:_MOST]


def _bare(name: str) -> str:
    stripped = name.strip(_AROUND).removesuffix("()")
    return re.sub(f"^{_PREFIX}", "", stripped)


def _reduced(name: str) -> str:
    return _bare(name).translate(_SEPARATORS).casefold()
