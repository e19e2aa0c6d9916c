"""Secrets assigned by name: `password=…`, `"token": "…"`, `X-Api-Key: …`, `?sig=…`, `--secret …`, `<password>…`, `Bearer …`.

Text is full of names that are followed by something else: `token = next(tokens)`, `password: required`. So a value has to
look like a secret, except in JSON, where a quoted name and a quoted value leave no doubt. Each search is bounded, whatever
the text.
"""

import re
from binascii import Error, a2b_base64
from collections.abc import Callable

from treadle.guard.known_secrets import MASK as KNOWN
from treadle.guard.secret_formats import ESCAPE, SecretHead, compile_pattern, match_end
from treadle.guard.secret_names import NOT_SECRET, ExtraNames, SecretName, classify_name

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
_VALUE = rf"""(?:[^\s"'`,;&<>(){{}}\[\]|\\-]++|{_NOT_PEM})*"""
_LINE = r"""[^\r\n"'\\]*+"""
_CREDENTIALS = r"[A-Za-z0-9._~+/=-]*+"

# what values are no secrets: a variable, an address, a path (forty letters may be an AWS secret, slash or not), a number, a name
_REFERENCE = r"\$[A-Za-z_]\w*+|[A-Za-z][A-Za-z0-9+.-]{0,15}+://.*+|(?:~|\.{0,2})/(?!.{39}\Z)[\w.@/~-]*+"
_NUMBER = r"[\d.,:%+-]++[A-Za-z]{0,2}"
_DOTTED_WORDS = r"[A-Za-z]++\d{0,3}(?:[_.][A-Za-z]++\d{0,3})+"
_NO_PASSWORDS = ("required", "optional", "undefined", "disabled", "enabled", "incorrect", "mismatch", "protected", "password")
_QUERY = ("key", "sig", "signature")


Search = Callable[[str, int], re.Match[str] | None]


class Assignments:
    """Finds values assigned by name. `extra` are further names, as words."""

    def __init__(self, extra: ExtraNames = ()) -> None:
        self.triggers = (*TRIGGERS, *[words[-1] for words in extra])
        self._extra = extra

    def searches(self, low: str) -> list[Search]:
        """Return a search for each trigger in a lower-case text. Separate searches are far faster than a combined one."""
        return [compile_pattern(_name_pattern(trigger)).search for trigger in self.triggers if trigger in low]

    def find(self, text: str, low: str, searches: list[Search], limit: int, start: int, position: int) -> SecretHead | None:
        """Return the first value at `position` or later whose name is between `start` and `limit`; `low` is lower case."""
        ahead = [search(low, start) for search in searches]
        while (found := _first_match(ahead)) and found.start() < limit:
            if found.end() + _SLACK >= position:
                head = self._match_head(text, low, found)
                if head is not None and head.start >= position:
                    return head
            after = found.end("name")
            for place, other in enumerate(ahead):
                if other is not None and other.start() < after:
                    ahead[place] = searches[place](low, after)
        return None

    def _match_head(self, text: str, low: str, found: re.Match[str]) -> SecretHead | None:
        before = text[max(0, found.start() - _BACK) : found.start()]
        begin = found.start() - len(before) + len(before.rstrip(_NAME_LETTERS))
        name = text[begin : found.end("name")]
        if found["separator"].isspace() and "--" not in name:
            return _match_credentials(text, name, found)
        kind = self._classify_name(text, begin, name, found)
        return self._match_value(text, low, kind, found) if kind.kind else None

    def _classify_name(self, text: str, begin: int, name: str, found: re.Match[str]) -> SecretName:
        """Classify a name, and check whether its context makes it a name at all."""
        if name in _QUERY and text.endswith(("?", "&"), 0, begin):
            return SecretName("signature")
        is_mask = text.endswith(MASKED, 0, begin) and found["close"].startswith("]")
        is_math = found["separator"] == ">" and not text.endswith("<", 0, begin)
        if is_mask or is_math:
            return NOT_SECRET
        kind = classify_name(name, self._extra)
        if kind is NOT_SECRET and (escape := compile_pattern(ESCAPE).match(text, max(0, begin - 1))):
            return classify_name(text[escape.end() : found.end("name")], self._extra)
        return kind

    def _match_value(self, text: str, low: str, name: SecretName, found: re.Match[str]) -> SecretHead | None:
        at = found.end()
        if text.startswith(KNOWN, at):  # masked before this scan: what is left of the value may be the rest of a secret
            at += len(KNOWN)
        elif text.startswith((MASKED, "//"), at):  # masked, or an address whose scheme looks like a name
            return None
        if name.kind == "authorization" and (scheme := compile_pattern(_SCHEME).match(low, at)):
            return _make_head(text, scheme.end(), name.kind, _CREDENTIALS, least=6)
        return _match_quoted(text, at, name, found) if found["quote"] else _match_bare(text, at, name, found)


