"""Regular expressions of schemas, which are untrusted: matched by RE2 in time linear in the text, and not by Python's `re`.

RE2 has no look-around, no back-references and no possessive repeats, and repeats nothing more than 1000 times. A pattern that
it can't express, or whose text is too long for it, is ignored: the model sees it, the provider of the tool checks it again,
and the log says so once. Digits, letters and the end of a text are what they are in JSON Schema: ASCII, and the very end.
"""

import re
from functools import lru_cache
from typing import Any

from msgspec import Struct

from treadle.core.log import log

_MOST_MEMORY = 1 << 20  # bytes for one pattern; a larger one is refused when it is compiled
_MOST_STEPS = 10_000_000  # states times bytes, which take RE2 a third of a second at worst
_SPELLED = {"Z": r"\z"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


class Re2Pattern(Struct, frozen=True, eq=False):
    """A compiled pattern."""

    _compiled: Any

    def found_in(self, text: str) -> bool:
        """Return whether it matches somewhere in a text; True where finding out would take too long."""
        data = text.encode(errors="surrogatepass")
        return self._compiled.programsize * len(data) > _MOST_STEPS or self._compiled.search(data) is not None


def compile_re2(source: Any) -> Re2Pattern | None:
    """Compile a pattern; None for one that RE2 can't express."""
    return _compile_cached(source) if isinstance(source, str) else None


@lru_cache(1024)
def _compile_cached(source: str) -> Re2Pattern | None:
    from importlib import import_module

    re2: Any = import_module("re2")  # loaded with the first schema that has a pattern; it has no types
    options = re2.Options()
    options.log_errors, options.never_capture, options.max_mem = False, True, _MOST_MEMORY
    try:
        return Re2Pattern(re2.compile(_ESCAPE.sub(_to_re2_escape, source).encode(errors="surrogatepass"), options))
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else error
        log.warning("The pattern %.200r of a tool's schema isn't checked, because RE2 can't express it: %s", source, why)
        return None


def _to_re2_escape(escape: re.Match[str]) -> str:
    """Return an escape as RE2 spells it: other engines have one for a character by its number, and `Z` for the end."""
    return rf"\x{{{escape[1]}}}" if escape[1] else _SPELLED.get(escape[2], escape[0])
