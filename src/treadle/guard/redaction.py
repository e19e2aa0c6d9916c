"""Masks secrets in text, in nested values, and in text that arrives in chunks: `[redacted:kind]` takes their place.

By value (`guard.secret_formats`, `guard.known_secrets`) and by name (`guard.secret_names`, `guard.assignments`).
Irreversible, in time linear in the text, and idempotent. It is a net, not a wall: credentials belong in `ctx.credentials`,
where no text can hold them.
"""

from collections.abc import Iterable
from typing import Any, cast, get_args

from treadle.core.calls import Allow, Call, Result, Written
from treadle.core.entries import Entry
from treadle.core.errors import SettingsError
from treadle.core.messages import Message, Text, Thinking
from treadle.core.requests import Usage
from treadle.guard.assignments import MASKED, Assignments, looks_secret
from treadle.guard.known_secrets import MIN_LENGTH, KnownSecrets, KnownSecretStream
from treadle.guard.secret_names import NOT_SECRET, ExtraNames, classify_name, split_name
from treadle.guard.secret_scanner import SecretScanner, format_mask, mask_secrets, select_finders

MIN_KEY_LENGTH = 12  # no shorter name of a value is itself a secret
_VALUES = (*get_args(Entry), Allow, Call, Message, Result, Text, Thinking, Usage, Written)
_TAGS = ("kind", "part", "verdict")
_TEXTLESS = frozenset((int, float, bool, type(None)))
# What values in entries are called, as far as it doesn't stand for a secret: these needn't be looked at each time.
OWN_NAMES = frozenset([name for kind in _VALUES for name in (*_TAGS, *kind.__struct_fields__) if not classify_name(name, ()).kind])


def collect_texts(value: Any, extra: ExtraNames) -> tuple[list[str], bool]:
    """Return the texts in a value, including long names, and whether a name in it may stand for a secret."""
    texts: list[str] = []
    is_named = False
    left: list[Any] = [[value]]
    while left:  # every stored line passes here: a loop costs a quarter less than comprehensions
        each = left.pop()
        if isinstance(each, dict):
            pairs = cast("dict[Any, Any]", each)
            inside: Iterable[Any] = pairs.values()
            is_named = is_named or ("value" in pairs and ("name" in pairs or "key" in pairs))
            if extra or not OWN_NAMES.issuperset(pairs):
                names = pairs.keys() if extra else pairs.keys() - OWN_NAMES
                is_named = is_named or any(classify_name(str(name), extra).kind for name in names)
                texts += [name for name in names if isinstance(name, str) and len(name) >= MIN_KEY_LENGTH]
        elif isinstance(each, list | tuple):
            inside = cast("list[Any]", each)
            is_named = is_named or any(isinstance(item, str) and item.startswith("-") for item in inside)
        else:
            continue
        for inner in inside:
            if isinstance(inner, str):
                texts.append(inner)
            elif type(inner) not in _TEXTLESS:
                left.append(inner)
    return texts, is_named


_DEEPEST = 100


