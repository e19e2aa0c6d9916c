"""Secrets given by name in text: `password=…`, `"token": "…"`, `X-Api-Key: …`, `?sig=…`, `--secret …`, `<password>…`, `Bearer …`.

Text is full of names that are followed by something else: `token = next(tokens)`, `password: required`. So a value has to look
like a secret, except in JSON, where a quoted name and a quoted value leave no doubt. Each look is bounded, whatever the text.
"""

import re
from binascii import Error, a2b_base64
from collections.abc import Callable

from treadle.guard.formats import ESCAPE, Head, compiled, end_of
from treadle.guard.known import MASK as KNOWN
from treadle.guard.names import NOTHING, Extra, Named, named

CONTEXT = 320  # how far back from its value a name, its separator and what stands between them can reach
MASKED = "[redacted:"
TRIGGERS = ("pass", "pwd", "secret", "token", "auth", "cred", "cookie", "key", "jwt", "sig", "bearer", "basic",
            "contrasena", "contraseña", "contraseÑa")  # fmt: skip

_SLACK = 48  # how much of a mask or a scheme may come before the value
_BACK = 64  # how far back a name is followed
_LONG_WORD = 24  # letters: hardly a word any more
_LOOK = 64  # how much of a value is looked at
_NAME_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_BARE_LETTER = r"""[^\s"'`,;&<>(){}\[\]|\\]"""
_BARE = rf"{_BARE_LETTER}{{1,{_LOOK}}}+"
_QUOTED = rf"""[^\s"'`\\]{{1,{_LOOK}}}+"""
_SCHEME = r"(?:bearer|basic|token|digest|apikey|api-key|key|negotiate|ntlm|hmac|aws4-hmac-sha256)[ \t]{1,4}"
_COOKIE = r"""[^\s=;,"'\\]{1,128}+=[^\s;,"'\\]"""

# how values go on
_NOT_PEM = "-(?!----BEGIN)"
_VALUE = rf"""(?:[^\s"'`,;&<>(){{}}\[\]|\\-]++|{_NOT_PEM})*+"""
_LINE = r"""[^\r\n"'\\]*+"""
_CREDENTIALS = r"[A-Za-z0-9._~+/=-]*+"

# what values are no secrets: a variable, an address, a path (forty letters may be an AWS secret, slash or not), a number, a name
_REFERENCE = r"\$[A-Za-z_]\w*+|[A-Za-z][A-Za-z0-9+.-]{0,15}+://.*+|(?:~|\.{0,2})/(?!.{39}\Z)[\w.@/~-]*+"
_NUMBER = r"[\d.,:%+-]++[A-Za-z]{0,2}"
_DOTTED_WORDS = r"[A-Za-z]++\d{0,3}(?:[_.][A-Za-z]++\d{0,3})++"
_NO_PASSWORDS = ("required", "optional", "undefined", "disabled", "enabled", "incorrect", "mismatch", "protected", "password")
_QUERY = ("key", "sig", "signature")


Search = Callable[[str, int], re.Match[str] | None]


class Assignments:
    """Finds values given by name. `extra` are further names, as words."""

    def __init__(self, extra: Extra = ()) -> None:
        self.triggers = (*TRIGGERS, *[words[-1] for words in extra])
        self._extra = extra

    def searches(self, low: str) -> list[Search]:
        """One for each trigger that is in a text, given in small letters. One by one they are far quicker than all at once."""
        return [compiled(_named_by(trigger)).search for trigger in self.triggers if trigger in low]

    def find(self, text: str, low: str, searches: list[Search], limit: int, start: int, position: int) -> Head | None:
        """The first value at `position` or later whose name stands between `start` and `limit`; `low` is in small letters."""
        ahead = [search(low, start) for search in searches]
        while (found := _first(ahead)) and found.start() < limit:
            if found.end() + _SLACK >= position:
                head = self._head(text, low, found)
                if head is not None and head.start >= position:
                    return head
            after = found.end("name")
            for place, other in enumerate(ahead):
                if other is not None and other.start() < after:
                    ahead[place] = searches[place](low, after)
        return None

    def _head(self, text: str, low: str, found: re.Match[str]) -> Head | None:
        before = text[max(0, found.start() - _BACK) : found.start()]
        begin = found.start() - len(before) + len(before.rstrip(_NAME_LETTERS))
        name = text[begin : found.end("name")]
        if found["separator"].isspace() and "--" not in name:
            return _credentials(text, name, found)
        kind = self._named(text, begin, name, found)
        return self._value(text, low, kind, found) if kind.kind else None

    def _named(self, text: str, begin: int, name: str, found: re.Match[str]) -> Named:
        """What a name stands for, and whether the way it stands there makes it a name at all."""
        if name in _QUERY and text.endswith(("?", "&"), 0, begin):
            return Named("signature")
        is_mask = text.endswith(MASKED, 0, begin) and found["close"].startswith("]")
        is_math = found["separator"] == ">" and not text.endswith("<", 0, begin)
        if is_mask or is_math:
            return NOTHING
        kind = named(name, self._extra)
        if kind is NOTHING and (escape := compiled(ESCAPE).match(text, max(0, begin - 1))):
            return named(text[escape.end() : found.end("name")], self._extra)
        return kind

    def _value(self, text: str, low: str, name: Named, found: re.Match[str]) -> Head | None:
        at = found.end()
        if text.startswith(KNOWN, at):  # masked before this scan: what is left of the value may be the rest of a secret
            at += len(KNOWN)
        elif text.startswith((MASKED, "//"), at):  # masked, or an address whose scheme looks like a name
            return None
        if name.kind == "authorization" and (scheme := compiled(_SCHEME).match(low, at)):
            return _begin(text, scheme.end(), name.kind, _CREDENTIALS, least=6)
        return _quoted(text, at, name, found) if found["quote"] else _bare(text, at, name, found)


