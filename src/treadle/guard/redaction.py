"""Masks secrets in text, in nested values, and in text that arrives in pieces: `[redacted:kind]` takes their place.

By value (`guard.formats`, `guard.known`) and by name (`guard.names`, `guard.assignments`). One way, in time linear in the text, and
redacting twice changes nothing more. It is a net, not a wall: credentials belong in `ctx.credentials`, where no text can hold them.
"""

from collections.abc import Iterable
from typing import Any, cast

from treadle.core.errors import SettingsError
from treadle.guard.assignments import MASKED, Assignments, looks_secret
from treadle.guard.gathering import SHORTEST_KEY, gathered
from treadle.guard.known import SHORTEST, Known, KnownStream
from treadle.guard.names import NOTHING, Extra, named, words_of
from treadle.guard.scan import Scan, finds, mask, masked

_DEEPEST = 100


class Redactor:
    """What masks secrets. `extra_names` are names that stand for secrets here; `known_secrets` are masked wherever they turn up.

    Known secrets are masked in Base64, percent, hexadecimal and JSON spelling too; those shorter than four characters are not.
    """

    def __init__(self, extra_names: Iterable[str] = (), known_secrets: Iterable[str] = ()) -> None:
        self._extra: Extra = tuple([_words(name) for name in extra_names])
        self._assignments = Assignments(self._extra)
        self._secrets = tuple(known_secrets)
        self._known = Known(self._secrets)

    def __repr__(self) -> str:
        return f"Redactor(extra_names={['_'.join(words) for words in self._extra]})"  # never what is known

    def knowing(self, secrets: Iterable[str]) -> "Redactor":
        """The same, with more known secrets: those of one run, say."""
        return Redactor(["_".join(words) for words in self._extra], (*self._secrets, *secrets))

    def text(self, text: str) -> str:
        """`text`, with every secret in it masked."""
        if len(text) < SHORTEST:
            return text
        text = self._known.mask(text)
        kinds = finds(text, self._assignments, len(text))
        return masked(text, kinds) if kinds else text

    def stream(self) -> "RedactedStream":
        """The same for text that arrives in pieces."""
        return RedactedStream(self._known, self._assignments)

    def value(self, value: Any) -> Any:
        """A JSON value of the same shape, redacted by the names in it and in all of its text.

        Under a name that stands for a secret every text is masked, and every number but those of a `token`, which are counts.
        So is what follows a flag (`["--password", …]`) and what is named in place (`{"name": "API_KEY", "value": …}`).
        """
        return self._redacted(value, 0)

    def finds(self, value: Any) -> bool:
        """Whether there is a secret in a JSON value."""
        texts, is_named = gathered(value, self._extra)
        joined = "\n".join(texts)
        return (is_named or self.text(joined) != joined) and self._redacted(value, 0) != value

    def _redacted(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, dict | list | tuple):
            return value
        if depth >= _DEEPEST:
            return mask("too_deep")
        if isinstance(value, dict):
            return self._object(cast("dict[Any, Any]", value), depth + 1)
        return self._items(cast("list[Any] | tuple[Any, ...]", value), depth + 1)

    def _object(self, pairs: dict[Any, Any], depth: int) -> dict[Any, Any]:
        label = pairs.get("name", pairs.get("key"))
        out: dict[Any, Any] = {}
        for key, inner in pairs.items():
            own = self._key(key, out)
            name = self.text(label) if key == "value" and isinstance(label, str) else own
            out[own] = self._under(str(name), inner, depth)
        return out

    def _key(self, key: Any, taken: dict[Any, Any]) -> Any:
        name = self.text(key) if isinstance(key, str) and len(key) >= SHORTEST_KEY else key
        while name in taken:  # two secrets as keys: both stay, and both stay masked
            name += "'"
        return name

    def _items(self, items: list[Any] | tuple[Any, ...], depth: int) -> list[Any] | tuple[Any, ...]:
        flags = ["", *[item if isinstance(item, str) and item.startswith("-") and "=" not in item else "" for item in items]]
        out = [self._under(flag, item, depth) for flag, item in zip(flags, items, strict=False)]
        return out if isinstance(items, list) else tuple(out)

    def _under(self, name: str, value: Any, depth: int) -> Any:
        found = NOTHING if MASKED in name else named(name, self._extra)
        if found.sure and found.kind:
            return self._masked(value, found.kind, depth)
        if found.kind and isinstance(value, str) and looks_secret(value, found.kind, plain=True):
            return mask(found.kind)
        return self._redacted(value, depth)

    def _masked(self, value: Any, kind: str, depth: int) -> Any:
        """What stands under a name that stands for a secret."""
        match value:
            case str():
                return mask(kind) if value else value
            case bool() | None:
                return value
            case int() | float():
                return value if kind == "token" else mask(kind)
            case dict() | list() | tuple() if depth >= _DEEPEST:
                return mask("too_deep")
            case dict():
                return self._masked_object(cast("dict[Any, Any]", value), kind, depth + 1)
            case list() | tuple():
                items = [self._masked(inner, kind, depth + 1) for inner in cast("list[Any]", value)]
                return items if isinstance(value, list) else tuple(items)
            case _:
                return value

    def _masked_object(self, pairs: dict[Any, Any], kind: str, depth: int) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for key, inner in pairs.items():
            out[self._key(key, out)] = self._masked(inner, kind, depth)
        return out


class RedactedStream:
    """Text that arrives in pieces. What was let out never contains a part of a secret that is masked in the whole."""

    def __init__(self, known: Known, assignments: Assignments) -> None:
        self._known = KnownStream(known)
        self._scan = Scan(assignments)

    def feed(self, text: str) -> str:
        """What may be shown after this piece."""
        return self._scan.feed(self._known.feed(text))

    def close(self) -> str:
        """What is left to show."""
        return self._scan.feed(self._known.close(), final=True)


def _words(name: str) -> tuple[str, ...]:
    words = words_of(name)
    if not words:
        raise SettingsError(f"{name!r} has no word that a name could be recognised by; give redaction names such as 'pin'.")
    return words