class Redactor:
    """Masks secrets. `extra_names` are further names that stand for secrets; `known_secrets` are masked wherever they occur.

    Known secrets are masked in Base64, percent, hexadecimal and JSON encoding too; those shorter than four characters are
    not.
    """

    def __init__(self, extra_names: Iterable[str] = (), known_secrets: Iterable[str] = ()) -> None:
        self._extra: ExtraNames = tuple([_split_extra_name(name) for name in extra_names])
        self._assignments = Assignments(self._extra)
        self._secrets = tuple(known_secrets)
        self._known = KnownSecrets(self._secrets)

    def __repr__(self) -> str:
        return f"Redactor(extra_names={['_'.join(words) for words in self._extra]})"  # never what is known

    def knowing(self, secrets: Iterable[str]) -> "Redactor":
        """Return the same redactor with more known secrets: those of one run, say."""
        return Redactor(["_".join(words) for words in self._extra], (*self._secrets, *secrets))

    def combine(self, other: "Redactor") -> "Redactor":
        """Return a redactor that masks what this one or the other one masks."""
        extra = ["_".join(words) for words in (*self._extra, *other._extra)]
        return Redactor(extra, (*self._secrets, *other._secrets))

    def text(self, text: str) -> str:
        """Return `text` with every secret masked."""
        if len(text) < MIN_LENGTH:
            return text
        text = self._known.mask(text)
        kinds = select_finders(text, self._assignments, len(text))
        return mask_secrets(text, kinds) if kinds else text

    def stream(self) -> "RedactedStream":
        """Return a redactor for text that arrives in chunks."""
        return RedactedStream(self._known, self._assignments)

    def value(self, value: Any) -> Any:
        """Return a JSON value of the same shape, redacted by its names and in all of its text.

        Under a name that stands for a secret every text is masked, and every number except those of a `token`, which are
        counts. So is what follows a flag (`["--password", …]`) and what is named in place (`{"name": "API_KEY", "value":
        …}`).
        """
        return self._redact(value, 0)

    def finds(self, value: Any) -> bool:
        """Return whether a JSON value contains a secret."""
        return self.may_find(value) and self._redact(value, 0) != value

    def may_find(self, value: Any) -> bool:
        """Return whether a JSON value may contain a secret: a fast look at all of its texts at once. False is certain."""
        texts, is_named = collect_texts(value, self._extra)
        joined = "\n".join(texts)
        return is_named or self.text(joined) != joined

    def _redact(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, dict | list | tuple):
            return value
        if depth >= _DEEPEST:
            return format_mask("too_deep")
        if isinstance(value, dict):
            return self._redact_object(cast("dict[Any, Any]", value), depth + 1)
        return self._redact_items(cast("list[Any] | tuple[Any, ...]", value), depth + 1)

    def _redact_object(self, pairs: dict[Any, Any], depth: int) -> dict[Any, Any]:
        label = pairs.get("name", pairs.get("key"))
        out: dict[Any, Any] = {}
        for key, inner in pairs.items():
            own = self._key(key, out)
            name = self.text(label) if key == "value" and isinstance(label, str) else own
            out[own] = self._redact_named(str(name), inner, depth)
        return out

    def _key(self, key: Any, taken: dict[Any, Any]) -> Any:
        name = self.text(key) if isinstance(key, str) and len(key) >= MIN_KEY_LENGTH else key
        while name in taken:  # two secrets as keys: both stay, and both stay masked
            name += "'"
        return name

    def _redact_items(self, items: list[Any] | tuple[Any, ...], depth: int) -> list[Any] | tuple[Any, ...]:
        flags = ["", *[item if isinstance(item, str) and item.startswith("-") and "=" not in item else "" for item in items]]
        out = [self._redact_named(flag, item, depth) for flag, item in zip(flags, items, strict=False)]
        return out if isinstance(items, list) else tuple(out)

    def _redact_named(self, name: str, value: Any, depth: int) -> Any:
        found = NOT_SECRET if MASKED in name else classify_name(name, self._extra)
        if found.sure and found.kind:
            return self._mask(value, found.kind, depth)
        if found.kind and isinstance(value, str) and looks_secret(value, found.kind, plain=True):
            return format_mask(found.kind)
        return self._redact(value, depth)

    def _mask(self, value: Any, kind: str, depth: int) -> Any:
        """Mask what is under a name that stands for a secret."""
        match value:
            case str():
                return format_mask(kind) if value else value
            case bool() | None:
                return value
            case int() | float():
                return value if kind == "token" else format_mask(kind)
            case dict() | list() | tuple() if depth >= _DEEPEST:
                return format_mask("too_deep")
            case dict():
                return self._mask_object(cast("dict[Any, Any]", value), kind, depth + 1)
            case list() | tuple():
                items = [self._mask(inner, kind, depth + 1) for inner in cast("list[Any]", value)]
                return items if isinstance(value, list) else tuple(items)
            case _:
                return value

    def _mask_object(self, pairs: dict[Any, Any], kind: str, depth: int) -> dict[Any, Any]:
        out: dict[Any, Any] = {}
        for key, inner in pairs.items():
            out[self._key(key, out)] = self._mask(inner, kind, depth)
        return out


class RedactedStream:
    """Redacts text that arrives in chunks. The output never contains a part of a secret that is masked in the whole."""

    def __init__(self, known: KnownSecrets, assignments: Assignments) -> None:
        self._known = KnownSecretStream(known)
        self._scan = SecretScanner(assignments)

    def feed(self, text: str) -> str:
        """Return what may be shown after this chunk."""
        return self._scan.feed(self._known.feed(text))

    def close(self) -> str:
        """Return the rest."""
        return self._scan.feed(self._known.close(), final=True)


def _split_extra_name(name: str) -> tuple[str, ...]:
    words = split_name(name)
    if not words:
        raise SettingsError(f"{name!r} has no word that a name could be recognised by; give redaction names such as 'pin'.")
    return words