def _named_by(trigger: str) -> str:
    """A name, what may stand between it and its value, and a look at whether a value comes at all."""
    return (
        rf"""(?P<name>{re.escape(trigger)}[a-z0-9_.-]{{0,32}}+)(?P<close>["'`\]\\]{{0,8}}+)(?P<separator>"""
        r"""[ \t]{0,20}+(?::[ \t]{1,2}[a-z][a-z_.\[\]|]{0,23}[ \t]{1,2}=|(?::=?|!?={1,3})>?)[ \t]{0,20}+|>|%3[ad]|[ \t]{1,4})"""
        rf"""(?:(?P<quote>\\{{0,7}}["'`])|(?={_BARE_LETTER}{{6}}|[^\s=;,"'\\]{{1,5}}=|\[redacted:known|{_SCHEME}))"""
    )


def _first(ahead: list[re.Match[str] | None]) -> re.Match[str] | None:
    """The one that begins first; of two that begin at the same place, that of the first trigger."""
    return min([found for found in ahead if found is not None], key=_start, default=None)


def _start(found: re.Match[str]) -> int:
    return found.start()


def _credentials(text: str, scheme: str, found: re.Match[str]) -> Head | None:
    """What follows a bare `Bearer` or `Basic`, two common words: only if it looks the part."""
    kind, at = scheme.lower(), found.end()
    if kind not in ("bearer", "basic") or found["quote"] or found["close"]:
        return None
    shown = text[at : end_of(_CREDENTIALS, text, at, at + _LOOK)]
    if kind == "bearer":
        sure = len(shown) >= 32 or (len(shown) >= 8 and any(map(str.isdigit, shown)))
    else:
        sure = len(shown) >= 8 and _is_pair(shown)
    return Head(at, at, kind, _CREDENTIALS, at) if sure else None


def _begin(text: str, at: int, kind: str, tail: str, least: int = 1) -> Head | None:
    return Head(at, at, kind, tail, at) if end_of(tail, text, at, at + _LOOK) >= at + least else None


def _is_pair(encoded: str) -> bool:
    """Whether this is the Base64 of a name, a colon and a password."""
    try:
        return b":" in a2b_base64(encoded[: len(encoded) // 4 * 4])
    except Error:
        return False


def _quoted(text: str, at: int, name: Named, found: re.Match[str]) -> Head | None:
    is_json = any(mark in found["close"] for mark in "\"'") and (":" in found["separator"] or ">" in found["separator"])
    shown = text[at : end_of(_QUOTED, text, at, len(text))].partition(MASKED)[
        0
    ]  # what is masked inside says nothing about the rest
    if (is_json and name.sure) or looks_secret(shown, name.kind, plain=True):
        return _begin(text, at, name.kind, _until(found["quote"]))
    return None


def _until(quote: str) -> str:
    """All up to the closing quote on this line: one with no more backslashes before it than the opening one had."""
    mark, slashes = quote[-1], len(quote) - 1
    escaped = rf"\\{{{slashes + 1},}}+{mark}?"
    other = rf"|\\{{1,{slashes}}}+(?![{mark}\\])" if slashes else ""
    return rf"(?:[^{mark}\\\n-]++|{escaped}{other}|{_NOT_PEM})*+"


def _bare(text: str, at: int, name: Named, found: re.Match[str]) -> Head | None:
    if name.kind == "cookie" and ":" in found["separator"]:
        return Head(at, at, "cookie", _LINE, at) if end_of(_COOKIE, text, at, len(text)) > at else None
    end = end_of(_BARE, text, at, len(text))
    shown = text[at:end]
    is_code = text.startswith(("(", "["), end) and shown.replace(".", "_").isidentifier()
    plain = not any(map(str.isspace, found["separator"]))
    if is_code or not looks_secret(shown, name.kind, plain=plain):
        return None
    return _begin(text, at, name.kind, _VALUE)


def looks_secret(value: str, kind: str, *, plain: bool) -> bool:
    """Whether a value given by name looks like a secret.

    `plain` means that it stands where values stand (quoted, or right after the sign) rather than where code might.
    """
    least = 6 if kind == "password" else 8
    if len(value) < least or len(set(value)) < 3 or value[0] in ":=" or _is(_REFERENCE, value):
        return False
    if any(map(str.isdigit, value)):
        return not (kind == "token" and _is(_NUMBER, value)) and not _is_identifier(value, plain=plain)
    if any(mark in value for mark in "!#$%^*+=~?"):
        return plain or kind == "password"
    if kind == "key" and plain and len(value) >= _LONG_WORD and value.isalpha():
        return True
    return kind == "password" and plain and value.isalpha() and value.lower() not in _NO_PASSWORDS


def _is(pattern: str, value: str) -> bool:
    return compiled(pattern).fullmatch(value) is not None


def _is_identifier(value: str, *, plain: bool) -> bool:
    return _is(_DOTTED_WORDS, value) and (not plain or any(trigger in value.lower() for trigger in TRIGGERS))
