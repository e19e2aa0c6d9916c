"""Secrets known by their exact value, such as a run's credentials: literally, and in their encoded forms."""

import re
from binascii import b2a_base64
from collections.abc import Iterable

import msgspec

MASK = "[redacted:known]"
MIN_LENGTH = 4  # shorter ones would mask half of any text
_LEAST_CODED = 8
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")


class KnownSecrets:
    """Masks known secrets, in whole texts and (as `KnownSecretStream`) in chunks."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if len(secret) >= MIN_LENGTH for form in _encode_variants(secret)}
        self.forms = tuple(sorted([form for form in forms if form not in MASK], key=lambda form: (-len(form), form)))
        self.longest = max([len(form) for form in self.forms], default=1)
        self.by_letter = {form[0]: [other for other in self.forms if other[0] == form[0]] for form in self.forms}
        self.pattern = re.compile("|".join([re.escape(form) for form in self.forms]) or r"(?!)")

    def mask(self, text: str) -> str:
        """Return `text` with known secrets masked."""
        for form in self.forms:
            if form in text:
                return self.pattern.sub(MASK, text)
        return text


class KnownSecretStream:
    """Masks text that arrives in chunks. Holds back only what may be the beginning of a known secret."""

    def __init__(self, known: KnownSecrets) -> None:
        self._known = known
        self._held = ""

    def feed(self, text: str) -> str:
        """Return what is certain after this chunk."""
        text = self._held + text
        out: list[str] = []
        position, begun = 0, self._find_partial(text, 0)
        while (found := self._known.pattern.search(text, position)) and found.start() < begun:
            out += (text[position : found.start()], MASK)
            position = found.end()
            begun = max(begun, self._find_partial(text, position))
        out.append(text[position:begun])
        self._held = text[begun:]
        return "".join(out)

    def close(self) -> str:
        """Return the rest."""
        held, self._held = self._held, ""
        return self._known.mask(held)

    def _find_partial(self, text: str, position: int) -> int:
        """Return where the earliest secret begins that the text ends in the middle of."""
        for start in range(max(position, len(text) - self._known.longest + 1), len(text)):
            forms = self._known.by_letter.get(text[start], ())
            if forms and any(form.startswith(text[start:]) for form in forms):
                return start
        return len(text)


def _encode_variants(secret: str) -> set[str]:
    raw = secret.encode(errors="surrogatepass")
    coded = {*_base64_variants(raw), raw.hex(), raw.hex().upper()}
    return {
        secret,
        *_percent_variants(raw),
        *_json_variants(secret),
        *[form for form in coded if len(form) >= _LEAST_CODED],
    }


def _base64_variants(raw: bytes) -> set[str]:
    """Return its Base64 forms, also inside a longer text: at each of three offsets, without characters its neighbours affect."""
    forms: set[str] = set()
    for offset in range(3):
        encoded = b2a_base64(bytes(offset) + raw, newline=False).decode().rstrip("=")
        whole = encoded[(0, 2, 3)[offset] : (len(raw) + offset) * 8 // 6]
        forms |= {whole, whole.replace("+", "-").replace("/", "_")}
    return forms


def _percent_variants(raw: bytes) -> set[str]:
    forms: set[str] = set()
    for kept in (_UNRESERVED, _UNRESERVED | {ord("/")}):
        upper = "".join([chr(byte) if byte in kept else f"%{byte:02X}" for byte in raw])
        lower = "".join([chr(byte) if byte in kept else f"%{byte:02x}" for byte in raw])
        forms |= {upper, lower, upper.replace("%20", "+"), lower.replace("%20", "+")}
    return forms


def _json_variants(secret: str) -> set[str]:
    """Return its JSON forms, with and without non-ASCII characters, and inside another JSON text."""
    try:
        once = msgspec.json.encode(secret).decode()[1:-1]
    except UnicodeEncodeError:
        return set()
    return {once, _to_ascii(once), _escape_again(once), _to_ascii(_escape_again(once)), _escape_again(_to_ascii(once))}


def _escape_again(escaped: str) -> str:
    return escaped.replace("\\", "\\\\").replace('"', '\\"')


def _to_ascii(text: str) -> str:
    return "".join([letter if letter.isascii() else _unicode_escape(letter) for letter in text])


def _unicode_escape(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join([f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2)])