def _name_pattern(trigger: str) -> str:
    """Return a pattern for a name, what may stand between it and its value, and a lookahead for a value."""
    return (
        rf"""(?P<name>{re.escape(trigger)}[a-z0-9_.-]{{0,32}}+)(?P<close>["'`\]\\]{{0,8}}+)(?P<separator>"""
        r"""[ \t]{0,20}+(?::[ \t]{1,2}[a-z][a-z_.\[\]|]{0,23}[ \t]{1,2}=|(?::=?|!?={1,3})>?)[ \t]{0,20}+|>|%3[ad]|[ \t]{1,4})"""
        rf"""(?:(?P<quote>\\{{0,7}}["'`])|(?={_BARE_LETTER}{{6}}|[^\s=;,"'\\]{{1,5}}=|\[redacted:known|{_SCHEME}))"""
    )


def _first_match(ahead: list[re.Match[str] | None]) -> re.Match[str] | None:
    """Return the earliest match; of two at the same position, that of the first trigger."""
    return min([found for found in ahead if found is not None], key=_match_start, default=None)


def _match_start(found: re.Match[str]) -> int:
    return found.start()


def _match_credentials(text: str, scheme: str, found: re.Match[str]) -> SecretHead | None:
    """Match what follows a bare `Bearer` or `Basic`, two common words: only if it looks like a credential."""
    kind, at = scheme.lower(), found.end()
    if kind not in ("bearer", "basic") or found["quote"] or found["close"]:
        return None
    shown = text[at : match_end(_CREDENTIALS, text, at, at + _LOOK)]
    if kind == "bearer":
        sure = len(shown) >= 32 or (len(shown) >= 8 and any(map(str.isdigit, shown)))
    else:
        sure = len(shown) >= 8 and _is_pair(shown)
    return SecretHead(at, at, kind, _CREDENTIALS, at) if sure else None


def _make_head(text: str, at: int, kind: str, tail: str, least: int = 1) -> SecretHead | None:
    return SecretHead(at, at, kind, tail, at) if match_end(tail, text, at, at + _LOOK) >= at + least else None


def _is_pair(encoded: str) -> bool:
    """Return whether this is the Base64 of a name, a colon and a password."""
    try:
        return b":" in a2b_base64(encoded[: len(encoded) // 4 * 4])
    except Error:
        return False


def _match_quoted(text: str, at: int, name: SecretName, found: re.Match[str]) -> SecretHead | None:
    is_json = any(mark in found["close"] for mark in "\"'") and (":" in found["separator"] or ">" in found["separator"])
    shown = text[at : match_end(_QUOTED, text, at, len(text))].partition(MASKED)[
        0
    ]  # what is masked inside says nothing about the rest
    if (is_json and name.sure) or looks_secret(shown, name.kind, plain=True):
        return _make_head(text, at, name.kind, _until_quote(found["quote"]))
    return None


def _until_quote(quote: str) -> str:
    """Return a pattern up to the closing quote on this line: one with no more backslashes before it than the opening one had."""
    mark, slashes = quote[-1], len(quote) - 1
    escaped = rf"\\{{{slashes + 1},}}+{mark}?"
    other = rf"|\\{{1,{slashes}}}+(?![{mark}\\])" if slashes else ""
    return rf"(?:[^{mark}\\\n-]++|{escaped}{other}|{_NOT_PEM})*"


def _match_bare(text: str, at: int, name: SecretName, found: re.Match[str]) -> SecretHead | None:
    if name.kind == "cookie" and ":" in found["separator"]:
        return SecretHead(at, at, "cookie", _LINE, at) if match_end(_COOKIE, text, at, len(text)) > at else None
    end = match_end(_BARE, text, at, len(text))
    shown = text[at:end]
    is_code = text.startswith(("(", "["), end) and shown.replace(".", "_").isidentifier()
    plain = not any(map(str.isspace, found["separator"]))
    if is_code or not looks_secret(shown, name.kind, plain=plain):
        return None
    return _make_head(text, at, name.kind, _VALUE)


def looks_secret(value: str, kind: str, *, plain: bool) -> bool:
    """Return whether a value assigned by name looks like a secret.

    `plain` means that it is in a value position (quoted, or right after the sign) rather than where code might be.
    """
    least = 6 if kind == "password" else 8
    if len(value) < least or len(set(value)) < 3 or value[0] in ":=" or _matches(_REFERENCE, value):
        return False
    if any(map(str.isdigit, value)):
        return not (kind == "token" and _matches(_NUMBER, value)) and not _is_identifier(value, plain=plain)
    if any(mark in value for mark in "!#$%^*+=~?"):
        return plain or kind == "password"
    if kind == "key" and plain and len(value) >= _LONG_WORD and value.isalpha():
        return True
    return kind == "password" and plain and value.isalpha() and value.lower() not in _NO_PASSWORDS


def _matches(pattern: str, value: str) -> bool:
    return compile_pattern(pattern).fullmatch(value) is not None


def _is_identifier(value: str, *, plain: bool) -> bool:
    return _matches(_DOTTED_WORDS, value) and (not plain or any(trigger in value.lower() for trigger in TRIGGERS))
